"""The queries of a workload, one a line behind its name and a tab: `bench replay --queries` reads them.

    python bench/queries.py ssb > ssb.tsv
"""

import sys

from workloads.registry import WORKLOADS

workload = WORKLOADS[sys.argv[1]]
for query in workload.queries(workload.full):
    print(query.name, " ".join(query.sql.split()), sep="\t")
