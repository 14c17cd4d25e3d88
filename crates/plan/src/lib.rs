//! Logical plans: operators over columns with query-wide unique ids, and expressions.
//!
//! A column is made once, by the operator that produces it, and named by its [`ColumnId`] wherever it is used; no
//! operator renumbers. So passes move operators and predicates without rewriting references, and a correlated reference
//! is just a column that the subplan does not produce.

mod arguments;
pub mod columns;
mod constructor;
mod copy;
pub mod eval;
pub mod expr;
pub mod index_join;
pub mod indexed;
pub mod node;
mod rounds;
pub mod text;
mod uses;
pub mod verify;
pub mod window;

pub use columns::{conjunction, disjunction, split_conjuncts, told_by_others};
pub use constructor::array_elements;
pub use expr::{
    AggregateCall, Compare, Each, Expr, ExprKind, NOTHING_TO_REDUCE, Quantifier, Reduced, Subquery, SubqueryKind,
};
pub use node::{BuildSide, JoinKind, Node, Op, SetOperation, SortKey};
pub use rounds::Rounds;
pub use uses::Uses;
pub use verify::verify;
pub use window::{Frame, FrameBound, FrameExclusion, FrameUnit, WindowCall};

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use base::IdMap;
use catalog::{Field, Statistics};
use types::SqlType;

base::typed_id!(/// A column of the query, produced by exactly one operator.
    ColumnId, "c");
base::typed_id!(/// A table or file that the query reads; each mention in FROM has its own.
    TableId, "t");
base::typed_id!(/// A common table expression that is computed once and read several times.
    CteId, "cte");
base::typed_id!(/// A use of an argument of the statement: a literal or parameter whose value the plan does not depend on.
    ArgumentId, "arg");

/// A query: its root, what its columns and tables are, and the names of its result columns.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every column.
    pub columns: IdMap<ColumnId, ColumnInfo>,
    /// Every table and file.
    pub tables: IdMap<TableId, TableInfo>,
    /// Materialised common table expressions; a later one may read an earlier one. Only what is computed anew in each round of
    /// a recursion, and the recursion itself, read a later one, that one's working table: see [`Plan::rounds`].
    pub ctes: IdMap<CteId, Cte>,
    /// The operator that produces the result.
    pub root: Node,
    /// Names and columns of the result, in order; a column may occur more than once.
    pub output: Vec<(String, ColumnId)>,
}

/// What is known of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// A name for people: the source column's, the alias's, or the expression's.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it can be NULL where it is produced (an outer join above makes it nullable there: see
    /// [`Node::nullable_columns`]).
    pub nullable: bool,
}

/// A table or file in FROM.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// For people.
    pub name: String,
    /// Its attributes in order.
    pub fields: Vec<Field>,
    /// Columns of its scan that are computed of others, for an index.
    pub computed: Vec<(ColumnId, Expr)>,
    /// What planning may know of it.
    pub statistics: Arc<dyn Statistics>,
    /// What the engine reads: a relation's snapshot or an opened file. Opaque to planning.
    pub source: TableSource,
}

/// An opaque handle of what the engine reads.
#[derive(Clone)]
pub struct TableSource(pub Arc<dyn Any + Send + Sync>);

impl Debug for TableSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableSource")
    }
}

/// A common table expression that is read more than once.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its name in the query.
    pub name: String,
    /// How it is computed; it has no correlated references.
    pub plan: Node,
    /// The columns of `plan` that readers may read.
    pub columns: Vec<ColumnId>,
}
