"""Full sorts: all rows are ordered, the last ten are fetched."""

import numpy
import pyarrow

from . import Query, Workload


def generate(rows):
    rows = int(rows)
    random = numpy.random.default_rng(1)
    a = random.permutation(rows).astype(numpy.int32)
    labels = pyarrow.array([f"label {n * 2654435761 % 2**32}" for n in range(rows)])
    yield "numbers", pyarrow.table(
        {
            "id": numpy.arange(rows, dtype=numpy.int64),
            "a": a,
            "b": random.integers(-(2**62), 2**62, rows),
            "few": random.integers(0, 1000, rows, dtype=numpy.int32),
            "x": random.normal(0, 1e6, rows),
            "s": labels.take(pyarrow.array(a)),
        }
    )


def queries(rows):
    last = f"offset {int(rows) - 10}"
    return [
        Query("one int", f"select a from numbers order by a {last}"),
        Query("one bigint, all columns", f"select * from numbers order by b {last}"),
        Query("two keys", f"select few, a from numbers order by few desc, a {last}"),
        Query("two keys, all columns", f"select * from numbers order by few desc, a {last}"),
        Query("strings", f"select s from numbers order by s {last}"),
        Query("doubles", f"select x from numbers order by x {last}"),
        Query("doubles with a number", f"select x, id from numbers order by x desc {last}"),
        Query("in order already", f"select id, a from numbers order by id {last}"),
        Query("a table in order", "select a, id from numbers order by a", check="select count(*), sum(id) from answer"),
    ]


WORKLOAD = Workload("sorts", 10_000_000, 1_000_000, ("numbers",), generate, queries)
