"""The systems of the comparison, each behind the same few methods: load a table, say where a file is, query, create, drop."""

import importlib.metadata
import os
import time


class System:
    """What is the same for all: what is timed, and how rows leave."""

    package = ""

    def timed_load(self, files):
        """Loads tables from Parquet files."""
        before = memory()
        start = time.perf_counter()
        for table, file in files.items():
            self.load(table, file, None)
        seconds = time.perf_counter() - start
        self.settle(files)
        settled = time.perf_counter() - start
        return {"seconds": seconds, "settled": settled, "mebibytes": memory(), "before": before}

    def rest(self):
        """The memory that is left when nobody has asked for anything for a while."""
        return {"rested": memory()}

    def settle(self, tables):
        """Waits for what a system goes on with after it has loaded tables."""

    def register(self, files):
        """Makes files known to systems that need a name for them in FROM."""

    def source(self, table, file):
        """What stands in FROM for a file."""
        return table

    def run(self, query, files):
        """One run: milliseconds, and the rows of the query, or of the query that checks what it has created."""
        sql = query.sql
        for table, file in files.items():
            sql = sql.replace("{" + table + "}", self.source(table, file))
        start = time.perf_counter()
        if query.file:
            self.load("answer", query.file, query.types)
        elif query.check:
            self.create("answer", sql)
        else:
            rows = self.query(sql)
        milliseconds = (time.perf_counter() - start) * 1000
        if query.check:
            rows = self.query(query.check)
            self.drop("answer")
        return {"ms": milliseconds, "rows": [tuple(map(plain, row)) for row in rows]}


class DataBase(System):
    """What is used through the DB-API and takes a file's path in FROM."""

    def load(self, table, file, types):
        if types:
            self.connection.execute(f"CREATE TABLE {table} ({types})")
            self.connection.execute(f"COPY {table} FROM '{file}' (FORMAT csv, HEADER)")
        else:
            self.connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}'")

    def source(self, table, file):
        return f"'{file}'"

    def query(self, sql):
        return self.connection.execute(sql).fetchall()

    def create(self, table, sql):
        self.connection.execute(f"CREATE TABLE {table} AS {sql}")

    def drop(self, table):
        self.connection.execute(f"DROP TABLE {table}")


class Morsel(DataBase):
    package = "morseldb"

    def __init__(self, threads):
        import morseldb

        self.connection = morseldb.connect(threads=threads)
        # Every run plans: what comes again would be run by the plan that was kept.
        self.connection.execute("SET plan_cache_mode = force_custom_plan")

    def settle(self, tables):
        for table in tables:
            self.query(f"SELECT count(*) FROM storage_info('{table}')")


class DuckDB(DataBase):
    package = "duckdb"

    def __init__(self, threads):
        import duckdb

        self.connection = duckdb.connect(config={"threads": threads})


class Hyper(System):
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

    def load(self, table, file, types):
        if types:
            self.connection.execute_command(f"CREATE TEMPORARY TABLE {table} ({types})")
            self.connection.execute_command(f"COPY {table} FROM '{file}' WITH (FORMAT csv, HEADER)")
        else:
            self.create(table, f"SELECT * FROM external('{file}')")

    def source(self, table, file):
        return f"external('{file}')"

    def query(self, sql):
        return self.connection.execute_list_query(sql)

    def create(self, table, sql):
        self.connection.execute_command(f"CREATE TEMPORARY TABLE {table} AS ({sql})")

    def drop(self, table):
        self.connection.execute_command(f"DROP TABLE {table}")


class Polars(System):
    package = "polars"

    def __init__(self, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.polars = polars
        self.context = polars.SQLContext(eager=False)

    def load(self, table, file, types):
        read = self.polars.read_csv if types else self.polars.read_parquet
        self.context.register(table, read(file, **({"try_parse_dates": True} if types else {})))

    def register(self, files):
        for table, file in files.items():
            self.context.register(table, self.polars.scan_parquet(file))

    def query(self, sql):
        return self.context.execute(sql).collect().rows()

    def create(self, table, sql):
        self.context.register(table, self.context.execute(sql).collect())

    def drop(self, table):
        self.context.unregister(table)


class DataFusion(System):
    package = "datafusion"

    def __init__(self, threads):
        os.environ["TOKIO_WORKER_THREADS"] = str(threads)
        import datafusion

        self.threads = threads
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))

    def load(self, table, file, types):
        import pyarrow.parquet

        if types:
            return self.keep(table, self.context.read_csv(file).collect())
        self.keep(table, pyarrow.parquet.read_table(file).to_batches(max_chunksize=1 << 16))

    def keep(self, table, batches):
        partitions = [part for n in range(self.threads) if (part := batches[n :: self.threads])]
        self.context.register_record_batches(table, partitions)

    def register(self, files):
        for table, file in files.items():
            self.context.register_parquet(table, file)

    def query(self, sql):
        return [tuple(row.values()) for batch in self.context.sql(sql).collect() for row in batch.to_pylist()]

    def create(self, table, sql):
        self.keep(table, self.context.sql(sql).collect())

    def drop(self, table):
        self.context.deregister_table(table)


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


def plain(value):
    """Values as JSON and pipes take them; types of packages become text or numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removesuffix(" 00:00:00")
