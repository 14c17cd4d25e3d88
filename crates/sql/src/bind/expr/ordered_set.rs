//! Ordered-set aggregates (`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`), as window functions of their own order, and
//! hypothetical-set aggregates (`rank(5) WITHIN GROUP (ORDER BY x)`), as counts of the rows before the hypothetical one.
//!
//! A percentile of values that groups can collect is an aggregate of the values and the fraction. Every other ordered-set
//! aggregate is a window function over the groups, below the aggregation, which takes any of its (equal) results.

use base::{Error, Result, SqlState};
use functions::aggregate::percentile::is_collected;
use functions::{AggregateFunction, ScalarFunction, WindowFunction};
use plan::{AggregateCall, ColumnInfo, Compare, Expr, ExprKind, SortKey, WindowCall, conjunction, disjunction};
use sqlparser::ast::{self, OrderByExpr};
use types::{SqlType, Value};

use super::call::CallParts;
use super::named::{call, no_function};
use super::window::{new_call, where_true};
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, closed, is_untyped, of_some_type, unify};
use crate::bind::order::direction;
use crate::bind::window::{Window, Windowed};

/// A call of an ordered-set function, in one of its ways to be written.
pub(super) struct OrderedSet<'f> {
    function: WindowFunction,
    fraction: Fraction<'f>,
    /// What is ordered: `WITHIN GROUP (ORDER BY ...)`, or an argument.
    key: Ordered<'f>,
}

enum Fraction<'f> {
    None,
    Half,
    Written(&'f ast::Expr),
}

enum Ordered<'f> {
    Within(&'f OrderByExpr),
    Argument(&'f ast::Expr),
}

/// Whether calls of that name are ordered-set calls.
pub(super) fn is_ordered_set(name: &str) -> bool {
    ["mode", "percentile_disc", "percentile_cont", "quantile_disc", "quantile", "quantile_cont", "median"]
        .contains(&name)
}

impl<'f> OrderedSet<'f> {
    /// The ordered-set call that this is, if it is one: with WITHIN GROUP as in the standard, or with the values as the first
    /// argument, as many write them.
    pub fn of(call: &CallParts<'f>) -> Result<Option<Self>> {
        use WindowFunction::{Mode, PercentileCont, PercentileDisc};
        let (function, short) = match call.name.as_str() {
            "mode" => (Mode, true),
            "percentile_disc" => (PercentileDisc, false),
            "percentile_cont" => (PercentileCont, false),
            "quantile_disc" | "quantile" => (PercentileDisc, true),
            "quantile_cont" | "median" => (PercentileCont, true),
            _ => return Ok(None),
        };
        let wrong = |what: String| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, what).at(call.position));
        let set = |fraction, key| Ok(Some(Self { function, fraction, key }));
        if call.distinct || call.star || call.null_treatment.is_some() {
            return wrong(format!("{} takes neither DISTINCT nor * nor IGNORE NULLS", call.name));
        }
        match (call.within_group, call.arguments.as_slice()) {
            ([key], []) if function == Mode => set(Fraction::None, Ordered::Within(key)),
            ([key], &[fraction]) if !short => set(Fraction::Written(fraction), Ordered::Within(key)),
            ([], &[value]) if function == Mode => set(Fraction::None, Ordered::Argument(value)),
            ([], &[value]) if call.name == "median" => set(Fraction::Half, Ordered::Argument(value)),
            ([], &[value, fraction]) if short && function != Mode && call.name != "median" => {
                set(Fraction::Written(fraction), Ordered::Argument(value))
            }
            ([], _) if !short => wrong(format!("WITHIN GROUP is required for ordered-set aggregate {}", call.name)),
            ([_, ..], _) if short && function != Mode => {
                wrong(format!("{} is not an ordered-set aggregate, so it cannot have WITHIN GROUP", call.name))
            }
            _ => {
                let message = format!("{} takes other arguments", call.name);
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(call.position))
            }
        }
    }
}

impl Binder<'_> {
    /// What the call is made of.
    pub(super) fn ordered_set_parts(&mut self, set: &OrderedSet<'_>, call: &CallParts<'_>) -> Result<Parts> {
        let fraction = match set.fraction {
            Fraction::None => None,
            Fraction::Half => Some(Expr::constant(Value::Float(0.5), SqlType::Double)),
            Fraction::Written(fraction) => Some(self.expr(fraction)?),
        };
        let (written, (descending, nulls_first)) = match set.key {
            Ordered::Within(key) => (&key.expr, direction(&key.options, self.resolver)?),
            Ordered::Argument(value) => (value, (false, false)),
        };
        let value = closed(self.expr(written)?);
        let is_median = matches!(set.fraction, Fraction::Half);
        let (value, time) = match set.function {
            WindowFunction::PercentileCont => since_epoch(value)?,
            _ => (value, None),
        };
        let is_number = |e: &Expr| e.sql_type.is_numeric() || is_untyped(e);
        let may_lie_between = is_number(&value) || value.sql_type == SqlType::Interval;
        // Of what nothing lies between, the median is one of them.
        let function = match set.function {
            WindowFunction::PercentileCont if is_median && !may_lie_between => WindowFunction::PercentileDisc,
            function => function,
        };
        let continuous = function == WindowFunction::PercentileCont;
        let types: Vec<SqlType> = fraction.iter().chain([&value]).map(|e| e.sql_type).collect();
        if fraction.as_ref().is_some_and(|f| !is_number(f)) || (continuous && !may_lie_between) {
            return Err(no_function(&call.name, &types).at(call.position));
        }
        let value = match continuous && value.sql_type != SqlType::Interval {
            true => cast_to(value, SqlType::Double)?,
            false => of_some_type(value, call.position)?,
        };
        let filter = self.filter_condition(call.filter)?;
        let arguments = fraction.map(|f| cast_to(f, SqlType::Double)).transpose()?.into_iter().collect();
        let sql_type = value.sql_type;
        let key = SortKey { expr: value, descending, nulls_first };
        Ok(Parts { function, arguments, key, filter, sql_type, time })
    }

    /// An ordered-set aggregate, without OVER.
    pub(super) fn ordered_set(&mut self, set: &OrderedSet<'_>, call: &CallParts<'_>) -> Result<Expr> {
        let position = call.position;
        let bound = self.inside_aggregate(position, |b| b.ordered_set_parts(set, call))?;
        let read = bound.arguments.iter().chain([&bound.key.expr]).chain(&bound.filter);
        let level = self.aggregate_level(read, position)?;
        self.names.levels[level].direct_arguments.extend(bound.arguments.iter().cloned());
        let time = bound.time;
        let found = match bound.as_aggregate() {
            Some(function) => {
                let Parts { arguments: fraction, key, filter, sql_type, .. } = bound;
                let arguments = [key.expr].into_iter().chain(fraction).collect();
                let call = AggregateCall { function, arguments, distinct: false, filter, sql_type, position };
                self.push_aggregate(level, call)
            }
            None => self.push_ordered_set(level, bound.into_window(position), Window::default()),
        };
        behind_epoch(found, time)
    }

    /// The aggregate of a call over the groups, whose results are the same for all rows of one.
    pub(super) fn push_ordered_set(&mut self, level: usize, call: WindowCall, window: Window) -> Expr {
        let WindowCall { function, sql_type, position, .. } = call;
        let sets = &mut self.names.levels[level].ordered_sets;
        let known = sets.iter().find(|s| s.is(&call, &window)).map(|s| s.column);
        let column = known.unwrap_or_else(|| {
            let info = ColumnInfo { name: function.name().to_owned(), sql_type, nullable: true };
            let column = self.plan.columns.push(info);
            sets.push(Windowed { column, call, window });
            column
        });
        let value = Some(Expr::column(column, sql_type));
        self.push_aggregate(level, new_aggregate(AggregateFunction::ANY, value, None, sql_type, position))
    }

    /// `rank(...)`, `dense_rank(...)`, `percent_rank(...)` or `cume_dist(...)` `WITHIN GROUP (ORDER BY ...)`: the place that
    /// a row with these values would have.
    pub(super) fn hypothetical_set(&mut self, function: WindowFunction, call: &CallParts<'_>) -> Result<Expr> {
        let position = call.position;
        let (name, keys) = (&call.name, call.within_group);
        let bound = self.inside_aggregate(position, |b| {
            let arguments = call.arguments.iter().map(|a| b.expr(a)).collect::<Result<Vec<_>>>()?;
            Ok((arguments, b.inner_order(keys)?, b.filter_condition(call.filter)?))
        });
        let (arguments, keys, filter) = bound?;
        if arguments.len() != keys.len() {
            let types: Vec<SqlType> =
                arguments.iter().chain(keys.iter().map(|k| &k.expr)).map(|e| e.sql_type).collect();
            return Err(no_function(name, &types)
                .hint(format!("{name} takes as many arguments as WITHIN GROUP has keys"))
                .at(position));
        }
        let all = arguments.iter().chain(keys.iter().map(|k| &k.expr)).chain(&filter);
        let level = self.aggregate_level(all, position)?;
        self.names.levels[level].direct_arguments.extend(arguments.iter().cloned());
        let mut pairs = Vec::with_capacity(keys.len());
        for (argument, key) in arguments.into_iter().zip(keys) {
            let SortKey { expr, descending, nulls_first } = key;
            let (mut both, _) = unify(vec![argument, expr], "WITHIN GROUP")?;
            let (expr, argument) = (both.remove(1), both.remove(0));
            pairs.push(Hypothetical { argument, key: expr, descending, nulls_first });
        }
        use WindowFunction as F;
        let before = |peers: bool| conjunction(filter.iter().cloned().chain([are_before(&pairs, peers)]).collect());
        let rows = |b: &mut Self, filter: Option<Expr>| {
            let call = new_aggregate(AggregateFunction::ROWS, None, filter, SqlType::BigInt, position);
            b.push_aggregate(level, call)
        };
        Ok(match function {
            F::DenseRank => {
                let [Hypothetical { key, .. }] = pairs.as_slice() else {
                    return Err(Error::unsupported("dense_rank over several keys of WITHIN GROUP").at(position));
                };
                let (value, null) = (key.clone(), Expr::new(ExprKind::IsNull(Box::new(key.clone())), SqlType::Bool));
                let distinct = AggregateCall {
                    distinct: true,
                    ..new_aggregate(
                        AggregateFunction::VALUES,
                        Some(value),
                        Some(before(false)),
                        SqlType::BigInt,
                        position,
                    )
                };
                let values = self.push_aggregate(level, distinct);
                let some_null =
                    new_aggregate(AggregateFunction::SOME, Some(null), Some(before(false)), SqlType::Bool, position);
                let nulls = where_true(self.push_aggregate(level, some_null), integer(1));
                let nulls = Expr::new(ExprKind::Coalesce(vec![nulls, integer(0)]), SqlType::BigInt);
                add(add(values, nulls), integer(1))
            }
            F::PercentRank => {
                let (before, all) = (rows(self, Some(before(false))), rows(self, filter.clone()));
                let none = Expr::compare(Compare::Eq, all.clone(), integer(0));
                let share = divide(before, all)?;
                let branches = vec![(none, Expr::constant(Value::Float(0.0), SqlType::Double))];
                Expr::new(ExprKind::Case { branches, otherwise: Box::new(share) }, SqlType::Double)
            }
            F::CumeDist => {
                let (before, all) = (rows(self, Some(before(true))), rows(self, filter.clone()));
                divide(add(before, integer(1)), add(all, integer(1)))?
            }
            _ => add(rows(self, Some(before(false))), integer(1)),
        }
        .at(position))
    }
}

/// What a call of an ordered-set function is made of.
pub(super) struct Parts {
    function: WindowFunction,
    /// The fraction, if it takes one.
    arguments: Vec<Expr>,
    key: SortKey,
    filter: Option<Expr>,
    sql_type: SqlType,
    /// What the result becomes, which is how long after the epoch, or midnight, it is.
    pub(super) time: Option<SqlType>,
}

impl Parts {
    /// The aggregate of collected values that this is: at a fraction that is the same for all groups.
    fn as_aggregate(&self) -> Option<AggregateFunction> {
        let function = AggregateFunction::of_group(self.function)?;
        let is_fixed = |e: &Expr| e.columns().is_empty() && !e.is_volatile() && !e.has_subquery();
        let fits = !self.key.descending && is_collected(self.sql_type) && self.arguments.iter().all(is_fixed);
        fits.then_some(function)
    }

    /// The window function, of rows that the filter does not leave out: those have no value.
    pub(super) fn into_window(self, position: Option<u32>) -> WindowCall {
        let Self { function, arguments, mut key, filter, sql_type, .. } = self;
        if let Some(filter) = filter {
            key.expr = where_true(filter, key.expr);
        }
        WindowCall { order: vec![key], ..new_call(function, arguments, sql_type, position) }
    }
}

/// A time as how long it is after the epoch, or after midnight, with what the result then becomes; any other value as it is.
fn since_epoch(value: Expr) -> Result<(Expr, Option<SqlType>)> {
    let position = value.position;
    let moment = |value: Expr| {
        let epoch = Expr::constant(Value::Timestamp(0), SqlType::Timestamp);
        Expr::new(ExprKind::Call(ScalarFunction::SUBTRACT, vec![value, epoch]), SqlType::Interval).at(position)
    };
    Ok(match value.sql_type {
        SqlType::Time => (cast_to(value, SqlType::Interval)?, Some(SqlType::Time)),
        SqlType::Date | SqlType::Timestamp => (moment(cast_to(value, SqlType::Timestamp)?), Some(SqlType::Timestamp)),
        SqlType::Timestamptz => (moment(call("timezone", vec![utc(), value], position)?), Some(SqlType::Timestamptz)),
        _ => (value, None),
    })
}

/// The time that is so long after the epoch, or midnight.
pub(super) fn behind_epoch(length: Expr, time: Option<SqlType>) -> Result<Expr> {
    let position = length.position;
    let moment = |length: Expr| {
        let epoch = Expr::constant(Value::Timestamp(0), SqlType::Timestamp);
        Expr::new(ExprKind::Call(ScalarFunction::ADD, vec![epoch, length]), SqlType::Timestamp).at(position)
    };
    match time {
        None => Ok(length),
        Some(SqlType::Time) => cast_to(length, SqlType::Time),
        Some(SqlType::Timestamptz) => call("timezone", vec![utc(), moment(length)], position),
        Some(_) => Ok(moment(length)),
    }
}

fn utc() -> Expr {
    Expr::constant(Value::str("UTC"), SqlType::Text)
}

/// A key of WITHIN GROUP and the hypothetical row's value of it.
struct Hypothetical {
    argument: Expr,
    key: Expr,
    descending: bool,
    nulls_first: bool,
}

/// Whether a row comes before the hypothetical one; `peers`: or is its peer.
fn are_before(pairs: &[Hypothetical], peers: bool) -> Expr {
    let equal = |p: &Hypothetical| Expr::compare(Compare::NotDistinct, p.key.clone(), p.argument.clone());
    let mut ways: Vec<Expr> = (0..pairs.len())
        .map(|i| conjunction(pairs[..i].iter().map(equal).chain([is_before(&pairs[i])]).collect()))
        .collect();
    if peers {
        ways.push(conjunction(pairs.iter().map(equal).collect()));
    }
    disjunction(ways)
}

/// Never NULL: `CASE WHEN key IS NULL THEN <nulls first> AND argument IS NOT NULL WHEN argument IS NULL THEN <nulls last> ELSE
/// key < argument END`.
fn is_before(pair: &Hypothetical) -> Expr {
    let is_null = |e: &Expr| Expr::new(ExprKind::IsNull(Box::new(e.clone())), SqlType::Bool);
    let op = if pair.descending { Compare::Gt } else { Compare::Lt };
    let less = Expr::compare(op, pair.key.clone(), pair.argument.clone());
    let both = Expr::new(ExprKind::Not(Box::new(is_null(&pair.argument))), SqlType::Bool);
    let branches = vec![
        (is_null(&pair.key), conjunction(vec![Expr::bool(pair.nulls_first), both])),
        (is_null(&pair.argument), Expr::bool(!pair.nulls_first)),
    ];
    Expr::new(ExprKind::Case { branches, otherwise: Box::new(less) }, SqlType::Bool)
}

fn new_aggregate(
    function: AggregateFunction,
    argument: Option<Expr>,
    filter: Option<Expr>,
    sql_type: SqlType,
    position: Option<u32>,
) -> AggregateCall {
    let arguments = argument.into_iter().collect();
    AggregateCall { function, arguments, distinct: false, filter, sql_type, position }
}

fn integer(value: i64) -> Expr {
    Expr::constant(Value::Int(value), SqlType::BigInt)
}

fn add(a: Expr, b: Expr) -> Expr {
    Expr::new(ExprKind::Call(ScalarFunction::ADD, vec![a, b]), SqlType::BigInt)
}

/// As doubles.
fn divide(a: Expr, b: Expr) -> Result<Expr> {
    let operands = vec![cast_to(a, SqlType::Double)?, cast_to(b, SqlType::Double)?];
    Ok(Expr::new(ExprKind::Call(ScalarFunction::DIVIDE, operands), SqlType::Double))
}
