//! WITH that changes data or locks rows: each of its queries and changes is a statement of its own, whose rows the others read as a table. All
//! are bound together, so that all see what was there before.

use std::rc::Rc;

use base::{Error, Result, SqlState};
use catalog::Field;
use sqlparser::ast::{self, SetExpr};

use super::parts::PlanBuilder;
use super::prepared::rows_of;
use super::query::{Counter, in_order};
use super::scope::{CteBinding, PartRows, Relation, ScopeColumn};
use super::statement::fields;
use super::{Binder, Bound, Output, fold, locking_within};
use crate::parse::{changes, read_locks};
use crate::{Outcome, Statement, With, WithPart};

impl Binder<'_> {
    /// A statement whose WITH changes data, or locks rows.
    pub(super) fn changing_with(&mut self, query: &ast::Query, text: &str) -> Result<Statement> {
        let Some(with) = &query.with else { return Err(Error::internal("a WITH that is not there")) };
        let counts = Counter::of_query(query);
        let mut parts = Vec::new();
        for cte in in_order(with, &self.text)? {
            let name = fold(&cte.alias.name);
            let position = self.text.at(&cte.alias.name);
            self.check_new_name(&name, 0, position)?;
            let own = if with.recursive { Counter::of_query(&cte.query).of(&name) } else { 0 };
            let is_read = counts.of(&name) > own;
            let visible = self.names.environment.len();
            let is_change = changes(&cte.query.body);
            if is_change && own > 0 {
                let message = format!("recursive query \"{name}\" must not contain data-modifying statements");
                return Err(Error::new(SqlState::INVALID_RECURSION, message).at(position));
            }
            let mut binding = CteBinding {
                name: name.clone(),
                columns: cte.alias.columns.iter().map(|c| c.name.clone()).collect(),
                query: Rc::new((*cte.query).clone()),
                levels: 0,
                visible,
                inline: own == 0,
                recursive: own > 0,
                recursing: None,
                materialised: None,
                part: None,
            };
            let (statement, rows) = if is_change {
                let statement = self.change_of(&cte.query, text)?;
                self.names.environment.truncate(visible);
                let rows = match &statement {
                    Statement::Change(change) => change.returning.clone(),
                    Statement::With(with) => with.fields(),
                    _ => None,
                };
                (statement, rows)
            } else if !cte.query.locks.is_empty() {
                let locking = self.locking(&cte.query, &read_locks(&cte.query.locks));
                let statement = locking.map_err(|e| locking_within::told(e, &name))?;
                self.names.environment.truncate(visible);
                let rows = rows_of(&statement);
                (statement, Some(rows))
            } else {
                self.names.environment.push(binding);
                let item = self.common_table(visible, None, position)?;
                let Some(bound) = self.names.environment.pop() else { return Err(Error::internal("a WITH is gone")) };
                binding = bound;
                let output = item.scope.visible.into_iter();
                let output = output.map(|c| Output { name: c.name, column: c.column, literal: None }).collect();
                let plan = self.plan.finish(Bound { node: item.node, output })?;
                let rows = fields(&plan);
                (Statement::Query(plan), Some(rows))
            };
            self.plan = PlanBuilder::default();
            let rows = rows.map(|rows| self.named_fields(&binding, rows)).transpose()?;
            let number = self.next_part();
            binding.part = Some(PartRows { number, fields: rows.clone() });
            self.names.environment.push(binding);
            if is_read || is_change {
                parts.push(WithPart { name, number, statement, fields: rows.unwrap_or_default(), is_read });
            }
        }
        let then = match query.body.as_ref() {
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) => {
                self.standard(change, text)?
            }
            _ => {
                let bound = self.query_body(query)?;
                let bound = self.plan.with_known_types(bound);
                Statement::Query(self.plan.finish(bound)?)
            }
        };
        let then = Outcome::Of(Box::new(then));
        Ok(Statement::With(Box::new(With { parts, then })))
    }

    /// INSERT, UPDATE, DELETE or MERGE with a WITH of its own, which changes nothing.
    pub(super) fn change_of(&mut self, query: &ast::Query, text: &str) -> Result<Statement> {
        self.with_clause(query)?;
        match query.body.as_ref() {
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) => {
                self.standard(change, text)
            }
            _ => Err(Error::internal("a change that is none")),
        }
    }

    /// The columns by the names that WITH gives them.
    fn named_fields(&mut self, binding: &CteBinding, fields: Vec<Field>) -> Result<Vec<Field>> {
        let named = |field: &Field| {
            let info = plan::ColumnInfo { name: field.name.clone(), sql_type: field.sql_type, nullable: true };
            ScopeColumn { name: field.name.clone(), column: self.plan.columns.push(info) }
        };
        let columns = fields.iter().map(named).collect();
        let mut relation = Relation { name: Some(binding.name.clone()), columns, ..Relation::default() };
        self.plan = PlanBuilder::default();
        self.text.rename_columns(&mut relation, &binding.columns.iter().collect::<Vec<_>>())?;
        let renamed = fields.into_iter().zip(relation.columns);
        Ok(renamed.map(|(field, column)| Field { name: column.name, ..field }).collect())
    }
}

impl With {
    /// The columns of its rows, if it gives any.
    fn fields(&self) -> Option<Vec<Field>> {
        match &self.then {
            Outcome::Of(then) => match &**then {
                Statement::Query(plan) => Some(fields(plan)),
                Statement::Change(change) => change.returning.clone(),
                Statement::With(with) => with.fields(),
                _ => None,
            },
            Outcome::Counted(..) => None,
        }
    }
}
