//! Aggregate functions: a row each. The ids are an `enum`, so that the compiler names the two other places of an
//! aggregate: its accumulators in the lowering, and what evaluates it over the frames of windows in the runtime.

mod collected;
mod evaluate;
pub mod percentile;
pub mod regression;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use base::Result;
use types::{SqlType, Value};

use crate::WindowFunction;

use evaluate::{
    average, bits, conjunction, count, count_distinct, count_rows, deviation, disjunction, first, greatest, least, sum,
    value_at, variance,
};

/// Values that are not NULL (and for DISTINCT not equal), and the types.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What is aggregated; for `count(*)` one value a row.
    pub values: &'a [Value],
    /// The further arguments, of functions that take more than one: a column each.
    pub others: &'a [Vec<Value>],
    /// The first argument's type; [`SqlType::Null`] for `count(*)`.
    pub argument: SqlType,
    /// What the result must be.
    pub result: SqlType,
}

impl<'a> Input<'a> {
    /// The second arguments.
    fn second(&self) -> &'a [Value] {
        self.others.first().map_or(&[], Vec::as_slice)
    }
}

/// An aggregate function: what its row says.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    /// Its id.
    pub function: AggregateFunction,
    /// What the text form of plans calls it.
    pub name: &'static str,
    /// What SQL calls it, aliases included, in lower case.
    pub names: &'static [&'static str],
    /// How many arguments it takes.
    pub arguments: usize,
    /// The type that an argument is cast to and the result's; none if the function does not take the argument's type.
    pub types: fn(SqlType) -> Option<(SqlType, SqlType)>,
    /// With fewer values that are not NULL the result is NULL; 0 if it never is.
    pub least_values: usize,
    /// Whether duplicates do not change the result, so that DISTINCT means nothing.
    pub ignores_duplicates: bool,
    /// The slow and obviously right evaluation, for tests; sees at least `least_values` values.
    pub evaluate: fn(Input<'_>) -> Result<Value>,
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call and its result as text, over rows whose x is 1, 2, 4 and NULL.
    pub example: (&'static str, &'static str),
}

macro_rules! aggregates {
    ($($id:ident, $name:literal, $names:expr, $arguments:literal, $types:expr, $least:literal, $ignores:literal, $evaluate:expr,
        $documentation:literal, $example:expr;)*) => {
        /// An aggregate function: the name of a row.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum AggregateFunction {
            $(#[doc = $documentation] $id),*
        }

        /// Every aggregate function.
        pub const AGGREGATES: &[Aggregate] = &[$(Aggregate {
            function: AggregateFunction::$id,
            name: $name,
            names: $names,
            arguments: $arguments,
            types: $types,
            least_values: $least,
            ignores_duplicates: $ignores,
            evaluate: $evaluate,
            documentation: $documentation,
            example: $example,
        }),*];
    };
}

aggregates! {
    CountStar, "count_star", &[], 0, |_| None, 0, false, count_rows,
        "Number of rows.", ("count(*)", "4");
    Count, "count", &["count"], 1, counted, 0, false, count,
        "Number of rows whose argument is not NULL.", ("count(x)", "3");
    Sum, "sum", &["sum"], 1, summed, 1, false, sum,
        "Sum of the values; NULL if there is none.", ("sum(x)", "7");
    Avg, "avg", &["avg", "mean"], 1, averaged, 1, false, average,
        "Average of the values; NULL if there is none.", ("avg(x)", "2.3333333333333333");
    Min, "min", &["min"], 1, ordered, 1, true, least,
        "The least value.", ("min(x)", "1");
    Max, "max", &["max"], 1, ordered, 1, true, greatest,
        "The greatest value.", ("max(x)", "4");
    StddevSamp, "stddev_samp", &["stddev", "stddev_samp"], 1, doubled, 2, false, |i| deviation(i, 1),
        "Sample standard deviation; NULL under two values.", ("stddev(x)", "1.5275252316519468");
    StddevPop, "stddev_pop", &["stddev_pop"], 1, doubled, 1, false, |i| deviation(i, 0),
        "Population standard deviation.", ("stddev_pop(x)", "1.247219128924647");
    VarSamp, "var_samp", &["variance", "var_samp"], 1, doubled, 2, false, |i| variance(i, 1).map(Value::Float),
        "Sample variance; NULL under two values.", ("variance(x)", "2.3333333333333335");
    VarPop, "var_pop", &["var_pop"], 1, doubled, 1, false, |i| variance(i, 0).map(Value::Float),
        "Population variance.", ("var_pop(x)", "1.5555555555555556");
    BoolAnd, "bool_and", &["bool_and", "every"], 1, logical, 1, true, conjunction,
        "Whether all values are true.", ("bool_and(x > 0)", "true");
    BoolOr, "bool_or", &["bool_or"], 1, logical, 1, true, disjunction,
        "Whether some value is true.", ("bool_or(x > 2)", "true");
    BitAnd, "bit_and", &["bit_and"], 1, integral, 1, true, |i| bits(i, |a, b| a & b),
        "The bits that all values have.", ("bit_and(x + 4)", "0");
    BitOr, "bit_or", &["bit_or"], 1, integral, 1, true, |i| bits(i, |a, b| a | b),
        "The bits that some value has.", ("bit_or(x)", "7");
    BitXor, "bit_xor", &["bit_xor"], 1, integral, 1, false, |i| bits(i, |a, b| a ^ b),
        "The bits that an odd number of values have.", ("bit_xor(x + 1)", "4");
    AnyValue, "any_value", &["any_value", "arbitrary"], 1, any, 1, true, first,
        "Some value that is not NULL.", ("any_value(x / x)", "1");
    ArgMin, "arg_min", &["arg_min", "argmin", "min_by"], 2, any, 1, true, |i| value_at(i, Ordering::Less),
        "The value where the second argument is least; the least such value if there are several.", ("arg_min(x, -x)", "4");
    ArgMax, "arg_max", &["arg_max", "argmax", "max_by"], 2, any, 1, true, |i| value_at(i, Ordering::Greater),
        "The value where the second argument is greatest; the least such value if there are several.", ("arg_max(-x, x)", "-4");
    ApproxCountDistinct, "approx_count_distinct", &["approx_count_distinct"], 1, counted, 0, true, count_distinct,
        "About how many values there are: exact up to 256, then with a standard error of 1.6%.", ("approx_count_distinct(x % 2)", "2");
    RegrCount, "regr_count", &["regr_count"], 2, |a| Some((doubled(a)?.1, SqlType::BigInt)), 0, false, count,
        "Number of pairs without NULL.", ("regr_count(x * x, x)", "3");
    CovarPop, "covar_pop", &["covar_pop"], 2, paired, 1, false, regression::covar_pop,
        "Population covariance.", ("covar_pop(x * x, x)", "8");
    CovarSamp, "covar_samp", &["covar_samp"], 2, paired, 2, false, regression::covar_samp,
        "Sample covariance; NULL under two pairs.", ("covar_samp(x * x, x)", "12");
    Corr, "corr", &["corr"], 2, paired, 2, false, regression::corr,
        "Correlation; NULL where one side does not vary.", ("corr(x * x, x)", "0.989743318610787");
    RegrAvgX, "regr_avgx", &["regr_avgx"], 2, paired, 1, false, regression::regr_avgx,
        "Average of the second argument, the independent one, of pairs without NULL.", ("regr_avgx(x * x, x)", "2.3333333333333335");
    RegrAvgY, "regr_avgy", &["regr_avgy"], 2, paired, 1, false, regression::regr_avgy,
        "Average of the first argument, the dependent one, of pairs without NULL.", ("regr_avgy(x * x, x)", "7");
    RegrSxx, "regr_sxx", &["regr_sxx"], 2, paired, 1, false, regression::regr_sxx,
        "Sum of the squared distances of the second argument from its average.", ("regr_sxx(x * x, x)", "4.666666666666667");
    RegrSyy, "regr_syy", &["regr_syy"], 2, paired, 1, false, regression::regr_syy,
        "Sum of the squared distances of the first argument from its average.", ("regr_syy(x * x, x)", "126");
    RegrSxy, "regr_sxy", &["regr_sxy"], 2, paired, 1, false, regression::regr_sxy,
        "Sum of the products of both distances.", ("regr_sxy(x * x, x)", "24");
    RegrSlope, "regr_slope", &["regr_slope"], 2, paired, 2, false, regression::regr_slope,
        "Slope of the line with the least squared distances.", ("regr_slope(x * x, x)", "5.142857142857142");
    RegrIntercept, "regr_intercept", &["regr_intercept"], 2, paired, 2, false, regression::regr_intercept,
        "Where that line crosses the axis of y.", ("regr_intercept(x * x, x)", "-5");
    RegrR2, "regr_r2", &["regr_r2"], 2, paired, 2, false, regression::regr_r2,
        "Square of the correlation; 1 where only the second argument varies.", ("regr_r2(x * x, x)", "0.9795918367346939");
    ContinuousAt, "percentile_cont", &[], 2, continuous, 1, false, percentile::continuous,
        "The value at that fraction, between two values if need be.", ("percentile_cont(0.75) WITHIN GROUP (ORDER BY x)", "3");
    DiscreteAt, "percentile_disc", &[], 2, any, 1, false, percentile::discrete,
        "The first value at or behind that fraction of the values.", ("percentile_disc(0.5) WITHIN GROUP (ORDER BY x)", "2");
    MostFrequent, "mode", &[], 1, any, 1, false, percentile::most_frequent,
        "The value that most rows have, the least of several.", ("mode() WITHIN GROUP (ORDER BY x)", "1");
    Texts, "string_agg", &[], 2, any, 1, false, |i| collected::texts(i, false),
        "The texts, each behind the separator but the first, in the order of the further arguments' numbers, then their own.",
        ("string_agg(x::text, ',' ORDER BY x)", "1,2,4");
    TextsBackwards, "string_agg_backwards", &[], 2, any, 1, false, |i| collected::texts(i, true),
        "As the one before, but where those numbers are equal the greatest text is the first.",
        ("string_agg(x::text, ',' ORDER BY x::text DESC)", "4,2,1");
    WordList, "array_agg", &[], 2, any, 1, false, collected::list,
        "The list of the values with those words, the second arguments, or NULL where the first is 1; in the order of the further numbers, then of these two.",
        ("array_agg(x)", "{1,2,4,NULL}");
    FirstOfWordList, "array_agg_first", &[], 3, any, 1, false, collected::first_of_list,
        "The first elements of that list, as many as the second argument says at most, which is a constant.",
        ("list_take(array_agg(x ORDER BY x DESC NULLS LAST), 2)", "{4,2}");
    FirstTexts, "string_agg_first", &[], 2, any, 1, false, |i| collected::first_texts(i, false),
        "The first texts, one behind the other, as many as the second argument says at most, which is a constant.",
        ("list_take(array_agg(x::text ORDER BY x), 2)", "{1,2}");
    FirstTextsBackwards, "string_agg_first_backwards", &[], 2, any, 1, false, |i| collected::first_texts(i, true),
        "As the one before, but where those numbers are equal the greatest text is the first.",
        ("list_take(array_agg(x::text ORDER BY x::text DESC NULLS LAST), 2)", "{4,2}");
}

impl AggregateFunction {
    /// The function that makes this one's result, of that type, for rows in several groups out of the groups' results, if there
    /// is one: sums of doubles have been rounded once for each group.
    pub fn of_finer(self, result: SqlType) -> Option<Self> {
        match self {
            Self::CountStar | Self::Count | Self::RegrCount => Some(Self::Sum),
            Self::Sum => Some(self).filter(|_| !matches!(result, SqlType::Real | SqlType::Double)),
            Self::Min | Self::Max | Self::BoolAnd | Self::BoolOr | Self::AnyValue => Some(self),
            Self::BitAnd | Self::BitOr | Self::BitXor => Some(self),
            _ => None,
        }
    }

    /// The two functions of an argument of that type whose results, divided, are this one's exactly, if there are such. With more
    /// digits behind the point, sums might overflow whose averages do not.
    pub fn quotient_of(self, argument: SqlType) -> Option<[Self; 2]> {
        let is_exact = argument.is_integer() || matches!(argument, SqlType::Decimal { scale: 0..=6, .. });
        (self == Self::Avg && is_exact).then_some([Self::Sum, Self::Count])
    }

    /// Counts rows; other aggregates are put together from this and the next.
    pub const ROWS: Self = Self::CountStar;
    /// Counts values.
    pub const VALUES: Self = Self::Count;
    /// Whether something holds of some row.
    pub const SOME: Self = Self::BoolOr;
    /// The value that most rows have, the least of several.
    pub const MODE: Self = Self::MostFrequent;
    /// The value where another one is greatest, the least of several.
    pub const AT_GREATEST: Self = Self::ArgMax;
    /// Takes any of values that are equal.
    pub const ANY: Self = Self::AnyValue;

    /// Its row.
    pub fn definition(self) -> &'static Aggregate {
        &AGGREGATES[self as usize]
    }

    /// The function that the text form of plans calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        AGGREGATES.iter().find(|a| a.name == name).map(|a| a.function)
    }

    /// The function that SQL calls `name`, in lower case.
    pub fn find(name: &str) -> Option<Self> {
        AGGREGATES.iter().find(|a| a.names.contains(&name)).map(|a| a.function)
    }

    /// What the text form of plans calls it.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Whether duplicates do not change the result, so that DISTINCT means nothing.
    pub fn ignores_duplicates(self) -> bool {
        self.definition().ignores_duplicates
    }

    /// If it is the least or the greatest of the values: whether the greatest.
    pub fn end(self) -> Option<bool> {
        match self {
            Self::Min => Some(false),
            Self::Max => Some(true),
            _ => None,
        }
    }

    /// Whether its second argument reads no column and is the whole group's: the fraction of a percentile, a separator, how many elements.
    pub fn has_fixed_argument(self) -> bool {
        matches!(
            self,
            Self::ContinuousAt
                | Self::DiscreteAt
                | Self::Texts
                | Self::TextsBackwards
                | Self::FirstOfWordList
                | Self::FirstTexts
                | Self::FirstTextsBackwards
        )
    }

    /// The one that collects texts, and puts them together, or elements of a list.
    pub fn collecting(is_list: bool, is_backwards: bool) -> Self {
        match (is_list, is_backwards) {
            (true, _) => Self::WordList,
            (false, false) => Self::Texts,
            (false, true) => Self::TextsBackwards,
        }
    }

    /// The one that collects no more elements of this one's list than the first few; of texts, if nothing separates them.
    pub fn of_first(self) -> Option<Self> {
        match self {
            Self::WordList => Some(Self::FirstOfWordList),
            Self::Texts => Some(Self::FirstTexts),
            Self::TextsBackwards => Some(Self::FirstTextsBackwards),
            _ => None,
        }
    }

    /// Whether it is one of these, of which the second argument says how many.
    pub fn is_of_first(self) -> bool {
        matches!(self, Self::FirstOfWordList | Self::FirstTexts | Self::FirstTextsBackwards)
    }

    /// Whether it puts texts together.
    pub fn is_of_texts(self) -> bool {
        matches!(self, Self::Texts | Self::TextsBackwards | Self::FirstTexts | Self::FirstTextsBackwards)
    }

    /// Whether of texts whose order is open the greatest comes first.
    pub fn is_backwards(self) -> bool {
        matches!(self, Self::TextsBackwards | Self::FirstTextsBackwards)
    }

    /// Whether it collects the values of a group: over frames it is a window function of its own.
    pub fn collects(self) -> bool {
        self.has_fixed_argument() || matches!(self, Self::MostFrequent | Self::WordList)
    }

    /// The aggregate of collected values that the window function is, of all values of a group.
    pub fn of_group(function: WindowFunction) -> Option<Self> {
        match function {
            WindowFunction::PercentileCont => Some(Self::ContinuousAt),
            WindowFunction::PercentileDisc => Some(Self::DiscreteAt),
            WindowFunction::Mode => Some(Self::MostFrequent),
            _ => None,
        }
    }

    /// Whether it counts: a result that is never NULL, and 0 of nothing.
    pub fn counts(self) -> bool {
        self.definition().least_values == 0
    }

    /// The type that an argument is cast to and the result's; none if the function does not take the argument's type.
    pub fn resolve(self, argument: SqlType) -> Option<(SqlType, SqlType)> {
        (self.definition().types)(argument)
    }

    /// The slow and obviously right evaluation.
    pub fn evaluate(self, input: Input<'_>) -> Result<Value> {
        let row = self.definition();
        if input.values.len() < row.least_values { Ok(Value::Null) } else { (row.evaluate)(input) }
    }
}

fn counted(argument: SqlType) -> Option<(SqlType, SqlType)> {
    Some((or_text(argument), SqlType::BigInt))
}

fn any(argument: SqlType) -> Option<(SqlType, SqlType)> {
    Some((or_text(argument), or_text(argument)))
}

fn ordered(argument: SqlType) -> Option<(SqlType, SqlType)> {
    if argument == SqlType::Bool || argument.is_json() { None } else { any(argument) }
}

/// An untyped NULL is text.
fn or_text(argument: SqlType) -> SqlType {
    if argument == SqlType::Null { SqlType::Text } else { argument }
}

/// Integers of any width.
fn integral(argument: SqlType) -> Option<(SqlType, SqlType)> {
    argument.is_integer().then_some((argument, argument))
}

fn logical(argument: SqlType) -> Option<(SqlType, SqlType)> {
    matches!(argument, SqlType::Null | SqlType::Bool).then_some((SqlType::Bool, SqlType::Bool))
}

/// Integers and decimals stay exact until the result, which is a double.
fn doubled(argument: SqlType) -> Option<(SqlType, SqlType)> {
    match argument {
        _ if argument.as_decimal().is_some() => Some((argument, SqlType::Double)),
        SqlType::Real | SqlType::Double | SqlType::Null => Some((SqlType::Double, SqlType::Double)),
        _ => None,
    }
}

/// Both of a pair are doubles, and so is the result.
fn paired(argument: SqlType) -> Option<(SqlType, SqlType)> {
    // A `numeric` of any length, too: only its sums and what is made of them are exact.
    let is_number = argument.is_long_numeric() || doubled(argument).is_some();
    is_number.then_some((SqlType::Double, SqlType::Double))
}

fn continuous(argument: SqlType) -> Option<(SqlType, SqlType)> {
    if argument == SqlType::Interval { Some((argument, argument)) } else { paired(argument) }
}

fn summed(argument: SqlType) -> Option<(SqlType, SqlType)> {
    let result = match argument {
        SqlType::SmallInt | SqlType::Integer => SqlType::BigInt,
        SqlType::BigInt => SqlType::decimal(38, 0),
        SqlType::Decimal { scale, .. } => SqlType::decimal(38, scale),
        SqlType::Real | SqlType::Double | SqlType::Interval => argument,
        _ => return None,
    };
    Some((argument, result))
}

fn averaged(argument: SqlType) -> Option<(SqlType, SqlType)> {
    let result = match argument {
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => SqlType::decimal(38, 16),
        SqlType::Decimal { scale, .. } => SqlType::decimal(38, scale.max(16)),
        SqlType::Real | SqlType::Double => SqlType::Double,
        SqlType::Interval => SqlType::Interval,
        _ => return None,
    };
    Some((argument, result))
}
