"""Sums and counts over one bigint column that nothing compresses."""

import numpy
import pyarrow

from . import Query, Workload


def generate(rows):
    # The sum of all fits into 64 bits, as some systems add no wider.
    yield "numbers", pyarrow.table({"a": numpy.random.default_rng(1).integers(-(2**38), 2**38, int(rows))})


def queries(_):
    tenth = f"a > {2**38 * 8 // 10}"
    return [
        Query("min", "select min(a) from numbers"),
        Query("max", "select max(a) from numbers"),
        Query("sum", "select sum(a) from numbers"),
        Query("count", "select count(*) from numbers"),
        Query("filtered count", f"select count(*) from numbers where {tenth}"),
        Query("filtered sum", f"select sum(a) from numbers where {tenth}"),
    ]


WORKLOAD = Workload("scans", 100_000_000, 20_000_000, ("numbers",), generate, queries)
