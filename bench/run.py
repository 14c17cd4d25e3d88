"""MorselDB beside its peers: workloads, in turn, one process for each system.

    make bench                      # all workloads; make bench-quick: in minutes, on less data
    .bench-venv/bin/python bench/run.py --workload tpch,scans --systems morseldb,duckdb --runs 5 --threads 2,1

Each process loads the same Parquet files; then the systems take turns run by run, so that noise of the machine meets all
of them. Every run plans and executes. The best run counts, and the first one after loading as the cold one. Answers are
compared with the first system's. Prints milliseconds and ratios to the best peer of each query, load times, memory; with
several numbers of threads, the speed-up too. Writes JSON and plots.
"""

import argparse
import json
import pathlib
import sys
import time

import report
import systems
from compare import difference
from peers import Peer
from workloads import ROOT
from workloads.registry import WORKLOADS


def show_progress(text):
    """Overwrites the last line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def selected(rows, columns):
    return rows if columns is None else [tuple(row[column] for column in columns) for row in rows]


def compare(query, answers):
    """Notes on each answer how it differs from the first system's; and on that one, if most peers agree against it."""
    rows = {name: selected(answer.pop("rows"), query.columns) for name, answer in answers.items() if "rows" in answer}
    own, *peers = answers
    for name in peers:
        if own in rows and name in rows:
            answers[name]["difference"] = difference(rows[own], rows[name])
    others = [name for name in peers if name in rows]
    apart = [name for name in others if answers[name].get("difference")]
    if apart and 2 * len(apart) > len(others):
        answers[own]["difference"] = f"from {', '.join(apart)}"


# Seconds between loading and the first query: memory that is free may have gone back by then.
REST = 2


def measure(workload, size, names, threads, runs, seconds, only):
    """One workload with so many threads: for each query the answer of each system; and how loading went."""
    files = workload.files(size)
    queries = [query for query in workload.queries(size) if only in query.name]
    # Nobody's loading is to wait for the disk.
    for file in files.values():
        pathlib.Path(file).read_bytes()
    peers = [Peer(name, threads) for name in names]
    for peer in peers:
        show_progress(f"{workload.name}: {peer.name} loads")
        peer.load(files, workload.from_files)
    time.sleep(REST)
    for peer in peers:
        peer.rest()
    for query in queries:
        for run in range(runs):
            for peer in peers:
                # What is slow runs less often: nobody's turn is to take all of the time.
                if sum(peer.answers.get(query.name, {}).get("times", [])) < 1000 * seconds:
                    show_progress(f"{workload.name}, {query.name}: {peer.name}, run {run + 1}")
                    peer.run(query, files)
    show_progress("")
    for peer in peers:
        peer.stop()
    answers = {query.name: {peer.name: peer.answers[query.name] for peer in peers} for query in queries}
    for query in queries:
        compare(query, answers[query.name])
    return answers, {peer.name: peer.loaded for peer in peers}


def speed_up(many, one, name):
    pairs = [(report.best(one[q].get(name, {"times": []})), report.best(many[q][name])) for q in many]
    return report.geometric_mean(a / b for a, b in pairs if a and b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default=",".join(w for w in WORKLOADS if w != "windows"), help=", ".join(WORKLOADS))
    parser.add_argument("--quick", action="store_true", help="less data, fewer runs, without DataFusion")
    parser.add_argument("--size", type=float, help="rows of the largest table, or the scale factor")
    parser.add_argument("--threads", default="2", help="numbers separated by commas; the others are compared with the first")
    parser.add_argument("--runs", type=int, help="at most so many of each query; by default 5, quick 3")
    parser.add_argument("--seconds", type=float, help="no more runs of a query after so long; by default 5, quick 0.2")
    parser.add_argument("--systems", help="the first is compared with the others; by default " + ",".join(systems.SYSTEMS))
    parser.add_argument("--queries", default="", help="only those whose name contains this")
    parser.add_argument("--out", default=ROOT / "data" / "bench", type=pathlib.Path, help="folder for JSON and plots")
    options = parser.parse_args()
    names = (options.systems or ",".join(list(systems.SYSTEMS)[: 4 if options.quick else None])).split(",")
    runs = options.runs or (3 if options.quick else 5)
    seconds = options.seconds or (0.2 if options.quick else 5)
    options.out.mkdir(parents=True, exist_ok=True)
    summaries, wrong, start = {}, False, time.perf_counter()
    for chosen in options.workload.split(","):
        workload = WORKLOADS[chosen]
        size = options.size or (workload.quick if options.quick else workload.full)
        rounds = {}
        for threads in map(int, options.threads.split(",")):
            print(f"\n{chosen}, size {size:g}, {threads} thread(s)", flush=True)
            answers, loads = measure(workload, size, names, threads, runs, seconds, options.queries)
            report.table(answers, names, loads)
            rounds[threads] = {"queries": answers, "load": loads}
        most, *fewer = rounds
        queries = rounds[most]["queries"]
        for threads in fewer:
            for name in names:
                factor = speed_up(queries, rounds[threads]["queries"], name)
                print(f"speed-up of {name} from {threads} to {most} threads: {report.shown(factor, 0)}")
        summaries[chosen] = report.summary(queries)
        wrong |= any(not report.usable(answers[names[0]]) for answers in queries.values())
        facts = {"size": size, "versions": systems.versions(names), "summary": summaries[chosen], "threads": rounds}
        (options.out / f"{chosen}.json").write_text(json.dumps(facts, indent=1))
        report.plot(chosen, queries, options.out / f"{chosen}.png")
    print(f"\n{report.HEADER}")
    for chosen, found in summaries.items():
        print(report.line(chosen, found))
    print(f"{time.perf_counter() - start:.0f} s; written to {options.out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
