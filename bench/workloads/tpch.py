"""The 22 queries of TPC-H."""

import subprocess

from . import ROOT, Query, Workload

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERIES = ROOT / "crates" / "tpch" / "queries"


def generate(scale):
    """The generator is a program that writes the files itself."""
    generator = ["cargo", "run", "--release", "-q", "-p", "tpch", "--bin", "tpch-gen", "--"]
    folder = WORKLOAD.folder(scale)
    subprocess.run([*generator, "--sf", f"{scale:g}", "--out", str(folder)], check=True, cwd=ROOT)
    return iter(())


def queries(_):
    return [Query(f"Q{n}", (QUERIES / f"q{n:02}.sql").read_text().strip().rstrip(";")) for n in range(1, 23)]


WORKLOAD = Workload("tpch", 1, 0.2, TABLES, generate, queries, shared="tpch-sf")
