"""The 99 queries of TPC-DS, with the data and the queries of DuckDB's extension of that name.

The extension is published for one release of DuckDB, so the two live in an environment of their own beside the data, and no
release of the measured DuckDB depends on it.
"""

import subprocess
import sys
import venv

from . import ROOT, Query, Workload

PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds", "pyarrow")
FOLDER = ROOT / "data" / "tpcds"
TABLES = (
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
)

# Runs in the environment of the generator: writes the queries, and for a scale factor the tables.
GENERATOR = """
import glob, pathlib, site, sys
import duckdb

folder, tables, scale = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
connection = duckdb.connect(config={"allow_unsigned_extensions": True})
(extension,) = glob.glob(f"{site.getsitepackages()[0]}/duckdb_extension_tpcds/**/*.duckdb_extension", recursive=True)
connection.execute(f"LOAD '{extension}'")
for number, text in connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
    (folder / f"q{number:02}.sql").write_text(text)
if scale:
    connection.execute(f"CALL dsdgen(sf = {scale})")
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        connection.execute(f"COPY {table} TO '{tables / table}.parquet' (FORMAT parquet)")
"""


def run_generator(scale):
    """Installs the generator if it is missing, and runs it. Raises where no package registry is reached."""
    environment = FOLDER / "venv"
    python = environment / "bin" / "python"
    installed = environment / "installed"
    if not installed.exists():
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        installed.touch()
    subprocess.run([python, "-c", GENERATOR, FOLDER, WORKLOAD.folder(scale), str(scale)], check=True, stdout=sys.stderr)


def generate(scale):
    run_generator(scale)
    return iter(())


def queries(_):
    if not (FOLDER / "q99.sql").exists():
        run_generator(0)
    return [Query(f"Q{n}", (FOLDER / f"q{n:02}.sql").read_text().strip().rstrip(";")) for n in range(1, 100)]


WORKLOAD = Workload("tpcds", 1, 0.1, TABLES, generate, queries)
