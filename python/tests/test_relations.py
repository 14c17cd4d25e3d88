"""Relations, Arrow, data frames, and tables of the caller's variables."""

import gc
import weakref

import pytest

import morseldb

QUERY = "select * from (values (1, 1.50, 'a', date '2020-01-01'), (2, null, null, null)) as v(n, d, t, day)"
GLOBAL = None


def test_relations_can_be_read_again(con):
    relation = con.sql(QUERY)
    assert relation.columns == ["n", "d", "t", "day"]
    assert relation.types[0] == "integer" and relation.types[3] == "date"
    assert "NULL" in repr(relation) and "2 rows" in repr(relation)
    assert relation.fetchone()[0] == 1
    assert len(relation.fetchall()) == 1
    assert len(relation.fetchall()) == 2
    assert [row[0] for row in relation] == [1, 2]
    assert con.sql("create table t (a integer)") is None
    assert con.table("t").fetchall() == []


def test_show(con, capsys):
    con.sql("select 'a\nb' as x, -1 as n").show()
    text = capsys.readouterr().out
    assert "│ a\\nb │      -1 │" in text and "1 row" in text


def test_default_connection():
    assert morseldb.sql("select 40 + 2").fetchall() == [(42,)]
    assert morseldb.execute("select ?", [1]).fetchone() == (1,)


def test_relations_in_from_need_no_pyarrow(con):
    relation = con.sql(QUERY)
    assert con.execute("select n, t from relation order by n").fetchall() == [(1, "a"), (2, None)]
    # It can be used any number of times.
    assert con.execute("select count(*) from relation a, relation b").fetchone() == (4,)


def test_arrow(con):
    pyarrow = pytest.importorskip("pyarrow")
    table = table_ = con.sql(QUERY).arrow()
    assert table.column_names == ["n", "d", "t", "day"]
    assert table.schema.field("n").type == pyarrow.int32()
    assert pyarrow.types.is_decimal(table.schema.field("d").type)
    assert table.to_pylist()[1] == {"n": 2, "d": None, "t": None, "day": None}
    assert pyarrow.table(con.sql(QUERY)) == table
    assert con.execute(QUERY).fetch_arrow_table() == table
    back = con.sql("select * from table_").arrow()
    assert back.to_pylist() == table_.to_pylist()
    batch = table.to_batches()[0]
    assert con.execute("select sum(n) from batch").fetchone() == (3,)


def test_arrow_of_large_results(big):
    pytest.importorskip("pyarrow")
    big.execute("select n from big")
    big.fetchmany(10)
    assert big.arrow().num_rows == 499_990
    rows = big.sql("select n, n::text as t from big").arrow()
    assert rows.num_rows == 500_000
    assert big.execute("select count(*), sum(n), min(t) from rows").fetchone() == (500_000, 124999750000, "0")


def test_errors_in_a_stream_keep_their_class(con):
    pytest.importorskip("pyarrow")
    con.execute("create table t as select 0 as a")
    with pytest.raises(morseldb.DataError):
        con.sql("select 1 / a from t").arrow()


def test_pandas(con):
    pandas = pytest.importorskip("pandas")
    frame = con.sql(QUERY).df()
    assert list(frame["n"]) == [1, 2]
    df = pandas.DataFrame({"Key": [3, 1, 2], "name": ["c", "a", None]})
    assert con.execute('select "Key", name from df order by 1').fetchall() == [(1, "a"), (2, None), (3, "c")]
    assert con.execute("select count(*) from DF").fetchone() == (3,)


def test_polars(con):
    polars = pytest.importorskip("polars")
    frame = con.sql(QUERY).pl()
    assert frame["n"].to_list() == [1, 2]
    df = polars.DataFrame({"a": [1, None, 3], "s": ["x", "y", None]})
    assert con.execute("select a, s from df order by a").fetchall() == [(1, "x"), (3, None), (None, "y")]
    lazy = df.lazy().filter(polars.col("a") > 1)
    assert con.sql("select * from lazy").fetchall() == [(3, None)]


class Stream:
    """No data frame of any library."""

    def __init__(self, relation):
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema=None):
        return self._relation.__arrow_c_stream__(requested_schema)


def test_names_are_local_then_global_and_tables_come_first(con):
    global GLOBAL
    GLOBAL = Stream(con.sql("select 1 as a"))
    assert con.execute("select a from GLOBAL").fetchone() == (1,)
    GLOBAL_ = GLOBAL
    local = Stream(con.sql("select 2 as a"))
    assert con.execute("select a from local").fetchone() == (2,)
    con.execute("create table local (a integer)")
    assert con.execute("select a from local").fetchall() == []
    number = 3
    for name in ["number", "nothing", "GLOBAL_.a"]:
        with pytest.raises(morseldb.ProgrammingError):
            con.execute(f"select * from {name}")
    assert GLOBAL_ is not None and number == 3


def test_scripts_with_frames_run_each_statement_once(con):
    frame = Stream(con.sql("select 5 as a"))
    con.execute("create table t (a integer); insert into t values (1); insert into t select a from frame; select 1")
    assert con.execute("select a from t order by a").fetchall() == [(1,), (5,)]
    assert frame is not None
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("insert into t select a from frame; select * from frame, missing")
    assert raised.value.position == len("insert into t select a from frame; select * from frame, ")


def test_frames_are_let_go(con):
    def use():
        frame = Stream(con.sql("select 5 as a"))
        con.execute("select * from frame").fetchall()
        return weakref.ref(frame), con.sql("select 1 as one")

    gone, relation = use()
    gc.collect()
    assert gone() is None and relation.fetchall() == [(1,)]
    with pytest.raises(morseldb.ProgrammingError):
        con.execute("select * from frame")


def test_registered_frames(con):
    con.register("given", con.sql("select 8 as a"))
    assert con.cursor().execute("select a from given").fetchone() == (8,)
    con.unregister("given")
    with pytest.raises(morseldb.ProgrammingError):
        con.execute("select a from given")
    with pytest.raises(morseldb.InterfaceError):
        con.register("given", 7)
