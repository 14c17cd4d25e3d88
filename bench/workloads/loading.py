"""Tables made from files: TPC-H's lineitem and orders from Parquet, lineitem from CSV too."""

from . import Query, Workload, tpch

LINEITEM = (
    "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber bigint, l_quantity numeric(15, 2),"
    " l_extendedprice numeric(15, 2), l_discount numeric(15, 2), l_tax numeric(15, 2), l_returnflag text,"
    " l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text,"
    " l_shipmode text, l_comment text"
)


def csv_of(parquet):
    """The same rows as CSV beside a Parquet file."""
    import pyarrow.csv
    import pyarrow.parquet

    csv = parquet.with_suffix(".csv")
    if not csv.exists():
        pyarrow.csv.write_csv(pyarrow.parquet.read_table(parquet), csv)
    return str(csv)


def queries(scale):
    files = {table: WORKLOAD.folder(scale) / f"{table}.parquet" for table in WORKLOAD.tables}
    lineitem = "select count(*), sum(l_quantity), min(l_shipdate), max(l_comment) from answer"
    orders = "select count(*), sum(o_totalprice), min(o_orderdate), max(o_comment) from answer"
    return [
        Query("lineitem, Parquet", "", check=lineitem, file=str(files["lineitem"])),
        Query("orders, Parquet", "", check=orders, file=str(files["orders"])),
        Query("lineitem, CSV", "", check=lineitem, file=csv_of(files["lineitem"]), types=LINEITEM),
    ]


WORKLOAD = Workload(
    "loading", 1, 0.2, ("lineitem", "orders"), tpch.generate, queries, shared=tpch.WORKLOAD.shared, from_files=True
)
