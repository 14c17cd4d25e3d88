"""Statements of one row by key, prepared, in one process: MorselDB beside SQLite and DuckDB, as Python programs use them.

    python bench/points.py [--rows 1000000] [--statements 100000]

Prints microseconds a statement, the median of rounds in which the systems take turns, and the ratio to MorselDB."""

import argparse
import random
import sqlite3
import statistics
import time

CREATE = "CREATE TABLE keyed (k bigint PRIMARY KEY, name varchar, n bigint)"
SERIES = {
    "morseldb": "SELECT x, 'row ' || x, 0 FROM generate_series(0, {rows} - 1) g(x)",
    "sqlite": "WITH RECURSIVE g(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM g WHERE x < {rows} - 1) SELECT x, 'row ' || x, 0 FROM g",
    "duckdb": "SELECT x, 'row ' || x, 0 FROM range({rows}) g(x)",
}
STATEMENTS = {
    "select": "SELECT name FROM keyed WHERE k = ?",
    "update": "UPDATE keyed SET n = n + 1 WHERE k = ?",
    "insert": "INSERT INTO keyed VALUES (?, 'new', 1)",
    "delete": "DELETE FROM keyed WHERE k = ?",
}
ROUNDS = 5


def connect(system):
    if system == "sqlite":
        # Statements commit by themselves, as in the others; nothing is written to a disk.
        return sqlite3.connect(":memory:", isolation_level=None)
    if system == "duckdb":
        import duckdb

        return duckdb.connect(config={"threads": 1})
    import morseldb

    return morseldb.connect(threads=1)


def spent(connection, kind, keys):
    """Microseconds a statement."""
    sql = STATEMENTS[kind]
    execute = connection.execute
    start = time.perf_counter()
    if kind == "select":
        for key in keys:
            found = execute(sql, (key,)).fetchone()
            assert found == (f"row {key}",)
    else:
        for key in keys:
            execute(sql, (key,))
    return (time.perf_counter() - start) / len(keys) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--statements", type=int, default=100_000)
    options = parser.parse_args()
    systems = {}
    for system, series in SERIES.items():
        systems[system] = connect(system)
        systems[system].execute(CREATE)
        systems[system].execute(f"INSERT INTO keyed {series.format(rows=options.rows)}")
    # A statement of DuckDB takes as long as a hundred of the others.
    each = {system: options.statements // (50 if system == "duckdb" else 1) for system in systems}
    # Keys that are new, one after the other.
    new = {system: options.rows for system in systems}
    chooser = random.Random(1)
    times = {(kind, system): [] for kind in STATEMENTS for system in systems}
    for _ in range(ROUNDS):
        for kind in STATEMENTS:
            for system, connection in systems.items():
                count = each[system]
                if kind == "insert":
                    keys = range(new[system], new[system] + count)
                    new[system] += count
                elif kind == "delete":
                    # Those that were just inserted, in another order.
                    keys = chooser.sample(range(new[system] - count, new[system]), count)
                else:
                    keys = [chooser.randrange(options.rows) for _ in range(count)]
                times[kind, system].append(spent(connection, kind, keys))
    print(f"{'':>8}" + "".join(f"{system:>12}" for system in systems) + "".join(f"{s + ' /':>12}" for s in systems))
    for kind in STATEMENTS:
        own = {system: statistics.median(times[kind, system]) for system in systems}
        ratios = "".join(f"{value / own['morseldb']:>12.1f}" for value in own.values())
        print(f"{kind:>8}" + "".join(f"{value:>12.2f}" for value in own.values()) + ratios)


if __name__ == "__main__":
    main()
