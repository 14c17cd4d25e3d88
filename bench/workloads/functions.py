"""Functions, casts and lists, each called for every row: what analyses are full of, and what is easily forgotten."""

from . import Query, Workload, operators


def numbers():
    return [
        Query("sqrt", "select sum(sqrt(x)) from t"),
        Query("ln", "select sum(ln(x)) from t"),
        Query("exp", "select sum(exp(x / 1000)) from t"),
        Query("power", "select sum(power(x, 1.5)) from t"),
        Query("sin, cos", "select sum(sin(x) * cos(y)) from t"),
        Query("round to digits", "select sum(round(x, 1)) from t"),
        Query("trunc", "select sum(trunc(x)) from t"),
        Query("sign", "select sum(sign(r)) from t"),
        Query("bits", "select sum(r & 255), sum(many | 7) from t"),
        Query("divided by a decimal", "select sum(many / 7.0) from t"),
        Query("deviation", "select stddev_samp(x) from t"),
        Query("deviations of groups", "select few, stddev_samp(x) from t group by few"),
    ]


def casts():
    return [
        Query("double to decimal", "select sum(cast(x as decimal(12, 2))) from t"),
        Query("double to integer", "select sum(cast(x as integer)) from t"),
        Query("decimal to double", "select sum(cast(price as double precision)) from t"),
        Query("integer to text", "select sum(length(cast(many as varchar))) from t"),
        Query("date to text", "select sum(length(cast(day as varchar))) from t"),
        Query("decimal to text", "select sum(length(cast(price as varchar))) from t"),
        Query("text to integer", "select sum(cast(substring(name, 10, 1) as integer)) from t"),
        Query("timestamp to date", "select cast(moment as date) as d, count(*) from t group by cast(moment as date)"),
        Query("timestamp to time", "select max(cast(moment as time)) from t"),
    ]


def moments():
    return [
        Query("date_diff, days", "select sum(date_diff('day', date '2000-01-01', day)) from t"),
        Query("date_diff, months", "select sum(date_diff('month', date '2000-01-01', day)) from t"),
        Query("year, month", "select sum(extract(year from moment)), sum(extract(month from day)) from t"),
        Query("epoch", "select sum(extract(epoch from moment)) from t"),
        Query("strftime", "select strftime(day, '%Y-%m') as m, count(*) from t group by strftime(day, '%Y-%m')"),
        Query("last_day", "select last_day(day) as d, count(*) from t group by last_day(day)"),
        Query("day + month", "select count(*) from t where day + interval '1 month' > timestamp '2015-06-01'"),
    ]


def texts():
    return [
        Query("reverse", "select sum(length(reverse(name))) from t"),
        Query("md5", "select max(md5(color)) from t"),
        Query("concat", "select sum(length(concat(color, '-', bucket))) from t"),
        Query("left, right", "select sum(length(left(name, 12))), sum(length(right(name, 5))) from t"),
        Query("position", "select sum(position('of' in name)) from t"),
        Query("ilike", "select count(*) from t where name ilike '%-OF-RED'"),
        Query("regular expression", "select count(*) from t where regexp_matches(name, 'customer-[0-4]+-of')"),
    ]


def lists():
    return [
        Query("length of a list", "select sum(len([many, few])) from t"),
        Query("unnest", "select sum(u) from (select unnest([many, few, bucket]) as u from t) q"),
        Query("list_contains", "select count(*) from t where list_contains([1, 2, 3], few)"),
        Query("first, any_value", "select first(id), any_value(few) is not null from t", columns=()),
        Query("lists of groups", "select sum(len(l)) from (select bucket, list(r) as l from t group by bucket) q"),
        Query("texts of groups", "select sum(length(l)) from (select bucket, string_agg(color, ',') as l from t group by bucket) q"),
        Query("mode", "select mode(bucket) from t", columns=()),
    ]


def queries(rows):
    return numbers() + casts() + moments() + texts() + lists()


WORKLOAD = Workload("functions", 10_000_000, 1_000_000, ("t",), operators.generate, queries, shared="operators-")
