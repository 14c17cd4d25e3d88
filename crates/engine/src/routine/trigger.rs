//! Calls of triggers' functions (decision 61): what they see of the change that they are called for, and what they give back.

use std::any::Any;
use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use catalog::{Event, Field, Returns, Routine, SYSTEM_SCHEMA, Trigger, system_trigger};
use functions::Call;
use types::ops::{array, structure};
use types::{SqlType, Value};

use super::convert::converted;
use super::embedded::Embedded;
use super::run::Runner;
use super::scope::{Kind, Record, Scope, Slot, Variable};
use super::{LEVELS, MAX_CALLS, program_of, with_settings};
use crate::environment::Environment;

/// The variables of a trigger's function, in the order of [`Fired::values`]; TG_ARGV follows.
pub(super) const VARIABLES: [(&str, SqlType); 9] = [
    ("tg_name", SqlType::Text),
    ("tg_when", SqlType::Text),
    ("tg_level", SqlType::Text),
    ("tg_op", SqlType::Text),
    ("tg_relid", SqlType::BigInt),
    ("tg_relname", SqlType::Text),
    ("tg_table_name", SqlType::Text),
    ("tg_table_schema", SqlType::Text),
    ("tg_nargs", SqlType::Integer),
];

/// Columns of the rows of a table.
pub(crate) type Columns = Arc<[Field]>;

/// A change that a trigger is called for.
pub(crate) struct Fired<'a> {
    pub trigger: &'a Trigger,
    pub event: Event,
    /// The table: schema and name.
    pub table: (&'a str, &'a str),
    pub columns: &'a Columns,
    /// The row as it was, if there is one.
    pub old: Option<Vec<Value>>,
    /// The row as it is, or is to be.
    pub new: Option<Vec<Value>>,
}

impl Fired<'_> {
    fn record(&self, row: Option<&Vec<Value>>) -> Slot {
        let record = row.map(|values| Record::new(self.columns.clone(), values.clone()));
        Slot::Record(Some(record.unwrap_or_else(|| Record::null(self.columns.clone()))))
    }

    fn values(&self, relation: i64) -> Vec<Value> {
        let Trigger { name, timing, for_each_row, arguments, .. } = self.trigger;
        let text = |text: &str| Value::str(text);
        vec![
            text(name),
            text(timing.name()),
            text(if *for_each_row { "ROW" } else { "STATEMENT" }),
            text(self.event.name()),
            Value::Int(relation),
            text(self.table.1),
            text(self.table.1),
            text(self.table.0),
            Value::Int(arguments.len() as i64),
        ]
    }
}

/// Calls a trigger, unless its condition is not true. The row that its function gives: none if that is NULL.
pub(crate) fn call_trigger(environment: &mut Environment, fired: &Fired<'_>) -> Result<Option<Vec<Value>>> {
    if !is_wanted(environment, fired)? {
        return Ok(fired.new.clone().or_else(|| fired.old.clone()));
    }
    let routine = function_of(environment, fired.trigger)?;
    if environment.calls >= MAX_CALLS {
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .detail(format!("triggers fire each other more than {MAX_CALLS} deep at {}", fired.trigger.name))
            .hint("a trigger that changes rows of its own table fires itself"));
    }
    environment.call.token().check()?;
    with_settings(environment, &routine.settings, |environment| run_trigger(environment, fired, &routine))
}

fn run_trigger(environment: &mut Environment, fired: &Fired<'_>, routine: &Arc<Routine>) -> Result<Option<Vec<Value>>> {
    let program = program_of(environment, routine)?;
    let relation = crate::views::number_of(&environment.catalog(), Some(fired.table.0), fired.table.1).unwrap_or(0);
    let mut given = fired.values(relation);
    let texts: Vec<Value> = fired.trigger.arguments.iter().map(|text| Value::str(text.as_str())).collect();
    given.push(array::encode(&texts, SqlType::Text)?);
    environment.calls += 1;
    environment.trigger_depth += 1;
    let outcome = stack::with_room(LEVELS, || {
        let mut runner = Runner::new(environment, program.clone(), given, false)?;
        for (slot, row) in program.rows.iter().zip([fired.new.as_ref(), fired.old.as_ref()]) {
            runner.frame[*slot] = fired.record(row);
        }
        runner.run_for_row()
    });
    environment.calls -= 1;
    environment.trigger_depth -= 1;
    match outcome?? {
        None => Ok(None),
        Some(record) => fitted(record, fired, environment).map(Some),
    }
}

/// A row that a function has given, as one of the table.
fn fitted(record: Record, fired: &Fired<'_>, environment: &Environment) -> Result<Vec<Value>> {
    if Arc::ptr_eq(&record.fields, fired.columns) || fired.old.is_none() && fired.new.is_none() {
        return Ok(record.values);
    }
    if record.fields.len() != fired.columns.len() {
        let message = "returned row structure does not match the structure of the triggering table";
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).detail(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            record.fields.len(),
            fired.columns.len()
        )));
    }
    let zone = environment.settings.time_zone();
    let pairs = record.values.into_iter().zip(record.fields.iter().zip(fired.columns.iter()));
    pairs.map(|(value, (from, to))| converted(&value, from.sql_type, to.sql_type, &zone)).collect()
}

fn function_of(environment: &Environment, trigger: &Trigger) -> Result<Arc<Routine>> {
    let (schema, name) = &trigger.function;
    let catalog = environment.catalog();
    let named = catalog.routines_named(Some(schema), name);
    let found = named.iter().find(|routine| routine.returns == Returns::Trigger).cloned();
    let system = || system_trigger(name).filter(|_| schema == SYSTEM_SCHEMA);
    found.or_else(system).ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_FUNCTION, format!("function {name}() of trigger {} is gone", trigger.name))
    })
}

/// A condition of WHEN, ready to be asked.
struct Condition {
    variables: Vec<Variable>,
    expression: Embedded,
}

/// Whether the condition of WHEN is true.
fn is_wanted(environment: &mut Environment, fired: &Fired<'_>) -> Result<bool> {
    let Some(when) = &fired.trigger.when else { return Ok(true) };
    // Programs of triggers are beside those of routines, by numbers that these do not have.
    let number = -fired.trigger.number;
    let known = environment.programs.get(&number).cloned().and_then(|known| known.downcast::<Condition>().ok());
    let condition = known.unwrap_or_else(|| {
        let variable =
            |name: &str| Variable { name: name.to_owned(), kind: Kind::Record, is_constant: false, not_null: false };
        let names = vec![("new".to_owned(), 0), ("old".to_owned(), 1)];
        let scope = Arc::new(Scope { label: None, names, around: None });
        let expression = Embedded::new(format!("SELECT {when}"), scope);
        let condition = Arc::new(Condition { variables: vec![variable("new"), variable("old")], expression });
        environment.programs.insert(number, condition.clone() as Arc<dyn Any + Send + Sync>);
        condition
    });
    let frame = [fired.record(fired.new.as_ref()), fired.record(fired.old.as_ref())];
    let (value, _) = condition.expression.value(environment, &condition.variables, &frame)?;
    Ok(value == Value::Bool(true))
}

/// The row that is written when the triggers before it have been called: the value of such a call in a plan, a row in the form
/// of a struct, or NULL.
pub(super) fn before_row(environment: &mut Environment, call: &Call<'_>) -> Result<Value> {
    let [Value::Str(schema), Value::Str(table), Value::Str(event), Value::Str(numbers), old, new] = call.values else {
        return Err(Error::internal("a call of triggers without their table"));
    };
    let events = [Event::Insert, Event::Delete, Event::Update];
    let event = events.into_iter().find(|known| known.name() == &**event);
    let event = event.ok_or_else(|| Error::internal("triggers of nothing"))?;
    let Some(of) = call.result.structure() else { return Err(Error::internal("a row that is no struct")) };
    let row = |value: &Value, sql_type: SqlType| match (value, sql_type.structure()) {
        (Value::Str(form), Some(of)) => Some(structure::values(form, of).collect::<Vec<Value>>()),
        _ => None,
    };
    let field =
        |field: &types::StructField| Field { name: field.name.clone(), sql_type: field.sql_type, nullable: true };
    let columns: Columns = of.fields.iter().map(field).collect();
    let old = row(old, call.types[4]);
    let mut new = row(new, call.types[5]);
    let catalog = environment.catalog();
    let triggers = catalog.triggers_of(Some(schema), table);
    for number in numbers.split(',') {
        let is_it = |trigger: &&Arc<Trigger>| trigger.number.to_string() == number;
        let Some(trigger) = triggers.iter().find(is_it) else { continue };
        let (table, columns) = ((&**schema, &**table), &columns);
        let fired = Fired { trigger, event, table, columns, old: old.clone(), new: new.clone() };
        match call_trigger(environment, &fired)? {
            None => return Ok(Value::Null),
            Some(row) if event != Event::Delete => new = Some(row),
            Some(_) => {}
        }
    }
    let row = if event == Event::Delete { old } else { new };
    structure::encode(&row.unwrap_or_default(), of)
}
