//! Expressions, computed by instructions that are added to a pipe. Nothing here knows operators, states or other pipes: a
//! method sees the pipe that it is given, and what all pipes of the program share.

mod arithmetic;
mod calendar;
mod cast;
mod compare;
mod each;
mod function;
mod period;
mod range;
mod rounding;
mod scalar;

use std::collections::HashMap;

use base::{IdMap, Result};
use plan::{ArgumentId, ColumnId, Expr};
use types::{SqlType, Value};

use super::pipe::{Binding, Pipe};
use crate::ir::{Inst, Param, ParamId, Site, SiteId};
pub(super) use arithmetic::check_precision;
pub(super) use compare::{compare_same, flag};
pub use range::source_column;
pub(super) use range::{Range, number};

/// What expressions add to a program, and what is known of columns.
#[derive(Default)]
pub(super) struct Expressions {
    params: IdMap<ParamId, Param>,
    sites: IdMap<SiteId, Site>,
    /// Bounds of integer, decimal and date columns, in their scaled representation.
    ranges: HashMap<ColumnId, Range>,
}

impl Expressions {
    /// Computes a column and binds it; gives what it was bound to before.
    pub fn define(&mut self, pipe: &mut Pipe, column: ColumnId, expr: &Expr) -> Result<Option<Binding>> {
        base::statement::check()?;
        self.note_range(column, expr);
        let sql = self.scalar(pipe, expr)?;
        Ok(pipe.bindings.insert(column, Binding::Ready(sql)))
    }

    /// Lets only tuples through for which every conjunct is true.
    pub fn filter(&mut self, pipe: &mut Pipe, predicates: &[Expr]) -> Result<()> {
        for predicate in predicates {
            pipe.open_trial();
            let condition = self.truth(pipe, predicate);
            let block = pipe.close_trial();
            let condition = condition?;
            if !pipe.filtered(&block, condition) {
                pipe.append(block);
                pipe.push(Inst::Filter(condition));
            }
            // Rows are dropped: the order holds, but positions do not, so a LIMIT above cannot move into the sort.
            pipe.ordered_by = None;
        }
        Ok(())
    }

    /// The column is the expression: its bounds are the expression's.
    pub fn note_range(&mut self, column: ColumnId, expr: &Expr) {
        if let Some(range) = self.range(expr) {
            self.ranges.insert(column, range);
        }
    }

    /// The column's bounds are those.
    pub fn set_range(&mut self, column: ColumnId, range: Range) {
        self.ranges.insert(column, range);
    }

    /// The bounds of a column, if they are known.
    pub fn range_of(&self, column: ColumnId) -> Option<Range> {
        self.ranges.get(&column).copied()
    }

    /// The program's parameters and call sites.
    pub fn into_parts(self) -> (IdMap<ParamId, Param>, IdMap<SiteId, Site>) {
        (self.params, self.sites)
    }

    /// A constant.
    pub fn param(&mut self, value: &Value, sql_type: SqlType) -> ParamId {
        self.params.push(Param::Value(value.clone(), sql_type))
    }

    /// An argument of the statement.
    pub fn argument(&mut self, argument: ArgumentId, value: &Value, sql_type: SqlType) -> ParamId {
        self.params.push(Param::Argument(argument, value.clone(), sql_type))
    }

    fn site(&mut self, site: Site) -> SiteId {
        self.sites.push(site)
    }
}
