//! A piece of SQL in a program: what it takes to run it is found when it runs first, and again when the catalog has changed, a
//! record has other columns, or settings that are part of what is bound are others.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use base::{Error, Result, stack};
use catalog::{CatalogSnapshot, Field, Routine};
use functions::{Call, ScalarFunction};
use plan::eval::{Found, Row as Places, RowExpr, Scope as Evaluation, eval_in};
use plan::{ColumnId, Expr};
use types::{SqlType, Value};

use super::rows::call_in;
use super::scope::{Reference, Scope, Seen, Slot, Variable};
use super::{called, run_routine};
use crate::environment::Environment;
use crate::kept::Ran;
use crate::kept::direct::{Direct, FirstRun};
use crate::resolver::Resolver;
use crate::{PreparedStatement, QueryResult, text};

/// See the module.
pub(super) struct Embedded {
    /// Its text; of an expression, as a query of it.
    pub text: String,
    scope: Arc<Scope>,
    ready: OnceLock<Box<Ready>>,
    /// What it takes by now, where that is no more as it was then: programs are made anew when they begin with another catalog.
    again: Mutex<Option<Arc<Ready>>>,
}

/// What it takes to run, which is there as long as it runs.
enum Known<'a> {
    First(&'a Ready),
    Again(Arc<Ready>),
}

impl Deref for Known<'_> {
    type Target = Ready;

    fn deref(&self) -> &Ready {
        match self {
            Self::First(ready) => ready,
            Self::Again(ready) => ready,
        }
    }
}

/// What it takes to run.
struct Ready {
    catalogs: [Weak<CatalogSnapshot>; 2],
    /// Under settings with this number: zones and orders of dates are part of what is bound.
    settings: u64,
    /// Records, and the columns that they had.
    shapes: Vec<(usize, Arc<[Field]>)>,
    way: Way,
}

/// How it is run.
enum Way {
    /// An expression over variables.
    Expression(RowExpr<Reference>, Vec<(ColumnId, Reference)>),
    /// A statement with parameters; if all of them are values that lie somewhere, with its first run.
    Statement(Box<PreparedStatement>, Vec<(Reference, SqlType)>, Option<FirstRun>),
    /// CALL: what of, and with what.
    Call(Arc<Routine>, Vec<Expr>, Vec<(ColumnId, Reference)>),
    /// A statement that has no parameters, as it stands, or one that is not prepared.
    Text(String, Vec<(Reference, SqlType)>),
}

/// Values of variables, and calls.
struct Variables<'a, 'e> {
    columns: &'a [(ColumnId, Reference)],
    frame: &'a [Slot],
    environment: std::cell::RefCell<&'e mut Environment>,
}

impl Evaluation for Variables<'_, '_> {
    fn column(&self, column: ColumnId) -> Value {
        let found = self.columns.iter().find(|(known, _)| *known == column);
        found.map_or(Value::Null, |(_, reference)| reference.value(self.frame))
    }

    fn call(&self, function: ScalarFunction, call: &Call<'_>) -> Result<Value> {
        if function == ScalarFunction::ROUTINE {
            return call_in(&mut self.environment.borrow_mut(), call);
        }
        function.evaluate(call)
    }
}

impl Places for Variables<'_, '_> {
    type Place = Reference;

    fn at(&self, place: Reference) -> &Value {
        place.borrowed(self.frame)
    }
}

impl Embedded {
    pub fn new(text: String, scope: Arc<Scope>) -> Self {
        Self { text, scope, ready: OnceLock::new(), again: Mutex::default() }
    }

    /// Runs it as a statement.
    pub fn run(&self, environment: &mut Environment, variables: &[Variable], frame: &[Slot]) -> Result<QueryResult> {
        let (ran, columns) = self.run_for(environment, variables, frame)?;
        Ok(ran.result(&columns).without_positions())
    }

    /// The same, for whoever needs no result: what came of it, and the columns of its rows.
    pub fn run_for(
        &self,
        environment: &mut Environment,
        variables: &[Variable],
        frame: &[Slot],
    ) -> Result<(Ran, Arc<[Field]>)> {
        let ready = self.ready(environment, variables, frame, false)?;
        let result = match &ready.way {
            Way::Statement(prepared, references, last) => {
                let parameter = |number: usize| references[number].0.borrowed(frame);
                let direct = last.as_ref().and_then(FirstRun::direct);
                if let Some(direct) = direct.filter(|_| text::plans_as_usual(environment))
                    && let Some(ran) = text::by_kept_plan(environment, || direct.run(environment, &parameter))
                {
                    return ran.map(|ran| (ran, direct.columns().clone())).map_err(Error::nowhere);
                }
                let parameters = values(references, frame);
                let result = text::run_within(environment, prepared, &parameters);
                let known = prepared.known();
                if let (Ok(result), Some(last)) = (&result, last)
                    && let (Some(kept), Some(text)) = (known.recent(), known.text(&parameters))
                {
                    last.by(kept, text, result.shared_columns());
                }
                result
            }
            Way::Text(text, references) => text::run(environment, text, &values(references, frame)),
            Way::Call(..) => {
                let (routine, arguments) = self.procedure(environment, variables, frame)?;
                run_routine(environment, &routine, arguments, false).map(|outcome| called(&routine, &outcome))
            }
            Way::Expression(..) => Err(Error::internal("an expression is no statement")),
        };
        let result = result.map_err(Error::nowhere)?;
        let columns = result.shared_columns();
        Ok((Ran::Result(result), columns))
    }

    /// If it is known as a statement of at most one row: how that is run, and where the values of its parameters lie.
    pub fn direct(&self, environment: &Environment, frame: &[Slot]) -> Option<(&Direct, &[(Reference, SqlType)])> {
        let ready = self.ready.get()?;
        let Way::Statement(_, references, Some(first)) = &ready.way else { return None };
        let direct = first.direct().filter(|direct| direct.is_of_one())?;
        let holds = ready.holds_in(environment, frame) && text::plans_as_usual(environment);
        holds.then_some((direct, references))
    }

    /// Whether it is a statement that changes rows, once it has run.
    pub fn changes_rows(&self) -> bool {
        let parsed = self.ready.get().and_then(|ready| match &ready.way {
            Way::Statement(prepared, ..) => Some(prepared.parsed()),
            _ => None,
        });
        parsed.is_some_and(|parsed| parsed.changes_rows() && !parsed.is_query())
    }

    /// Its value and type, as an expression.
    pub fn value(
        &self,
        environment: &mut Environment,
        variables: &[Variable],
        frame: &[Slot],
    ) -> Result<(Value, SqlType)> {
        if let Some(Ready { settings, shapes, way: Way::Expression(expr, _), .. }) =
            self.ready.get().map(|known| &**known)
            && expr.is_simple()
            && *settings == environment.settings.of_plans()
            && are_as_they_were(shapes, frame)
            && let Some(value) = expr.simple(&Found::by(|reference: Reference| reference.borrowed(frame)))
        {
            return Ok((value, expr.sql_type()));
        }
        let ready = self.ready(environment, variables, frame, true)?;
        let Way::Expression(expr, columns) = &ready.way else {
            return self.value_of_query(environment, variables, frame);
        };
        let environment = std::cell::RefCell::new(environment);
        let scope = Variables { columns, frame, environment };
        expr.value(&scope).map(|value| (value, expr.sql_type())).map_err(Error::nowhere)
    }

    /// The variable that it is the name of, if it is one.
    pub fn variable(&self) -> Option<usize> {
        let name = self.text.strip_prefix("SELECT ")?.trim();
        let parts: Vec<String> = name.split('.').map(|part| part.trim().to_lowercase()).collect();
        self.scope.resolve(&parts).filter(|(_, field)| field.is_none()).map(|(slot, _)| slot)
    }

    /// The procedure that it calls, and what that is given.
    pub fn procedure(
        &self,
        environment: &mut Environment,
        variables: &[Variable],
        frame: &[Slot],
    ) -> Result<(Arc<Routine>, Vec<Value>)> {
        let ready = self.ready(environment, variables, frame, false)?;
        let Way::Call(routine, arguments, columns) = &ready.way else {
            return Err(Error::internal("a call that is none"));
        };
        let environment = std::cell::RefCell::new(environment);
        let scope = Variables { columns, frame, environment };
        let values = arguments.iter().map(|argument| eval_in(argument, &scope).map_err(Error::nowhere));
        Ok((routine.clone(), values.collect::<Result<_>>()?))
    }

    /// The only value of a query: NULL if it has no row.
    fn value_of_query(
        &self,
        environment: &mut Environment,
        variables: &[Variable],
        frame: &[Slot],
    ) -> Result<(Value, SqlType)> {
        let mut result = self.run(environment, variables, frame)?;
        let [field] = result.columns() else {
            let message = format!("query returned {} columns", result.columns().len());
            return Err(Error::new(base::SqlState::SYNTAX_ERROR, message));
        };
        let sql_type = field.sql_type;
        let mut found = None;
        while let Some(chunk) = result.next_chunk()? {
            if found.is_some() && chunk.rows() > 0 || chunk.rows() > 1 {
                return Err(Error::new(base::SqlState::CARDINALITY_VIOLATION, "query returned more than one row"));
            }
            if chunk.rows() == 1 {
                found = Some(chunk.column(0).value(0));
            }
        }
        Ok((found.unwrap_or(Value::Null), sql_type))
    }

    fn ready(
        &self,
        environment: &Environment,
        variables: &[Variable],
        frame: &[Slot],
        is_expression: bool,
    ) -> Result<Known<'_>> {
        if let Some(known) = self.ready.get() {
            if known.holds_in(environment, frame) {
                return Ok(Known::First(known));
            }
            let again = self.again.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(known) = again.filter(|known| known.holds_in(environment, frame)) {
                return Ok(Known::Again(known));
            }
        }
        let (catalogs, settings) = (environment.catalogs(), environment.settings.of_plans());
        let levels = sql::parse_depth(&self.text);
        let seen = Seen::new(&self.scope, variables, frame);
        let way = stack::with_room(levels, || self.way(environment, &seen, is_expression))??;
        let shapes = seen.shapes.into_inner();
        let ready = Ready { catalogs: catalogs.each_ref().map(Arc::downgrade), settings, shapes, way };
        if let Err(ready) = self.ready.set(Box::new(ready)) {
            let ready = Arc::new(*ready);
            *self.again.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready.clone());
            return Ok(Known::Again(ready));
        }
        self.ready.get().map(|ready| Known::First(ready)).ok_or_else(|| Error::internal("what was just made is gone"))
    }

    fn way(&self, environment: &Environment, seen: &Seen<'_>, is_expression: bool) -> Result<Way> {
        let find = |name: &[String]| seen.variable(name);
        let resolver = Resolver::new(environment).seeing(&find);
        let inside = |error: Error| error.nowhere();
        if is_expression && let Some(simple) = sql::simple_within(&self.text, &resolver).map_err(inside)? {
            // What time it is, is asked each time.
            if !resolver.has_asked_now() {
                let references = seen.references.borrow();
                let columns: Vec<_> = simple.columns.iter().map(|(column, at)| (*column, references[*at].0)).collect();
                let place = |column| {
                    let (_, reference) = columns.iter().find(|(known, _)| *known == column)?;
                    (!seen.is_whole_record(*reference)).then_some(*reference)
                };
                return Ok(Way::Expression(RowExpr::new(&simple.expr, &place), columns));
            }
        }
        let parsed = sql::parse(&self.text).map_err(inside)?;
        if parsed.controls_transactions() {
            return Err(Error::unsupported("a command of transactions in PL/pgSQL")
                .hint("Use a BEGIN block with an EXCEPTION clause instead."));
        }
        if let Some(call) = sql::call_within(&parsed, &resolver).map_err(inside)? {
            let references = seen.references.borrow();
            let columns = call.columns.iter().map(|(column, at)| (*column, references[*at].0)).collect();
            return Ok(Way::Call(call.routine, call.arguments, columns));
        }
        if !parsed.takes_variables() {
            return Ok(Way::Text(self.text.clone(), Vec::new()));
        }
        let within = sql::prepare_within(&self.text, &resolver).map_err(inside)?;
        let references = seen.references.borrow();
        let parameters: Vec<(Reference, SqlType)> = within.variables.iter().map(|at| references[*at]).collect();
        if !parsed.is_query() && !parsed.changes_rows() {
            return Ok(Way::Text(within.prepare.text, parameters));
        }
        let prepared = PreparedStatement::new(within.prepare, String::new())?;
        let lie_somewhere = !parameters.iter().any(|(reference, _)| seen.is_whole_record(*reference));
        Ok(Way::Statement(Box::new(prepared), parameters, lie_somewhere.then(FirstRun::default)))
    }
}

fn values(references: &[(Reference, SqlType)], frame: &[Slot]) -> Vec<(Value, SqlType)> {
    references.iter().map(|(reference, sql_type)| (reference.value(frame), *sql_type)).collect()
}

impl Ready {
    /// Whether all is as it was.
    fn holds_in(&self, environment: &Environment, frame: &[Slot]) -> bool {
        self.settings == environment.settings.of_plans()
            && environment.has_catalogs(&self.catalogs)
            && are_as_they_were(&self.shapes, frame)
    }
}

/// Whether records have the columns that they had.
fn are_as_they_were(shapes: &[(usize, Arc<[Field]>)], frame: &[Slot]) -> bool {
    let is_same = |(a, b): (&Field, &Field)| (a.sql_type, &a.name) == (b.sql_type, &b.name);
    shapes.iter().all(|(slot, fields)| match &frame[*slot] {
        Slot::Record(Some(record)) => {
            Arc::ptr_eq(&record.fields, fields)
                || record.fields.len() == fields.len() && record.fields.iter().zip(fields.iter()).all(is_same)
        }
        _ => false,
    })
}
