//! Calls of functions by name, and the grammar's own forms of them.

use base::{Error, Result, SqlState};
use functions::{AggregateFunction, Composed, Lambda, ScalarFunction, WindowFunction};
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};
use sqlparser::ast::{CeilFloorKind, FunctionArgumentClause, NullTreatment, OrderByExpr, TrimWhereField};
use types::ops::cast::parse::shown_name;
use types::ops::date;
use types::{SqlType, Value};

use super::aggregate::name_of;
use super::by_type::{instead, is_about_types};
use super::named::{call, local, no_function};
use super::ordered_set::OrderedSet;
use super::parts_of_text::{is_split, split_text};
use super::pattern::{is_pattern, substring_by_pattern};
use super::position::has_arguments;
use super::rewritten::rewritten;
use crate::bind::coerce::{cast_to, is_untyped, known, padded, unify};
use crate::bind::expr::operator::arithmetic;
use crate::bind::scope::{Clause, Relation, Scope, ScopeColumn};
use crate::bind::{Binder, fold, unsupported, zone};
use crate::parse::lambda::call_of;
use crate::parse::window::is_no_argument;

/// Functions that are a field of `extract`.
const FIELDS: [&str; 18] = [
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "quarter",
    "week",
    "dayofweek",
    "dayofyear",
    "decade",
    "century",
    "millennium",
    "isodow",
    "isoyear",
    "timezone_hour",
    "timezone_minute",
    "julian",
];

/// The Julian day of a timestamp: the day's number, and how much of it has gone.
const JULIAN: &str = "CASE WHEN isfinite(value) THEN extract(julian FROM CAST(value AS date))::numeric \
     + (extract(epoch FROM CAST(value AS time)))::numeric(38, 20)::numeric / 86400::numeric \
     WHEN value > '1970-01-01'::timestamp THEN 'Infinity'::numeric \
     WHEN value < '1970-01-01'::timestamp THEN '-Infinity'::numeric END";

/// Fields that are functions.
const FUNCTIONS: [&str; 3] = ["era", "yearweek", "weekday"];

/// Functions of texts that count an array's elements.
const LENGTHS: [&str; 3] = ["len", "length", "array_length"];

/// A call as it is written, but for OVER.
pub(super) struct CallParts<'f> {
    pub name: String,
    pub position: Option<u32>,
    pub arguments: Vec<&'f ast::Expr>,
    /// The argument is `*`.
    pub star: bool,
    pub distinct: bool,
    /// ORDER BY behind the arguments.
    pub order: &'f [OrderByExpr],
    pub within_group: &'f [OrderByExpr],
    pub filter: Option<&'f ast::Expr>,
    pub null_treatment: Option<NullTreatment>,
}

impl CallParts<'_> {
    /// The aggregate of that name; `count()` is that of rows, as DuckDB has it.
    pub fn aggregate(&self) -> Result<Option<AggregateFunction>> {
        if self.name != "count" || !self.arguments.is_empty() {
            return Ok(AggregateFunction::find(&self.name));
        }
        match (self.star, self.distinct) {
            (_, false) => Ok(Some(AggregateFunction::ROWS)),
            (true, true) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "DISTINCT cannot be applied to *").at(self.position))
            }
            (false, true) => Err(self.wrong("count(*) must be used to call a parameterless aggregate function")),
        }
    }

    /// 42809.
    pub fn wrong(&self, message: impl Into<String>) -> Error {
        Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(self.position)
    }
}

/// What calculates this aggregate, which was refused because its values are of a type that it does not take.
fn of_other_type(error: &Error, call: &CallParts<'_>) -> Option<&'static Composed> {
    let aggregate = AggregateFunction::find(&call.name)?;
    if error.state() != SqlState::UNDEFINED_FUNCTION || call.star || call.arguments.len() != 1 {
        return None;
    }
    let refused = error.message().strip_prefix(&format!("function {}(", name_of(aggregate)))?;
    let sql_type = refused.split([')', '(', ',']).next()?;
    Composed::find(&format!("{sql_type}_{}", call.name), 1)
}

impl Binder<'_> {
    pub(super) fn function(&mut self, function: &ast::Function) -> Result<Expr> {
        let position = self.text.name_position(&function.name);
        if let FunctionArguments::Subquery(query) = &function.args {
            let name = function.name.to_string().to_lowercase();
            return self.function_of_subquery(&name, query, position);
        }
        if let Some(call) = self.chained(function) {
            return self.deeper(|b| b.expr(&call));
        }
        if let Some(value) = self.user_function(function)? {
            return Ok(value);
        }
        if let Some(row) = self.row_call(function)? {
            return Ok(row);
        }
        if let Some(made) = self.struct_call(function)? {
            return Ok(made);
        }
        if let Some(other) = rewritten(function).map_err(|e| e.at(position))? {
            return self
                .deeper(|b| b.expr(&other))
                .map_err(|e| if e.position().is_none() { e.at(position) } else { e });
        }
        let call = parts_of(function, position)?;
        if call.name == "merge_action" && call.arguments.is_empty() && !call.star {
            return self.merge_action(position);
        }
        // What literals name is known now; other names are looked up for each row.
        let known = match call.name.as_str() {
            "to_regclass" => self.session_function(&call.name, &call.arguments, position)?,
            "pg_get_serial_sequence" => self.sequence_call(&call.name, &call.arguments, position)?,
            _ => None,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        if let Some(found) = self.first_or_last(&call, function.over.as_ref())? {
            return Ok(found);
        }
        if matches!(call.name.as_str(), "any_value" | "arbitrary")
            && !call.order.is_empty()
            && let Some(composed) = Composed::find("any_value_in_order", call.arguments.len())
        {
            return self.deeper(|b| b.composed_call(composed, &call, function.over.as_ref()));
        }
        if let Some(composed) = call.composed(function.over.is_some()) {
            let bound = self.deeper(|b| b.composed_call(composed, &call, function.over.as_ref()));
            return match (bound, instead(&call.name, call.arguments.len())) {
                (Err(error), Some(other)) if is_about_types(&error) => {
                    self.deeper(|b| b.composed_call(other, &call, None)).map_err(|_| error)
                }
                (bound, _) => bound,
            };
        }
        if let Some(lambda) = Lambda::find(&call.name) {
            let is_plain = function.over.is_none() && !call.star && !call.distinct && call.filter.is_none();
            if !is_plain || !call.order.is_empty() || !call.within_group.is_empty() {
                return Err(call.wrong(format!("{} is neither an aggregate nor a window function", call.name)));
            }
            return self.deeper(|b| b.lambda_call(lambda, &call));
        }
        let bound = match &function.over {
            Some(over) => self.window_call(&call, over),
            None => self.plain_call(&call),
        };
        match bound {
            // Aggregates of numbers of any length are made of the list of them, and those of times of numbers.
            Err(error) => match of_other_type(&error, &call) {
                Some(composed) => self.deeper(|b| b.composed_call(composed, &call, function.over.as_ref())),
                None => Err(error),
            },
            bound => bound,
        }
    }

    /// What MERGE has done with a row.
    pub(super) fn merge_action(&self, position: Option<u32>) -> Result<Expr> {
        let action = self.names.levels.iter().rev().find_map(|level| level.merge_action.clone());
        let message = "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command";
        action.ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, message).at(position))
    }

    /// A call without OVER.
    fn plain_call(&mut self, call: &CallParts<'_>) -> Result<Expr> {
        let CallParts { name, position, arguments, distinct, filter, .. } = call;
        let (position, filter) = (*position, *filter);
        let wrong = |message: String| Err(call.wrong(message));
        if let Some(set) = OrderedSet::of(call)? {
            return self.ordered_set(&set, call);
        }
        if call.null_treatment.is_some() {
            return wrong(format!("RESPECT/IGNORE NULLS specified, but {name} is called without OVER"));
        }
        if let Some(window) = WindowFunction::find(name) {
            use WindowFunction::{CumeDist, DenseRank, PercentRank, Rank};
            return match call.within_group {
                [] if matches!(window, WindowFunction::StringAgg | WindowFunction::ArrayAgg) => {
                    self.string_agg(window, call)
                }
                [] => {
                    self.window_function(window, call)?;
                    wrong(format!("window function {name} requires an OVER clause"))
                }
                _ if matches!(window, Rank | DenseRank | PercentRank | CumeDist) => self.hypothetical_set(window, call),
                _ => wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")),
            };
        }
        if !call.within_group.is_empty() {
            return wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"));
        }
        if let Some(aggregate) = call.aggregate()? {
            // No aggregate looks at the order of its values.
            self.inside_aggregate(position, |b| b.inner_order(call.order))?;
            return match (aggregate, arguments.as_slice()) {
                (aggregate, arguments) if arguments.len() == aggregate.definition().arguments => {
                    self.aggregate(aggregate, arguments, *distinct, filter, position)
                }
                _ => Err(self.wrong_arguments(call)),
            };
        }
        for (is_written, clause) in
            [(*distinct, "DISTINCT"), (!call.order.is_empty(), "ORDER BY"), (filter.is_some(), "FILTER")]
        {
            if is_written {
                return wrong(format!("{clause} specified, but {name} is not an aggregate function"));
            }
        }
        if name == "grouping" || name == "grouping_id" {
            return self.grouping(arguments, position);
        }
        if let Some(value) = self.session_function(name, arguments, position)? {
            return Ok(value);
        }
        if let Some(value) = self.enum_function(name, arguments, position)? {
            return Ok(value);
        }
        if let Some(element) = self.unnest_in_list(name, arguments, position)? {
            return Ok(element);
        }
        let bound = self.call_by_name(name, arguments, position)?;
        match call.star {
            true => wrong(format!("{name}(*) specified, but {name} is not an aggregate function")),
            false => Ok(bound),
        }
    }

    fn function_of_subquery(&mut self, name: &str, query: &ast::Query, position: Option<u32>) -> Result<Expr> {
        match name {
            "exists" => self.exists(query, false),
            "array" => self.array_of_subquery(query, position),
            _ => unsupported(format!("a bare subquery as the argument of {name}()"), position),
        }
    }

    /// A call of a scalar function.
    pub(super) fn call_by_name(&mut self, name: &str, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        if let Some(made) = self.map_call(name, arguments, position)? {
            return Ok(made);
        }
        if let Some(built) = self.json_call(name, arguments, position)? {
            return Ok(built);
        }
        match name {
            "coalesce" | "ifnull" | "nvl" => return self.coalesce(arguments, position),
            "nullif" => return self.nullif(arguments, position),
            "if" | "iff" => return self.if_else(arguments, position),
            "greatest" => return self.extreme(ScalarFunction::GREATEST, "GREATEST", arguments, position),
            "least" => return self.extreme(ScalarFunction::LEAST, "LEAST", arguments, position),
            // NULLs are left out as if nothing stood for them.
            "array_to_string" | "list_to_string" if matches!(arguments, [_, _, ast::Expr::Value(value)] if value.value == ast::Value::Null) =>
            {
                return self.call_by_name(name, &arguments[..2], position);
            }
            "concat" => return self.concat_all(arguments, position),
            "concat_ws" if arguments.len() > 1 => return self.concat_with(arguments, position),
            "date_part" | "datepart" => {
                if let &[field, value] = arguments {
                    let bound = self.expr(field)?;
                    if let ExprKind::Const(Value::Str(field)) = &bound.kind {
                        return self.extract(field, value);
                    }
                    return call("date_part", vec![bound, self.expr(value)?], position);
                }
            }
            "list_value" | "list_pack" | "array_value" => {
                let items: Vec<ast::Expr> = arguments.iter().map(|&item| item.clone()).collect();
                return self.array(&ast::Array { elem: items, named: false }, None);
            }
            "array_push_front" => {
                if let &[array, value] = arguments {
                    return self.call_by_name("array_prepend", &[value, array], position);
                }
            }
            "overlaps" if arguments.len() == 4 => return self.overlaps(arguments, position),
            "format" => return self.format(arguments, position),
            "num_nulls" | "num_nonnulls" => return self.count_nulls(name, arguments, position),
            "quote_literal" | "quote_nullable" => {
                if let &[argument] = arguments {
                    return self.quoted(argument, name == "quote_nullable", position);
                }
            }
            "octet_length" => {
                if let &[argument] = arguments {
                    let text = self.expr(argument)?;
                    let text = padded(text);
                    let name = if text.sql_type == SqlType::Bytea { "length" } else { name };
                    return call(name, vec![text], position);
                }
            }
            "mod" => {
                if let &[left, right] = arguments {
                    let (left, right) = (self.expr(left)?, self.expr(right)?);
                    let exact = |e: &Expr| e.sql_type.as_decimal().is_some();
                    if exact(&left) || exact(&right) {
                        return arithmetic(ScalarFunction::MODULO, "%", left, right, position);
                    }
                    return call(name, vec![left, right], position);
                }
            }
            "now"
            | "transaction_timestamp"
            | "statement_timestamp"
            | "current_timestamp"
            | "localtimestamp"
            | "current_time"
            | "localtime"
            | "current_date"
            | "current_schema"
            | "current_user"
            | "session_user"
            | "current_role"
            | "user"
            | "today"
            | "current_catalog"
                if arguments.is_empty() =>
            {
                let word = match name {
                    "now" | "transaction_timestamp" | "statement_timestamp" => "current_timestamp",
                    "today" => "current_date",
                    word => word,
                };
                return self.constant_word(word, position).ok_or_else(|| no_function(name, &[]).at(position));
            }
            "pg_typeof" | "typeof" => {
                if let &[argument] = arguments {
                    let sql_type = self.expr(argument)?.sql_type.closed();
                    let is_row = sql_type.structure().is_some_and(|of| of.is_row);
                    let name = match name {
                        _ if is_row => "record".to_owned(),
                        "pg_typeof" => shown_name(sql_type).into_owned(),
                        _ => sql_type.to_string(),
                    };
                    return Ok(Expr::constant(Value::str(name), SqlType::Text).at(position));
                }
            }
            "version" if arguments.is_empty() => {
                let version = concat!("MorselDB ", env!("CARGO_PKG_VERSION"));
                return Ok(Expr::constant(Value::str(version), SqlType::Text).at(position));
            }
            "nextval" | "currval" | "lastval" | "setval" | "pg_get_serial_sequence" => {
                if let Some(call) = self.sequence_call(name, arguments, position)? {
                    return Ok(call);
                }
            }
            "age" => {
                if let &[argument] = arguments {
                    let today = zone::session().local(self.resolver.now()).map(date::timestamp_to_date)?;
                    let now = Expr::constant(Value::Timestamp(date::date_to_timestamp(today)?), SqlType::Timestamp);
                    let value = local(self.expr(argument)?)?;
                    return call("age", vec![now, value], position);
                }
            }
            field if FIELDS.contains(&field) && arguments.len() == 1 => {
                let field = match field {
                    "dayofweek" => "dow",
                    "dayofyear" => "doy",
                    field => field,
                };
                // As a function, the whole ones.
                if field == "second" {
                    let micros = self.extract("microsecond", arguments[0])?;
                    let million = Expr::constant(Value::Int(1_000_000), SqlType::BigInt);
                    let whole = ExprKind::Call(ScalarFunction::DIVIDE, vec![micros, million]);
                    return Ok(Expr::new(whole, SqlType::BigInt).at(position));
                }
                return self.extract(field, arguments[0]);
            }
            _ => {}
        }
        let mut bound = arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        if let Some(first) = bound.first_mut().filter(|first| is_untyped(first) && takes_normal(name)) {
            *first = cast_to(first.clone(), SqlType::Jsonb)?;
        }
        if let Some(value) = self.by_first_type(name, arguments, &bound, position)? {
            return Ok(value);
        }
        match bound.as_slice() {
            [value] if value.sql_type == SqlType::Bytea && is_digest(name) => {
                let arguments = vec![value.clone(), Expr::constant(Value::str(name), SqlType::Text)];
                Ok(Expr::new(ExprKind::Call(ScalarFunction::DIGEST, arguments), SqlType::Bytea).at(position))
            }
            [value] if value.sql_type == SqlType::Bytea && name == "bit_length" => {
                let bytes = call("length", bound, position)?;
                let bits = vec![bytes, Expr::constant(Value::Int(8), SqlType::Integer)];
                Ok(Expr::new(ExprKind::Call(ScalarFunction::MULTIPLY, bits), SqlType::Integer).at(position))
            }
            [_, _, ..] if is_split(name) => split_text(name, bound, position),
            [part, from, to] if is_of_moments(name, part, from, to) => {
                // Hours and what is below are no matter of the zone.
                let utc = |value: &Expr| {
                    let zone = Expr::constant(Value::str("UTC"), SqlType::Text);
                    call("timezone", vec![zone, value.clone()], position)
                };
                call(name, vec![part.clone(), utc(from)?, utc(to)?], position)
            }
            [value] if let Some(to) = cast_by_name(name) => {
                let value = zone::in_iso(known(value.clone()), to);
                Ok(cast_to(value, to)?.at(position))
            }
            [array] if array.sql_type.is_array() && LENGTHS.contains(&name) => call("list_length", bound, position),
            _ => call(name, bound, position),
        }
    }

    /// `extract(field from value)`
    pub(super) fn extract(&mut self, field: &str, value: &ast::Expr) -> Result<Expr> {
        let position = self.text.start(value);
        let field = field.trim_matches('\'').to_lowercase();
        if FUNCTIONS.contains(&field.as_str()) {
            return self.expr(&ast::Expr::Function(call_of(ast::Ident::new(field), vec![value.clone()])));
        }
        let value = self.expr(value)?;
        // A bare literal could be a date or a timestamp; a timestamp has every field.
        let value = if value.sql_type == SqlType::Null { cast_to(value, SqlType::Timestamp)? } else { value };
        let is_moment = value.sql_type == SqlType::Timestamptz;
        if (is_moment || value.sql_type == SqlType::Timetz)
            && matches!(field.as_str(), "timezone" | "timezone_hour" | "timezone_minute")
        {
            let arguments = vec![Expr::constant(Value::str(field), SqlType::Text), value, zone::name()];
            return Ok(Expr::new(ExprKind::Call(ScalarFunction::ZONE_FIELD, arguments), SqlType::BigInt).at(position));
        }
        // The fields are those of local time, but for the seconds since 1970 in UTC, which are what is stored.
        let value = match field.as_str() {
            "epoch" if is_moment => Expr::new(ExprKind::Cast(Box::new(value)), SqlType::Timestamp).at(position),
            _ => local(value)?,
        };
        if value.sql_type == SqlType::Timestamp && matches!(field.as_str(), "julian" | "jd" | "j") {
            return self.julian_of(value).map(|day| day.at(position));
        }
        let field = Expr::constant(Value::str(field), SqlType::Text);
        call("date_part", vec![field, value], position)
    }

    /// The Julian day of a moment, with its fraction.
    fn julian_of(&mut self, moment: Expr) -> Result<Expr> {
        let column = self.plan.column_for("value", &moment);
        let columns = vec![ScopeColumn { name: "value".to_owned(), column }];
        let scope = Scope::of(Relation { name: None, columns, ..Relation::default() });
        let body = self.kept_text(JULIAN, Clause::Select, scope, |_, day| Ok(day))?;
        let (sql_type, value) = (body.sql_type, Box::new(moment));
        Ok(Expr::new(ExprKind::Let { column, value, body: Box::new(body) }, sql_type))
    }

    pub(super) fn ceil_or_floor(&mut self, name: &str, expr: &ast::Expr, field: &CeilFloorKind) -> Result<Expr> {
        match field {
            CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                self.call_by_name(name, &[expr], self.text.start(expr))
            }
            _ => unsupported(format!("{name} to a unit or scale"), self.text.start(expr)),
        }
    }

    pub(super) fn substring(
        &mut self,
        expr: &ast::Expr,
        from: Option<&ast::Expr>,
        length: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let position = self.text.start(expr);
        if from.is_none() && length.is_none() {
            let sql_type = self.expr(expr)?.sql_type;
            return Err(no_function("substring", &[sql_type]).at(position));
        }
        let text = self.expr(expr)?;
        let from = match from {
            Some(from) => self.expr(from)?,
            None => Expr::constant(Value::Int(1), SqlType::Integer),
        };
        if is_pattern(&from) {
            let escape = length.map(|escape| self.expr(escape)).transpose()?;
            return substring_by_pattern(text, from, escape, position);
        }
        let mut arguments = vec![text, from];
        if let Some(length) = length {
            arguments.push(self.expr(length)?);
        }
        call("substring", arguments, position)
    }

    pub(super) fn trim(
        &mut self,
        side: Option<&TrimWhereField>,
        what: Option<&ast::Expr>,
        expr: &ast::Expr,
        characters: Option<&[ast::Expr]>,
    ) -> Result<Expr> {
        let position = self.text.start(expr);
        let name = match side {
            None | Some(TrimWhereField::Both) => "btrim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        };
        let mut arguments = vec![expr];
        arguments.extend(what);
        arguments.extend(characters.unwrap_or_default());
        self.call_by_name(name, &arguments, position)
    }

    fn extreme(
        &mut self,
        function: ScalarFunction,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Expr> {
        if arguments.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("{name} needs at least one argument")).at(position));
        }
        let values = arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let (values, sql_type) = unify(values, name)?;
        Ok(Expr::new(ExprKind::Call(function, values), sql_type).at(position))
    }
}

/// Whether it is `date_diff` of moments, in hours or parts of them.
fn is_of_moments(name: &str, part: &Expr, from: &Expr, to: &Expr) -> bool {
    const PARTS: [&str; 5] = ["hour", "minute", "second", "millisecond", "microsecond"];
    let ExprKind::Const(Value::Str(part)) = &part.kind else { return false };
    let part = part.to_lowercase();
    matches!(name, "date_diff" | "datediff")
        && [from, to].iter().all(|moment| moment.sql_type == SqlType::Timestamptz)
        && PARTS.contains(&part.trim_end_matches('s'))
}

/// The type that a function is named after, which casts to it, as PostgreSQL has them.
fn cast_by_name(name: &str) -> Option<SqlType> {
    Some(match name {
        "date" => SqlType::Date,
        "int2" => SqlType::SmallInt,
        "int4" => SqlType::Integer,
        "int8" => SqlType::BigInt,
        "float4" => SqlType::Real,
        "float8" => SqlType::Double,
        "text" => SqlType::Text,
        "bool" => SqlType::Bool,
        _ => return None,
    })
}

fn is_digest(name: &str) -> bool {
    matches!(name, "sha224" | "sha256" | "sha384" | "sha512")
}

/// Whether a literal is a `jsonb` as the function's first argument.
fn takes_normal(name: &str) -> bool {
    name.starts_with("jsonb_")
}

/// The parts of a call whose arguments are a list.
fn parts_of(function: &ast::Function, position: Option<u32>) -> Result<CallParts<'_>> {
    let name = match function.name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => fold(ident),
        _ => return unsupported("a function that makes a name", position),
    };
    if has_arguments(&function.parameters) {
        return unsupported(format!("this form of {name}"), position);
    }
    let mut call = CallParts {
        name,
        position,
        arguments: Vec::new(),
        star: false,
        distinct: false,
        order: &[],
        within_group: &function.within_group,
        filter: function.filter.as_deref(),
        null_treatment: function.null_treatment,
    };
    let FunctionArguments::List(list) = &function.args else { return Ok(call) };
    const MOST: usize = 1000;
    if list.args.len() > MOST {
        let message = format!("cannot pass more than {MOST} arguments to a function");
        return Err(Error::new(SqlState("54023"), message).at(position));
    }
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(order) => call.order = order,
            FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => call.null_treatment = Some(*treatment),
            clause => return unsupported(format!("{clause} inside of {}()", call.name), position),
        }
    }
    call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_no_argument(expr) => {}
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => call.arguments.push(expr),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
            _ => return unsupported(format!("the argument {argument} of {}()", call.name), position),
        }
    }
    Ok(call)
}
