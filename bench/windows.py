"""Window functions on MorselDB and its peers, in turn, one process for each system (thesis 5.6).

    make bench-windows    # or: .bench-venv/bin/python bench/windows.py --rows 10000000 --threads 2

Rows are two bigints, `a` with 100 values, `b` unique; each statement sums what the windows give, so that nothing is fetched.
The systems take turns statement by statement; the best run counts. Sums are compared with the first system's. Prints
milliseconds and ratios to the best peer; writes JSON.
"""

import argparse
import json
import multiprocessing
import pathlib
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

FUNCTIONS = {
    "row_number": "row_number()",
    "rank": "rank()",
    "dense_rank": "dense_rank()",
    "lag": "lag({v})",
    "first_value": "first_value({v})",
    "sum": "sum({v})",
    "min": "min({v})",
    "count": "count({v})",
}
WINDOWS = {
    "1 partition": "order by b",
    "100 partitions": "partition by a order by b",
    "10M partitions": "partition by b order by a",
}
FRAMED = {
    "fixed 1000": "order by b rows between 1000 preceding and current row",
    "variable 10000": "order by b rows between (b % 10000) preceding and current row",
    "to the end": "order by b rows between current row and unbounded following",
    "range 1000": "order by b range between 1000 preceding and current row",
}
AGGREGATES = {"sum": "sum(a)", "min": "min(a)", "count": "count(a)", "avg": "avg(a)"}


def statements():
    """(name, SQL) of all that is measured."""
    for function, call in FUNCTIONS.items():
        for window, over in WINDOWS.items():
            yield f"{function}, {window}", f"{call.format(v='a')} over ({over})"
    for function, call in AGGREGATES.items():
        for frame, over in FRAMED.items():
            yield f"{function}, {frame}", f"{call} over ({over})"


def sql_of(expression):
    return f"select sum(w) from (select {expression} as w from numbers) t"


def data(rows):
    import numpy
    import pyarrow

    ids = numpy.arange(rows, dtype=numpy.int64)
    a = ids * 2654435761 % 4294967291 % 100
    b = numpy.random.default_rng(1).permutation(rows).astype(numpy.int64)
    return pyarrow.table({"a": a, "b": b})


class MorselDB:
    def __init__(self, threads, table):
        import morseldb

        self.connection = morseldb.connect(threads=threads)
        self.connection.register("source", table)
        self.connection.execute("create table numbers as select * from source")

    def run(self, sql):
        return self.connection.execute(sql).fetchone()[0]


class DuckDB:
    def __init__(self, threads, table):
        import duckdb

        self.connection = duckdb.connect(config={"threads": threads})
        self.connection.register("source", table)
        self.connection.execute("create table numbers as select * from source")

    def run(self, sql):
        return self.connection.execute(sql).fetchone()[0]


class Hyper:
    def __init__(self, threads, table):
        import pyarrow.parquet
        import tempfile

        import tableauhyperapi as hyper

        parameters = {"hard_concurrent_query_thread_limit": str(threads), "log_config": ""}
        self.folder = tempfile.TemporaryDirectory()
        file = pathlib.Path(self.folder.name) / "numbers.parquet"
        pyarrow.parquet.write_table(table, file)
        self.process = hyper.HyperProcess(hyper.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters)
        self.connection = hyper.Connection(self.process.endpoint, f"{self.folder.name}/numbers.hyper", hyper.CreateMode.CREATE_AND_REPLACE)
        self.connection.execute_command(f"create table numbers as (select * from external('{file}'))")

    def run(self, sql):
        return self.connection.execute_scalar_query(sql)


class Polars:
    """What Polars' SQL can say; the rest is marked."""

    def __init__(self, threads, table):
        import os

        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.context = polars.SQLContext(numbers=polars.from_arrow(table))

    def run(self, sql):
        return self.context.execute(sql, eager=True).item()


SYSTEMS = {"morseldb": MorselDB, "duckdb": DuckDB, "hyper": Hyper, "polars": Polars}


def serve(name, threads, rows, pipe):
    """The process of one system: answers (SQL, runs) with the best milliseconds and the value."""
    try:
        system = SYSTEMS[name](threads, data(rows))
        pipe.send({})
        while (asked := pipe.recv()) is not None:
            sql, runs = asked
            try:
                times = []
                for _ in range(runs):
                    start = time.perf_counter()
                    value = system.run(sql)
                    times.append((time.perf_counter() - start) * 1e3)
                pipe.send({"ms": min(times), "value": float(value or 0)})
            except BaseException as error:  # A system that cannot run a statement is marked, whatever it raised.
                pipe.send({"error": f"{type(error).__name__}: {error}".splitlines()[0][:120]})
    except Exception as error:
        pipe.send({"error": f"{type(error).__name__}: {error}".splitlines()[0][:120]})


class Peer:
    """A system in a process of its own."""

    def __init__(self, name, threads, rows):
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        context.Process(target=serve, args=(name, threads, rows, other), daemon=True).start()
        other.close()
        self.start = self.receive()

    def receive(self):
        try:
            return self.pipe.recv()
        except EOFError:
            return {"error": "the process ended"}

    def stop(self):
        try:
            self.pipe.send(None)
        except OSError:
            pass  # It has ended by itself.

    def ask(self, sql, runs):
        try:
            self.pipe.send((sql, runs))
        except OSError:
            return {"error": "the process ended"}
        return self.receive()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--only", default="", help="statements whose name contains this")
    parser.add_argument("--out", default=ROOT / "data" / "bench", type=pathlib.Path, help="folder for JSON")
    options = parser.parse_args()
    peers = [Peer(name, options.threads, options.rows) for name in options.systems.split(",")]
    for peer in peers:
        if "error" in peer.start:
            print(f"{peer.name} does not run: {peer.start['error']}")
    peers = [peer for peer in peers if "error" not in peer.start]
    results, wrong = {}, []
    print(f"{'window':28}" + "".join(f"{peer.name:>12}" for peer in peers) + f"{'to the best peer':>18}")
    for name, expression in statements():
        if options.only not in name:
            continue
        answers = {peer.name: peer.ask(sql_of(expression), options.runs) for peer in peers}
        results[name] = answers
        first = answers[peers[0].name]
        for peer in peers[1:]:
            value = answers[peer.name].get("value")
            if value is not None and abs(value - first.get("value", 0)) > 1e-6 * max(1, abs(value)):
                wrong.append(f"{name}: {peers[0].name} {first.get('value')}, {peer.name} {value}")
        others = [answers[peer.name]["ms"] for peer in peers[1:] if "ms" in answers[peer.name]]
        ratio = f"{first['ms'] / min(others):.2f}" if others and "ms" in first else "-"
        cells = "".join(f"{answers[peer.name].get('ms', float('nan')):12.1f}" for peer in peers)
        print(f"{name:28}{cells}{ratio:>18}", flush=True)
    for peer in peers:
        peer.stop()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "windows.json").write_text(json.dumps(results, indent=1))
    for line in wrong:
        print("different:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
