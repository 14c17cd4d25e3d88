"""The figures of the thesis's section 5.6, by MorselDB's own switches: phases (table 5.2), skew (5.6.5), partitions (5.12),
frame sizes by algorithm (5.13), variable frames (5.14), fan-outs and the memory of trees (5.15).

    make bench-windows    # or: .bench-venv/bin/python bench/window_figures.py --rows 10000000 --threads 2

Prints the tables, writes them as JSON and draws `data/bench/window-figures.png`. A statement that takes longer than the time limit is
interrupted and drawn as timed out.
"""

import argparse
import json
import pathlib
import re
import threading
import time

import morseldb
import numpy
import pyarrow

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALGORITHMS = ["auto", "naive", "cumulative", "removable", "tree"]


class Bench:
    def __init__(self, rows, threads, seconds):
        self.rows, self.threads, self.seconds = rows, threads, seconds
        self.connections = {n: self.open(n) for n in {1, threads}}

    def open(self, threads):
        """`a` has 100 values, `b` is unique, of `s` one value has 80% of the rows; `wide` has rows of 64 bytes more."""
        random = numpy.random.default_rng(1)
        ids = numpy.arange(self.rows, dtype=numpy.int64)
        skewed = numpy.where(random.random(self.rows) < 0.8, 0, ids % 1000)
        columns = {"a": ids * 2654435761 % 4294967291 % 100, "b": random.permutation(self.rows), "s": skewed}
        columns |= {f"p{i}": random.integers(0, 2**62, self.rows) for i in range(8)}
        connection = morseldb.connect(threads=threads)
        connection.register("source", pyarrow.table(columns))
        connection.execute("create table numbers as select a, b, s from source")
        connection.execute("create table wide as select * from source")
        connection.unregister("source")
        return connection

    def run(self, window, table="numbers", threads=None, runs=2, **settings):
        """Best milliseconds, or none if it was interrupted."""
        connection = self.connections[threads or self.threads]
        settings = {"window_algorithm": "auto", "window_fanout": 16} | settings
        for name, value in settings.items():
            connection.execute(f"set {name} = '{value}'")
        best = None
        for _ in range(runs):
            alarm = threading.Timer(self.seconds, connection.interrupt)
            alarm.start()
            start = time.perf_counter()
            try:
                connection.execute(sql(window, table)).fetchall()
            except morseldb.OperationalError:
                return None
            finally:
                alarm.cancel()
            taken = (time.perf_counter() - start) * 1e3
            best = taken if best is None else min(best, taken)
        return best

    def explain(self, window):
        """(milliseconds of work, of the worker that took longest) of each phase, and the peak of memory."""
        lines = [row[0] for row in self.connections[self.threads].execute("explain analyze " + sql(window)).fetchall()]
        phases = {}
        for line in lines[next(at for at, line in enumerate(lines) if line.startswith("pipeline")) + 1 :]:
            match re.split(r"\s{2,}", line.strip()):
                case [name, _, busy, longest]:
                    known = phases.setdefault(name, [0.0, 0.0])
                    phases[name] = [known[0] + float(busy), known[1] + float(longest)]
                case [name, _, busy]:
                    phases[name] = [float(busy), 0.0]
        return phases, lines[-1].rpartition("peak memory ")[2]


def sql(window, table="numbers"):
    if table == "wide":
        kept = [f"p{i}" for i in range(8)]
        return f"select sum(w), {', '.join(f'min({p})' for p in kept)} from (select {window} w, {', '.join(kept)} from wide) t"
    return f"select sum(w) from (select {window} w from {table}) t"


def shown(milliseconds):
    return "timed out" if milliseconds is None else f"{milliseconds:.0f}"


def table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def phases(bench):
    found = {}
    for partitions, over in [("1", "order by b"), ("100", "partition by a order by b"), ("10M", "partition by b order by a")]:
        measured, _ = bench.explain(f"rank() over ({over})")
        found[partitions] = measured
    names = list(dict.fromkeys(name for measured in found.values() for name in measured))
    rows = [[name] + [f"{found[p].get(name, [0, 0])[0]:.0f}" for p in found] for name in names]
    table("Work in each phase of rank(), ms of all workers (table 5.2)", ["phase"] + [f"{p} partitions" for p in found], rows)
    return found


def skew(bench):
    over = "rank() over (partition by s order by b)"
    one, all_workers = bench.run(over, threads=1), bench.run(over)
    table(
        "80% of the rows in one partition (5.6.5)",
        ["1 worker, ms", f"{bench.threads} workers, ms", "speed-up"],
        [[shown(one), shown(all_workers), f"{one / all_workers:.2f}"]],
    )
    return {"one": one, "all": all_workers}


def partitions(bench):
    counts = [10**k for k in range(8) if 10**k <= bench.rows]
    found = {n: bench.run(f"rank() over (partition by b % {n} order by b)") for n in counts}
    wide = {n: bench.run(f"rank() over (partition by b % {n} order by b)", table="wide") for n in counts}
    table("rank() by number of partitions (5.12)", ["partitions", "ms"], [[n, shown(ms)] for n, ms in found.items()])
    return {"rows of three numbers": found, "of eleven": wide}


def frames(bench, function, offset, title, algorithms):
    sizes = [10**k for k in range(8) if 10**k <= bench.rows]
    found = {name: {} for name in algorithms}
    for name in algorithms:
        for size in sizes:
            over = f"{function} over (order by b rows between {offset.format(size=size)} preceding and current row)"
            slow = any(ms is None for ms in found[name].values())
            found[name][size] = None if slow else bench.run(over, window_algorithm=name)
    rows = [[size] + [shown(found[name][size]) for name in algorithms] for size in sizes]
    table(title, ["rows of a frame"] + [f"{name}, ms" for name in algorithms], rows)
    return found


def growth(bench):
    windows = {
        "1 preceding": "rows between 1 preceding and current row",
        "unbounded preceding": "rows between unbounded preceding and current row",
        "constant": "rows between 1000 preceding and 1000 following",
        "variable": "rows between (b % 2000) preceding and (b % 1000) following",
    }
    found = {
        case: {
            name: [bench.run(f"sum(a) over (order by b {frame})", table=t, window_algorithm=name) for t in ("half", "numbers")]
            for name in ALGORITHMS[1:]
        }
        for case, frame in windows.items()
    }
    grown = lambda pair: "timed out" if None in pair else f"{pair[1] / pair[0]:.1f}"
    rows = [[case] + [grown(by[name]) for name in ALGORITHMS[1:]] for case, by in found.items()]
    table("Time for twice the rows (table 5.1)", ["frame"] + ALGORITHMS[1:], rows)
    return found


def fanouts(bench):
    over = "sum(a) over (order by b rows between (b % 10000) preceding and current row)"
    found = {}
    for fanout in [2, 4, 8, 16, 32, 64, 128]:
        milliseconds = bench.run(over, window_algorithm="tree", window_fanout=fanout)
        found[fanout] = (milliseconds, bench.explain(over)[1])
    table("Fan-out of the tree (5.15)", ["fan-out", "ms", "peak memory"], [[f, shown(ms), mem] for f, (ms, mem) in found.items()])
    return found


def draw(results, path):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for axis, key, title in [
        (axes[0][0], "partitions", "rank() by number of partitions"),
        (axes[0][1], "frames", "sum, constant frames"),
        (axes[1][0], "variable frames", "sum, variable frames"),
    ]:
        for name, points in results[key].items():
            known = {x: y for x, y in points.items() if y is not None}
            axis.plot(list(known), list(known.values()), marker="o", label=name)
        axis.set(xscale="log", yscale="log", title=title, ylabel="ms")
        axis.legend()
    points = {fanout: ms for fanout, (ms, _) in results["fan-outs"].items() if ms is not None}
    axes[1][1].plot(list(points), list(points.values()), marker="o")
    axes[1][1].set(xscale="log", title="fan-out of the tree", ylabel="ms", ylim=(0, None))
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a statement")
    parser.add_argument("--out", default=ROOT / "data" / "bench", type=pathlib.Path, help="folder for JSON and plot")
    options = parser.parse_args()
    bench = Bench(options.rows, options.threads, options.seconds)
    for connection in bench.connections.values():
        connection.execute(f"create table half as select * from numbers where b < {options.rows // 2}")
    results = {
        "phases": phases(bench),
        "skew": skew(bench),
        "partitions": partitions(bench),
        "frames": frames(bench, "sum(a)", "{size}", "Constant frames by algorithm (5.13)", ALGORITHMS),
        "min": frames(bench, "min(a)", "{size}", "min over constant frames", ["auto", "tree"]),
        "variable frames": frames(bench, "sum(a)", "(b % {size})", "Variable frames by algorithm (5.14)", ALGORITHMS),
        "growth": growth(bench),
        "fan-outs": fanouts(bench),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "window-figures.json").write_text(json.dumps(results, indent=1))
    draw(results, options.out / "window-figures.png")


if __name__ == "__main__":
    main()
