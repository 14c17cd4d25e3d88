"""The DB-API: PEP 249."""

import datetime
import gc
import pickle
import uuid
import weakref
from decimal import Decimal

import pytest

import morseldb


def test_module_attributes():
    assert morseldb.apilevel == "2.0"
    assert morseldb.paramstyle == "qmark"
    assert morseldb.threadsafety == 2
    assert issubclass(morseldb.Error, Exception) and issubclass(morseldb.Warning, Exception)
    for name in ["DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError"]:
        assert issubclass(getattr(morseldb, name), morseldb.DatabaseError)
        assert getattr(morseldb.Connection, name) is getattr(morseldb, name)
    assert issubclass(morseldb.InterfaceError, morseldb.Error)
    assert not issubclass(morseldb.InterfaceError, morseldb.DatabaseError)


def test_fetching(con):
    con.execute("select * from (values (1, 'a'), (2, 'b'), (3, null)) as v(n, t) order by n")
    assert con.fetchone() == (1, "a")
    assert con.fetchmany(1) == [(2, "b")]
    assert con.fetchmany() == [(3, None)]
    assert con.fetchone() is None
    assert con.fetchall() == []
    assert list(con.execute("select 1")) == [(1,)]


def test_rows_found_by_keys(con):
    """Statements by keys run without pipelines, and their rows become Python's without columns."""
    con.execute("create table t (k bigint primary key, g integer, s text, x double precision, b boolean, d date, n numeric)")
    con.execute("create index on t (g)")
    con.executemany(
        "insert into t values (?, ?, ?, ?, ?, ?, ?)",
        [
            (2**40, 1, "ein Text ü", 0.5, True, datetime.date(2020, 2, 29), Decimal("1.50")),
            (2, 1, "", float("inf"), False, None, None),
            (3, 1, None, None, None, None, None),
        ],
    )
    plain = [(2**40, "ein Text ü", 0.5, True), (2, "", float("inf"), False), (3, None, None, None)]
    for _ in range(3):
        for k, *rest in plain:
            assert con.execute("select k, s, x, b from t where k = ?", (k,)).fetchone() == (k, *rest)
            assert con.fetchone() is None and con.fetchall() == [] and con.fetchmany(2) == []
        assert con.execute("select k from t where k = ?", (7,)).fetchone() is None
        con.execute("select k, s, x, b from t where g = ?", (1,))
        assert con.fetchone() in plain and len(con.fetchmany(1)) == 1 and len(con.fetchall()) == 1
        assert sorted(con.execute("select k, s, x, b from t where g = ?", (1,)), key=str) == sorted(plain, key=str)
        # Values that are other than they lie in memory.
        row = con.execute("select d, n, k from t where k = ?", (2**40,)).fetchone()
        assert row == (datetime.date(2020, 2, 29), Decimal("1.50"), 2**40)
        assert con.execute("select d, n, k from t where k = ?", (2,)).fetchall() == [(None, None, 2)]
    # What was taken does not come again in another form.
    con.execute("select k from t where g = ?", (1,))
    first = con.fetchone()
    rest = con.sql("select k from t where g = $1", [1])
    assert rest.fetchone() == first and len(rest.fetchall()) == 2
    # Rows of a transaction that is no more there.
    con.begin()
    con.execute("select k from t where k = ?", (2,))
    con.rollback()
    with pytest.raises(morseldb.Error):
        con.fetchone()


def test_description(con):
    con.execute("select 1 as a, 'x' as b, 1.50 as c, date '2020-01-01' as d")
    names = [column[0] for column in con.description]
    assert names == ["a", "b", "c", "d"]
    kinds = [column[1] for column in con.description]
    assert kinds[0] == morseldb.NUMBER and kinds[1] == morseldb.STRING
    assert kinds[2] == morseldb.NUMBER and kinds[3] == morseldb.DATETIME
    assert kinds[0] != morseldb.STRING
    con.execute("create table t (a integer)")
    assert con.description is None


def test_row_count(con):
    con.execute("create table t (a integer, b text)")
    assert con.execute("insert into t values (1, 'x'), (2, 'y')").rowcount == 2
    assert con.executemany("insert into t values (?, ?)", [(3, "z"), (4, None)]).rowcount == 2
    assert con.execute("select * from t order by a").rowcount == -1
    assert con.fetchall() == [(1, "x"), (2, "y"), (3, "z"), (4, None)]


def test_parameters(con):
    values = [True, 7, 2**40, 1.5, "it's", Decimal("-12.340"), datetime.date(2024, 2, 29)]
    values += [datetime.datetime(2024, 2, 29, 12, 30, 1, 500), datetime.timedelta(days=3, seconds=5)]
    row = con.execute("select " + ", ".join("?" * len(values)), values).fetchone()
    assert list(row) == values
    assert con.execute("select $2::integer - $1::integer", (1, 10)).fetchone() == (9,)
    assert con.execute("select ?::integer", [None]).fetchone() == (None,)
    assert con.execute("select date '2020-01-02' > ?", ["2020-01-01"]).fetchone() == (True,)
    with pytest.raises(morseldb.InterfaceError):
        con.execute("select ?", "a")
    with pytest.raises(morseldb.ProgrammingError):
        con.execute("select ?, ?", [1])


def test_scripts(con):
    con.execute("create table t (a integer); insert into t values (1); select a + 1 from t")
    assert con.fetchall() == [(2,)]
    con.executescript("insert into t values (2); insert into t values (3);")
    assert con.execute("select count(*) from t").fetchone() == (3,)
    with pytest.raises(morseldb.ProgrammingError):
        con.execute("  -- nothing")


def test_errors_have_a_class_and_particulars(con):
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("select 1,\n nosuchcolumn")
    error = raised.value
    assert error.sqlstate == "42703"
    assert error.position == 11
    assert "LINE 2:" in str(error) and "^" in str(error)
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("selekt 1")
    assert raised.value.sqlstate == "42601"
    with pytest.raises(morseldb.DataError) as raised:
        con.execute("select 1 / (a - a) from (values (1)) as v(a)").fetchall()
    assert raised.value.sqlstate == "22012"
    with pytest.raises(morseldb.OperationalError):
        con.execute("select * from 'no-such-file.csv'")
    with pytest.raises(morseldb.NotSupportedError):
        con.execute("delete from m where current of c")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.sqlstate, str(copy)) == (type(error), error.sqlstate, str(error))


def test_errors_say_what_they_are_about(con):
    con.execute("create schema app")
    con.execute("create domain app.positive as integer check (value > 0)")
    con.execute("create table app.parent (id integer primary key, n integer constraint small check (n < 10), name text not null)")
    con.execute("create table app.child (parent integer constraint of_parent references app.parent)")
    con.execute("insert into app.parent values (1, 1, 'one')")
    cases = {
        "insert into app.parent values (1, 1, 'two')": ("app", "parent", None, "parent_pkey", None),
        "insert into app.parent values (2, 11, 'two')": ("app", "parent", None, "small", None),
        "insert into app.parent values (2, 1, null)": ("app", "parent", "name", None, None),
        "insert into app.child values (7)": ("app", "child", None, "of_parent", None),
        "select (-1)::app.positive": ("app", None, None, "positive_check", "positive"),
    }
    for statement, about in cases.items():
        with pytest.raises(morseldb.IntegrityError) as raised:
            con.execute(statement).fetchall()
        error = pickle.loads(pickle.dumps(raised.value))
        for known in (raised.value, error, raised.value.diag):
            names = (known.schema_name, known.table_name, known.column_name, known.constraint_name, known.datatype_name)
            assert names == about, statement
    assert raised.value.diag.message_primary == 'value for domain app.positive violates check constraint "positive_check"'
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("select nothing")
    assert raised.value.constraint_name is None and raised.value.diag.table_name is None


def test_closing():
    con = morseldb.connect(":memory:")
    cursor = con.cursor()
    con.execute("create table t as select 1 as a")
    con.close()
    con.close()
    with pytest.raises(morseldb.InterfaceError):
        con.execute("select 1")
    with pytest.raises(morseldb.InterfaceError, match="cursor"):
        cursor.execute("select a from t")
    with pytest.raises(morseldb.NotSupportedError):
        morseldb.connect("file.db")
    for threads in [0, -1, 2**70, "two"]:
        with pytest.raises(morseldb.ProgrammingError, match="threads"):
            morseldb.connect(threads=threads)
    with morseldb.connect(memory_limit="64MB") as con:
        # Outside of transactions, statements have effect when they end.
        con.commit()
        con.rollback()
        with pytest.raises(morseldb.InterfaceError):
            con.fetchall()


def test_settings():
    with morseldb.connect(threads=3, compile=False, query_memory_limit="1GB") as con:
        assert con.threads == 3
        assert con.execute("show compile").fetchone() == ("off",)
        assert con.cursor().execute("show query_memory_limit").fetchone() == ("1gb",)
    with pytest.raises(morseldb.ProgrammingError, match="memory_limit"):
        morseldb.connect(memory_limits="1GB")
    for name in ["threads", "memory_limit", "enable_external_access"]:
        assert f"{name}: " in morseldb.connect.__doc__


def test_safe_mode(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    frame = morseldb.sql("select 1 as a").arrow()
    con = morseldb.connect(enable_external_access=False, lock_configuration=True)
    con.register("given", frame)
    assert con.execute("select a from given").fetchall() == [(1,)]
    for sql in [f"select * from '{path}'", f"copy (select 1) to '{path}'"]:
        with pytest.raises(morseldb.ProgrammingError) as raised:
            con.execute(sql)
        assert raised.value.sqlstate == "42501"
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("select * from frame")
    assert raised.value.sqlstate == "42P01"
    for sql in ["set enable_external_access = on", "reset all", "set threads = 1"]:
        with pytest.raises(morseldb.OperationalError) as raised:
            con.cursor().execute(sql)
        assert raised.value.sqlstate == "55P02"
    assert path.read_text() == "a\n1\n"


def test_connections_close_their_cursors():
    con = morseldb.connect()
    cursors = [con.cursor() for _ in range(3)]
    cursors.append(cursors[0].cursor())
    for cursor in cursors:
        cursor.execute("select 1")
    rows = iter(cursors[3])
    assert next(rows) == (1,)
    cursors[1].close()
    with pytest.raises(morseldb.InterfaceError, match="the cursor is closed"):
        cursors[1].fetchone()
    assert cursors[2].fetchone() == (1,)
    con.close()
    uses = [lambda c: c.execute("select 1"), lambda c: c.fetchall(), lambda c: c.cursor(), lambda c: c.__enter__()]
    uses += [lambda c: c.executemany("select ?", []), lambda c: c.sql("select 1"), lambda c: c.interrupt()]
    for cursor in cursors:
        for use in uses:
            with pytest.raises(morseldb.InterfaceError, match="the cursor is closed"):
                use(cursor)
    with pytest.raises(morseldb.InterfaceError, match="the cursor is closed"):
        next(rows)
    with pytest.raises(morseldb.InterfaceError, match="the connection is closed"):
        con.cursor()


def test_connections_and_cursors_are_let_go():
    """A cursor keeps its connection, a connection does not keep its cursors."""
    cursor = morseldb.connect().cursor()
    gc.collect()
    assert cursor.execute("select 1").fetchone() == (1,)
    con = morseldb.connect()
    gone = weakref.ref(con.cursor())
    assert gone() is None
    gone = weakref.ref(con)
    del con
    assert gone() is None


def test_wrong_parameters(con):
    for value in [object(), 1j, {1: 2}, [object()], "\ud800"]:
        with pytest.raises(morseldb.ProgrammingError):
            con.execute("select ?", [value])
        with pytest.raises(morseldb.ProgrammingError):
            con.executemany("select ?", [[value]])
        with pytest.raises(morseldb.ProgrammingError):
            con.sql("select ?", [value])
    for values in [{1, 2}, frozenset([1, 2]), {1: 1, 2: 2}.keys()]:
        with pytest.raises(morseldb.ProgrammingError, match="set"):
            con.execute("select ?, ?", values)
    for wrong in [None, 5]:
        with pytest.raises(morseldb.ProgrammingError):
            con.executemany("select ?", wrong)


def test_parameters_with_names(con):
    assert con.execute("select $b - $a, $A", {"a": 1, "b": 5}).fetchone() == (4, 1)
    assert con.sql("select $x || 'y' as t", {"x": "a"}).fetchall() == [("ay",)]
    con.execute("create temp table named (i int, s text)")
    con.executemany("insert into named values ($i, $s)", [{"i": 1, "s": "x"}, {"s": None, "i": 2}])
    assert con.execute("select * from named order by i").fetchall() == [(1, "x"), (2, None)]
    for parameters in [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}]:
        with pytest.raises(morseldb.Error):
            con.execute("select $a, $b", parameters)
    with pytest.raises(morseldb.InterfaceError, match="no parameters with names"):
        con.execute("select ?", {"a": 1})
    with pytest.raises(morseldb.ProgrammingError, match="mixed"):
        con.execute("select ?, $a", [1, 2])


def test_lists_times_and_uuids_are_parameters(con):
    given = [[1, None, 3], datetime.time(1, 2, 3), uuid.UUID(int=7), datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)]
    assert list(con.execute("select ?, ?, ?, ?", given).fetchone()) == given


def test_wrong_calls(con):
    for sql in ["select '\ud800'", None, 5, b"select 1"]:
        with pytest.raises(morseldb.ProgrammingError):
            con.execute(sql)
    for size in [-1, "two"]:
        with pytest.raises(morseldb.ProgrammingError):
            con.execute("select 1").fetchmany(size)
    with pytest.raises(morseldb.Error):
        con.execute("select 1").fetchmany(2**70)
    assert con.execute("select 1").fetchmany(0) == []


def test_missing_values_of_pandas_are_null(con):
    pandas = pytest.importorskip("pandas")
    row = (pandas.NaT, pandas.NA, None)
    assert con.execute("select ?, ?, ?", row).fetchone() == (None, None, None)
    con.execute("create table t (a timestamp, b integer, c text)")
    con.executemany("insert into t values (?, ?, ?)", [row])
    assert con.execute("select * from t").fetchall() == [(None, None, None)]


def test_memory_limit():
    with morseldb.connect(memory_limit="64MB") as con:
        assert con.execute("show memory_limit").fetchone() == ("64MiB",)
    with morseldb.connect(memory_limit=64 << 20, threads=1) as con:
        assert con.execute("show memory_limit").fetchone() == ("64MiB",)
        assert con.threads == 1


def test_too_many_parameters(con):
    for parameters in [(1, 2), (1, 2, 3)]:
        with pytest.raises(morseldb.ProgrammingError, match="parameters were given"):
            con.execute("select ?", parameters)
    assert con.execute("select ?", (1,)).fetchall() == [(1,)]
