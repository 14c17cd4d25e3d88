//! Calls of the functions of the table, with bound arguments.

use base::{Error, Result, SqlState};
use catalog::nearest_name;
use functions::aggregate::AGGREGATES;
use functions::composed;
use functions::lambda::LAMBDAS;
use functions::window::WINDOWS;
use functions::{AggregateFunction, Lambda, SESSION_ZONE, ScalarFunction, WindowFunction};
use plan::{Expr, ExprKind};
use types::ops::date;
use types::ops::number::pattern;
use types::{SqlType, Value};

use super::array::alone;
use super::array_operators::with_empty;
use crate::bind::coerce::{cast_to, convert};
use crate::bind::zone;

/// A call of a function of the table, with bound arguments.
pub(in crate::bind) fn call(name: &str, arguments: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    let types: Vec<SqlType> = arguments.iter().map(|a| a.sql_type).collect();
    let constants: Vec<Option<i64>> = arguments.iter().map(constant_integer).collect();
    // Of a range, its bounds.
    if let &[SqlType::Range(&of)] = types.as_slice()
        && let "lower" | "upper" = name
    {
        let function = if name == "lower" { ScalarFunction::RANGE_LOWER } else { ScalarFunction::RANGE_UPPER };
        return Ok(Expr::new(ExprKind::Call(function, arguments), of).at(position));
    }
    let found = ScalarFunction::find(name).and_then(|f| Some((f, f.resolve(&types, &constants)?)));
    let Some((function, resolved)) = found else {
        // Functions of timestamps take moments as the session's local time.
        if types.contains(&SqlType::Timestamptz) {
            let arguments = arguments.into_iter().map(local).collect::<Result<_>>()?;
            return call(name, arguments, position);
        }
        return Err(no_function(name, &types).at(position));
    };
    let mut converted = Vec::with_capacity(arguments.len() + resolved.defaults.len());
    for (argument, &to) in arguments.into_iter().zip(&resolved.arguments) {
        converted.push(convert(argument, to)?);
    }
    for (argument, _) in converted.iter_mut().zip(&resolved.alone).filter(|(_, alone)| **alone) {
        let value = std::mem::replace(argument, Expr::bool(true));
        *argument = alone(value, |_| true)?;
    }
    converted.extend(resolved.defaults.iter().map(|&default| match default {
        SESSION_ZONE => zone::name(),
        default => Expr::constant(Value::str(default), SqlType::Text),
    }));
    let mut sql_type = resolved.result;
    if matches!(function, ScalarFunction::EXTRACT | ScalarFunction::DATE_TRUNC) {
        sql_type = check_field(function, &mut converted, sql_type).map_err(|e| e.at(position))?;
    }
    // As many digits behind the point as the pattern has.
    if function == ScalarFunction::TO_NUMBER
        && let ExprKind::Const(Value::Str(pattern)) = &converted[1].kind
    {
        let scale = pattern::scale_of(pattern).map_err(|e| e.at(converted[1].position))?;
        sql_type = SqlType::decimal(SqlType::MAX_PRECISION, scale);
    }
    if function == ScalarFunction::TRIM_SCALE
        && let (ExprKind::Const(Value::Decimal(value)), SqlType::Decimal { precision, scale }) =
            (&converted[0].kind, sql_type)
    {
        let zeros = (0..scale).take_while(|n| value % 10i128.pow(u32::from(*n) + 1) == 0).count() as u8;
        return cast_to(converted.remove(0), SqlType::decimal(precision, scale - zeros));
    }
    Ok(with_empty(function, converted, sql_type, position))
}

/// A moment as the session's local time; anything else as it is.
pub(super) fn local(expr: Expr) -> Result<Expr> {
    if expr.sql_type == SqlType::Timestamptz { cast_to(expr, SqlType::Timestamp) } else { Ok(expr) }
}

fn constant_integer(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Const(Value::Int(i)) => Some(i),
        _ => None,
    }
}

/// The field of `extract` and `date_trunc`, if it is a constant, is one that exists; gives the result's type.
fn check_field(function: ScalarFunction, arguments: &mut [Expr], result: SqlType) -> Result<SqlType> {
    let ExprKind::Const(value) = &arguments[0].kind else {
        // Whole numbers, and seconds with their fraction.
        return Ok(if function == ScalarFunction::EXTRACT { SqlType::Double } else { result });
    };
    let Value::Str(name) = value else { return Ok(result) };
    let name = name.to_lowercase();
    let field = match name.parse::<date::Field>() {
        Ok(field) => field,
        Err(_) => {
            let message = format!("unit \"{name}\" not recognized");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .hint("fields are year, quarter, month, week, day, hour, minute, second, dow, doy, epoch, ..."));
        }
    };
    arguments[0] = Expr::constant(Value::str(name.as_str()), SqlType::Text).at(arguments[0].position);
    Ok(match (function, field.scale()) {
        // Days have whole seconds.
        (ScalarFunction::EXTRACT, _) if arguments.get(1).is_some_and(|value| value.sql_type == SqlType::Date) => result,
        (ScalarFunction::EXTRACT, scale) if scale > 0 => SqlType::decimal(20, scale),
        _ => result,
    })
}

/// 42883 with the nearest name as hint.
pub(in crate::bind) fn no_function(name: &str, types: &[SqlType]) -> Error {
    let list = types.iter().map(SqlType::to_string).collect::<Vec<_>>().join(", ");
    let error = Error::new(SqlState::UNDEFINED_FUNCTION, format!("function {name}({list}) does not exist"));
    if let Some(function) = ScalarFunction::find(name) {
        let (example, _) = function.definition().example;
        return error.hint(format!(
            "no function matches the given name and argument types; you might need explicit casts (example: {example})"
        ));
    }
    if AggregateFunction::find(name).is_some() {
        return error.hint(format!("{name} takes one argument"));
    }
    if let Some(window) = WindowFunction::find(name).and_then(WindowFunction::definition) {
        return error.hint(format!("example: {}", window.example.0));
    }
    if let Some(composed) = composed::all().find(|c| c.names.contains(&name)) {
        return error.hint(format!("no function takes these arguments (example: {})", composed.example.0));
    }
    if let Some(lambda) = Lambda::find(name) {
        return error.hint(format!("it takes a list and a lambda (example: {})", lambda.example.0));
    }
    let known = ScalarFunction::all()
        .flat_map(|f| f.definition().names)
        .chain(AGGREGATES.iter().flat_map(|d| d.names))
        .copied()
        .chain(composed::all().flat_map(|c| c.names).copied())
        .chain(LAMBDAS.iter().flat_map(|l| l.names).copied())
        .chain(WINDOWS.iter().map(|w| w.name));
    match nearest_name(name, known) {
        Some(near) => error.hint(format!("perhaps you meant {near}()")),
        None => error.hint("no function matches the given name and argument types"),
    }
}

/// 42883 of an operator.
pub(super) fn no_operator(left: SqlType, op: &str, right: SqlType) -> Error {
    let message = format!("operator does not exist: {left} {op} {right}");
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
        .hint("no operator takes these types; you might need explicit casts")
}
