//! RETURNING: what a statement gives back of the rows that it has changed.

use base::{Error, Result, SqlState};
use plan::{ColumnId, Node, Op};
use sqlparser::ast;
use sqlparser::parser::Parser;

use crate::bind::scope::{Clause, Level, Relation, Scope, ScopeColumn};
use crate::bind::{Binder, Bound, Output};
use crate::dialect::MorselDialect;

impl Binder<'_> {
    /// The items over the row that is written, in the place of the table's own `columns` in the scope of the level.
    pub(super) fn returning(
        &mut self,
        node: Node,
        columns: &[ColumnId],
        row: &[Output],
        items: &[ast::SelectItem],
    ) -> Result<Bound> {
        let scope = std::mem::take(&mut self.names.level().scope);
        self.names.level().scope = scope.with_columns(columns, row);
        self.names.level().clause = Clause::Returning;
        let mut select = any_select()?;
        select.projection = items.to_vec();
        let items = self.select_list(&select)?;
        if !self.names.level().unnested.is_empty() {
            let message = "set-returning functions are not allowed in RETURNING";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let mut computed = Vec::new();
        let mut output = Vec::new();
        for item in items {
            let column = match item.expr.as_column() {
                Some(column) => column,
                None => {
                    let column = self.plan.column_for(&item.name, &item.expr);
                    computed.push((column, item.expr));
                    column
                }
            };
            output.push(Output { name: item.name, column, literal: None });
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(self.plan.with_known_types(Bound { node, output }))
    }

    /// The same of rows that are inserted, in a level of their own.
    pub(in crate::bind) fn returning_inserted(
        &mut self,
        node: Node,
        name: &str,
        row: &[Output],
        items: &[ast::SelectItem],
    ) -> Result<Bound> {
        let columns = row.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let scope = Scope::of(Relation { name: Some(name.to_owned()), columns, value: None });
        self.names.levels.push(Level { scope, ..Level::new(Clause::Returning) });
        let bound = self.returning(node, &[], &[], items);
        self.names.levels.pop();
        bound
    }
}

/// A SELECT whose list can be replaced.
fn any_select() -> Result<ast::Select> {
    let wrong = || Error::internal("a SELECT that does not parse");
    let mut parser = Parser::new(&MorselDialect).try_with_sql("select 1 from t").map_err(|_| wrong())?;
    match *parser.parse_query().map_err(|_| wrong())?.body {
        ast::SetExpr::Select(select) => Ok(*select),
        _ => Err(wrong()),
    }
}
