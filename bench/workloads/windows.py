"""Window functions (thesis 5.6): each query sums what the windows give, so that nothing is fetched."""

import numpy
import pyarrow

from . import Query, Workload

FUNCTIONS = {
    "row_number": "row_number()",
    "rank": "rank()",
    "dense_rank": "dense_rank()",
    "lag": "lag(a)",
    "first_value": "first_value(a)",
    "sum": "sum(a)",
    "min": "min(a)",
    "count": "count(a)",
}
WINDOWS = {
    "1 partition": "order by b",
    "100 partitions": "partition by a order by b",
    "a partition a row": "partition by b order by a",
}
FRAMED = {
    "fixed 1000": "order by b rows between 1000 preceding and current row",
    "variable 10000": "order by b rows between (b % 10000) preceding and current row",
    "to the end": "order by b rows between current row and unbounded following",
    "range 1000": "order by b range between 1000 preceding and current row",
}
AGGREGATES = {"sum": "sum(a)", "min": "min(a)", "count": "count(a)", "avg": "avg(a)"}


def generate(rows):
    """Two bigints: `a` with 100 values, `b` unique."""
    ids = numpy.arange(int(rows), dtype=numpy.int64)
    b = numpy.random.default_rng(1).permutation(ids)
    yield "numbers", pyarrow.table({"a": ids * 2654435761 % 4294967291 % 100, "b": b})


def queries(_):
    calls = [
        (function, window, call, over)
        for functions, windows in ((FUNCTIONS, WINDOWS), (AGGREGATES, FRAMED))
        for function, call in functions.items()
        for window, over in windows.items()
    ]
    return [
        Query(f"{function}, {window}", f"select sum(w) from (select {call} over ({over}) as w from numbers) t")
        for function, window, call, over in calls
    ]


WORKLOAD = Workload("windows", 10_000_000, 500_000, ("numbers",), generate, queries)
