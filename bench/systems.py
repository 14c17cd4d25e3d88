"""The systems of the comparison, each behind the same three methods: load, query, close."""

import importlib.metadata
import os
import pathlib
import time

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


class FromFiles:
    """What takes a file's path in FROM and is used through the DB-API."""

    def load(self, folder):
        for table in TABLES:
            self.connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.parquet'")

    def query(self, sql):
        return self.connection.execute(sql).fetchall()

    def close(self):
        self.connection.close()


class Morsel(FromFiles):
    package = "morseldb"

    def __init__(self, threads):
        import morseldb

        self.connection = morseldb.connect(threads=threads)


class DuckDB(FromFiles):
    package = "duckdb"

    def __init__(self, threads):
        import duckdb

        self.connection = duckdb.connect(config={"threads": threads})


class Hyper:
    package = "tableauhyperapi"

    def __init__(self, threads):
        import tableauhyperapi

        # Hyper takes all processors; the affinity of its process, a child of this one, says how many there are.
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, processors[:threads])
        parameters = {"log_config": "", "hard_concurrent_query_thread_limit": str(threads)}
        self.process = tableauhyperapi.HyperProcess(
            tableauhyperapi.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters
        )
        self.connection = tableauhyperapi.Connection(self.process.endpoint)

    def load(self, folder):
        for table in TABLES:
            sql = f"CREATE TEMPORARY TABLE {table} AS SELECT * FROM external('{folder}/{table}.parquet')"
            self.connection.execute_command(sql)

    def query(self, sql):
        return self.connection.execute_list_query(sql.strip().rstrip(";"))

    def close(self):
        self.connection.close()
        self.process.close()


class Polars:
    package = "polars"

    def __init__(self, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.polars = polars

    def load(self, folder):
        frames = {table: self.polars.read_parquet(f"{folder}/{table}.parquet") for table in TABLES}
        self.context = self.polars.SQLContext(frames, eager=False)

    def query(self, sql):
        return self.context.execute(sql.strip().rstrip(";")).collect().rows()

    def close(self):
        pass


class DataFusion:
    package = "datafusion"

    def __init__(self, threads):
        os.environ["TOKIO_WORKER_THREADS"] = str(threads)
        import datafusion

        self.threads = threads
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))

    def load(self, folder):
        import pyarrow.parquet

        for table in TABLES:
            batches = pyarrow.parquet.read_table(f"{folder}/{table}.parquet").to_batches(max_chunksize=1 << 16)
            partitions = [part for n in range(self.threads) if (part := batches[n :: self.threads])]
            self.context.register_record_batches(table, partitions)

    def query(self, sql):
        batches = self.context.sql(sql.strip().rstrip(";")).collect()
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    def close(self):
        pass


SYSTEMS = {"morseldb": Morsel, "duckdb": DuckDB, "hyper": Hyper, "polars": Polars, "datafusion": DataFusion}


def versions(names):
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(SYSTEMS[name].package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def memory():
    """Resident memory of this process and its children, in MiB."""
    import psutil

    me = psutil.Process()
    return sum(p.memory_info().rss for p in [me, *me.children(recursive=True)]) / (1 << 20)


def timed_load(system, folder):
    before = memory()
    start = time.perf_counter()
    system.load(str(pathlib.Path(folder)))
    return {"seconds": time.perf_counter() - start, "mebibytes": memory(), "before": before}


def timed_query(system, sql, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        rows = system.query(sql)
        times.append((time.perf_counter() - start) * 1000)
    return {"ms": min(times), "first": times[0], "rows": [tuple(map(plain, row)) for row in rows]}


def plain(value):
    """Values as JSON and pipes take them; types of packages become text or numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removesuffix(" 00:00:00")
