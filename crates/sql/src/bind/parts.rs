//! What the binder knows, in parts: where things stand in the text, the plan as far as it is made, the limits; what names
//! mean is in `scope`, the arguments are in `argument`. A method of one of them touches nothing else.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Error, IdMap, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Cte, CteId, Expr, Node, Op, Plan, TableId, TableInfo};
use sqlparser::ast::Ident;
use types::{Collation, SqlType};

use super::coerce::cast_to;
use super::registered_kind::kind_of;
use super::row_id::{self, RowIds};
use super::{Bound, collation, copies, inferred};
use crate::position::Positions;
use crate::{ObjectName, Registered};

/// Deepest nesting of expressions and queries (views included).
const MAX_DEPTH: usize = 450;
/// Deepest plan; see [`Plan::depth`].
const MAX_PLAN_DEPTH: usize = 10_000;
/// Most expressions to bind, besides eight for each byte of the text.
const MAX_WORK: usize = 200_000;
/// Deepest nesting of views.
const MAX_VIEWS: usize = 32;

/// Where the parts of the syntax stand in the statement's text.
pub(super) struct Text<'a> {
    /// None inside of a view, whose text the user did not write.
    pub positions: Option<&'a Positions>,
}

/// The plan as far as it is made: what its operators refer to.
#[derive(Clone, Default)]
pub(super) struct PlanBuilder {
    pub columns: IdMap<ColumnId, ColumnInfo>,
    pub tables: IdMap<TableId, TableInfo>,
    pub ctes: IdMap<CteId, Cte>,
    /// Columns that some outer join pads with NULLs.
    pub padded: HashSet<ColumnId>,
    /// Series, with their values, and whether these become less.
    pub series: HashMap<TableId, (ColumnId, bool)>,
    /// Columns of VALUES that number their rows.
    pub numbers: HashSet<ColumnId>,
    /// Columns of numbers that are shown as names.
    pub registered: HashMap<ColumnId, Registered>,
    /// Tables whose rows are stored, in an order.
    pub stored: HashSet<TableId>,
    /// Stored tables, with the ids of their rows.
    pub row_ids: HashMap<TableId, RowIds>,
    /// Columns of tables that have a collation.
    pub collations: HashMap<ColumnId, Arc<Collation>>,
    /// Whether COLLATE is written somewhere.
    pub says_collate: bool,
}

/// How much of the statement may still come.
pub(super) struct Limits {
    depth: usize,
    /// How many views are around the current place.
    views: usize,
    /// Whether one of them is everybody's.
    pub in_shared_view: bool,
    /// Expressions that may still be bound.
    work: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 0, views: 0, in_shared_view: false, work: MAX_WORK }
    }
}

impl Limits {
    /// One level deeper, unless that is too deep.
    pub fn enter(&mut self) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return Err(crate::parse::too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// How many expressions may still come.
    pub fn left(&self) -> usize {
        self.work
    }

    /// That many expressions more.
    pub fn allow(&mut self, work: usize) {
        self.work += work;
    }

    /// One expression. Views and common table expressions are bound wherever they are read: nested, that could go on for
    /// ever. A statement that is cancelled gets no further.
    pub fn spend(&mut self) -> Result<()> {
        base::statement::check()?;
        self.work = self.work.checked_sub(1).ok_or_else(|| {
            Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too complex")
                .detail("what it reads of views and WITH, taken together, is too much")
                .hint("materialise parts of it with CREATE TABLE AS")
        })?;
        Ok(())
    }

    /// Into a view, unless that is too deep.
    pub fn enter_view(&mut self, name: &ObjectName) -> Result<()> {
        if self.views >= MAX_VIEWS {
            let message = format!("views are nested more than {MAX_VIEWS} deep at \"{name}\"");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.views += 1;
        Ok(())
    }

    pub fn leave_view(&mut self) {
        self.views -= 1;
    }

    /// Whether what is bound is not the statement's own text.
    pub fn in_view(&self) -> bool {
        self.views > 0
    }
}

impl Text<'_> {
    /// Byte offset of an identifier.
    pub fn at(&self, ident: &Ident) -> Option<u32> {
        self.positions.and_then(|p| p.ident(ident))
    }

    /// Byte offset where a span starts.
    pub fn span(&self, span: sqlparser::tokenizer::Span) -> Option<u32> {
        self.positions.and_then(|p| p.start(span))
    }
}

impl PlanBuilder {
    /// The plan of everything bound so far.
    pub fn finish(&mut self, bound: Bound) -> Result<Plan> {
        // Columns and tables of what is bound next have the same numbers.
        let Self { columns, tables, ctes, collations, says_collate, row_ids, .. } = std::mem::take(self);
        let mut plan = Plan {
            columns,
            tables,
            ctes,
            root: bound.node,
            output: bound.output.into_iter().map(|o| (o.name, o.column)).collect(),
        };
        row_id::scan(&mut plan, row_ids);
        if says_collate || !collations.is_empty() {
            collation::resolve(&mut plan, &collations)?;
        }
        copies::apart(&mut plan);
        if plan.depth() > MAX_PLAN_DEPTH {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too complex")
                .detail(format!("its expressions, taken together, nest more than {MAX_PLAN_DEPTH} deep"))
                .hint("split it with CREATE TABLE AS"));
        }
        Ok(plan)
    }

    /// Output columns without a type (literals, bare NULLs) become text.
    pub fn with_known_types(&mut self, bound: Bound) -> Bound {
        // A literal of the select list is a text already, and so is a parameter.
        for literal in bound.output.iter().filter_map(|o| o.literal.as_ref()) {
            inferred::is_text(literal);
        }
        let types: Vec<SqlType> = bound
            .output
            .iter()
            .map(|o| match self.columns[o.column].sql_type {
                SqlType::Null => SqlType::Text,
                known => known.closed(),
            })
            .collect();
        self.with_types(bound, &types).expect("every literal is a text")
    }

    /// The query with its output cast to `types`, one for each column.
    pub fn with_types(&mut self, bound: Bound, types: &[SqlType]) -> Result<Bound> {
        let Bound { mut node, mut output } = bound;
        let mut computed = Vec::new();
        for (output, &to) in output.iter_mut().zip(types) {
            let from = self.columns[output.column].sql_type;
            if from == to {
                continue;
            }
            let expr = match output.literal.take() {
                Some(literal) => literal,
                None => Expr::column(output.column, from),
            };
            let expr = cast_to(expr, to)?;
            let column = self.column_for(&output.name, &expr);
            computed.push((column, expr));
            output.column = column;
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        Ok(Bound { node, output })
    }

    /// A new column that holds the value of `expr`.
    pub fn column_for(&mut self, name: &str, expr: &Expr) -> ColumnId {
        let nullable = self.is_nullable(expr);
        let column = self.columns.push(ColumnInfo { name: name.to_owned(), sql_type: expr.sql_type, nullable });
        if let Some(kind) = kind_of(expr, &self.registered) {
            self.registered.insert(column, kind);
        }
        column
    }

    pub fn is_nullable(&self, expr: &Expr) -> bool {
        expr.is_nullable(&|c| self.is_nullable_column(c))
    }

    pub fn is_nullable_column(&self, column: ColumnId) -> bool {
        self.columns[column].nullable || self.padded.contains(&column)
    }

    pub fn reference(&self, column: ColumnId) -> Expr {
        Expr::column(column, self.columns[column].sql_type)
    }
}

impl PlanBuilder {
    /// The scan of a table gives the ids of its rows, for a statement that changes or locks them: their column.
    pub fn scan_row_ids(&mut self, table: TableId, columns: &mut Vec<(usize, ColumnId)>) -> Result<ColumnId> {
        let own = self.own_row_id(table).ok_or_else(|| {
            Error::new(SqlState::WRONG_OBJECT_TYPE, "cannot change what is no table")
                .hint("it is a view of the system, or a file")
        })?;
        row_id::give(&mut self.tables[table], columns, own);
        Ok(own)
    }

    /// A column with the ids of a table's rows as values, if it is a stored one.
    pub fn row_id(&mut self, table: TableId) -> Option<ColumnId> {
        self.own_row_id(table)?;
        let ids = self.row_ids.get_mut(&table)?;
        let columns = &mut self.columns;
        // Outer joins may pad it.
        Some(*ids.copy.get_or_insert_with(|| columns.push(ColumnInfo { nullable: true, ..row_id::info("ctid") })))
    }

    fn own_row_id(&mut self, table: TableId) -> Option<ColumnId> {
        let ids = self.row_ids.get_mut(&table)?;
        let columns = &mut self.columns;
        Some(*ids.own.get_or_insert_with(|| columns.push(row_id::info("row id"))))
    }
}
