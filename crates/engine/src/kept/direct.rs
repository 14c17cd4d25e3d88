//! Statements of procedures that run by short plans. One that is run again has the same text, parameters of the same types, and as long as
//! the catalog is the same one, the same plan: what has to be found out for others each time is found out once.

use std::sync::{Arc, OnceLock};

use base::Result;
use catalog::Field;
use sql::{ArgumentSource, ArgumentUse, ArgumentValue};
use types::{SqlType, Value};

use super::plans::{Kept, Text, Way};
use super::ran::Ran;
use crate::environment::Environment;

/// A statement's short plan, and how its arguments come from the parameters.
pub(crate) struct Direct {
    kept: Arc<Kept>,
    columns: Arc<[Field]>,
    arguments: Vec<Argument>,
    /// Parameters of whose values the plan was made.
    closed: Vec<(usize, Value)>,
}

enum Argument {
    /// A literal's.
    Known(Value),
    /// A parameter's, as it is, if it is not NULL.
    Same(usize),
    /// A parameter's of that type, as its use wants it.
    Of(usize, SqlType, ArgumentUse),
}

/// The short plan by which a statement runs directly, once one is known.
#[derive(Default)]
pub(crate) struct FirstRun(OnceLock<Direct>);

impl FirstRun {
    /// How it is run directly, if that is known.
    pub fn direct(&self) -> Option<&Direct> {
        self.0.get()
    }

    /// It has just run by this plan, with these parameters, and given rows of these columns.
    pub fn by(&self, kept: Arc<Kept>, text: Text<'_>, columns: Arc<[Field]>) {
        if self.0.get().is_none()
            && let Some(direct) = Direct::new(&kept, text, columns)
        {
            // Another one is as good.
            let _ = self.0.set(direct);
        }
    }
}

impl Direct {
    /// None if the plan is not short, or not for every statement of this text.
    fn new(kept: &Arc<Kept>, text: Text<'_>, columns: Arc<[Field]>) -> Option<Self> {
        let is_short = match &kept.way {
            Way::Query { short, .. } => short.is_some(),
            Way::Change(_) => true,
        };
        let values = kept.arguments(text).filter(|_| is_short)?.values;
        let argument = |(usage, value): (&ArgumentUse, Value)| match usage.source {
            ArgumentSource::Literal(_) => Argument::Known(value),
            ArgumentSource::Parameter(number) => match text.parameters[number].1 {
                same if same == usage.column && !usage.role.is_count() => Argument::Same(number),
                sql_type => Argument::Of(number, sql_type, *usage),
            },
        };
        let arguments = kept.uses().iter().zip(values).map(argument).collect();
        let closed = kept.closed_parameters().map(|(number, value)| (number, value.clone())).collect();
        Some(Self { kept: kept.clone(), columns, arguments, closed })
    }

    /// Runs the statement with these parameters; none: nothing has happened, and it has to be run as others are. The catalog is the
    /// one that the plan was made for.
    pub fn run(&self, environment: &Environment, parameter: &dyn Fn(usize) -> Value) -> Option<Result<Ran>> {
        if environment.block.as_ref().is_some_and(|block| block.definitions().is_some()) {
            return None;
        }
        if self.closed.iter().any(|(number, value)| !parameter(*number).is_identical(value)) {
            return None;
        }
        let arguments = self.arguments(parameter)?;
        match self.kept.needs(environment, &arguments)? {
            Ok(()) => self.kept.run_short(environment, arguments, false),
            Err(error) => Some(Err(error)),
        }
    }

    /// Of its rows, as the procedure names them.
    pub fn columns(&self) -> &Arc<[Field]> {
        &self.columns
    }

    fn arguments(&self, parameter: &dyn Fn(usize) -> Value) -> Option<Vec<Value>> {
        let mut values = Vec::with_capacity(self.kept.places());
        for argument in &self.arguments {
            values.push(match argument {
                Argument::Known(value) => value.clone(),
                Argument::Same(number) => Some(parameter(*number)).filter(|value| !value.is_null())?,
                Argument::Of(number, sql_type, usage) => {
                    usage.value(ArgumentValue::Parameter(&parameter(*number), *sql_type))?
                }
            });
        }
        Some(values)
    }
}
