//! Statements of procedures that run by short plans. One that is run again has the same text, parameters of the same types, and as long as
//! the catalog is the same one, the same plan: what has to be found out for others each time is found out once. Its arguments are read
//! where the variables lie.

use std::sync::{Arc, OnceLock};

use base::Result;
use catalog::Field;
use smallvec::SmallVec;
use sql::{ArgumentSource, ArgumentUse, ArgumentValue};
use types::{SqlType, Value};

use super::plans::{Kept, Text, Way};
use super::ran::Ran;
use super::short::Short;
use crate::environment::Environment;
use crate::transaction::Block;

/// So many arguments need no memory of their own.
pub(super) const USUAL: usize = 16;

/// A statement's short plan, and how its arguments come from the parameters.
pub(crate) struct Direct {
    kept: Arc<Kept>,
    columns: Arc<[Field]>,
    arguments: Vec<Argument>,
    /// Parameters of whose values the plan was made.
    closed: Vec<(usize, Value)>,
    /// Whether some argument has to be made of its parameter.
    makes_some: bool,
    is_of_one: bool,
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

/// What has come of a statement of at most one row.
pub(crate) enum One {
    /// A query, or a change that returns what it has changed: whether there is a row, whose values are [spare](Spare::row).
    Row(bool),
    /// A change of so many rows.
    Changed(usize),
}

/// Memory that is used again by one statement after the other.
#[derive(Default)]
pub(crate) struct Spare {
    pub frame: Vec<Value>,
    pub row: Vec<Value>,
}

impl Direct {
    /// None if the plan is not short, or not for every statement of this text.
    fn new(kept: &Arc<Kept>, text: Text<'_>, columns: Arc<[Field]>) -> Option<Self> {
        let (is_short, is_of_one) = match &kept.way {
            Way::Query { short, .. } => (short.is_some(), short.as_ref().is_some_and(Short::is_of_one)),
            Way::Change(change) => (true, change.is_of_one()),
        };
        let values = kept.arguments(text).filter(|_| is_short)?.values;
        let argument = |(usage, value): (&ArgumentUse, Value)| match usage.source {
            ArgumentSource::Literal(_) => Argument::Known(value),
            ArgumentSource::Parameter(number) => match text.parameters[number].1 {
                same if same == usage.column && !usage.role.is_count() => Argument::Same(number),
                sql_type => Argument::Of(number, sql_type, *usage),
            },
        };
        let arguments: Vec<Argument> = kept.uses().iter().zip(values).map(argument).collect();
        let closed = kept.closed_parameters().map(|(number, value)| (number, value.clone())).collect();
        let makes_some = arguments.iter().any(|argument| matches!(argument, Argument::Of(..)));
        Some(Self { kept: kept.clone(), columns, arguments, closed, makes_some, is_of_one })
    }

    /// Runs the statement with these parameters; none: nothing has happened, and it has to be run as others are. The catalog is the
    /// one that the plan was made for.
    pub fn run<'v>(&self, environment: &Environment, parameter: &dyn Fn(usize) -> &'v Value) -> Option<Result<Ran>> {
        self.with_arguments(environment.block.as_deref(), parameter, |arguments| {
            match self.kept.needs(environment, arguments)? {
                Ok(()) => self.kept.run_short(environment, arguments, false),
                Err(error) => Some(Err(error)),
            }
        })
    }

    /// The same for one of at most one row, in a transaction whose statement has begun.
    pub fn one<'v>(
        &self,
        environment: &Environment,
        block: &Block,
        parameter: &dyn Fn(usize) -> &'v Value,
        spare: &mut Spare,
    ) -> Option<One> {
        self.with_arguments(Some(block), parameter, |arguments| self.kept.run_one(environment, block, arguments, spare))
    }

    /// Whether it is a statement of at most one row, for whoever says nothing of what he needs.
    pub fn is_of_one(&self) -> bool {
        self.is_of_one
    }

    /// Of its rows, as the procedure names them.
    pub fn columns(&self) -> &Arc<[Field]> {
        &self.columns
    }

    /// Whether it gives rows: a query, or a change that returns them.
    pub fn gives_rows(&self) -> bool {
        match &self.kept.way {
            Way::Query { .. } => true,
            Way::Change(change) => change.returning.is_some(),
        }
    }

    fn with_arguments<'v, T>(
        &self,
        block: Option<&Block>,
        parameter: &dyn Fn(usize) -> &'v Value,
        run: impl FnOnce(&[&Value]) -> Option<T>,
    ) -> Option<T> {
        if block.is_some_and(|block| block.definitions().is_some())
            || self.closed.iter().any(|(number, value)| !parameter(*number).is_identical(value))
        {
            return None;
        }
        let mut made = Vec::new();
        if self.makes_some {
            for argument in &self.arguments {
                if let Argument::Of(number, sql_type, usage) = argument {
                    made.push(usage.value(ArgumentValue::Parameter(parameter(*number), *sql_type))?);
                }
            }
        }
        let mut made = made.iter();
        let mut arguments: SmallVec<[&Value; USUAL]> = SmallVec::new();
        for argument in &self.arguments {
            arguments.push(match argument {
                Argument::Known(value) => value,
                Argument::Same(number) => Some(parameter(*number)).filter(|value| !value.is_null())?,
                Argument::Of(..) => made.next()?,
            });
        }
        run(&arguments)
    }
}
