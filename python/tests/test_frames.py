"""What data frames get and give: nothing may be lost without a word."""

import datetime
import os
import pathlib
import subprocess
import sys
import textwrap
from decimal import Decimal

import pytest

import morseldb

BIG = 2**60 + 1


def test_numbers_are_numbers(con):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    con.execute("create table t as select * from (values (1::bigint, 1.5), (2, 2.25)) v(n, d)")
    row = con.execute("select sum(n), avg(n), sum(d) from t").fetchone()
    assert row[0] == 3 and type(row[0]) is int
    assert row[2] == Decimal("3.75") and type(row[2]) is Decimal
    frame = con.execute("select sum(n) as s, avg(n) as a, sum(d) as d from t").df()
    assert [kind.kind for kind in frame.dtypes] == ["i", "f", "f"]
    assert frame["d"][0] == 3.75
    exact = con.sql("select sum(d) as d, sum(n) as n from t").df(decimals="exact")
    assert exact["d"][0] == Decimal("3.75") and exact["n"].dtype == "int64"
    wide = con.sql("select 99999999999999999999999 as w").df()
    assert wide["w"][0] == 99999999999999999999999
    assert isinstance(frame, pandas.DataFrame)
    long = con.sql("select * from (values ('1e50'::numeric), (0.5), ('NaN'), (null)) v(x)")
    assert long.df()["x"].dtype == "float64" and long.df()["x"][0] == 1e50
    assert list(long.df(decimals="exact")["x"][:2]) == [Decimal(10**50), Decimal("0.5")]


def test_integers_and_booleans_with_nulls_stay_what_they_are(con):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sql = f"select * from (values ({BIG}, true, 1::smallint, 'x'), (null, null, null, null)) as v(n, b, s, n)"
    frame = con.sql(sql).df()
    assert [str(kind) for kind in frame.dtypes[:3]] == ["Int64", "boolean", "Int16"]
    assert list(frame.columns) == ["n", "b", "s", "n"]
    assert frame.iloc[0, 0] == BIG and frame.iloc[1, 0] is pandas.NA
    assert con.sql("select n from (values (1), (2)) v(n)").df()["n"].dtype == "int32"
    given = pandas.DataFrame({"n": pandas.array([BIG, None], "Int64"), "b": pandas.array([True, None], "boolean")})
    back = con.sql("select n, b from given").df()
    assert back.equals(given)


def test_time_zones_are_not_dropped(con):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    times = pandas.to_datetime(["2024-07-01 12:00"])
    frame = pandas.DataFrame({"n": [1], "t": times.tz_localize("Europe/Berlin"), "u": times.tz_localize("UTC")})
    utc = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
    assert con.execute("select t, u from frame").fetchone() == (utc - datetime.timedelta(hours=2), utc)
    back = con.sql("select t, u from frame").df()
    assert (back["t"] == frame["t"]).all() and (back["u"] == frame["u"]).all()
    east = utc.astimezone(datetime.timezone(datetime.timedelta(hours=2)))
    assert con.execute("select ?", [east]).fetchone() == (utc,)
    con.execute("set timezone = 'Europe/Berlin'")
    (local,) = con.execute("select ?", [utc]).fetchone()
    assert local == utc and local.hour == 14 and str(local.tzinfo) == "Europe/Berlin"


def test_nanoseconds_are_not_dropped(con):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    whole = pandas.DataFrame({"t": pandas.to_datetime([1_700_000_000_000_001_000], unit="ns")})
    assert con.execute("select t from whole").fetchone()[0].microsecond == 1
    odd = pandas.DataFrame({"n": [1], "t": pandas.to_datetime([1], unit="ns"), "d": pandas.to_timedelta([1], unit="ns")})
    assert con.execute("select n from odd").fetchone() == (1,)
    for column in ["t", "d"]:
        with pytest.raises(morseldb.NotSupportedError, match="nanoseconds"):
            con.execute(f"select {column} from odd").fetchall()
    stamp = numpy.datetime64("2024-01-02T03:04:05.000001", "ns")
    assert con.execute("select ?", [stamp]).fetchone() == (datetime.datetime(2024, 1, 2, 3, 4, 5, 1),)
    assert con.execute("select ?", [numpy.datetime64("NaT", "ns")]).fetchone() == (None,)
    for value in [numpy.datetime64(1, "ns"), pandas.Timestamp(1)]:
        with pytest.raises(morseldb.DataError, match="nanoseconds"):
            con.execute("select ?", [value])


@pytest.mark.parametrize("method, modules", [("df", ["pandas"]), ("df", ["pyarrow"]), ("pl", ["polars"])])
def test_missing_modules_are_named(con, monkeypatch, method, modules):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{method}\\(\\) needs .*pip install .*{modules[0]}"):
        getattr(con.sql("select 1"), method)()


def test_corrupt_files_are_errors_of_data(con, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    path = tmp_path / "t.parquet"
    table = pyarrow.table({"n": list(range(1000))})
    parquet.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    sql = f"select sum(n) from '{path}'"
    assert con.execute(sql).fetchone() == (499500,)
    contents = bytearray(path.read_bytes())
    contents[contents.index((500).to_bytes(8, "little"))] ^= 1
    path.write_bytes(contents)
    with pytest.raises(morseldb.DataError) as raised:
        con.execute(sql).fetchall()
    assert raised.value.sqlstate == "XX001"


def test_types_are_strict(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import morseldb

            con = morseldb.connect(threads=2, memory_limit="1GB", enable_external_access=False)
            rows = con.sql("select 1").fetchall()
            frame = con.sql("select 1").df()
            for row in con.execute("select 1"):
                print(row)
        """)
    )
    root = pathlib.Path(__file__).parents[2]
    for target in [["-p", "morseldb"], [str(program)]]:
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml")]
        done = subprocess.run(
            [*command, "--cache-dir", str(tmp_path), *target],
            capture_output=True,
            text=True,
            env={**os.environ, "MYPYPATH": str(root / "python")},
        )
        assert done.returncode == 0, done.stdout
