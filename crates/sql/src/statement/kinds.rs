//! What statements choose among: forms of EXPLAIN, kinds of objects.

/// Which form EXPLAIN shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplainStage {
    /// The plan as bound.
    Logical,
    /// The optimized plan, for people.
    Plain,
    /// The optimized plan, as a document of JSON.
    Json,
    /// The optimized plan, complete.
    Optimized,
    /// Pipelines and their dependencies.
    Pipelines,
    /// The pipelines' IR.
    Ir,
    /// Machine code.
    Asm,
    /// What each worker did when, drawn.
    Trace,
}

/// What DROP drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A view whose rows are stored.
    MaterializedView,
    /// A sequence.
    Sequence,
    /// A schema with what is in it.
    Schema,
    /// An index.
    Index,
    /// A type.
    Type,
    /// A domain.
    Domain,
    /// A collation.
    Collation,
}
