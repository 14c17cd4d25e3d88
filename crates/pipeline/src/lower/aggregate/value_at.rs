//! The value where another one, the key, is least or greatest; of several such values the least, so that the order of
//! tuples does not show.

use base::Result;

use super::super::expression::compare_same;
use super::super::pipe::Pipe;
use super::accumulator::{Accumulator, Kind};
use crate::ir::{Compare, StateId, Ty, Var};

impl Accumulator {
    /// How the key is kept.
    pub(super) fn key_ty(&self) -> Ty {
        self.arguments[1].sql_type.physical().into()
    }

    fn load_key(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.key_offset, self.key_ty(), false)
    }

    /// Takes a value and its key, neither of them NULL, if the key is better than the one that is there.
    pub(super) fn add_value_at(
        &self,
        pipe: &mut Pipe,
        row: Var,
        [value, key]: [Var; 2],
        keep: Option<StateId>,
    ) -> Result<()> {
        let (value, key) = (pipe.widen(value, self.ty()), pipe.widen(key, self.key_ty()));
        let seen = self.load_seen(pipe, row);
        let [better] = pipe.if_(
            seen,
            |p| {
                let old = self.load_key(p, row);
                let (first, second) = if self.kind == Kind::ArgMin { (key, old) } else { (old, key) };
                let before = compare_same(p, Compare::Lt, first, second);
                let equal = compare_same(p, Compare::Eq, key, old);
                // The values are compared only where the keys do not decide.
                let [less] = p.if_(
                    equal,
                    |p| {
                        let old = self.load(p, row);
                        Ok([compare_same(p, Compare::Before, value, old)])
                    },
                    |p| Ok([p.bool(false)]),
                )?;
                Ok([p.or(before, less)])
            },
            |p| Ok([p.bool(true)]),
        )?;
        pipe.when(better, |p| {
            Self::store_at(p, row, self.key_offset, key, keep);
            Self::store_at(p, row, self.offset, value, keep);
            self.mark_seen(p, row);
            Ok(())
        })
    }

    /// Takes the second row's value, if its key is better.
    pub(super) fn combine_value_at(&self, pipe: &mut Pipe, into: Var, from: Var) -> Result<()> {
        let seen = self.load_seen(pipe, from);
        pipe.when(seen, |p| {
            let pair = [self.load(p, from), self.load_key(p, from)];
            self.add_value_at(p, into, pair, None)
        })
    }
}
