//! A nullable `x IN (...)`: what must be known of the build side to tell false from NULL.

use base::Result;

use super::super::aggregate::combine_function;
use super::super::pipe::{Pipe, Sql};
use super::super::pipelines::Pipelines;
use crate::ir::{Arithmetic, Compare, GROUP_HEADER, GroupState, Operation, RowLayout, State, StateId, Ty, Var};

/// A group state without keys that counts build rows and notes whether a key is NULL.
#[derive(Clone, Copy)]
pub(super) struct NullInfo {
    pub state: StateId,
    rows: u32,
    has_null: u32,
}

impl NullInfo {
    /// A new one, for one join.
    pub fn new(pipelines: &mut Pipelines) -> Self {
        let mut layout = RowLayout::with_header(GROUP_HEADER);
        let (rows, has_null) = (layout.add(Ty::I64), layout.add(Ty::Bool));
        let combine = combine_function(&[], |p, into, from| {
            let (a, b) = (p.load(into, rows, Ty::I64, false), p.load(from, rows, Ty::I64, false));
            let sum = p.wrapping(Arithmetic::Add, a, b);
            p.store(into, rows, sum);
            let (a, b) = (p.load(into, has_null, Ty::Bool, false), p.load(from, has_null, Ty::Bool, false));
            let any = p.or(a, b);
            p.store(into, has_null, any);
            Ok(())
        })
        .expect("this function cannot fail");
        let state = pipelines.add_state(State::Group(GroupState {
            layout,
            has_keys: false,
            slots: None,
            enough: None,
            equal: None,
            combine,
        }));
        Self { state, rows, has_null }
    }

    /// Counts a build row and its key.
    pub fn note(self, pipe: &mut Pipe, key: Sql) -> Result<()> {
        let row = pipe.let_(Ty::Ptr, Operation::LocalRow(self.state));
        let (count, one) = (pipe.load(row, self.rows, Ty::I64, false), pipe.int(1, Ty::I64));
        let count = pipe.wrapping(Arithmetic::Add, count, one);
        pipe.store(row, self.rows, count);
        let Some(null) = key.null else { return Ok(()) };
        pipe.when(null, |p| {
            let yes = p.bool(true);
            p.store(row, self.has_null, yes);
            Ok(())
        })
    }

    /// `x IN (subquery)` with NULLs about: NULL unless true, if x is NULL and there are rows, or if some row is NULL.
    pub fn mark(self, pipe: &mut Pipe, is_true: Var, probe: Sql) -> Sql {
        let row = pipe.let_(Ty::Ptr, Operation::OnlyRow(self.state));
        let mut null = pipe.load(row, self.has_null, Ty::Bool, true);
        if let Some(probe_null) = probe.null {
            let (rows, zero) = (pipe.load(row, self.rows, Ty::I64, true), pipe.int(0, Ty::I64));
            let some = pipe.compare(Compare::Gt, rows, zero);
            let unknown = pipe.and(probe_null, some);
            null = pipe.or(null, unknown);
        }
        let not_true = pipe.not(is_true);
        Sql { value: is_true, null: Some(pipe.and(null, not_true)) }
    }
}
