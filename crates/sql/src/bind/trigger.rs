//! Triggers: the statements that define them, and what they do to the rows that a statement changes (decision 61).
//!
//! Those that are called before a row is changed are a call in the plan, whose value is the row that is written: computed with
//! other calls of functions before the plan runs.

use base::{Error, Result, SqlState};
use catalog::{Event, Returns, SYSTEM_SCHEMA, Timing, Trigger, canonical, system_trigger};
use functions::ScalarFunction;
use plan::{ColumnId, Expr, ExprKind, Node, Op};
use types::{SqlType, Value};

use super::coerce::boolean;
use super::scope::{Clause, Relation, Scope, ScopeColumn};
use super::select::filtered;
use super::{Binder, Bound, Output, fold, unsupported};
use crate::parse::{CreateTriggerAst, TriggerAst};
use crate::{Fires, ObjectName, Resolved, Statement, Table, TriggerChange, TriggerStatement};

/// 42P17.
const INVALID_OBJECT_DEFINITION: SqlState = SqlState("42P17");

impl Binder<'_> {
    pub(super) fn trigger_statement(&mut self, written: &TriggerAst) -> Result<Statement> {
        let (table, change) = match written {
            TriggerAst::Create(create) => {
                let (table, trigger) = self.created_trigger(create)?;
                let trigger = Box::new(trigger);
                return Ok(Statement::Trigger(TriggerStatement {
                    table,
                    change: TriggerChange::Create { trigger, or_replace: create.or_replace },
                }));
            }
            TriggerAst::Drop { name, table, if_exists } => {
                let table = self.text.object_name(table)?;
                if *if_exists && self.resolver.table(&table).is_err() {
                    return Ok(Statement::Nothing("DROP TRIGGER"));
                }
                (table, TriggerChange::Drop { name: fold(name), if_exists: *if_exists })
            }
            TriggerAst::Rename { name, table, to } => {
                (self.text.object_name(table)?, TriggerChange::Rename { name: fold(name), to: fold(to) })
            }
            TriggerAst::Enable { name, table, if_exists, is_enabled, keys_too } => {
                let table = self.text.object_name(table)?;
                if *if_exists && self.resolver.table(&table).is_err() {
                    return Ok(Statement::Nothing("ALTER TABLE"));
                }
                let (is_enabled, keys_too) = (*is_enabled, *keys_too);
                (table, TriggerChange::Enable { name: name.as_ref().map(fold), is_enabled, keys_too })
            }
        };
        self.resolver.table(&table).map_err(|e| e.at(table.position))?;
        Ok(Statement::Trigger(TriggerStatement { table: self.resolver.placed(&table), change }))
    }

    fn created_trigger(&mut self, create: &CreateTriggerAst) -> Result<(ObjectName, Trigger)> {
        let name = self.text.object_name(&create.table)?;
        let invalid = |message: String| Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(name.position));
        let wrong = |message: String, detail: &str| {
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).detail(detail).at(name.position))
        };
        let (fields, is_view) = match self.resolver.table(&name).map_err(|e| e.at(name.position))? {
            Resolved::Table(table) => (table.fields, false),
            Resolved::View { .. } => {
                let parts: Vec<String> = name.schema.iter().cloned().chain([name.name.clone()]).collect();
                (super::row_type(self.resolver, &parts)?, true)
            }
        };
        match (is_view, create.timing) {
            (false, Timing::InsteadOf) => {
                return wrong(format!("\"{}\" is a table", name.name), "Tables cannot have INSTEAD OF triggers.");
            }
            (true, Timing::Before | Timing::After) if create.for_each_row => {
                let detail = "Views cannot have row-level BEFORE or AFTER triggers.";
                return wrong(format!("\"{}\" is a view", name.name), detail);
            }
            (true, Timing::Before | Timing::After) => {
                return unsupported("a trigger for statements on a view", name.position);
            }
            (true, Timing::InsteadOf) if !create.for_each_row => {
                return invalid("INSTEAD OF triggers must be FOR EACH ROW".into());
            }
            (true, Timing::InsteadOf) if create.when.is_some() => {
                return invalid("INSTEAD OF triggers cannot have WHEN conditions".into());
            }
            (true, Timing::InsteadOf) if !create.columns.is_empty() => {
                return invalid("INSTEAD OF triggers cannot have column lists".into());
            }
            _ => {}
        }
        if create.for_each_row && create.events.contains(&Event::Truncate) {
            return unsupported("TRUNCATE FOR EACH ROW triggers", name.position);
        }
        if create.is_deferred {
            return unsupported("a constraint trigger that is INITIALLY DEFERRED", name.position);
        }
        let references = create.old_table.is_some() || create.new_table.is_some();
        if references && (create.timing != Timing::After || create.is_constraint) {
            return invalid("transition table name can only be specified for an AFTER trigger".into());
        }
        if references && (create.events.len() > 1 || !create.columns.is_empty()) {
            let message =
                "transition tables cannot be specified for triggers with more than one event or with column lists";
            return unsupported(message, name.position);
        }
        let missing = match create.events[0] {
            Event::Insert => {
                create.old_table.as_ref().map(|_| "OLD TABLE can only be specified for a DELETE or UPDATE trigger")
            }
            Event::Delete => {
                create.new_table.as_ref().map(|_| "NEW TABLE can only be specified for an INSERT or UPDATE trigger")
            }
            _ => None,
        };
        if let Some(message) = missing {
            return invalid(message.into());
        }
        if let Some(column) = create.columns.iter().find(|column| fields.iter().all(|f| f.name != fold(column))) {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", fold(column), name.name);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(column)));
        }
        if let Some(when) = &create.when {
            self.check_when(create, when, &fields)?;
        }
        let function = self.text.object_name(&create.function)?;
        let mut known = self.resolver.routines(function.schema.as_deref(), &function.name);
        if known.is_empty() && matches!(function.schema.as_deref(), None | Some(SYSTEM_SCHEMA)) {
            known.extend(system_trigger(&function.name));
        }
        let Some(routine) = known.iter().find(|routine| routine.given().count() == 0) else {
            let message = format!("function {}() does not exist", function.name);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(function.position));
        };
        if routine.returns != Returns::Trigger {
            let message = format!("function {} must return type trigger", function.name);
            return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(function.position));
        }
        let trigger = Trigger {
            number: Trigger::new_number(),
            name: fold(&create.name),
            timing: create.timing,
            events: create.events.clone(),
            columns: create.columns.iter().map(fold).collect(),
            for_each_row: create.for_each_row,
            when: create.when.as_ref().map(written),
            function: (routine.schema.clone(), routine.name.clone()),
            arguments: create.arguments.clone(),
            old_table: create.old_table.as_ref().map(fold),
            new_table: create.new_table.as_ref().map(fold),
            is_constraint: create.is_constraint,
            is_enabled: true,
        };
        Ok((self.resolver.placed(&name), trigger))
    }

    /// Binds the condition of WHEN once, to find its mistakes now.
    fn check_when(
        &mut self,
        create: &CreateTriggerAst,
        when: &sqlparser::ast::Expr,
        fields: &[catalog::Field],
    ) -> Result<()> {
        let position = self.text.at(&create.name);
        let mut scope = Scope::default();
        let has = |event: Event| create.events.contains(&event);
        let (has_old, has_new) = (!has(Event::Insert), !has(Event::Delete));
        for (name, is_there) in [("old", has_old), ("new", has_new)] {
            if !is_there || !create.for_each_row {
                continue;
            }
            let columns = fields.iter().map(|field| {
                let info = plan::ColumnInfo { name: field.name.clone(), sql_type: field.sql_type, nullable: true };
                ScopeColumn { name: field.name.clone(), column: self.plan.columns.push(info) }
            });
            let columns = columns.collect();
            scope = scope.join(Scope::of(Relation { name: Some(name.to_owned()), columns, ..Relation::default() }));
        }
        let bound = self.expr_in(when, Clause::Where, scope).and_then(|bound| boolean(bound, "WHEN"))?;
        if bound.has_subquery() {
            let message = "cannot use subquery in trigger WHEN condition";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        Ok(())
    }

    /// The rows as they are written when triggers have been called for them: each trigger may change a row, or have it passed
    /// over. `old` is the row as it was, that of `bound` the one that is to be.
    pub(super) fn before_rows(
        &mut self,
        bound: Bound,
        of: (&Table, &ObjectName),
        event: Event,
        old: Option<&[ColumnId]>,
        assigned: &[String],
    ) -> Result<Bound> {
        let new: Vec<ColumnId> = bound.output.iter().map(|o| o.column).collect();
        let (old, new) = match event {
            Event::Insert => (None, Some(new.as_slice())),
            Event::Delete => (old, None),
            _ => (old, Some(new.as_slice())),
        };
        match self.before_row(of, event, (old, new), assigned)? {
            None => Ok(bound),
            Some(call) => self.rows_of_calls(bound, of.0, call, event != Event::Delete),
        }
    }

    /// The call of the triggers for one row, if there are some: the row that is written, or NULL.
    pub(super) fn before_row(
        &mut self,
        (table, name): (&Table, &ObjectName),
        event: Event,
        (old, new): (Option<&[ColumnId]>, Option<&[ColumnId]>),
        assigned: &[String],
    ) -> Result<Option<Expr>> {
        let called = |trigger: &&std::sync::Arc<Trigger>| {
            // Of a view there are those in the place of a change only.
            trigger.timing != Timing::After && trigger.for_each_row && trigger.is_for(event, assigned)
        };
        let numbers: Vec<String> = table.triggers.iter().filter(called).map(|t| t.number.to_string()).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let old = old.map(|old| self.row_struct(table, old)).transpose()?;
        let new = new.map(|new| self.row_struct(table, new)).transpose()?;
        let sql_type = new.as_ref().or(old.as_ref()).map_or(SqlType::Null, |row| row.sql_type);
        let or_null = |row: Option<Expr>| row.unwrap_or_else(|| Expr::constant(Value::Null, sql_type));
        let text = |text: &str| Expr::constant(Value::str(text), SqlType::Text);
        let name = self.resolver.placed(name);
        let arguments = vec![
            text(canonical(name.schema.as_deref())),
            text(&name.name),
            text(event.name()),
            text(&numbers.join(",")),
            or_null(old),
            or_null(new),
        ];
        Ok(Some(Expr::new(ExprKind::Call(ScalarFunction::BEFORE_ROW, arguments), sql_type)))
    }

    /// The rows for which a call has a value, and that value in their place.
    pub(super) fn rows_of_calls(&mut self, bound: Bound, table: &Table, call: Expr, replaces: bool) -> Result<Bound> {
        let Bound { node, mut output } = bound;
        let column = self.plan.column_for("row", &call);
        let node = Node::new(Op::Map { input: Box::new(node), columns: vec![(column, call)] });
        let is_null = Expr::new(ExprKind::IsNull(Box::new(self.plan.reference(column))), SqlType::Bool);
        let node = filtered(node, Expr::new(ExprKind::Not(Box::new(is_null)), SqlType::Bool));
        if !replaces {
            return Ok(Bound { node, output });
        }
        let mut computed = Vec::with_capacity(table.fields.len());
        for (field, output) in table.fields.iter().zip(&mut output) {
            let value = self.struct_field(self.plan.reference(column), &field.name, None)?;
            let column = self.plan.column_for(&field.name, &value);
            computed.push((column, value));
            *output = Output { name: field.name.clone(), column, literal: None };
        }
        Ok(Bound { node: Node::new(Op::Map { input: Box::new(node), columns: computed }), output })
    }

    /// A row of a table as one value.
    pub(super) fn row_struct(&self, table: &Table, row: &[ColumnId]) -> Result<Expr> {
        let values =
            table.fields.iter().zip(row).map(|(field, column)| (field.name.clone(), self.plan.reference(*column)));
        self.struct_of_values(values.collect(), None)
    }
}

/// An expression as SQL; stars in it as they were written, where no literal could look like one.
fn written(expr: &sqlparser::ast::Expr) -> String {
    let text = expr.to_string();
    if text.contains('\'') { text } else { text.replace(".\"*\"", ".*") }
}

impl Table {
    /// What a statement does that triggers are called for.
    pub(super) fn fires(&self, name: ObjectName, events: &[Event], assigned: Vec<String>) -> Option<Fires> {
        let is_for = |event: &&Event| self.triggers.iter().any(|trigger| trigger.is_for(**event, &assigned));
        let events: Vec<Event> = events.iter().filter(is_for).copied().collect();
        (!events.is_empty()).then_some(Fires { table: name, events, assigned })
    }
}
