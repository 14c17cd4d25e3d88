"""The 22 queries of TPC-H on MorselDB and its peers, in turn, one process for each system.

    make bench            # or: .bench-venv/bin/python bench/tpch.py --sf 1 --threads 2

Each process loads the same Parquet files, then runs each query `--runs` times when it is asked to; the systems take
turns query by query, so that noise of the machine meets all of them. The best run counts. Results are compared with the
first system's. Prints milliseconds, ratios and geometric means, load time, memory and the speed-up from one thread;
writes JSON and a plot.
"""

import argparse
import json
import math
import multiprocessing
import pathlib
import subprocess
import sys

import systems
from compare import difference

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUERIES = ROOT / "crates" / "tpch" / "queries"


def serve(name, threads, folder, pipe):
    """The process of one system: loads, then answers (number, runs) with milliseconds and rows."""
    try:
        system = systems.SYSTEMS[name](threads)
        pipe.send(systems.timed_load(system, folder))
        while (asked := pipe.recv()) is not None:
            number, runs = asked
            try:
                pipe.send(systems.timed_query(system, (QUERIES / f"q{number:02}.sql").read_text(), runs))
            except Exception as error:  # A system that cannot run a query is marked, whatever it raised.
                pipe.send({"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]})
        system.close()
    except Exception as error:
        pipe.send({"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]})


class Peer:
    """A system in a process of its own."""

    def __init__(self, name, threads, folder):
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(name, threads, folder, other), daemon=True)
        self.process.start()
        other.close()
        self.load = self.receive()
        self.queries = {}

    def receive(self):
        try:
            return self.pipe.recv()
        except EOFError:
            return {"error": "the process ended"}

    def run(self, number, runs):
        if "error" in self.load:
            answer = self.load
        else:
            try:
                self.pipe.send((number, runs))
                answer = self.receive()
            except OSError:
                answer = {"error": "the process ended"}
        self.queries[number] = answer
        return answer

    def close(self):
        try:
            self.pipe.send(None)
        except OSError:
            pass
        self.process.join(10)
        if self.process.is_alive():
            self.process.terminate()


def show_progress(text):
    """Overwrites the last line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text:40}\r", end="", file=sys.stderr, flush=True)


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def run(names, threads, folder, runs, numbers):
    """One round: all systems with that many threads."""
    peers = [Peer(name, threads, folder) for name in names]
    for number in numbers:
        for peer in peers:
            peer.run(number, runs)
            show_progress(f"{threads} thread(s): Q{number} {peer.name}")
    show_progress("")
    for number in numbers:
        rows = [(p, p.queries[number]) for p in peers if "rows" in p.queries[number]]
        for peer, answer in rows[1:]:
            answer["difference"] = difference(rows[0][1]["rows"], answer["rows"])
        for _, answer in rows:
            answer["count"] = len(answer.pop("rows"))
    for peer in peers:
        peer.close()
    return {p.name: {"load": p.load, "queries": p.queries} for p in peers}


def table(results, names, numbers):
    """Milliseconds, and beside each peer how many times MorselDB's they are."""
    first = names[0]
    print("query  " + "".join(f"{n:>20}" for n in names))
    for number in numbers:
        line = f"Q{number:<6}"
        base = results[first]["queries"][number].get("ms")
        for name in names:
            answer = results[name]["queries"][number]
            ms = answer.get("ms")
            mark = "!" if answer.get("difference") else " "
            ratio = f"({ms / base:5.2f}x)" if ms and base and name != first else ""
            line += f"{ms:>11.2f}{mark}{ratio:>8}" if ms else f"{'failed':>20}"
        print(line)
    line = "mean   "
    for name in names:
        both = [n for n in numbers if results[name]["queries"][n].get("ms") and results[first]["queries"][n].get("ms")]
        mean = geometric_mean([results[name]["queries"][n]["ms"] for n in both])
        base = geometric_mean([results[first]["queries"][n]["ms"] for n in both])
        ratio = f"({mean / base:5.2f}x)" if mean and base and name != first else ""
        line += f"{mean:>11.2f} {ratio:>8}" if mean else f"{'-':>20}"
    print(line + "   (geometric; ratios over the queries that both can run)")
    for what, unit in (("seconds", "load, s"), ("mebibytes", "memory, MiB")):
        cells = [results[n]["load"].get(what) for n in names]
        print(f"{unit:<7}" + "".join(f"{c:>12.2f}{'':8}" if c else f"{'-':>20}" for c in cells))
    for name in names:
        for number in numbers:
            answer = results[name]["queries"][number]
            for kind in ("error", "difference"):
                if answer.get(kind):
                    print(f"  {name} Q{number} {kind}: {answer[kind]}")


def speed_up(many, one, names, numbers, threads):
    for name in names:
        pairs = [(one[name]["queries"][n].get("ms"), many[name]["queries"][n].get("ms")) for n in numbers]
        factor = geometric_mean([a / b for a, b in pairs if a and b])
        print(f"speed-up of {name} from 1 to {threads} threads: " + (f"{factor:.2f}" if factor else "-"))


def plot(results, names, numbers, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(14, 5))
    width = 0.8 / len(names)
    for position, name in enumerate(names):
        heights = [results[name]["queries"][n].get("ms", 0) for n in numbers]
        axes.bar([i + (position - len(names) / 2 + 0.5) * width for i in range(len(numbers))], heights, width, label=name)
    axes.set_xticks(range(len(numbers)), [f"Q{n}" for n in numbers])
    axes.set_yscale("log")
    axes.set_ylabel("ms, best run")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", default="1", help="scale factor")
    parser.add_argument("--data", help="folder with the Parquet files; by default data/tpch-sf<SF>, generated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--systems", default=",".join(systems.SYSTEMS), help="the first is what others are compared with")
    parser.add_argument("--queries", default="", help="numbers separated by commas; by default all")
    parser.add_argument("--no-speed-up", action="store_true", help="leave out the round with one thread")
    parser.add_argument("--out", default=str(ROOT / "data" / "bench"), help="folder for JSON and plot")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.data or ROOT / "data" / f"tpch-sf{arguments.sf}")
    if not (folder / "lineitem.parquet").exists():
        generator = ["cargo", "run", "--release", "-q", "-p", "tpch", "--bin", "tpch-gen", "--"]
        subprocess.run([*generator, "--sf", arguments.sf, "--out", str(folder)], check=True, cwd=ROOT)
    # Nobody's loading is to wait for the disk.
    for file in folder.glob("*.parquet"):
        file.read_bytes()
    names = arguments.systems.split(",")
    numbers = [int(n) for n in arguments.queries.split(",") if n] or list(range(1, 23))
    many = run(names, arguments.threads, folder, arguments.runs, numbers)
    table(many, names, numbers)
    rounds = {str(arguments.threads): many}
    if not arguments.no_speed_up and arguments.threads > 1:
        rounds["1"] = run(names, 1, folder, arguments.runs, numbers)
        speed_up(many, rounds["1"], names, numbers, arguments.threads)
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    versions = systems.versions(names)
    (out / "tpch.json").write_text(json.dumps({"sf": arguments.sf, "versions": versions, "threads": rounds}, indent=1))
    plot(many, names, numbers, out / "tpch.png")
    print(f"written to {out / 'tpch.json'} and {out / 'tpch.png'}")
    answers = many[names[0]]["queries"].values()
    wrong = any("error" in a for a in answers) or any(a.get("difference") for n in names for a in many[n]["queries"].values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
