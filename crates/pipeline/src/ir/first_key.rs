//! Which value of its source a sort of some of its rows orders by first, so that a source may leave out tuples that the sort would
//! only throw away.
//!
//! It may only where nobody can tell: where nothing between the two can fail, pauses, counts tuples or marks rows. A tuple that
//! is not looked at raises no error, and which ones are looked at depends on the schedule.

use std::collections::HashMap;

use super::{
    Block, Conversion, Inst, Literal, Operation, PipelineId, Program, SortState, Source, State, StateId, Var, Vectors,
};

/// The first key of a sort with a limit or an offset in terms of its pipeline's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstKey {
    /// The sort.
    pub state: StateId,
    /// Which of the columns of its table it is.
    pub column: usize,
    /// Whether all rows come to the sort that satisfy the predicates of the scan.
    pub of_all_found: bool,
    /// Whether all of the table's rows do.
    pub of_all_rows: bool,
    /// Whether no other rows come to the sort.
    pub of_no_others: bool,
}

impl FirstKey {
    /// That of a pipeline, if it ends in such a sort whose first key is a column of its table, and tuples may be left out.
    pub fn of(program: &Program, pipeline: PipelineId) -> Option<Self> {
        let pipeline = &program.pipelines[pipeline];
        let (Source::Table { predicates, columns, .. }, &[state]) = (&pipeline.source, &*pipeline.fills) else {
            return None;
        };
        let State::Sort(SortState { keys, partition: 0, limit, offset, .. }) = &program.states[state] else {
            return None;
        };
        if limit.is_none() && *offset == 0 {
            return None;
        }
        let key = keys.first()?;
        let vectors = pipeline.vectors.as_ref();
        if !is_harmless(&pipeline.body) || !vectors.is_none_or(Vectors::never_fail) {
            return None;
        }
        let made: HashMap<Var, &Operation> = pipeline.body.iter().filter_map(definition).collect();
        let stored = |at: u32| pipeline.body.iter().find_map(|inst| stored_at(inst, at));
        let column = column_of(&made, stored(key.offset)?)?;
        // What a scan may ask of an attribute, it asks of its values.
        if columns.get(column as usize).is_none_or(|c| c.is_length) {
            return None;
        }
        let is_flag = |flag: Var| match made.get(&flag) {
            Some(Operation::ColumnNull(of)) => *of == column,
            Some(Operation::Const(Literal::Bool(null))) => !null,
            _ => false,
        };
        if key.null.is_some_and(|flag| !stored(flag).is_some_and(is_flag)) {
            return None;
        }
        let is_filter = |inst: &Inst| matches!(inst, Inst::Filter(_));
        let all_are_delivered = vectors.is_none_or(|vectors| vectors.filter.is_none());
        let of_all_found = all_are_delivered && !pipeline.body.iter().any(is_filter);
        let of_all_rows = of_all_found && predicates.is_empty();
        let of_no_others = program.pipelines.iter().filter(|(_, other)| other.fills.contains(&state)).count() == 1;
        Some(Self { state, column: column as usize, of_all_found, of_all_rows, of_no_others })
    }
}

fn definition(inst: &Inst) -> Option<(Var, &Operation)> {
    match inst {
        Inst::Let { var, op } => Some((*var, op)),
        _ => None,
    }
}

/// What is stored at an offset of the pipeline's only row.
fn stored_at(inst: &Inst, at: u32) -> Option<Var> {
    match inst {
        Inst::Store { offset, value, .. } if *offset == at => Some(*value),
        _ => None,
    }
}

/// The column whose value this is, perhaps in a wider type.
fn column_of(made: &HashMap<Var, &Operation>, value: Var) -> Option<u32> {
    match made.get(&value)? {
        Operation::Column(column, _) => Some(*column),
        Operation::Convert(Conversion::Widen, narrow, ..) => column_of(made, *narrow),
        _ => None,
    }
}

/// Whether a block fails for no tuple and changes nothing but the sort's rows.
fn is_harmless(block: &Block) -> bool {
    block.iter().all(|inst| match inst {
        Inst::Let { op, .. } => op.never_fails(),
        Inst::Call { callee, .. } => callee.never_fails(),
        Inst::If { then, otherwise, .. } => is_harmless(then) && is_harmless(otherwise),
        Inst::Filter(_) | Inst::AllocRow { .. } | Inst::Store { .. } | Inst::Count(_) => true,
        // A batch that has paused in a generator is built again, of the same tuples.
        Inst::Match(_) | Inst::Repeat { .. } | Inst::Prefetch { .. } => false,
        // What a loop calls is not told apart.
        Inst::Loop { .. } => false,
        Inst::AddToSum { .. } | Inst::Fold(_) | Inst::Raise { .. } | Inst::Group { .. } | Inst::Output { .. } => false,
    })
}
