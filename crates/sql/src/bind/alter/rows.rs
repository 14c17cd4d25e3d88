//! The query that says what the rows of an altered table are, and fails if one of them must not be.

use base::{Error, Result, SqlState};
use catalog::Field;
use plan::{ColumnId, Expr, ExprKind, Node, Op, Plan};
use sqlparser::ast;
use types::SqlType;

use super::{Altered, Values};
use crate::bind::coerce::{assign, boolean};
use crate::bind::refusal::Refusal;
use crate::bind::scope::{Clause, Scope};
use crate::bind::written::within;
use crate::bind::{Binder, Bound, Output};
use crate::{ColumnDefinition, DomainColumn, ObjectName, Table};

impl Binder<'_> {
    /// The rows of the new relation; if the old one stays, a query that has to end well, if there is something to ask for.
    pub(super) fn rows_of_altered(&mut self, altered: &Altered<'_>, rewrites: bool) -> Result<Option<Plan>> {
        if !rewrites && altered.new_checks.is_empty() {
            return Ok(None);
        }
        self.at_level(|b| {
            let item = b.scan(altered.before.clone(), Some(altered.relation()), None)?;
            let Op::Scan { columns, .. } = &item.node.op else {
                return Err(Error::internal("a table is scanned"));
            };
            let attributes: Vec<ColumnId> = columns.iter().map(|(_, column)| *column).collect();
            let bound = b.values_of_altered(altered, item.node, &attributes, &item.scope)?;
            let table = altered.as_table(&b.domains_of_new(altered));
            let bound = b.written(bound, &table, &altered.table.name)?;
            let Bound { node, output } = b.with_computed(bound, (&table, &altered.table.name), &[])?;
            let branches = b.assertions_of_altered(altered, &table, &output)?;
            let node = match branches.is_empty() {
                true => node,
                false => {
                    let otherwise = Box::new(Expr::bool(true));
                    let holds = Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Bool);
                    Node::new(Op::Filter { input: Box::new(node), predicates: vec![holds] })
                }
            };
            let output = if rewrites { output } else { Vec::new() };
            b.plan.finish(Bound { node, output }).map(Some)
        })
    }

    /// The columns of domains whose values are new.
    fn domains_of_new(&self, altered: &Altered<'_>) -> Vec<DomainColumn> {
        let columns = altered.table.columns.iter().zip(&altered.values).enumerate();
        let new = columns.filter(|(_, (_, values))| !matches!(values, Values::Of(_)));
        new.filter_map(|(attribute, (column, _))| {
            let (schema, name) = column.domain.clone()?;
            let name = ObjectName { schema: Some(schema), name, position: None };
            let (name, domain) = self.resolver.domain(&name)?;
            Some(DomainColumn { attribute, name, domain })
        })
        .collect()
    }

    fn values_of_altered(
        &mut self,
        altered: &Altered<'_>,
        node: Node,
        attributes: &[ColumnId],
        scope: &Scope,
    ) -> Result<Bound> {
        let (mut output, mut computed) = (Vec::new(), Vec::new());
        for (column, values) in altered.table.columns.iter().zip(&altered.values) {
            let value = match *values {
                Values::Of(attribute) => {
                    output.push(Output { name: column.name.clone(), column: attributes[attribute], literal: None });
                    continue;
                }
                Values::Converted(attribute, using) => {
                    let reference = self.plan.reference(attributes[attribute]);
                    self.converted(reference, using, column, scope)?
                }
                Values::Filling => self.filling(&column.filling, &column.name, column.sql_type)?,
            };
            let id = self.plan.column_for(&column.name, &value);
            computed.push((id, value));
            output.push(Output { name: column.name.clone(), column: id, literal: None });
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(Bound { node, output })
    }

    /// The values of a column in its new type.
    fn converted(
        &mut self,
        value: Expr,
        using: Option<&ast::Expr>,
        column: &ColumnDefinition,
        scope: &Scope,
    ) -> Result<Expr> {
        let ColumnDefinition { name, sql_type, .. } = column;
        let value = match using {
            Some(using) => self.expr_in(using, Clause::Where, scope.clone())?,
            None => value,
        };
        if value.has_subquery() {
            let message = "cannot use subquery in transform expression";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(value.position));
        }
        assign(value, *sql_type, name).map_err(|error| match error.state() {
            SqlState::DATATYPE_MISMATCH if using.is_some() => {
                let message = format!(
                    "result of USING clause for column \"{name}\" cannot be cast automatically to type {sql_type}"
                );
                Error::new(SqlState::DATATYPE_MISMATCH, message).hint("You might need to add an explicit cast.")
            }
            SqlState::DATATYPE_MISMATCH => {
                let message = format!("column \"{name}\" cannot be cast automatically to type {sql_type}");
                Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .hint(format!("You might need to specify \"USING {name}::{sql_type}\"."))
            }
            _ => error,
        })
    }

    /// What a row must not be, each with its error.
    fn assertions_of_altered(
        &mut self,
        altered: &Altered<'_>,
        table: &Table,
        row: &[Output],
    ) -> Result<Vec<(Expr, Expr)>> {
        let relation = altered.relation();
        let refused = |message: String| Refusal::default().about_table(&altered.table.name).saying(message);
        let mut branches = Vec::new();
        for (column, output) in altered.table.columns.iter().zip(row) {
            if !column.nullable && self.plan.is_nullable_column(output.column) {
                let is_null = ExprKind::IsNull(Box::new(self.plan.reference(output.column)));
                let message = format!("column \"{}\" of relation \"{relation}\" contains null values", column.name);
                let refused = refused(message).about("column_name", &column.name).with(SqlState::NOT_NULL_VIOLATION);
                branches.push((Expr::new(is_null, SqlType::Bool), refused));
            }
        }
        let all = altered.values.iter().any(|values| matches!(values, Values::Converted(..)));
        let scope = self.row_scope(row, table, &altered.table.name);
        for check in &altered.table.checks {
            let name = &check.name;
            // A condition that does not fit a new type is found even if there is no row.
            if !all && !altered.new_checks.contains(name) {
                continue;
            }
            let condition = self.kept_text(&check.sql, Clause::Check, scope.clone(), |_, c| boolean(c, "CHECK"));
            let condition = condition.map_err(|e| within(e, &format!("in the check constraint \"{name}\"")))?;
            let is_false = Expr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool);
            let message = format!("check constraint \"{name}\" of relation \"{relation}\" is violated by some row");
            let refused = refused(message).about("constraint_name", name);
            branches.push((is_false, refused.with(SqlState::CHECK_VIOLATION)));
        }
        Ok(branches)
    }
}

impl Altered<'_> {
    /// What rows are written to. What must hold of them is asked otherwise.
    fn as_table(&self, domains: &[DomainColumn]) -> Table {
        let field = |c: &ColumnDefinition| Field { name: c.name.clone(), sql_type: c.sql_type, nullable: c.nullable };
        let domains = domains.to_vec();
        Table {
            fields: self.table.columns.iter().map(field).collect(),
            foreign_keys: Vec::new(),
            computed: self.table.computed.clone(),
            fillings: self.table.columns.iter().map(|c| c.filling.clone()).collect(),
            checks: Vec::new(),
            domains,
            kin: None,
            ..self.before.clone()
        }
    }
}
