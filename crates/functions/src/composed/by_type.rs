//! Aggregates of values of one type: what stands in the place of an aggregate that does not take it, by the names of the type and of that.

use super::{Composed, aggregate};

pub(super) const BY_TYPE: &[Composed] = &[
    aggregate(
        &["boolean_sum"],
        &["x"],
        "sum(CAST(x AS integer))",
        "The number of those that are true: what `sum` of a boolean is.",
        ("boolean_sum(x > 1)", "2"),
    ),
    aggregate(
        &["boolean_max"],
        &["x"],
        "bool_or(x)",
        "Whether one of them is true: what `max` of a boolean is.",
        ("boolean_max(x > 1)", "true"),
    ),
    aggregate(
        &["boolean_min"],
        &["x"],
        "bool_and(x)",
        "Whether all of them are true: what `min` of a boolean is.",
        ("boolean_min(x > 1)", "false"),
    ),
    aggregate(
        &["date_avg", "timestamp_avg", "date_mean", "timestamp_mean"],
        &["x"],
        "make_timestamp(CAST(round(avg(epoch_us(CAST(x AS timestamp)))) AS bigint))",
        "The time in the middle: what `avg` of dates and timestamps is.",
        ("date_avg(date '2024-01-01' + x)", "2024-01-03 08:00:00"),
    ),
    aggregate(
        &["timestamptz_avg", "timestamptz_mean"],
        &["x"],
        "timezone('UTC', make_timestamp(CAST(round(avg(epoch_us(timezone('UTC', x)))) AS bigint)))",
        "The moment in the middle: what `avg` of moments is.",
        ("timestamptz_avg(timestamptz '2024-01-01 00:00+00' + x * interval '3 days')", "2024-01-08 00:00:00+00"),
    ),
    aggregate(
        &["time_avg", "time_mean"],
        &["x"],
        "CAST(avg(CAST(x AS interval)) AS time)",
        "The time in the middle: what `avg` of times of day is.",
        ("time_avg(time '10:00' + x * interval '3 minutes')", "10:07:00"),
    ),
    aggregate(
        &["numeric_sum"],
        &["x"],
        "list_sum(array_agg(x))",
        "The sum: what `sum` of a `numeric` is.",
        ("numeric_sum(x)", "7"),
    ),
    aggregate(
        &["numeric_avg", "numeric_mean"],
        &["x"],
        "list_avg(array_agg(x))",
        "The average: what `avg` of a `numeric` is.",
        ("numeric_avg(x)", "2.3333333333333335"),
    ),
    aggregate(
        &["numeric_variance", "numeric_var_samp"],
        &["x"],
        "list_numeric_var_samp(array_agg(x))",
        "The variance of a sample: what `variance` of a `numeric` is.",
        ("numeric_variance(x)", "2.3333333333333333"),
    ),
    aggregate(
        &["numeric_var_pop"],
        &["x"],
        "list_numeric_var_pop(array_agg(x))",
        "The variance: what `var_pop` of a `numeric` is.",
        ("numeric_var_pop(x)", "1.5555555555555556"),
    ),
    aggregate(
        &["numeric_stddev", "numeric_stddev_samp"],
        &["x"],
        "list_numeric_stddev_samp(array_agg(x))",
        "The standard deviation of a sample: what `stddev` of a `numeric` is.",
        ("numeric_stddev(x)", "1.5275252316519467"),
    ),
    aggregate(
        &["numeric_stddev_pop"],
        &["x"],
        "list_numeric_stddev_pop(array_agg(x))",
        "The standard deviation: what `stddev_pop` of a `numeric` is.",
        ("numeric_stddev_pop(x)", "1.2472191289246471"),
    ),
];
