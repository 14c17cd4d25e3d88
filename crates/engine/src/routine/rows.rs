//! Calls of functions in plans: which there are, the rows of those in FROM, and the values of the others.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use base::{Error, Result};
use catalog::{Field, Language, Returns, Routine};
use functions::{Call, ScalarFunction};
use io::MemorySource;
use plan::eval::{Scope, eval_in};
use plan::{ColumnId, Expr, ExprKind, Node, Op, Plan, TableInfo};
use types::ops::{array, structure};
use types::{SqlType, StructField, Value};

use super::scope::record_of;
use super::{before_row, run_for};
use crate::environment::Environment;
use crate::files;
use crate::source::Source;

/// Whether a plan calls functions that users have defined.
pub(crate) fn calls_routines(plan: &Plan) -> bool {
    let is_rows = |table: &TableInfo| matches!(Source::of(&table.source), Ok(Source::Routine(_)));
    plan.tables.values().any(is_rows) || node_calls(&plan.root) || plan.ctes.values().any(|cte| node_calls(&cte.plan))
}

pub(super) fn node_calls(node: &Node) -> bool {
    node.expressions().any(calls) || node.inputs().any(node_calls)
}

/// Whether an expression calls one, subqueries included.
pub(super) fn calls(expr: &Expr) -> bool {
    expr.any(&|e| match &e.kind {
        ExprKind::Call(function, _) => {
            matches!(*function, ScalarFunction::ROUTINE | ScalarFunction::BEFORE_ROW)
        }
        ExprKind::Subquery(subquery) => node_calls(&subquery.plan),
        _ => false,
    })
}

/// The rows of calls in FROM.
pub(super) fn rows_of_tables(environment: &mut Environment, plan: &mut Plan) -> Result<()> {
    for (_, table) in plan.tables.iter_mut() {
        let Source::Routine(rows) = Source::of(&table.source)? else { continue };
        let rows = rows.clone();
        let mut arguments = Vec::with_capacity(rows.arguments.len());
        for argument in &rows.arguments {
            let scope = Row { columns: &[], row: &[], environment: RefCell::new(environment) };
            arguments.push(eval_in(argument, &scope)?);
        }
        let outcome = run_for(environment, &rows.routine, arguments, false, Some(&table.fields))?;
        let mut row = outcome.row;
        if let ([value], Returns::Value(sql_type)) = (row.as_slice(), rows.routine.returns)
            && let Some(record) = record_of(value, sql_type)
        {
            row = record.values;
        }
        row.resize(table.fields.len(), Value::Null);
        let chunks = if rows.routine.is_set { outcome.rows } else { vec![super::row_of(&table.fields, &row)] };
        let fields = table.fields.iter().map(|field| io::Field::new(field.name.as_str(), field.sql_type)).collect();
        let made =
            files::table(&table.name, Arc::new(MemorySource::new(fields, chunks)), &environment.database.0.samples);
        (table.source, table.statistics) = (made.source, made.statistics);
    }
    Ok(())
}

/// The value of a call whose first argument is the routine's number: an array of its rows, if it gives several.
pub(super) fn call_in(environment: &mut Environment, call: &Call<'_>) -> Result<Value> {
    let [Value::Int(number), arguments @ ..] = call.values else {
        return Err(Error::internal("a call of a function without its number"));
    };
    let routine = environment.catalog().routine_numbered(*number).cloned();
    let gone = || Error::new(base::SqlState::UNDEFINED_FUNCTION, "a function that was there is gone");
    let routine = routine.ok_or_else(gone)?;
    if routine.is_strict && !routine.is_set && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let one = if routine.is_set { call.result.element().unwrap_or(call.result) } else { call.result };
    let fields = (routine.returns == Returns::Record).then(|| fields_of(one));
    let outcome = run_for(environment, &routine, arguments.to_vec(), false, fields.as_deref())?;
    let of = one.structure().filter(|_| gives_columns(&routine));
    let value = |row: Vec<Value>| match of {
        Some(of) => structure::encode(&row, of),
        None => Ok(row.into_iter().next().unwrap_or(Value::Null)),
    };
    if !routine.is_set {
        return value(outcome.row);
    }
    let mut form = Vec::new();
    for chunk in &outcome.rows {
        for row in 0..chunk.rows() {
            array::push(&mut form, &value(chunk.row(row))?, one)?;
        }
    }
    array::finish(form)
}

/// Whether what a routine gives are the values of a row, rather than the row as a value.
fn gives_columns(routine: &Routine) -> bool {
    match routine.returns {
        Returns::Row | Returns::Record => true,
        Returns::Value(sql_type) => {
            routine.row_of(sql_type).is_some() && (routine.is_set || routine.language == Language::Sql)
        }
        Returns::Nothing | Returns::Trigger => false,
    }
}

/// The columns of rows of a type.
fn fields_of(sql_type: SqlType) -> Vec<Field> {
    let fields = sql_type.structure().map_or(&[][..], |of| &of.fields);
    let field = |of: &StructField| Field { name: of.name.clone(), sql_type: of.sql_type, nullable: true };
    fields.iter().map(field).collect()
}

/// A row, and calls.
pub(super) struct Row<'a, 'e> {
    pub columns: &'a [ColumnId],
    pub row: &'a [Value],
    pub environment: RefCell<&'e mut Environment>,
}

impl Scope for Row<'_, '_> {
    fn column(&self, column: ColumnId) -> Value {
        self.columns.iter().position(|known| *known == column).map_or(Value::Null, |at| self.row[at].clone())
    }

    fn call(&self, function: ScalarFunction, call: &Call<'_>) -> Result<Value> {
        if function == ScalarFunction::ROUTINE {
            return call_in(&mut self.environment.borrow_mut(), call);
        }
        if function == ScalarFunction::BEFORE_ROW {
            return before_row(&mut self.environment.borrow_mut(), call);
        }
        function.evaluate(call)
    }
}

/// The columns that somebody reads.
pub(super) fn used_columns(plan: &Plan) -> HashSet<ColumnId> {
    fn of(node: &Node, used: &mut HashSet<ColumnId>) {
        let mut listed = node.clone();
        listed.each_listed_mut(&mut |column| {
            used.insert(*column);
        });
        if let Op::CteScan { columns, .. } = &node.op {
            used.extend(columns.iter().map(|(from, _)| *from));
        }
        for expr in node.expressions() {
            expr.visit_columns(&mut |column| {
                used.insert(column);
            });
            expr.walk(&mut |e| {
                if let ExprKind::Subquery(subquery) = &e.kind {
                    used.extend(subquery.plan.columns());
                    of(&subquery.plan, used);
                }
            });
        }
        node.inputs().for_each(|input| of(input, used));
    }
    let mut used: HashSet<ColumnId> = plan.output.iter().map(|(_, column)| *column).collect();
    of(&plan.root, &mut used);
    for cte in plan.ctes.values() {
        used.extend(cte.columns.iter().copied());
        of(&cte.plan, &mut used);
    }
    used
}
