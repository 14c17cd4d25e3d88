"""The database-like operations benchmark of H2O: ten questions that group, five that join; answers become tables."""

import numpy
import pyarrow

from . import Query, Workload

KEYS = 100


def identifiers(prefix, digits, numbers):
    """Keys as text: `id016`. Each text is made once."""
    most = int(numbers.max()) + 1
    texts = pyarrow.array([f"{prefix}{n:0{digits}}" for n in range(most)])
    return texts.take(pyarrow.array(numbers))


def groups(rows):
    """The shape G1_<rows>_1e2_0_0: 100 groups by some keys, rows / 100 by others, no NULL, not sorted."""
    rows = int(rows)
    random = numpy.random.default_rng(108)

    def key(most):
        return random.integers(1, most + 1, rows, dtype=numpy.int32)

    columns = {
        "id1": identifiers("id", 3, key(KEYS)),
        "id2": identifiers("id", 3, key(KEYS)),
        "id3": identifiers("id", 10, key(rows // KEYS)),
        "id4": key(KEYS),
        "id5": key(KEYS),
        "id6": key(rows // KEYS),
        "v1": key(5),
        "v2": key(15),
        "v3": numpy.round(random.uniform(0, 100, rows), 6),
    }
    yield "x", pyarrow.table(columns)


def grouping(_):
    return [
        Query("q1: sum by one string", "select id1, sum(v1) as v1 from x group by id1"),
        Query("q2: sum by two strings", "select id1, id2, sum(v1) as v1 from x group by id1, id2"),
        question("q3: sum, mean by a string", "id3", "sum(v1) as v1, avg(v3) as v3", "v1, v3"),
        Query("q4: means by an int", "select id4, avg(v1) as v1, avg(v2) as v2, avg(v3) as v3 from x group by id4"),
        question("q5: sums by an int", "id6", "sum(v1) as v1, sum(v2) as v2, sum(v3) as v3", "v1, v2, v3"),
        Query(
            "q6: median, deviation by two ints",
            "select id4, id5, percentile_cont(0.5) within group (order by v3) as median_v3, stddev_samp(v3) as sd_v3"
            " from x group by id4, id5",
        ),
        question("q7: range by a string", "id3", "max(v1) - min(v2) as range_v1_v2", "range_v1_v2"),
        Query(
            "q8: two largest by an int",
            "select id6, largest2_v3 from (select id6, v3 as largest2_v3,"
            " row_number() over (partition by id6 order by v3 desc) as order_v3 from x where v3 is not null) sub_query"
            " where order_v3 <= 2",
            check="select count(*), sum(largest2_v3) from answer",
        ),
        Query("q9: correlation by two keys", "select id2, id4, power(corr(v1, v2), 2) as r2 from x group by id2, id4"),
        question("q10: sum, count by six keys", "id1, id2, id3, id4, id5, id6", "sum(v3) as v3, count(*) as n", "v3, n"),
    ]


def question(name, keys, values, checked):
    """Many groups: they become a table, whose sums are compared."""
    sums = ", ".join(f"sum({column})" for column in checked.split(", "))
    check = f"select count(*), {sums} from answer"
    return Query(name, f"select {keys}, {values} from x group by {keys}", check=check)


def tables(rows):
    """The shape J1_<rows>_NA_0_0: x, and three tables of a millionth, a thousandth and all of its rows; a key of each
    ten that x has is missing there, and the other way around."""
    rows = int(rows)
    random = numpy.random.default_rng(108)
    sizes = {"small": max(rows // 1_000_000, 10), "medium": max(rows // 1000, 10), "big": rows}
    pools = {name: random.permutation(numpy.arange(1, size * 11 // 10 + 1, dtype=numpy.int32)) for name, size in sizes.items()}

    def drawn(names, pool, count):
        """Each key of the pool at least once, if there is room for it."""
        keys = {n: random.permutation(numpy.resize(pool(n), count)) for n in names}
        ints = {f"id{place + 1}": keys[n] for place, n in enumerate(names)}
        return ints | {f"id{place + 4}": identifiers("id", 1, keys[n]) for place, n in enumerate(names)}

    names = list(sizes)
    x = drawn(names, lambda n: pools[n][: sizes[n]], rows)
    yield "x", pyarrow.table(x | {"v1": numpy.round(random.uniform(0, 100, rows), 6)})
    for place, name in enumerate(names):
        size = sizes[name]
        columns = drawn(names[: place + 1], lambda n: pools[n][-sizes[n] :], size)
        yield name, pyarrow.table(columns | {"v2": numpy.round(random.uniform(0, 100, size), 6)})


def joined(name, join, columns):
    sql = f"select x.id1, x.id2, x.id3, x.id4, x.id5, x.id6, x.v1, {columns} from x {join}"
    return Query(name, sql, check="select count(*), sum(v1), sum(v2) from answer")


def joining(_):
    medium = "medium.id4 as medium_id4, medium.id5 as medium_id5, medium.v2"
    return [
        joined("q1: small by an int", "join small on x.id1 = small.id1", "small.id4 as small_id4, small.v2"),
        joined("q2: medium by an int", "join medium on x.id2 = medium.id2", f"medium.id1 as medium_id1, {medium}"),
        joined("q3: left, medium by an int", "left join medium on x.id2 = medium.id2", f"medium.id1 as medium_id1, {medium}"),
        joined("q4: medium by a string", "join medium on x.id5 = medium.id5", f"medium.id1 as medium_id1, {medium}"),
        joined(
            "q5: big by an int",
            "join big on x.id3 = big.id3",
            "big.id1 as big_id1, big.id2 as big_id2, big.id4 as big_id4, big.id5 as big_id5, big.id6 as big_id6, big.v2",
        ),
    ]


GROUPS = Workload("h2o-groupby", 10_000_000, 1_000_000, ("x",), groups, grouping)
JOINS = Workload("h2o-join", 10_000_000, 1_000_000, ("x", "small", "medium", "big"), tables, joining)
