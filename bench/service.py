"""Short queries that come at random times beside eight endless long ones: MorselDB beside DuckDB, as `bench service` does it in
one process without Python.

    python bench/service.py [--system morseldb,duckdb] [--threads 2] [--seconds 20] [--load 20,50,80] [--only sorts] [--priority 100]

Arrivals are open-loop: they come when they come, whether earlier ones have been answered or not, at intervals that are
exponentially distributed. A time is from the arrival to the last row. A load of 50% is one at which the short queries alone
need half of the threads' time. Prints p50 and p99 in milliseconds, their multiples of the same load beside nothing, and the
part of the threads' time that is left for the long ones: what the process has used, less what the short ones use alone."""

import argparse
import itertools
import os
import random
import statistics
import threading
import time

# Long queries at once.
LONG = 8
# Clients of the short queries; who comes when all are busy waits for one, which counts.
CLIENTS = 32
# Seconds that run before anything is measured.
WARM = 1.0
ROWS = 1_000_000

SPREAD = "(x * 2654435761::bigint % 4294967296::bigint)"
TABLES = [
    f"CREATE TABLE t AS SELECT x, {SPREAD} % 1000000 y, 'a label of ' || lpad({SPREAD}::varchar, 13, '0') AS label "
    f"FROM generate_series(0::bigint, {ROWS - 1}::bigint) g(x)",
    "CREATE TABLE s AS SELECT x, y FROM t",
]
# Those that end begin again.
BESIDE = {
    "nothing": None,
    "groups": "SELECT a.x % 1000, count(*), sum(a.y * b.x) FROM t a, t b GROUP BY 1",
    "cross products": "SELECT count(*) FROM t a, t b WHERE a.x + b.x = -7",
    "non-equi joins": "SELECT count(*) FROM t a, t b WHERE a.x < b.y AND a.y * 2 > b.x + 3",
    "sorts of strings": "SELECT label FROM t ORDER BY label OFFSET 999999",
    "windows": "SELECT max(s) FROM (SELECT sum(y) OVER (PARTITION BY x % 100 ORDER BY y) s FROM t) w",
}


class DuckDb:
    def __init__(self, threads):
        import duckdb

        self.database = duckdb.connect(config={"threads": threads})

    def session(self, priority):
        return self.database.cursor()


class MorselDb:
    def __init__(self, threads):
        import morseldb

        self.database = morseldb.connect(threads=threads)

    def session(self, priority):
        session = self.database.cursor()
        session.execute(f"SET priority = {priority}")
        return session


SYSTEMS = {"morseldb": MorselDb, "duckdb": DuckDb}


def short(session, number):
    """A literal that no plan was made for, as it would come from an application."""
    session.execute(f"SELECT count(*), sum(y) FROM s WHERE x * 7 % 1000 <> {number % 1000}").fetchall()


def alone(system, priority):
    """Seconds of a short query, and of the processors' time, the median and mean of many one after the other."""
    session = system.session(priority)
    times = []
    used = time.process_time()
    for number in range(300):
        begin = time.perf_counter()
        short(session, number)
        times.append(time.perf_counter() - begin)
    return statistics.median(times), (time.process_time() - used) / len(times)


class Endless:
    """Long queries that run until they are stopped."""

    def __init__(self, system, sql):
        self.stopping = False
        self.sessions = [system.session(100) for _ in range(LONG if sql else 0)]
        self.threads = [threading.Thread(target=self.run, args=(session, sql)) for session in self.sessions]
        for thread in self.threads:
            thread.start()

    def run(self, session, sql):
        while not self.stopping:
            try:
                session.execute(sql).fetchall()
            except Exception:
                # Whoever stops it interrupts it.
                if not self.stopping:
                    raise

    def stop(self):
        self.stopping = True
        while any(thread.is_alive() for thread in self.threads):
            for session in self.sessions:
                session.interrupt()
            time.sleep(0.01)


def arrivals(system, options, interval):
    """Seconds of each short query from its arrival to its last row, sorted."""
    chooser = random.Random(42)
    moments = itertools.accumulate(chooser.expovariate(1 / interval) for _ in itertools.count())
    moments = list(itertools.takewhile(lambda moment: moment < options.seconds, moments))
    following, times = iter(enumerate(moments)), []
    begin = time.perf_counter()

    def client():
        session = system.session(options.priority)
        # A list's iterator deals each moment out once, as threads take turns.
        for number, moment in following:
            time.sleep(max(0.0, begin + moment - time.perf_counter()))
            short(session, number)
            times.append(time.perf_counter() - begin - moment)

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    return sorted(times)


def measure(system, options, sql, interval, use):
    """Times of short queries, and the part of the threads' time that the long ones have."""
    long = Endless(system, sql)
    time.sleep(WARM)
    begin, used = time.perf_counter(), time.process_time()
    times = arrivals(system, options, interval)
    elapsed, used = time.perf_counter() - begin, time.process_time() - used
    long.stop()
    return times, max(0.0, used - use * len(times)) / elapsed / options.threads


def run(name, options):
    system = SYSTEMS[name](options.threads)
    first = system.session(100)
    for sql in TABLES:
        first.execute(sql)
    length, use = alone(system, options.priority)
    print(f"{name}: {options.threads} threads; a short query takes {length * 1e3:.2f} ms alone; {LONG} long queries; {options.seconds:g} s each")
    print(f"{'beside':18} {'load':>5} {'queries':>7} {'p50 ms':>9} {'p99 ms':>9} {'worst ms':>9} {'p50 x':>7} {'p99 x':>7} {'long':>7}")
    bases = {}
    for beside, sql in BESIDE.items():
        if sql and options.only and options.only not in beside:
            continue
        for load in options.load:
            times, long = measure(system, options, sql, length * 100 / load, use)
            p50, p99, worst = (times[int((len(times) - 1) * part)] * 1e3 for part in (0.5, 0.99, 1.0))
            base50, base99 = bases.setdefault(load, (p50, p99))
            print(
                f"{beside:18} {load:>4}% {len(times):>7} {p50:>9.2f} {p99:>9.2f} {worst:>9.2f} "
                f"{p50 / base50:>7.2f} {p99 / base99:>7.2f} {long * 100 if sql else 0:>6.1f}%",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--system", default="morseldb,duckdb")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--load", type=lambda text: [int(part) for part in text.split(",")], default=[20, 50, 80])
    parser.add_argument("--only", help="only beside those long queries whose name contains this")
    parser.add_argument("--priority", type=int, default=100, help="of the short queries; MorselDB only")
    options = parser.parse_args()
    for name in options.system.split(","):
        run(name, options)


if __name__ == "__main__":
    main()
