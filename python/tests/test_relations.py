"""Relations, Arrow, data frames, and tables of the caller's variables."""

import functools
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
    created = con.sql("create table t (a integer)")
    assert (repr(created), created.columns) == ("CREATE TABLE", [])
    with pytest.raises(morseldb.InterfaceError, match="CREATE TABLE gives no rows"):
        created.fetchall()
    assert con.table("t").fetchall() == []


def test_relations_of_relations(con, tmp_path):
    con.execute("create table t as select x as k, x % 3 as g, 'row ' || x as s from generate_series(1, 9) a(x);")
    t = con.table("t")
    assert t.filter("k > 7").select("k", "s || '!' as said").order("k desc").fetchall() == [(9, "row 9!"), (8, "row 8!")]
    assert t.aggregate("g, sum(k) as total").order("g").fetchall() == [(0, 18), (1, 12), (2, 15)]
    assert t.aggregate("max(k)", "g").order("1").fetchall() == [(7,), (8,), (9,)]
    assert t.order("k").limit(2, offset=3).select("k").fetchall() == [(4,), (5,)]
    assert t.select("g").distinct().order("g").fetchall() == [(0,), (1,), (2,)]
    some = con.sql("select 1 as k, 10 as v union all select 2, 20 -- two")
    assert t.join(some, "k").select("s", "v").order("v").fetchall() == [("row 1", 10), ("row 2", 20)]
    left = t.set_alias("a").join(some.set_alias("b"), "a.k = b.k + 1", how="left").filter("v is not null")
    assert left.select("s").order("s").fetchall() == [("row 2",), ("row 3",)]
    assert t.join(some, "k", how="anti").aggregate("count(*)").fetchone() == (7,)
    assert t.join(t, "k").aggregate("count(*)").fetchone() == (9,)
    both = some.union(some)
    assert both.aggregate("count(*)").fetchone() == (4,)
    assert both.intersect(some).order("k").fetchall() == [(1, 10), (2, 20)]
    assert t.select("k").except_(some.select("k")).aggregate("min(k)").fetchone() == (3,)
    assert t.query("mine", "select count(*) from mine m, mine n").fetchone() == (81,)
    assert "scan t" in t.filter("k > 2").explain()
    assert t.describe().columns[0] == "column_name"
    with pytest.raises(morseldb.ProgrammingError, match="nothing"):
        t.filter("nothing > 1")
    with pytest.raises(morseldb.ProgrammingError, match="kind of join"):
        t.join(some, "k", how="sideways")
    # Parameters and data frames go with them.
    given = con.sql("select * from t where k >= ? and k <= ?", [4, 5])
    assert given.filter("k > 4").union(con.sql("select * from t where k = ?", [1])).select("k").order("k").fetchall() == [
        (1,),
        (5,),
    ]
    numbered = con.sql("select * from t where k = $1", [4])
    assert numbered.select("k + 1").fetchall() == [(5,)]
    with pytest.raises(morseldb.InterfaceError, match="write them as"):
        numbered.union(given)
    # What they are written to.
    t.filter("k <= 3").create("firsts")
    t.filter("k = 9").insert_into("firsts")
    assert con.execute("select count(*), max(k) from firsts").fetchone() == (4, 9)
    with pytest.raises(morseldb.ProgrammingError):
        t.create("firsts")
    t.order("k").to_parquet(tmp_path / "t.parquet")
    assert con.read_parquet(tmp_path / "t.parquet").aggregate("sum(k)").fetchone() == (45,)
    t.order("k").to_csv(str(tmp_path / "it's.csv"), sep=";")
    assert con.read_csv(tmp_path / "it's.csv", delim=";", header=True).limit(1).fetchone() == (1, 1, "row 1")
    assert con.read_csv([str(tmp_path / "it's.csv")], types={"k": "text"}, delim=";").limit(1).fetchone()[0] == "1"
    assert morseldb.read_parquet(tmp_path / "t.parquet").filter("k = 2").fetchone() == (2, 2, "row 2")
    created = con.sql("create table nothing (a integer)")
    with pytest.raises(morseldb.InterfaceError, match="gives no rows"):
        created.filter("a > 1")


def test_show(con, capsys):
    con.sql("select 'a\nb' as x, -1 as n").show()
    text = capsys.readouterr().out
    assert "│ a\\nb │      -1 │" in text and "1 row" in text


def test_tables_fit_the_terminal(con, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    columns = ", ".join(f"'{'x' * 30}' as a_long_name_{i}" for i in range(15))
    text = repr(con.sql(f"select {columns}"))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "a_long_name_0" in text and "a_long_name_14" in text and "more columns" in text


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


def test_intervals_in_polars_are_pythons(con):
    polars = pytest.importorskip("polars")
    values = ["1 month 3 days -5 seconds", "-1 year", "2 years 1 month", "-0.000001 seconds", "90000 days", "1 day"]
    rows = ", ".join(f"({k}, interval '{v}')" for k, v in enumerate(values))
    query = f"select * from (values {rows}, (-1, null)) as v(k, i) order by k"
    for frame in [con.sql(query).pl(), con.execute(query).pl()]:
        assert frame.schema["i"] == polars.Duration("us")
        assert frame.rows() == con.execute(query).fetchall()
    assert frame["i"][1:4].dt.total_days().to_list() == [32, -360, 750]
    con.execute(f"create table t as {query}")
    empty = con.sql("select i, i as j, k from t where k > 10").pl()
    assert empty.shape == (0, 3) and empty.dtypes == [polars.Duration("us")] * 2 + [polars.Int32]
    nulls = con.sql("select null::interval as i").pl()
    assert nulls["i"].to_list() == [None] and nulls.dtypes == [polars.Duration("us")]
    with pytest.raises(morseldb.DataError):
        con.sql("select interval '300000 years'").pl()


def test_many_intervals_in_polars(big):
    pytest.importorskip("polars")
    value = "case when n % 7 > 0 then interval '1 month 2 days' * (n % 1000) end"
    query = f"select {value} as i from big where n < 50000 order by n"
    assert big.sql(query).pl().rows() == big.execute(query).fetchall()


def test_polars_runs_the_query_once(con, monkeypatch):
    pytest.importorskip("polars")
    relation = con.sql("select 1 as a, interval '1 day' as i")
    monkeypatch.setattr(relation, "_run", None)
    assert relation.pl().height == 1


def test_what_polars_cannot_hold(con):
    pytest.importorskip("polars")
    with pytest.raises(morseldb.NotSupportedError):
        con.sql("select 1 as a, 2 as a").pl()
    con.execute("create table t as select 0 as a")
    with pytest.raises(morseldb.DataError):
        con.sql("select interval '1 day' as i, 1 / a from t").pl()


def test_polars_columns_without_a_type(con):
    polars = pytest.importorskip("polars")
    nested = {"c": [[None], None], "d": [{"x": None}, None]}
    frame = polars.DataFrame({"a": [None, None], "b": [1, 2], **nested})
    assert con.execute("select a, b from frame order by b").fetchall() == [(None, 1), (None, 2)]
    assert con.execute("select count(a), count(*) from frame").fetchone() == (0, 2)
    lazy = frame.lazy()
    assert con.execute("select a from lazy").fetchall() == [(None,), (None,)]
    con.register("given", frame)
    assert con.execute("select a from given").fetchall() == [(None,), (None,)]
    assert con.execute("select c from frame order by b").fetchall() == [([None],), (None,)]
    assert con.execute("select d from frame order by b").fetchall() == [({"x": None},), (None,)]


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_polars_integers_of_128_bits(con, kind):
    polars = pytest.importorskip("polars")
    if not hasattr(polars, kind):
        pytest.skip(f"this Polars has no {kind}")
    frame = polars.DataFrame({"a": [1, 2**100, None]}, schema={"a": getattr(polars, kind)})
    assert con.execute("select a from frame order by a").fetchall() == [(1,), (2**100,), (None,)]
    frame = polars.DataFrame({"wide": [2**127 - 1]}, schema={"wide": getattr(polars, kind)})
    with pytest.raises(morseldb.NotSupportedError, match='"wide"'):
        con.execute("select * from frame")


def test_pandas_columns_of_mixed_types(con):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"mixed": [1, "x"]})
    with pytest.raises(morseldb.NotSupportedError, match="mixed"):
        con.execute("select * from frame")
    assert len(frame) == 2


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


class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("of the caller")


def test_errors_of_the_callers_code_stay_what_they_are(con):
    frame = Broken()
    for run in [con.execute, con.sql]:
        with pytest.raises(ValueError, match="of the caller"):
            run("select * from frame")
    with pytest.raises(ValueError, match="of the caller"):
        con.register("given", frame)


def test_variables_that_are_no_tables_are_hinted_at(con):
    f = [1, 2]
    Mixed = {}
    for run in [con.execute, con.sql, functools.partial(con.executemany, parameters=[[]])]:
        with pytest.raises(morseldb.ProgrammingError) as raised:
            run("select * from f")
        assert raised.value.hint == 'the variable "f" is a list; data frames and Arrow tables can be used as tables'
        assert str(raised.value).endswith("HINT: " + raised.value.hint)
        assert (raised.value.sqlstate, raised.value.position) == ("42P01", 14)
    with pytest.raises(morseldb.ProgrammingError, match='the variable "Mixed" is a dict'):
        con.execute("select * from Mixed")
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("select * from missing")
    assert raised.value.hint is None
    numbers = f
    con.execute("create table number (a integer)")
    with pytest.raises(morseldb.ProgrammingError) as raised:
        con.execute("select * from numbers")
    assert 'the table "number"; the variable "numbers" is a list' in raised.value.hint
    assert numbers and Mixed == {}


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


def test_structs_and_maps(con):
    con.execute("create table t (k int primary key, s struct(a int, b text), m map(text, int))")
    con.execute("insert into t values (?, {'a': 1, 'b': 'x'}, MAP {'q': 5}), (2, NULL, NULL)", [1])
    rows = con.execute("select s, m, s.a, m['q'] from t order by k").fetchall()
    assert rows == [({"a": 1, "b": "x"}, {"q": 5}, 1, 5), (None, None, None, None)]
    changed = con.execute("update t set s = {'a': 2, 'b': 'y'} where k = ? returning s, m", [1]).fetchall()
    assert changed == [({"a": 2, "b": "y"}, {"q": 5})]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"b": [1, 2], "d": [{"x": 1, "y": [1, 2]}, None]})
    rows = con.execute("select d, d.x from frame order by b").fetchall()
    assert rows == [({"x": 1, "y": [1, 2]}, 1), (None, None)]
