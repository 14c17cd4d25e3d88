//! Functions that are SQL of other functions: a row each. The binder puts the arguments in the places of the parameters, so
//! that plans, code and errors are those of what it is made of.

mod aggregates;
mod by_type;
mod lists;
mod others;
mod system;
mod texts;

/// A function and the SQL that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Composed {
    /// What SQL calls it, aliases included, in lower case.
    pub names: &'static [&'static str],
    /// What the arguments are called in the text.
    pub parameters: &'static [&'static str],
    /// An expression. A parameter that stands in it several times is computed several times.
    pub text: &'static str,
    /// Whether it takes DISTINCT, ORDER BY, FILTER and OVER: they belong to the aggregates in the text.
    pub is_aggregate: bool,
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call and its result as text; of aggregates, over rows whose x is 1, 2, 4 and NULL.
    pub example: (&'static str, &'static str),
}

impl Composed {
    /// The function that SQL calls `name`, in lower case, with so many arguments.
    pub fn find(name: &str, arguments: usize) -> Option<&'static Self> {
        all().find(|c| c.names.contains(&name) && c.parameters.len() == arguments)
    }
}

const fn scalar(
    names: &'static [&'static str],
    parameters: &'static [&'static str],
    text: &'static str,
    documentation: &'static str,
    example: (&'static str, &'static str),
) -> Composed {
    Composed { names, parameters, text, is_aggregate: false, documentation, example }
}

const fn aggregate(
    names: &'static [&'static str],
    parameters: &'static [&'static str],
    text: &'static str,
    documentation: &'static str,
    example: (&'static str, &'static str),
) -> Composed {
    Composed { names, parameters, text, is_aggregate: true, documentation, example }
}

/// An interval of so many units.
macro_rules! units {
    ($name:literal, $unit:literal, $documentation:literal, $result:literal) => {
        scalar(
            &[$name],
            &["n"],
            concat!("n * INTERVAL '", $unit, "'"),
            $documentation,
            (concat!($name, "(3)"), $result),
        )
    };
}

/// Every such function.
pub fn all() -> impl Iterator<Item = &'static Composed> {
    let rows = [
        FIGURES_AND_TIMES,
        aggregates::AGGREGATES,
        by_type::BY_TYPE,
        lists::LISTS,
        others::OTHERS,
        system::SYSTEM,
        texts::TEXTS,
    ];
    rows.into_iter().flatten().chain(system::PRIVILEGES.iter().flatten())
}

const FIGURES_AND_TIMES: &[Composed] = &[
    aggregate(
        &["count_if", "countif"],
        &["x"],
        "count(CASE WHEN x THEN 1 END)",
        "Number of rows for which the argument is true.",
        ("count_if(x > 1)", "2"),
    ),
    aggregate(
        &["fsum", "kahan_sum", "sumkahan"],
        &["x"],
        "sum(CAST(x AS double precision))",
        "Sum as a double, rounded once.",
        ("fsum(x)", "7"),
    ),
    aggregate(
        &["favg"],
        &["x"],
        "avg(CAST(x AS double precision))",
        "Average as a double.",
        ("favg(x)", "2.3333333333333335"),
    ),
    aggregate(&["sum_no_overflow"], &["x"], "sum(x)", "Sum of the values.", ("sum_no_overflow(x)", "7")),
    aggregate(
        &["geomean", "geometric_mean"],
        &["x"],
        "exp(avg(ln(CAST(x AS double precision))))",
        "The geometric mean.",
        ("geomean(x * x * x)", "7.999999999999998"),
    ),
    aggregate(
        &["sem"],
        &["x"],
        "stddev_pop(x) / sqrt(count(x))",
        "Standard error of the mean.",
        ("sem(x)", "0.7200822998230956"),
    ),
    aggregate(
        &["weighted_avg", "wavg"],
        &["x", "weight"],
        "CAST(sum(x * weight) AS double precision) / sum(CASE WHEN x IS NOT NULL THEN weight END)",
        "Average of values with weights.",
        ("weighted_avg(x, x)", "3"),
    ),
    aggregate(
        &["skewness"],
        &["x"],
        "CASE WHEN count(x) > 2 AND var_pop(x) > 0 THEN \
           sqrt(count(x) * (count(x) - 1.0e0)) / (count(x) - 2) \
           * (fsum(1.0e0 * x * x * x) - 3 * fsum(1.0e0 * x * x) * fsum(x) / count(x) \
              + 2 * fsum(x) * fsum(x) * fsum(x) / count(x) / count(x)) \
           / count(x) / (var_pop(x) * stddev_pop(x)) END",
        "Skewness of a sample; NULL under three values, or where they do not vary.",
        ("skewness(x)", "0.9352195295828213"),
    ),
    aggregate(
        &["kurtosis_pop"],
        &["x"],
        "CASE WHEN count(x) > 1 AND var_pop(x) > 0 THEN \
           (fsum(1.0e0 * x * x * x * x) - 4 * fsum(1.0e0 * x * x * x) * fsum(x) / count(x) \
            + 6 * fsum(1.0e0 * x * x) * fsum(x) * fsum(x) / count(x) / count(x) \
            - 3 * fsum(x) * fsum(x) * fsum(x) * fsum(x) / count(x) / count(x) / count(x)) \
           / count(x) / (var_pop(x) * var_pop(x)) - 3 END",
        "Excess kurtosis of a population; NULL where values do not vary.",
        ("kurtosis_pop(x)", "-1.5000000000000044"),
    ),
    aggregate(
        &["kurtosis"],
        &["x"],
        "CASE WHEN count(x) > 3 THEN (count(x) - 1.0e0) / ((count(x) - 2.0e0) * (count(x) - 3)) \
           * ((count(x) + 1) * kurtosis_pop(x) + 6) END",
        "Excess kurtosis of a sample; NULL under four values, or where they do not vary.",
        ("kurtosis(coalesce(x, 0))", "0.34285714285714164"),
    ),
    aggregate(
        &["approx_quantile", "reservoir_quantile"],
        &["x", "fraction"],
        "quantile_disc(x, fraction)",
        "The value at that fraction of the values; exact here.",
        ("approx_quantile(x, 0.5)", "2"),
    ),
    aggregate(
        &["group_concat", "listagg"],
        &["x"],
        "string_agg(CAST(x AS text), ',')",
        "The values as text, with commas between them.",
        ("group_concat(x ORDER BY x)", "1,2,4"),
    ),
    aggregate(
        &["group_concat", "listagg"],
        &["x", "separator"],
        "string_agg(CAST(x AS text), separator)",
        "The values as text, with the separator between them.",
        ("group_concat(x, '; ' ORDER BY x)", "1; 2; 4"),
    ),
    scalar(
        &["constant_or_null"],
        &["x", "y"],
        "CASE WHEN y IS NOT NULL THEN x END",
        "The first argument, or NULL if the second is NULL.",
        ("constant_or_null(7, NULL)", "NULL"),
    ),
    scalar(
        &["fdiv"],
        &["x", "y"],
        "floor(CAST(x AS double precision) / y)",
        "The quotient, rounded down.",
        ("fdiv(-7, 2)", "-4"),
    ),
    scalar(
        &["fmod"],
        &["x", "y"],
        "x - y * floor(CAST(x AS double precision) / y)",
        "What is left of the quotient that is rounded down.",
        ("fmod(-7, 2)", "1"),
    ),
    scalar(
        &["even"],
        &["x"],
        "CASE WHEN x >= 0 THEN 2 * ceil(CAST(x AS double precision) / 2) \
         ELSE 2 * floor(CAST(x AS double precision) / 2) END",
        "The next even number away from zero.",
        ("even(2.9)", "4"),
    ),
    scalar(
        &["isnan"],
        &["x"],
        "CAST(x AS double precision) = CAST('NaN' AS double precision)",
        "Whether a number is NaN.",
        ("isnan('NaN')", "true"),
    ),
    scalar(
        &["isinf"],
        &["x"],
        "abs(CAST(x AS double precision)) = CAST('Infinity' AS double precision)",
        "Whether a number is infinite.",
        ("isinf('-Infinity')", "true"),
    ),
    scalar(
        &["is_time_without_end"],
        &["t"],
        "NOT isfinite(t)",
        "Whether a date or time is infinite.",
        ("is_time_without_end(date 'infinity')", "true"),
    ),
    scalar(
        &["ago"],
        &["i"],
        "now() - CAST(i AS interval)",
        "The time so long before now.",
        ("ago(interval '1 day') < now()", "true"),
    ),
    scalar(
        &["date_add"],
        &["d", "i"],
        "d + i",
        "A date or time and an interval.",
        ("date_add(date '2020-01-31', interval '1 month')", "2020-02-29 00:00:00"),
    ),
    scalar(
        &["to_timestamp"],
        &["t", "pattern"],
        "CAST(timestamp_by_pattern(t, pattern) AS timestamp with time zone)",
        "The moment that a text in the form of a pattern is, in the session's zone.",
        ("to_timestamp('5 Dec 2000', 'DD Mon YYYY')", "2000-12-05 00:00:00+00"),
    ),
    scalar(
        &["dayname"],
        &["d"],
        "CASE CAST(date_part('dow', d) AS integer) WHEN 0 THEN 'Sunday' WHEN 1 THEN 'Monday' WHEN 2 THEN \
         'Tuesday' WHEN 3 THEN 'Wednesday' WHEN 4 THEN 'Thursday' WHEN 5 THEN 'Friday' WHEN 6 THEN \
         'Saturday' END",
        "The name of the day of the week.",
        ("dayname(date '1992-03-22')", "Sunday"),
    ),
    scalar(
        &["monthname"],
        &["d"],
        "CASE CAST(date_part('month', d) AS integer) WHEN 1 THEN 'January' WHEN 2 THEN 'February' WHEN 3 \
         THEN 'March' WHEN 4 THEN 'April' WHEN 5 THEN 'May' WHEN 6 THEN 'June' WHEN 7 THEN 'July' WHEN 8 \
         THEN 'August' WHEN 9 THEN 'September' WHEN 10 THEN 'October' WHEN 11 THEN 'November' WHEN 12 \
         THEN 'December' END",
        "The name of the month.",
        ("monthname(date '1992-09-20')", "September"),
    ),
    scalar(
        &["last_day"],
        &["d"],
        "CAST(date_trunc('month', d) + INTERVAL '1 month' - INTERVAL '1 day' AS date)",
        "The last day of the month.",
        ("last_day(date '1992-02-12')", "1992-02-29"),
    ),
    scalar(
        &["days_in_month"],
        &["d"],
        "day(date_trunc('month', d) + INTERVAL '1 month' - INTERVAL '1 day')",
        "How many days the month has.",
        ("days_in_month(date '1992-02-12')", "29"),
    ),
    scalar(
        &["weekday"],
        &["d"],
        "dayofweek(d)",
        "The day of the week, 0 for Sunday.",
        ("weekday(date '2020-01-01')", "3"),
    ),
    scalar(&["dayofmonth"], &["d"], "day(d)", "The day of the month.", ("dayofmonth(date '2020-01-07')", "7")),
    scalar(&["weekofyear"], &["d"], "week(d)", "The number of the ISO week.", ("weekofyear(date '2021-01-01')", "53")),
    scalar(
        &["yearweek"],
        &["d"],
        "isoyear(d) * 100 + week(d)",
        "The ISO year and week as one number.",
        ("yearweek(date '2021-01-01')", "202053"),
    ),
    scalar(
        &["era"],
        &["d"],
        "CASE WHEN year(d) > 0 THEN 1 ELSE 0 END",
        "1 for years of our era, 0 for those before.",
        ("era(date '2021-01-01')", "1"),
    ),
    scalar(
        &["epoch"],
        &["t"],
        "CAST(date_part('epoch', t) AS double precision)",
        "Seconds since 1970-01-01, or of an interval.",
        ("epoch(timestamp '1970-01-02 00:00:00.5')", "86400.5"),
    ),
    scalar(
        &["epoch_ms"],
        &["t"],
        "CAST(floor(date_part('epoch', t) * 1000) AS bigint)",
        "Milliseconds since 1970-01-01, or of an interval.",
        ("epoch_ms(timestamp '1970-01-02 00:00:00.5')", "86400500"),
    ),
    scalar(
        &["epoch_us"],
        &["t"],
        "CAST(date_part('epoch', t) * 1000000 AS bigint)",
        "Microseconds since 1970-01-01, or of an interval.",
        ("epoch_us(timestamp '1970-01-02 00:00:00.5')", "86400500000"),
    ),
    scalar(
        &["epoch_ns"],
        &["t"],
        "CAST(date_part('epoch', t) * 1000000000 AS bigint)",
        "Nanoseconds since 1970-01-01, or of an interval.",
        ("epoch_ns(timestamp '1970-01-02 00:00:00.5')", "86400500000000"),
    ),
    units!("to_centuries", "100 years", "So many centuries.", "300 years"),
    units!("to_decades", "10 years", "So many decades.", "30 years"),
    units!("to_millennia", "1000 years", "So many millennia.", "3000 years"),
    units!("to_years", "1 year", "So many years.", "3 years"),
    units!("to_quarters", "3 months", "So many quarters.", "9 mons"),
    units!("to_months", "1 month", "So many months.", "3 mons"),
    units!("to_weeks", "7 days", "So many weeks.", "21 days"),
    units!("to_days", "1 day", "So many days.", "3 days"),
    units!("to_hours", "1 hour", "So many hours.", "03:00:00"),
    units!("to_minutes", "1 minute", "So many minutes.", "00:03:00"),
    aggregate(
        &["json_agg", "json_group_array"],
        &["x"],
        "json_of_array(array_agg(row_or_value(x)))",
        "The values as a JSON array, NULLs too.",
        ("json_agg(x ORDER BY x)", "[1, 2, 4, null]"),
    ),
    aggregate(
        &["jsonb_agg"],
        &["x"],
        "to_jsonb(array_agg(row_or_value(x)))",
        "The values as a JSON array, NULLs too.",
        ("jsonb_agg(x ORDER BY x)", "[1, 2, 4, null]"),
    ),
    aggregate(
        &["json_object_agg", "json_group_object"],
        &["k", "v"],
        "CAST('{ ' || string_agg(json_member(coalesce(CAST(k AS text), json_no_key()), coalesce(to_json(v), CAST('null' AS json))), ', ') || ' }' AS json)",
        "The keys and values as a JSON object.",
        ("json_object_agg(coalesce(x, 9), x)", "{ \"1\" : 1, \"2\" : 2, \"4\" : 4, \"9\" : null }"),
    ),
    aggregate(
        &["jsonb_object_agg"],
        &["k", "v"],
        "CAST('{ ' || string_agg(json_member(coalesce(CAST(k AS text), json_no_key()), coalesce(to_json(v), CAST('null' AS json))), ', ') || ' }' AS jsonb)",
        "The keys and values as a JSON object.",
        ("jsonb_object_agg(coalesce(x, 0), x)", "{\"0\": null, \"1\": 1, \"2\": 2, \"4\": 4}"),
    ),
    scalar(
        &["row_to_json"],
        &["r"],
        "to_json(r)",
        "The row of a table as JSON, by the table's name.",
        ("row_to_json(1)", "1"),
    ),
    scalar(
        &["jsonb_object"],
        &["a"],
        "CAST(json_object(a) AS jsonb)",
        "An object of an array of keys and values in turn.",
        ("jsonb_object(ARRAY['b', '1', 'a', NULL])", "{\"a\": null, \"b\": \"1\"}"),
    ),
    scalar(
        &["jsonb_object"],
        &["k", "v"],
        "CAST(json_object(k, v) AS jsonb)",
        "An object of an array of keys and one of values.",
        ("jsonb_object(ARRAY['b', 'a'], ARRAY['1', NULL])", "{\"a\": null, \"b\": \"1\"}"),
    ),
    scalar(&["json_quote"], &["x"], "to_json(x)", "The value as JSON.", ("json_quote('a'::text)", "\"a\"")),
    units!("to_seconds", "1 second", "So many seconds.", "00:00:03"),
    units!("to_milliseconds", "1 millisecond", "So many milliseconds.", "00:00:00.003"),
    units!("to_microseconds", "1 microsecond", "So many microseconds.", "00:00:00.000003"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_once_for_a_number_of_arguments() {
        for composed in all() {
            assert!(composed.documentation.ends_with('.'), "{}", composed.names[0]);
            for name in composed.names {
                assert_eq!(Composed::find(name, composed.parameters.len()).unwrap().text, composed.text);
                let takes = |f: crate::ScalarFunction| {
                    f.definition().overloads.iter().any(|o| o.parameters.len() == composed.parameters.len())
                };
                assert!(!crate::ScalarFunction::find(name).is_some_and(takes), "{name}");
                let arguments = crate::AggregateFunction::find(name).map(|a| a.definition().arguments);
                assert_ne!(arguments, Some(composed.parameters.len()), "{name}");
            }
        }
    }
}
