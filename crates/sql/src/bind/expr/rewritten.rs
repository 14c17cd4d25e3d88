//! Calls that are bound as other calls: arguments by name, `list_aggregate(l, 'sum')` as `list_sum(l)`, percentiles at each of several
//! fractions, OVERLAPS. What they become is looked at here, before anything is bound.

use base::{Error, Result, SqlState};
use functions::{Composed, ScalarFunction};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Array, BinaryOperator, CaseWhen, CastKind, DataType, DictionaryField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, NormalizationForm, ObjectName, ObjectNamePart, TimezoneInfo, Value,
};
use sqlparser::parser::{Parser, ParserError};
use types::SqlType;
use types::ops::date::says_zone;

use super::arguments::{argument, constant, literal, text_literal, unnamed, with_arguments};
use super::json_paths::{OF_PATHS, at_paths};
use crate::bind::{Binder, fold};
use crate::dialect::MorselDialect;
use crate::parse::lambda::call_of;
use crate::walk;

/// Functions whose arguments have names, and what those left out are; nothing if they must be there.
const NAMED: &[(&str, &[(&str, &str)])] = &[
    (
        "make_interval",
        &[("years", "0"), ("months", "0"), ("weeks", "0"), ("days", "0"), ("hours", "0"), ("mins", "0"), ("secs", "0")],
    ),
    ("make_date", &[("year", ""), ("month", ""), ("day", "")]),
    ("make_time", &[("hour", ""), ("min", ""), ("sec", "")]),
    ("make_timestamp", &[("year", ""), ("month", ""), ("mday", ""), ("hour", ""), ("min", ""), ("sec", "")]),
    ("jsonb_set", &[("jsonb_in", ""), ("path", ""), ("replacement", ""), ("create_if_missing", "true")]),
    ("jsonb_insert", &[("jsonb_in", ""), ("path", ""), ("replacement", ""), ("insert_after", "false")]),
    ("parse_ident", &[("str", ""), ("strict", "true")]),
    ("jsonb_path_query", PATH),
    ("jsonb_path_query_array", PATH),
    ("jsonb_path_query_first", PATH),
    ("jsonb_path_exists", PATH),
    ("jsonb_path_match", PATH),
];
const PATH: &[(&str, &str)] = &[("target", ""), ("path", ""), ("vars", "{}"), ("silent", "false")];

/// Functions that aggregate a list by the name of an aggregate.
const LIST_AGGREGATES: [&str; 5] = ["list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"];
/// Functions that put any number of lists behind each other.
const CONCATENATED: [&str; 4] = ["list_concat", "list_cat", "array_concat", "array_cat"];
/// Functions whose fractions may be several.
const PERCENTILES: [&str; 5] = ["percentile_cont", "percentile_disc", "quantile_cont", "quantile_disc", "quantile"];
/// Fields of dates that are functions.
const FIELDS: [&str; 3] = ["era", "yearweek", "weekday"];
/// What an element of a list that is aggregated is called, and nothing else.
const ELEMENT: &str = "#e";
/// The last argument is a word.
const FORMS: [&str; 4] = ["NFC", "NFD", "NFKC", "NFKD"];

fn default(written: &str) -> Expr {
    match written {
        "true" | "false" => constant(Value::Boolean(written == "true")),
        number if number.bytes().all(|b| b.is_ascii_digit()) => constant(Value::Number(number.to_owned(), false)),
        text => text_literal(text),
    }
}

/// What a call stands for, if that is another expression.
pub(super) fn rewritten(function: &Function) -> Result<Option<Expr>> {
    let (Some(ObjectNamePart::Identifier(name)), FunctionArguments::List(list)) =
        (function.name.0.last(), &function.args)
    else {
        return Ok(None);
    };
    let (name, arguments) = (fold(name), list.args.as_slice());
    if let Some((_, parameters)) = NAMED.iter().find(|(named, _)| *named == name) {
        return Ok(by_position(&name, parameters, arguments)?.map(|all| Expr::Function(with_arguments(function, all))));
    }
    if LIST_AGGREGATES.contains(&name.as_str())
        && let [list, of, rest @ ..] = arguments
        && let Some(aggregate) = unnamed(of).and_then(literal)
    {
        return list_aggregate(function, list, &aggregate.to_lowercase(), rest).map(Some);
    }
    if CONCATENATED.contains(&name.as_str())
        && let [first, rest @ ..] = arguments
        && rest.len() != 1
    {
        let joined =
            |all: Expr, next: &FunctionArg| Expr::Function(with_arguments(function, vec![argument(all), next.clone()]));
        return Ok(unnamed(first).map(|first| rest.iter().fold(first.clone(), joined)));
    }
    if name == "regexp_extract"
        && let [text, pattern, names, options @ ..] = arguments
        && let Some(Expr::Array(names)) = unnamed(names)
    {
        let field = |(at, name): (usize, &Expr)| {
            let number = argument(constant(Value::Number((at + 1).to_string(), false)));
            let all = [text.clone(), pattern.clone(), number].into_iter().chain(options.iter().cloned()).collect();
            let value = Box::new(Expr::Function(with_arguments(function, all)));
            Some(DictionaryField { key: Ident::with_quote('"', literal(name)?), value })
        };
        return Ok(names.elem.iter().enumerate().map(field).collect::<Option<_>>().map(Expr::Dictionary));
    }
    if let (Some(data_type), [digits]) = (moment_type(&name, arguments), arguments)
        && let Some(Expr::Value(_)) = unnamed(digits)
    {
        let now = Function { args: FunctionArguments::None, ..function.clone() };
        let expr = Box::new(Expr::Function(now));
        let kind = CastKind::DoubleColon;
        return Ok(Some(Expr::Cast { kind, expr, data_type, format: None }));
    }
    if PERCENTILES.contains(&name.as_str()) {
        return Ok(at_each(function, arguments));
    }
    if OF_PATHS.contains(&name.as_str())
        && let [of, path] = arguments
        && let Some(path) = unnamed(path)
    {
        return Ok(at_paths(&name, function, of, path));
    }
    if matches!(name.as_str(), "json_merge_patch" | "json_deep_merge" | "json_merge")
        && let [first, second, rest @ ..] = arguments
        && !rest.is_empty()
    {
        let both = Expr::Function(with_arguments(function, vec![first.clone(), second.clone()]));
        let all = std::iter::once(argument(both)).chain(rest.iter().cloned()).collect();
        return Ok(Some(Expr::Function(with_arguments(function, all))));
    }
    if matches!(name.as_str(), "strptime" | "try_strptime")
        && let [text, format] = arguments
        && let Some(format) = unnamed(format)
    {
        return Ok(by_formats(function, text, format));
    }
    // Fields that PostgreSQL has not.
    if matches!(name.as_str(), "date_part" | "datepart")
        && let [field, of] = arguments
        && let Some(field) = unnamed(field)
            .and_then(literal)
            .filter(|field| FIELDS.iter().any(|known| known.eq_ignore_ascii_case(field)))
    {
        let mut made = with_arguments(function, vec![of.clone()]);
        made.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(field.to_lowercase()))]);
        return Ok(Some(Expr::Function(made)));
    }
    if matches!(name.as_str(), "date_part" | "datepart")
        && let [fields, of] = arguments
        && let Some(Expr::Array(fields)) = unnamed(fields)
    {
        let field = |field: &Expr| {
            let called = Ident::with_quote('"', literal(field)?);
            let value = Expr::Function(with_arguments(function, vec![argument(field.clone()), of.clone()]));
            Some(DictionaryField { key: called, value: Box::new(value) })
        };
        return Ok(fields.elem.iter().map(field).collect::<Option<_>>().map(Expr::Dictionary));
    }
    if matches!(name.as_str(), "normalize" | "is_normalized")
        && let [of, form] = arguments
        && let Some(Expr::Identifier(form)) = unnamed(form)
        && FORMS.contains(&form.value.to_uppercase().as_str())
    {
        let all = vec![of.clone(), argument(text_literal(&form.value.to_uppercase()))];
        return Ok(Some(Expr::Function(with_arguments(function, all))));
    }
    Ok(None)
}

/// What aggregates a list: a function that does, or the aggregate over its elements.
fn list_aggregate(function: &Function, list: &FunctionArg, aggregate: &str, rest: &[FunctionArg]) -> Result<Expr> {
    let named = format!("list_{aggregate}");
    let count = rest.len() + 1;
    let takes = |f: ScalarFunction| f.definition().overloads.iter().any(|o| o.parameters.len() == count);
    let is_there = ScalarFunction::find(&named).is_some_and(takes) || Composed::find(&named, count).is_some();
    if is_there {
        let mut made = with_arguments(function, std::iter::once(list).chain(rest).cloned().collect());
        made.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(named))]);
        return Ok(Expr::Function(made));
    }
    let mut call = call_of(Ident::new(aggregate), vec![Expr::Identifier(Ident::with_quote('"', ELEMENT))]);
    if let FunctionArguments::List(list) = &mut call.args {
        list.args.extend(rest.iter().cloned());
    }
    let text = format!(
        "CASE WHEN \"#list\" IS NOT NULL THEN (SELECT \"#call\" FROM unnest(\"#list\") \"#l\" (\"{ELEMENT}\")) END"
    );
    let wrong = |error: ParserError| Error::internal(format!("{text}: {error}"));
    let mut parser = Parser::new(&MorselDialect).try_with_sql(&text).map_err(wrong)?;
    let mut all = parser.parse_expr().map_err(wrong)?;
    let given = unnamed(list).cloned();
    walk::change_each_expr(&mut all, |expr| match expr {
        Expr::Identifier(ident) if ident.value == "#list" => {
            if let Some(given) = &given {
                *expr = Expr::Nested(Box::new(given.clone()));
            }
        }
        Expr::Identifier(ident) if ident.value == "#call" => *expr = Expr::Function(call.clone()),
        _ => {}
    });
    Ok(all)
}

/// What `current_timestamp(2)` and its like are cast to.
fn moment_type(name: &str, arguments: &[FunctionArg]) -> Option<DataType> {
    let Some(Expr::Value(digits)) = arguments.first().and_then(unnamed) else { return None };
    let Value::Number(digits, _) = &digits.value else { return None };
    let digits = Some(digits.parse().ok()?);
    Some(match name {
        "current_timestamp" => DataType::Timestamp(digits, TimezoneInfo::WithTimeZone),
        "localtimestamp" => DataType::Timestamp(digits, TimezoneInfo::WithoutTimeZone),
        "current_time" => DataType::Time(digits, TimezoneInfo::WithTimeZone),
        "localtime" => DataType::Time(digits, TimezoneInfo::WithoutTimeZone),
        _ => return None,
    })
}

/// The arguments in the order of their parameters; none if nothing is to be done.
fn by_position(name: &str, parameters: &[(&str, &str)], arguments: &[FunctionArg]) -> Result<Option<Vec<FunctionArg>>> {
    let has_names = arguments.iter().any(|a| matches!(a, FunctionArg::Named { .. }));
    let is_short =
        arguments.len() < parameters.len() && parameters[arguments.len()..].iter().all(|(_, d)| !d.is_empty());
    if arguments.len() > parameters.len() || !has_names && !is_short {
        return Ok(None);
    }
    let wrong = |what: String| Err(Error::new(SqlState::UNDEFINED_FUNCTION, what));
    let mut places: Vec<Option<Expr>> = vec![None; parameters.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let (place, value) = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (at, value),
            FunctionArg::Named { name: parameter, arg: FunctionArgExpr::Expr(value), .. } => {
                let parameter = fold(parameter);
                match parameters.iter().position(|(known, _)| *known == parameter) {
                    Some(place) => (place, value),
                    None => return wrong(format!("function {name} has no parameter {parameter}")),
                }
            }
            _ => return Ok(None),
        };
        if places[place].replace(value.clone()).is_some() {
            return wrong(format!("parameter {} of function {name} is given twice", parameters[place].0));
        }
    }
    let mut all = Vec::with_capacity(places.len());
    for (place, (parameter, written)) in places.into_iter().zip(parameters) {
        match place {
            Some(value) => all.push(argument(value)),
            None if !written.is_empty() => all.push(argument(default(written))),
            None => return wrong(format!("function {name} needs its parameter {parameter}")),
        }
    }
    Ok(Some(all))
}

/// `strptime` by the first of several formats that fits, or by one that says where on earth a time is meant.
fn by_formats(function: &Function, text: &FunctionArg, format: &Expr) -> Option<Expr> {
    let named = |name: &str, format: &Expr| {
        let mut made = with_arguments(function, vec![text.clone(), argument(format.clone())]);
        made.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
        Expr::Function(made)
    };
    match format {
        Expr::Array(formats) => {
            let (last, before) = formats.elem.split_last()?;
            let own = fold_name(function)?;
            let mut all: Vec<Expr> = before.iter().map(|format| named("try_strptime", format)).collect();
            all.push(named(&own, last));
            Some(Expr::Function(call_of(Ident::new("coalesce"), all)))
        }
        _ if says_zone(literal(format)?) && fold_name(function)? == "strptime" => {
            Some(named("strptime_moment", format))
        }
        _ => None,
    }
}

fn fold_name(function: &Function) -> Option<String> {
    match function.name.0.last() {
        Some(ObjectNamePart::Identifier(name)) => Some(fold(name)),
        _ => None,
    }
}

/// The array of a call for each of several fractions.
fn at_each(function: &Function, arguments: &[FunctionArg]) -> Option<Expr> {
    let at = arguments.len().checked_sub(1)?;
    let mut fractions = unnamed(&arguments[at])?;
    while let Expr::Nested(inner) | Expr::Cast { expr: inner, .. } = fractions {
        fractions = inner;
    }
    let Expr::Array(fractions) = fractions else { return None };
    let of = |fraction: &Expr| {
        let mut all = arguments.to_vec();
        all[at] = argument(fraction.clone());
        Expr::Function(with_arguments(function, all))
    };
    let calls: Vec<Expr> = fractions.elem.iter().map(of).collect();
    // Of no values it is NULL rather than an array of NULLs.
    let condition = Expr::IsNotNull(Box::new(calls.first()?.clone()));
    let result = Expr::Array(Array { elem: calls, named: true });
    Some(case(condition, result))
}

/// `CASE WHEN condition THEN result END`
fn case(condition: Expr, result: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result }],
        else_result: None,
    }
}

/// The call that `expr IS NFC NORMALIZED` is.
pub(super) fn normalized(expr: &Expr, form: Option<NormalizationForm>) -> Expr {
    let form = form.unwrap_or(NormalizationForm::NFC).to_string();
    Expr::Function(call_of(Ident::new("is_normalized"), vec![expr.clone(), text_literal(&form)]))
}

/// The call that `(a, b) OVERLAPS (c, d)` is; none if these are no periods.
pub(super) fn overlaps(op: &BinaryOperator, left: &Expr, right: &Expr) -> Option<Expr> {
    let (BinaryOperator::Overlaps, Expr::Tuple(left), Expr::Tuple(right)) = (op, left, right) else { return None };
    if left.len() != 2 || right.len() != 2 {
        return None;
    }
    Some(Expr::Function(call_of(Ident::new("overlaps"), left.iter().chain(right).cloned().collect())))
}

impl Binder<'_> {
    /// `overlaps(a, b, c, d)`: periods from a to b and from c to d, which may be lengths, and come in any order.
    pub(super) fn overlaps(&mut self, times: &[&Expr], position: Option<u32>) -> Result<plan::Expr> {
        let mut ordered = Vec::with_capacity(4);
        for period in times.chunks(2) {
            let &[begin, end] = period else { return Err(Error::internal("a period of one time")) };
            let end = match self.expr(end)?.sql_type {
                SqlType::Interval if self.expr(begin)?.sql_type != SqlType::Interval => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(begin.clone()))),
                    op: BinaryOperator::Plus,
                    right: Box::new(Expr::Nested(Box::new(end.clone()))),
                },
                _ => end.clone(),
            };
            let both = vec![begin.clone(), end.clone()];
            let last = Expr::Function(call_of(Ident::new("greatest"), both.clone()));
            ordered.push(Expr::Function(call_of(Ident::new("least"), both)));
            // NULL if one of them is.
            let both = Expr::BinaryOp {
                left: Box::new(Expr::IsNotNull(Box::new(Expr::Nested(Box::new(begin.clone()))))),
                op: BinaryOperator::And,
                right: Box::new(Expr::IsNotNull(Box::new(Expr::Nested(Box::new(end))))),
            };
            ordered.push(case(both, last));
        }
        let call = Expr::Function(call_of(Ident::new("overlaps_in_order"), ordered));
        self.deeper(|b| b.expr(&call)).map(|bound| bound.at(position))
    }
}
