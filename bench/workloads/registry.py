"""All workloads, in the order in which they run."""

from . import clickbench, functions, h2o, joins, loading, operators, parquet, scans, sorts, ssb, tpcds, tpch, windows

WORKLOADS = {
    workload.name: workload
    for workload in (
        tpch.WORKLOAD,
        ssb.WORKLOAD,
        tpcds.WORKLOAD,
        h2o.GROUPS,
        h2o.JOINS,
        clickbench.WORKLOAD,
        scans.WORKLOAD,
        sorts.WORKLOAD,
        operators.WORKLOAD,
        functions.WORKLOAD,
        joins.WORKLOAD,
        parquet.WORKLOAD,
        loading.WORKLOAD,
        windows.WORKLOAD,
    )
}
