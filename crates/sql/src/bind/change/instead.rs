//! INSTEAD OF triggers: what a statement would do to the rows of a view, functions do in its place.

use base::{Error, Result};
use catalog::{Event, Timing};
use plan::{ColumnId, Node, Op};
use sqlparser::ast::{self, TableFactor, TableWithJoins};

use crate::bind::insert::Target;
use crate::bind::{Binder, Bound, Output, fold, row_type};
use crate::{Instead, ObjectName, Resolved, Statement, Table};

impl Binder<'_> {
    /// The view of that name as a table without rows, if triggers do what happens to it.
    pub(in crate::bind) fn instead_of(&mut self, name: &ObjectName, event: Event) -> Result<Option<Table>> {
        let Resolved::View { triggers, .. } = self.resolver.table(name).map_err(|e| e.at(name.position))? else {
            return Ok(None);
        };
        if !triggers.iter().any(|trigger| trigger.timing == Timing::InsteadOf && trigger.is_for(event, &[])) {
            return Ok(None);
        }
        let parts: Vec<String> = name.schema.iter().cloned().chain([name.name.clone()]).collect();
        let fields = row_type(self.resolver, &parts)?;
        let table = self.resolver.rows_of_part(0, fields)?;
        Ok(Some(Table { name: name.name.clone(), triggers, ..table }))
    }

    /// The same for what FROM or UPDATE names, and its name.
    pub(super) fn view_instead(&mut self, factor: &TableFactor, event: Event) -> Result<Option<(Table, ObjectName)>> {
        let TableFactor::Table { name, args: None, .. } = factor else { return Ok(None) };
        let name = self.text.object_name(name)?;
        Ok(self.instead_of(&name, event)?.map(|table| (table, name)))
    }

    /// INSERT into such a view.
    pub(in crate::bind) fn insert_instead(
        &mut self,
        bound: Bound,
        targets: &[Target],
        (table, name): (&Table, &ObjectName),
        insert: &ast::Insert,
    ) -> Result<Statement> {
        let bound = self.filled(bound, targets, table)?;
        let alias = insert.table_alias.as_ref().map_or_else(|| name.name.clone(), |alias| fold(&alias.alias));
        self.instead(bound, (table, name), Event::Insert, None, (&alias, insert.returning.as_deref()))
    }

    /// UPDATE of such a view.
    pub(super) fn update_instead(
        &mut self,
        update: &ast::Update,
        (factor, others): (&TableFactor, &[TableWithJoins]),
        (table, name): (&Table, &ObjectName),
    ) -> Result<Statement> {
        let (node, columns) = self.rows_of_factor(factor, others, update.selection.as_ref())?;
        let assigned = self.assigned(&update.assignments, (table, name), &columns)?;
        let (node, values) = assigned.joined(node, None);
        let (mut output, mut computed) = (self.row_of(table, &columns), Vec::new());
        for (attribute, value) in values {
            let column = self.plan.column_for(&table.fields[attribute].name, &value);
            computed.push((column, value));
            output[attribute].column = column;
        }
        let node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        let alias = alias_of(factor, name);
        let bound = Bound { node, output };
        self.instead(bound, (table, name), Event::Update, Some(&columns), (&alias, update.returning.as_deref()))
    }

    /// DELETE from such a view.
    pub(super) fn delete_instead(
        &mut self,
        delete: &ast::Delete,
        factor: &TableFactor,
        (table, name): (&Table, &ObjectName),
    ) -> Result<Statement> {
        let others = delete.using.as_deref().unwrap_or_default();
        let (node, columns) = self.rows_of_factor(factor, others, delete.selection.as_ref())?;
        let bound = Bound { node, output: self.row_of(table, &columns) };
        let alias = alias_of(factor, name);
        self.instead(bound, (table, name), Event::Delete, Some(&columns), (&alias, delete.returning.as_deref()))
    }

    /// The rows of a view that satisfy a condition, and its columns.
    fn rows_of_factor(
        &mut self,
        factor: &TableFactor,
        others: &[TableWithJoins],
        condition: Option<&ast::Expr>,
    ) -> Result<(Node, Vec<ColumnId>)> {
        let item = self.factor(factor, &Default::default())?;
        let columns = item.scope.visible.iter().map(|column| column.column).collect();
        Ok((self.rows_to_change(item, others, condition)?, columns))
    }

    fn instead(
        &mut self,
        bound: Bound,
        of: (&Table, &ObjectName),
        event: Event,
        old: Option<&[ColumnId]>,
        (alias, returning): (&str, Option<&[ast::SelectItem]>),
    ) -> Result<Statement> {
        let Bound { mut node, output: row } = self.before_rows(bound, of, event, old, &[])?;
        let (mut output, mut fields): (Vec<Output>, _) = (Vec::new(), None);
        if let Some(items) = returning {
            let named = self.names_of_row(of.0, &row);
            let bound = self.returning_inserted(node, alias, &row, named, items)?;
            fields = Some(bound.output.iter().map(|o| self.field_of(o)).collect());
            (node, output) = (bound.node, bound.output);
        } else if let Some(first) = row.first() {
            // Rows are counted.
            output.push(first.clone());
        } else {
            return Err(Error::internal("a view without columns"));
        }
        let source = self.plan.finish(Bound { node, output })?;
        Ok(Statement::Instead(Instead { event, source, returning: fields }))
    }
}

fn alias_of(factor: &TableFactor, name: &ObjectName) -> String {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } => fold(&alias.name),
        _ => name.name.clone(),
    }
}
