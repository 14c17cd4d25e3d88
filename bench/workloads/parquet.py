"""Queries on Parquet files that were not loaded: TPC-H's lineitem and orders."""

from . import Query, Workload, tpch


def queries(_):
    lineitem = "from {lineitem} l"
    return [
        Query("count", f"select count(*) {lineitem}"),
        Query("least and greatest", f"select min(l_shipdate), max(l_shipdate) {lineitem}"),
        Query(
            "filtered sum",
            f"select sum(l_extendedprice * l_discount) {lineitem} where l_shipdate >= date '1994-01-01'"
            " and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24",
        ),
        Query("point query", f"select l_linenumber, l_quantity {lineitem} where l_orderkey = 3000001"),
        Query("limit 10", f"select * {lineitem} limit 10", columns=()),
        Query(
            "group by",
            f"select l_returnflag, l_linestatus, sum(l_quantity), avg(l_extendedprice), count(*) {lineitem}"
            " group by l_returnflag, l_linestatus",
        ),
        Query(
            "top 10",
            f"select l_extendedprice, l_orderkey {lineitem} order by l_extendedprice desc, l_orderkey limit 10",
        ),
        Query("strings", f"select count(*) {lineitem} where l_comment like '%special%'"),
        Query(
            "join",
            f"select o_orderpriority, count(*) {lineitem}, {{orders}} o where o_orderkey = l_orderkey"
            " and o_orderdate < date '1992-03-01' group by o_orderpriority",
        ),
    ]


WORKLOAD = Workload(
    "parquet", 1, 0.2, ("lineitem", "orders"), tpch.generate, queries, shared=tpch.WORKLOAD.shared, from_files=True
)
