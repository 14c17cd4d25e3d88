"""Groups, top-k, functions of strings, and expressions: small queries that each try one thing."""

import numpy
import pyarrow

from . import Query, Workload

COLORS = ["red", "green", "blue", "yellow", "black", "white", "orange", "violet", "brown", "grey"]


def decimals(cents):
    """Numbers with two decimals, of words of 128 bits."""
    words = numpy.column_stack([cents, numpy.zeros_like(cents)])
    return pyarrow.Array.from_buffers(pyarrow.decimal128(12, 2), len(cents), [None, pyarrow.py_buffer(words)])


def generate(rows):
    rows = int(rows)
    random = numpy.random.default_rng(3)
    start = numpy.datetime64("2000-01-01T00:00:00", "us")
    moments = start + random.integers(0, 20 * 365 * 86_400, rows).astype("timedelta64[s]")
    names = pyarrow.array([f"customer-{n * 7919 % 100_003}-of-{COLORS[n % 10]}" for n in range(100_000)])
    yield "t", pyarrow.table(
        {
            "id": numpy.arange(rows, dtype=numpy.int64),
            "few": random.integers(0, 10, rows, dtype=numpy.int32),
            "bucket": random.integers(0, 1000, rows, dtype=numpy.int32),
            "many": random.integers(0, max(rows // 10, 1), rows, dtype=numpy.int32),
            "r": random.integers(-(2**40), 2**40, rows),
            "x": random.uniform(0.5, 1000, rows),
            "y": random.uniform(0.5, 1000, rows),
            "price": decimals(random.integers(0, 1_000_000, rows)),
            "color": pyarrow.array(COLORS).take(pyarrow.array(random.integers(0, 10, rows))),
            "name": names.take(pyarrow.array(random.integers(0, len(names), rows))),
            "day": pyarrow.array(moments.astype("datetime64[D]")),
            "moment": moments.astype("datetime64[us]"),
            "holes": pyarrow.array(random.integers(0, 100, rows, dtype=numpy.int32), mask=random.random(rows) < 0.2),
        }
    )


def groups(rows):
    many = "select count(*), sum(n), sum(s) from answer"
    return [
        Query("group by 10 ints", "select few, count(*), sum(r) from t group by few"),
        Query("group by 1,000 ints", "select bucket, sum(x), min(y) from t group by bucket"),
        Query("group by many ints", "select many, count(*) as n, sum(r) as s from t group by many", check=many),
        Query("group by unique", "select id, count(*) as n, sum(r) as s from t group by id", check=many),
        Query("group by 10 strings", "select color, count(*), avg(x) from t group by color"),
        Query("group by 100,000 strings", "select name, count(*) as n, sum(r) as s from t group by name", check=many),
        Query("group by two keys", "select color, few, sum(price) from t group by color, few"),
        Query("group by day", "select day, count(*), max(x) from t group by day"),
        Query("count distinct", "select count(distinct many) from t"),
        Query("having", f"select bucket, count(*) from t group by bucket having count(*) > {int(rows) // 1000}"),
        Query("least and greatest strings", "select few, min(name), max(name) from t group by few"),
        Query("groups of NULLs", "select holes, count(*), count(holes) from t group by holes"),
    ]


def tops():
    return [
        Query("top 10 bigints", "select r from t order by r limit 10"),
        Query("top 10 doubles", "select x, id from t order by x desc limit 10"),
        Query("top 10 strings", "select name, id from t order by name, id limit 10"),
        Query("top 10 by two keys", "select few, r from t order by few, r desc limit 10"),
        Query("top 1,000", "select r, id from t order by r desc limit 1000"),
        Query("top 10 of a tenth", "select r, id from t where few = 3 order by r limit 10"),
        Query("top 10, all columns", "select * from t order by r limit 10", columns=(0, 4)),
        Query("top 10 groups", "select many, sum(x) as s from t group by many order by s desc limit 10"),
    ]


def strings():
    return [
        Query("like prefix", "select count(*) from t where name like 'customer-12%'"),
        Query("like middle", "select count(*) from t where name like '%99-of%'"),
        Query("like suffix", "select count(*) from t where name like '%-violet'"),
        Query("equal", "select count(*) from t where color = 'violet'"),
        Query("length", "select sum(length(name)) from t"),
        Query("upper", "select upper(color), count(*) from t group by upper(color)"),
        Query("substring", "select substring(name, 10, 2), count(*) from t group by substring(name, 10, 2)"),
        Query("concatenation", "select max(color || '/' || name) from t"),
        Query("replace", "select max(replace(name, 'customer', 'supplier')) from t"),
        Query("split_part", "select split_part(name, '-', 4), count(*) from t group by split_part(name, '-', 4)"),
    ]


def expressions():
    thousand = ", ".join(str(n * 37) for n in range(1000))
    return [
        Query("doubles", "select sum(x * y + x / y - (x + y) * 0.5) from t"),
        Query("decimals", "select sum(price * (1 - 0.05) * (1 + 0.08)) from t"),
        Query("or", "select count(*) from t where few = 1 or bucket = 17 or many < 1000 or r > 1000000000000"),
        Query("case", "select sum(case when few < 3 then x when few < 6 then y when few < 8 then x + y else 0 end) from t"),
        Query("in 10", "select count(*) from t where bucket in (3, 14, 15, 92, 65, 35, 89, 79, 323, 846)"),
        Query("in 1,000", f"select count(*) from t where many in ({thousand})"),
        Query("year", "select extract(year from day) as y, count(*) from t group by extract(year from day)"),
        Query("date_trunc", "select date_trunc('month', moment) as m, sum(x) from t group by date_trunc('month', moment)"),
        Query("casts", "select sum(cast(r as double precision)), sum(cast(bucket as bigint)) from t"),
        Query("coalesce", "select sum(coalesce(holes, few)) from t"),
        Query("abs, modulo", "select sum(abs(r) % 1000) from t"),
        Query("round, floor", "select sum(round(x)), sum(floor(y)) from t"),
    ]


def queries(rows):
    return groups(rows) + tops() + strings() + expressions()


WORKLOAD = Workload("operators", 10_000_000, 1_000_000, ("t",), generate, queries)
