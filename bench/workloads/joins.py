"""Joins of 16 shapes: what the keys are, how often they match, and what is kept."""

import numpy
import pyarrow

from . import Query, Workload


def generate(rows):
    rows = int(rows)
    random = numpy.random.default_rng(5)
    keys = max(rows // 10, 100)
    sparse = random.integers(0, 2**62, keys)
    wide = random.integers(0, keys, rows)
    names = pyarrow.array([f"name of {n * 7919 % 1_000_003}" for n in range(keys)])
    yield "fact", pyarrow.table(
        {
            "id": random.permutation(rows).astype(numpy.int64),
            "k": wide.astype(numpy.int32),
            "sparse": sparse[random.integers(0, keys, rows)],
            "missing": random.integers(0, keys * 100, rows),
            "skewed": (keys * random.power(0.1, rows)).astype(numpy.int32),
            "few": random.integers(0, 100, rows, dtype=numpy.int32),
            "name": names.take(pyarrow.array(random.integers(0, keys, rows))),
            "v": random.integers(0, 1000, rows, dtype=numpy.int32),
        }
    )
    yield "dim", pyarrow.table(
        {
            "id": random.permutation(keys).astype(numpy.int64),
            "sparse": sparse,
            "half": numpy.arange(keys, dtype=numpy.int32) // 2,
            "low": numpy.arange(keys, dtype=numpy.int32) % 100,
            "name": names,
            "a": random.integers(0, 1000, keys, dtype=numpy.int32),
        }
    )
    yield "spans", pyarrow.table(
        {"low": numpy.arange(1000, dtype=numpy.int64) * (rows // 1000), "width": numpy.full(1000, rows // 2000, dtype=numpy.int64)}
    )
    yield "small", pyarrow.table({"id": numpy.arange(100, dtype=numpy.int32), "a": random.integers(0, 1000, 100, dtype=numpy.int32)})


def total(name, rest, value="d.a"):
    return Query(name, f"select count(*), sum({value}) from {rest}")


def queries(rows):
    part = int(rows) // 20
    exists = "exists (select 1 from dim d where d.id = f.{} and d.a < 500)"
    smalls = " ".join(f"join small s{n} on s{n}.id = (f.{key}) % 100" for n, key in enumerate(["few", "k", "v", "skewed", "id"]))
    return [
        total("dense unique keys", "fact f join dim d on f.k = d.id"),
        total("sparse unique keys", "fact f join dim d on f.sparse = d.sparse"),
        total("strings", "fact f join dim d on f.name = d.name"),
        total("two keys", "fact f join dim d on f.k = d.id and f.few = d.low"),
        total("duplicates", "fact f join dim d on f.k = d.half"),
        total("few of the build side", "fact f join dim d on f.k = d.id where d.a < 10"),
        total("few of the probe side", "fact f join dim d on f.missing = d.id"),
        total("skew", "fact f join dim d on f.skewed = d.id"),
        Query("left", "select count(*), count(d.a), sum(f.v) from fact f left join dim d on f.missing = d.id"),
        Query("full", "select count(*), count(f.id), count(d.id) from fact f full join dim d on f.missing = d.id"),
        Query("semi", f"select count(*), sum(f.v) from fact f where {exists.format('k')}"),
        Query("anti", f"select count(*), sum(f.v) from fact f where not {exists.format('k')}"),
        total("large with large", "fact f join fact g on f.id = g.id", "f.v + g.v"),
        total("five small", f"fact f {smalls}", "s0.a + s4.a"),
        total("non-equi", f"fact f join spans s on f.id between s.low and s.low + s.width where f.id % 20 = 0 and f.v < {part}", "f.v"),
        Query("join, then group", "select d.low, sum(f.v) from fact f join dim d on f.k = d.id group by d.low"),
    ]


WORKLOAD = Workload("joins", 10_000_000, 1_000_000, ("fact", "dim", "spans", "small"), generate, queries)
