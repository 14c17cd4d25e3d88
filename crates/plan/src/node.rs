//! Logical operators. What each is made of (inputs, expressions, columns) is in [`shape`], for all passes at once.

mod shape;

use crate::{AggregateCall, ColumnId, CteId, Expr, TableId, WindowCall};

/// An operator with its inputs and the optimizer's estimate of its result.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Estimated number of rows; NaN before estimation.
    pub rows: f64,
}

/// What an operator does. Bag semantics throughout; only `Sort` and `Limit` speak of order.
#[derive(Clone, Debug)]
pub enum Op {
    /// Reads a table or file: `columns` says which attribute becomes which column; `predicates` (conjuncts over these
    /// columns, filled by push-down) hold for every row that leaves.
    Scan {
        /// Which table.
        table: TableId,
        /// (attribute of the table, column), only those that are needed once columns are pruned.
        columns: Vec<(usize, ColumnId)>,
        /// Conjuncts.
        predicates: Vec<Expr>,
    },
    /// Reads a materialised common table expression under columns of its own.
    CteScan {
        /// Which.
        cte: CteId,
        /// (column of the definition, column here).
        columns: Vec<(ColumnId, ColumnId)>,
    },
    /// Rows given in the query: constant expressions, one per column. No columns and one row: `SELECT` without FROM.
    Values {
        /// Produced columns.
        columns: Vec<ColumnId>,
        /// Each as long as `columns`.
        rows: Vec<Vec<Expr>>,
    },
    /// Rows for which every conjunct is true.
    Filter {
        /// Input.
        input: Box<Node>,
        /// Conjuncts.
        predicates: Vec<Expr>,
    },
    /// Adds computed columns to those of the input.
    Map {
        /// Input.
        input: Box<Node>,
        /// New columns; they see the input's columns only, not each other.
        columns: Vec<(ColumnId, Expr)>,
    },
    /// A join. `left` is the outer side of `Left`, `Semi`, `Anti`, `Mark`, `Single`. As long as the right side refers to
    /// columns of the left side it is a dependent join; unnesting removes these.
    Join {
        /// Its kind.
        kind: JoinKind,
        /// Left input.
        left: Box<Node>,
        /// Right input.
        right: Box<Node>,
        /// Conjuncts over both sides; none: a cross product.
        condition: Vec<Expr>,
        /// Which side's rows go into the hash table; set by the optimizer's last pass.
        build: BuildSide,
    },
    /// Grouping. Without groups there is exactly one result row.
    Aggregate {
        /// Input.
        input: Box<Node>,
        /// Group keys: NULLs are equal.
        groups: Vec<(ColumnId, Expr)>,
        /// Aggregates.
        aggregates: Vec<(ColumnId, AggregateCall)>,
    },
    /// Duplicate elimination over `columns`, which alone survive, under their own ids; NULLs are equal.
    Distinct {
        /// Input.
        input: Box<Node>,
        /// What must differ, and what is produced.
        columns: Vec<ColumnId>,
    },
    /// ORDER BY, with LIMIT and OFFSET if they directly follow.
    Sort {
        /// Input.
        input: Box<Node>,
        /// Most significant first.
        keys: Vec<SortKey>,
        /// At most so many rows.
        limit: Option<u64>,
        /// After so many are left out.
        offset: u64,
    },
    /// LIMIT and OFFSET without an order.
    Limit {
        /// Input.
        input: Box<Node>,
        /// At most so many rows.
        limit: Option<u64>,
        /// After so many are left out.
        offset: u64,
    },
    /// LIMIT and OFFSET for each group of rows that agree in the `partition` columns (NULLs are equal), in the order of
    /// `keys`: DISTINCT ON, and LIMIT in a correlated subquery. The result has no order.
    GroupLimit {
        /// Input.
        input: Box<Node>,
        /// What makes a group.
        partition: Vec<ColumnId>,
        /// The order inside of a group, most significant first; none: any rows will do.
        keys: Vec<SortKey>,
        /// At most so many rows of each group.
        limit: Option<u64>,
        /// After so many of it are left out.
        offset: u64,
    },
    /// Adds a column for each window function (thesis chapter 5). Each row of the input leaves once; the result has no order.
    Window {
        /// Input.
        input: Box<Node>,
        /// By what rows are ordered, most significant first; each function is partitioned by a prefix of these.
        keys: Vec<SortKey>,
        /// What is computed.
        functions: Vec<(ColumnId, WindowCall)>,
    },
    /// Each row as often as an expression says, which is not at all if it is NULL or below 1: unnested arrays, and series of a
    /// row's bounds.
    Repeat {
        /// Input.
        input: Box<Node>,
        /// How often, a bigint.
        times: Box<Expr>,
        /// Which of its row's copies each is, from 1: a bigint, never NULL.
        number: ColumnId,
    },
    /// UNION, INTERSECT, EXCEPT of n inputs (thesis 4.5.5). Column i of each input becomes `columns[i]`; the types agree.
    /// EXCEPT subtracts all later inputs from the first.
    SetOp {
        /// Which.
        operation: SetOperation,
        /// Whether duplicates count (`ALL`).
        all: bool,
        /// The inputs and their columns, position by position.
        inputs: Vec<(Node, Vec<ColumnId>)>,
        /// Produced columns.
        columns: Vec<ColumnId>,
    },
    /// WITH RECURSIVE: the rows of the first input, then those that the second one makes of the rows that the round before has
    /// added, until a round adds none. The root of the definition of `cte`, whose scan inside of the second input is that of
    /// these rows: its working table. Column i of each input becomes `columns[i]`; the types agree.
    Recursion {
        /// What it defines.
        cte: CteId,
        /// Whether duplicates count (`UNION ALL`); else a row is added once, in all rounds together.
        all: bool,
        /// The term that is not recursive, then the recursive one, with their columns.
        inputs: Vec<(Node, Vec<ColumnId>)>,
        /// Produced columns.
        columns: Vec<ColumnId>,
    },
}

/// The kinds of join.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinKind {
    /// Every pair that satisfies the condition.
    Inner,
    /// And every left row without partner, the right columns NULL.
    Left,
    /// And every right row without partner, the left columns NULL.
    Right,
    /// Both.
    Full,
    /// Left rows with a partner.
    Semi,
    /// Left rows for which no right row makes the condition true.
    Anti,
    /// Every left row with a new boolean column: true if some right row makes the condition true, else NULL if for some
    /// right row it is NULL, else false (IN, ANY, EXISTS outside of plain conjuncts).
    Mark(ColumnId),
    /// Every left row once, with its only partner or NULLs; a second partner is error 21000 (scalar subqueries).
    Single,
}

impl JoinKind {
    /// Whether the right side's columns leave the join.
    pub fn keeps_right(&self) -> bool {
        matches!(self, Self::Inner | Self::Left | Self::Right | Self::Full | Self::Single)
    }
}

/// Which input of a join is materialised in the hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BuildSide {
    /// The left input.
    Left,
    /// The right input.
    #[default]
    Right,
}

/// Set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

/// One key of ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What to order by.
    pub expr: Expr,
    /// From high to low.
    pub descending: bool,
    /// Where NULLs go (PostgreSQL: last if ascending, first if descending, unless said otherwise).
    pub nulls_first: bool,
}

impl Node {
    /// A node that is not estimated yet.
    pub fn new(op: Op) -> Self {
        Self { op, rows: f64::NAN }
    }

    /// Columns that can be NULL in this operator's result although the expressions that made them cannot: those that an
    /// outer or single join below pads.
    pub fn nullable_columns(&self) -> Vec<ColumnId> {
        let mut padded = Vec::new();
        self.each_padded(&mut |c| padded.push(c));
        padded
    }

    fn each_padded(&self, visit: &mut dyn FnMut(ColumnId)) {
        match &self.op {
            // What they produce is their own.
            Op::Scan { .. }
            | Op::CteScan { .. }
            | Op::Values { .. }
            | Op::Aggregate { .. }
            | Op::SetOp { .. }
            | Op::Recursion { .. } => {}
            Op::Distinct { input, columns } => input.each_padded(&mut |c| {
                if columns.contains(&c) {
                    visit(c);
                }
            }),
            Op::Filter { input, .. }
            | Op::Map { input, .. }
            | Op::Sort { input, .. }
            | Op::Limit { input, .. }
            | Op::GroupLimit { input, .. }
            | Op::Repeat { input, .. }
            | Op::Window { input, .. } => input.each_padded(visit),
            Op::Join { kind, left, right, .. } => {
                match kind {
                    JoinKind::Right | JoinKind::Full => left.each_column(visit),
                    _ => left.each_padded(visit),
                }
                match kind {
                    JoinKind::Left | JoinKind::Full | JoinKind::Single => right.each_column(visit),
                    _ if kind.keeps_right() => right.each_padded(visit),
                    _ => {}
                }
            }
        }
    }
}
