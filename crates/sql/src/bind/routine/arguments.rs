//! Which of the routines of a name a call means: that whose parameters take what is given, with the fewest conversions.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Mode, Routine, RoutineKind, RoutineParameter, nearest_name, signature};
use functions::common_type;
use plan::{Expr, ExprKind};
use sqlparser::ast::{FunctionArg, FunctionArgExpr};
use types::SqlType;

use crate::ObjectName;
use crate::bind::coerce::{cast_to, convert, is_untyped};
use crate::bind::{Binder, fold};
use crate::parse::calls::GATHERED;
use crate::parse::kept_expression;

/// An argument of a call.
pub(in crate::bind) struct Given {
    /// `name =>`
    pub name: Option<String>,
    pub expr: Expr,
}

/// A way to call a routine: for each of its parameters the argument that it takes, none for its default.
pub(super) struct Way<'r> {
    routine: &'r Arc<Routine>,
    arguments: Vec<Option<usize>>,
    /// How many arguments have exactly the types of their parameters.
    exact: usize,
    /// The first of the arguments that become the array which its last parameter is.
    gathered: Option<usize>,
}

impl Way<'_> {
    /// The type of the parameter that takes an argument.
    pub(super) fn taken_as(&self, argument: usize) -> Option<SqlType> {
        if self.gathered.is_some_and(|first| argument >= first) {
            return self.routine.given().last()?.sql_type.element();
        }
        let place = self.arguments.iter().position(|at| *at == Some(argument))?;
        parameters(self.routine, self.arguments.len()).nth(place).map(|parameter| parameter.sql_type)
    }
}

impl Binder<'_> {
    /// The arguments of a call, in the current level.
    pub(in crate::bind) fn given_arguments(&mut self, function: &str, arguments: &[FunctionArg]) -> Result<Vec<Given>> {
        let mut given: Vec<Given> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (name, expr) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if crate::parse::window::is_no_argument(expr) => {
                    continue;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (None, expr),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => (Some(fold(name)), expr),
                other => return Err(Error::unsupported(format!("the argument {other} of {function}()"))),
            };
            let position = self.text.start(expr);
            if name.is_none() && given.iter().any(|before| before.name.is_some()) {
                let message = "positional argument cannot follow named argument";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            if name.is_some() && given.iter().any(|before| before.name == name) {
                let message = format!("argument name \"{}\" used more than once", name.unwrap_or_default());
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            given.push(Given { name, expr: self.expr(expr)?.at(position) });
        }
        Ok(given)
    }

    /// The routine that a call means, and what it is given, in the order and in the types of its parameters. A call of a
    /// procedure gives something for what comes out, too, which counts for nothing.
    pub(in crate::bind) fn matching(
        &mut self,
        name: &ObjectName,
        candidates: &[Arc<Routine>],
        given: Vec<Given>,
        kind: RoutineKind,
    ) -> Result<(Arc<Routine>, Vec<Expr>)> {
        let types: Vec<SqlType> = given.iter().map(|g| g.expr.sql_type).collect();
        let mut ways: Vec<Way<'_>> = candidates.iter().filter_map(|routine| way(routine, &given)).collect();
        if ways.is_empty() {
            ways = candidates.iter().filter_map(|routine| gathering(routine, &given)).collect();
        }
        if ways.iter().any(|way| way.routine.kind == kind) {
            ways.retain(|way| way.routine.kind == kind);
        }
        let most = ways.iter().map(|way| way.exact).max();
        ways.retain(|way| Some(way.exact) == most);
        if ways.len() > 1 {
            super::preferred::prefer(&mut ways, &given);
        }
        let way = match ways.as_slice() {
            [] => return Err(missing(name, candidates, &types, kind)),
            [way] => way,
            _ => {
                let message = format!("{} {} is not unique", kind.name(), signature(&name.name, &types));
                return Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).hint(format!(
                    "Could not choose a best candidate {}. You might need to add explicit type casts.",
                    kind.name()
                )));
            }
        };
        let routine = way.routine.clone();
        if routine.kind != kind {
            return Err(wrong_kind(&routine));
        }
        let (taken, gathered) = (way.arguments.clone(), way.gathered);
        let mut exprs: Vec<Option<Expr>> = given.into_iter().map(|given| Some(given.expr)).collect();
        let mut arguments = Vec::with_capacity(taken.len());
        for (parameter, at) in parameters(&routine, taken.len()).zip(taken) {
            if !parameter.mode.is_given() {
                continue;
            }
            if let (true, Some(first), Some(element)) = (parameter.is_variadic, gathered, parameter.sql_type.element())
            {
                let elements = exprs[first..].iter_mut().filter_map(Option::take).map(|e| cast_to(e, element));
                let elements = elements.collect::<Result<Vec<_>>>()?;
                arguments.push(self.array_of_elements(elements, element, None)?);
                continue;
            }
            let expr = match at.and_then(|at| exprs.get_mut(at)?.take()) {
                Some(expr) => expr,
                None => self.default_argument(parameter)?,
            };
            let value = match parameter.sql_type.is_string() && !is_untyped(&expr) {
                true => convert(expr, parameter.sql_type)?,
                false => cast_to(expr, parameter.sql_type)?,
            };
            arguments.push(self.as_named_domain(value, parameter.domain.as_ref())?);
        }
        Ok((routine, arguments))
    }

    fn default_argument(&mut self, parameter: &RoutineParameter) -> Result<Expr> {
        let text = parameter.default.as_deref().unwrap_or("NULL");
        let expr = kept_expression(text)?;
        let (positions, variables) = (self.text.positions.take(), std::mem::take(&mut self.variables));
        let bound = self.expr(&expr);
        (self.text.positions, self.variables) = (positions, variables);
        bound
    }
}

/// What a call may name: all parameters of a procedure, if as many are given, else what goes in.
fn parameters(routine: &Routine, taken: usize) -> impl Iterator<Item = &RoutineParameter> {
    let all = routine.kind == RoutineKind::Procedure && routine.parameters.len() == taken;
    routine.parameters.iter().filter(move |p| all || p.mode.is_given())
}

fn way<'r>(routine: &'r Arc<Routine>, given: &[Given]) -> Option<Way<'r>> {
    let has_outs = routine.parameters.iter().any(|p| p.mode == Mode::Out);
    let whole = (routine.kind == RoutineKind::Procedure && has_outs)
        .then(|| way_among(routine, routine.parameters.iter().collect(), given));
    whole.flatten().or_else(|| way_among(routine, routine.given().collect(), given))
}

fn way_among<'r>(routine: &'r Arc<Routine>, parameters: Vec<&RoutineParameter>, given: &[Given]) -> Option<Way<'r>> {
    let mut arguments = vec![None; parameters.len()];
    for (at, argument) in given.iter().enumerate() {
        let is_whole = argument.name.as_deref() == Some(GATHERED);
        let place = match &argument.name {
            _ if is_whole => at,
            None => at,
            Some(name) => parameters.iter().position(|p| p.name.as_ref() == Some(name))?,
        };
        let free = arguments.get_mut(place)?;
        if free.is_some()
            || argument.name.is_none() && parameters[place].is_variadic
            || is_whole && !parameters[place].is_variadic
        {
            return None;
        }
        *free = Some(at);
    }
    let mut exact = 0;
    for (parameter, at) in parameters.iter().zip(&arguments) {
        match at {
            None if parameter.default.is_none() => return None,
            None => {}
            Some(_) if !parameter.mode.is_given() => exact += 1,
            Some(at) => {
                let expr = &given[*at].expr;
                exact += usize::from(expr.sql_type == parameter.sql_type);
                if !takes(parameter.sql_type, expr) {
                    return None;
                }
            }
        }
    }
    Some(Way { routine, arguments, exact, gathered: None })
}

/// The way to call a routine whose last parameter is the array of all arguments from there on.
fn gathering<'r>(routine: &'r Arc<Routine>, given: &[Given]) -> Option<Way<'r>> {
    let parameters: Vec<&RoutineParameter> = routine.given().collect();
    let (last, fixed) = parameters.split_last()?;
    let element = last.sql_type.element().filter(|_| last.is_variadic && given.len() > fixed.len())?;
    let (own, rest) = given.split_at(fixed.len());
    if rest.iter().any(|argument| argument.name.is_some() || !takes(element, &argument.expr)) {
        return None;
    }
    let way = way_among(routine, fixed.to_vec(), own)?;
    let exact = way.exact + rest.iter().filter(|argument| argument.expr.sql_type == element).count();
    let arguments = way.arguments.into_iter().chain([None]).collect();
    Some(Way { arguments, exact, gathered: Some(fixed.len()), ..way })
}

/// Whether a parameter takes an argument without a cast that somebody writes.
fn takes(to: SqlType, expr: &Expr) -> bool {
    let from = expr.sql_type;
    if from == to || from == SqlType::Null {
        // A literal is what it is read as.
        return true;
    }
    if let (Some(own), Some(given)) = (to.structure(), from.structure())
        && own.is_row
        && given.is_row
    {
        let pairs = own.fields.iter().zip(&given.fields);
        return own.fields.len() == given.fields.len()
            && pairs.into_iter().all(|(own, given)| takes_type(own.sql_type, given.sql_type));
    }
    takes_type(to, from)
}

fn takes_type(to: SqlType, from: SqlType) -> bool {
    if from == to {
        return true;
    }
    let is_wider = from.is_numeric() && to.is_numeric() && rank(from) <= rank(to);
    let is_date = matches!(
        (from, to),
        (SqlType::Date, SqlType::Timestamp | SqlType::Timestamptz) | (SqlType::Timestamp, SqlType::Timestamptz)
    );
    let is_same = common_type(from, to) == Some(to) && from.is_array() == to.is_array() && !from.is_numeric();
    from.is_string() && to.is_string() || is_wider || is_date || is_same
}

/// Numbers from narrow to wide.
fn rank(sql_type: SqlType) -> usize {
    match sql_type {
        SqlType::SmallInt => 0,
        SqlType::Integer => 1,
        SqlType::BigInt => 2,
        SqlType::Decimal { .. } => 3,
        SqlType::Numeric { .. } => 4,
        SqlType::Real => 5,
        _ => 6,
    }
}

/// 42809 for a function that is called, or a procedure in a query.
fn wrong_kind(routine: &Routine) -> Error {
    let signature = routine.signature();
    match routine.kind {
        RoutineKind::Function => Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{signature} is not a procedure"))
            .hint("To call a function, use SELECT."),
        RoutineKind::Aggregate => {
            Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{signature} is an aggregate function"))
        }
        RoutineKind::Procedure => Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{signature} is a procedure"))
            .hint("To call a procedure, use CALL."),
    }
}

/// 42883.
#[cold]
fn missing(name: &ObjectName, candidates: &[Arc<Routine>], types: &[SqlType], kind: RoutineKind) -> Error {
    let full = signature(&name.to_string(), types);
    let error = Error::new(SqlState::UNDEFINED_FUNCTION, format!("{} {full} does not exist", kind.name()));
    if candidates.is_empty() {
        return error.hint(format!(
            "No {0} matches the given name and argument types. You might need to add explicit type casts.",
            kind.name()
        ));
    }
    let known: Vec<String> = candidates.iter().map(|routine| routine.signature()).collect();
    let near = nearest_name(&full, known.iter().map(String::as_str)).unwrap_or(&known[0]);
    error.hint(format!("there is {near}"))
}

/// Whether an argument may stand in several places: it is no work, and the same each time.
pub(super) fn may_repeat(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..))
}
