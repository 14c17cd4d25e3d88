"""Random queries on MorselDB and DuckDB: equal rows, or an error on both sides.

    make difference       # or: .bench-venv/bin/python bench/difference.py --queries 10000 --seed 1
"""

import argparse
import pathlib
import subprocess
import sys
import threading

import duckdb
import morseldb
from compare import difference
from systems import plain

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Seconds that a query may take: chance makes cross products of cross products.
LONGEST = 10
GENERATOR = ["cargo", "run", "--release", "-q", "--bin", "difference", "--", "--print"]


def attempt(connection, sql):
    """Rows, or the error; neither if it takes too long."""
    late = threading.Event()

    def stop():
        late.set()
        connection.interrupt()

    timer = threading.Timer(LONGEST, stop)
    timer.start()
    try:
        return [tuple(map(plain, row)) for row in connection.execute(sql).fetchall()], None
    except (morseldb.Error, duckdb.Error) as error:
        return None, None if late.is_set() else error
    finally:
        timer.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    command = [*GENERATOR, "--queries", str(arguments.queries), "--seed", str(arguments.seed)]
    script = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    ours, theirs = morseldb.connect(), duckdb.connect()
    # MorselDB does as PostgreSQL does, so DuckDB is asked to.
    theirs.execute("SET default_null_order = 'postgres'")
    theirs.execute("SET integer_division = true")
    differences = errors = ours_only = theirs_only = queries = too_long = 0
    for line in script.splitlines():
        kind, sql = line.split("\t", 1)
        if kind != "Q":
            ours.execute(sql)
            theirs.execute(sql)
            continue
        queries += 1
        (a, our_error), (b, their_error) = attempt(ours, sql), attempt(theirs, sql)
        if (a is None and not our_error) or (b is None and not their_error):
            too_long += 1
        elif our_error and their_error:
            errors += 1
        elif their_error:
            # What DuckDB does not support proves nothing.
            theirs_only += 1
        elif our_error:
            ours_only += 1
            print(f"{sql}\n  MorselDB: {our_error}\n")
        elif (what := difference(b, a)) is not None:
            differences += 1
            print(f"{sql}\n  {what}\n")
    print(
        f"{queries} queries: {differences} differences, {ours_only} errors of MorselDB only, "
        f"{theirs_only} of DuckDB only, {errors} of both, {too_long} took too long"
    )
    return 1 if differences or ours_only else 0


if __name__ == "__main__":
    sys.exit(main())
