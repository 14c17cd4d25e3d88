"""SQL's types as Python's."""

import datetime
import uuid
from decimal import Decimal

import pyarrow
import pyarrow.parquet
import pytest

import morseldb


@pytest.mark.parametrize(
    "sql, value",
    [
        ("true", True),
        ("1::smallint", 1),
        ("-2147483648", -2147483648),
        ("9223372036854775807", 2**63 - 1),
        ("1.50", Decimal("1.50")),
        ("'1e50'::numeric + 0.25", Decimal("1" + "0" * 50 + ".25")),
        ("-12345678901234567890.123::decimal(30,3)", Decimal("-12345678901234567890.123")),
        ("0.5::real", 0.5),
        ("1e100::double precision", 1e100),
        ("'grüße, a long string'", "grüße, a long string"),
        ("''", ""),
        ("'ab'::char(4)", "ab  "),
        ("date '0001-01-01'", datetime.date(1, 1, 1)),
        ("date '9999-12-31'", datetime.date(9999, 12, 31)),
        ("timestamp '1969-12-31 23:59:59.999999'", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("timestamptz '2024-07-01 12:00+02'", datetime.datetime(2024, 7, 1, 10, tzinfo=datetime.timezone.utc)),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("time '10:15:00.5'", datetime.time(10, 15, 0, 500000)),
        (
            "timetz '10:15:00.5-03:30'",
            datetime.time(10, 15, 0, 500000, datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))),
        ),
        ("int4range(1, 5, '[]')", "[1,6)"),
        ("tsrange('2024-01-01', NULL)", '["2024-01-01 00:00:00",)'),
        ("18446744073709551615::ubigint", 2**64 - 1),
        ("interval '1 day 2 hours'", datetime.timedelta(days=1, hours=2)),
        ("interval '2 months'", datetime.timedelta(days=60)),
        ("interval '-1 second'", datetime.timedelta(seconds=-1)),
        ("null", None),
        ("null::integer", None),
    ],
)
def test_values(con, sql, value):
    (got,) = con.execute(f"select {sql}").fetchone()
    assert got == value and type(got) is type(value)
    if isinstance(value, Decimal):
        assert str(got) == str(value)


def test_floats(con):
    row = con.execute("select 'NaN'::double precision, '-Infinity'::real").fetchone()
    assert row[0] != row[0] and row[1] == float("-inf")


def test_dates_beyond_pythons(con):
    for sql in ["date '10000-01-01'", "timestamp '10000-01-01 00:00:00'", "interval '99999999 years'"]:
        readers = [lambda c: c.fetchone(), lambda c: c.fetchmany(2), lambda c: c.fetchall(), list]
        for read in readers:
            with pytest.raises(morseldb.DataError):
                read(con.execute(f"select {sql}"))
            with pytest.raises(morseldb.DataError):
                read(con.sql(f"select {sql}"))
    pytest.importorskip("pandas")
    with pytest.raises(morseldb.DataError):
        con.sql("select date '10000-01-01'").df()


def test_many_rows_keep_their_order(big):
    rows = big.execute("select n, n::text as t from big order by n").fetchall()
    assert len(rows) == 500_000
    assert all(n == i and text == str(i) for i, (n, text) in enumerate(rows))
    big.execute("select n from big")
    assert sum(len(big.fetchmany(99_999)) for _ in range(6)) == 500_000


def test_old_parquet_timestamps_of_all_years(con, tmp_path):
    values = [datetime.datetime(9999, 12, 31), datetime.datetime(1600, 1, 1, 12), None]
    path = tmp_path / "old.parquet"
    table = pyarrow.table({"a": pyarrow.array(values, pyarrow.timestamp("us"))})
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    assert [row[0] for row in con.execute(f"select a from '{path}'").fetchall()] == values


def test_infinite_dates_are_the_last_and_the_first(con):
    row = con.execute("select 'infinity'::date, '-infinity'::date, 'infinity'::timestamp, '-infinity'::timestamp").fetchone()
    date, moment = datetime.date, datetime.datetime
    assert row == (date.max, date.min, moment.max, moment.min)
