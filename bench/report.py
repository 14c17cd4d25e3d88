"""What the runs say: ratios to the best peer for each query, their geometric means, tables and plots."""

import math


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def best(answer):
    return min(answer["times"], default=None)


def first(answer):
    return answer["times"][0] if answer["times"] else None


def usable(answer):
    """Whether an answer counts as one of a peer: it has come, and it is right."""
    return "error" not in answer and not answer.get("difference")


def ratio(answers, time):
    """The first system's time to the best one of its peers."""
    own, *peers = answers.values()
    times = [time(answer) for answer in peers if usable(answer)]
    return time(own) / min(times) if times and usable(own) else None


def summary(queries):
    """What stands in one line for a workload. `queries`: for each, the answer of each system."""
    hot = {query: ratio(answers, best) for query, answers in queries.items()}
    hot = {query: value for query, value in hot.items() if value}
    worst = sorted(hot, key=hot.get, reverse=True)[:3]
    return {
        "hot": geometric_mean(hot.values()),
        "cold": geometric_mean(ratio(answers, first) for answers in queries.values()),
        "compared": len(hot),
        "behind": sum(value > 1 for value in hot.values()),
        "worst": [(query, hot[query]) for query in worst],
    }


def shown(value, width=10, digits=2):
    return f"{value:{width}.{digits}f}" if value is not None else f"{'-':>{width}}"


def table(queries, names, loads):
    """Milliseconds, best run, and the ratio to the best peer: hot, and in the first run after loading."""
    print(f"{'ms':26}" + "".join(f"{name:>12}" for name in names) + f"{'ratio':>10}{'cold':>8}")
    for query, answers in queries.items():
        cells = "".join(
            f"{'failed':>12}" if "error" in answers[name] else f"{best(answers[name]):11.2f}" + (" " if usable(answers[name]) else "!")
            for name in names
        )
        print(f"{query:26}{cells}{shown(ratio(answers, best))}{shown(ratio(answers, first), 8)}")
    for label, value in (("load, s", "seconds"), ("and settled, s", "settled"), ("resident, MiB", "mebibytes"), ("at rest, MiB", "rested")):
        if any(value in loads[name] for name in names):
            print(f"{label:26}" + "".join(f"{shown(loads[name].get(value), 11)} " for name in names))
    for query, answers in queries.items():
        for name, answer in answers.items():
            if "error" in answer:
                print(f"  {name} skips {query}: {answer['error']}")
            elif answer.get("difference"):
                print(f"  {name} differs in {query}: {answer['difference']}")


def line(name, found):
    worst = ", ".join(f"{query} {value:.2f}" for query, value in found["worst"])
    behind = f"{found['behind']} of {found['compared']}"
    return f"{name:14}{shown(found['hot'], 7)}{shown(found['cold'], 7)}{behind:>10}   {worst}"


HEADER = f"{'workload':14}{'hot':>7}{'cold':>7}{'behind':>10}   worst (ratios to the best peer of each query; below 1 is ahead)"


def plot(workload, queries, path):
    """The ratio of each query, hot; one bar is as long for twice as fast as for twice as slow."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ratios = [(query, ratio(answers, best)) for query, answers in queries.items()]
    ratios = [(query, value) for query, value in ratios if value]
    figure, axes = pyplot.subplots(figsize=(max(6, 0.35 * len(ratios) + 2), 5), layout="constrained")
    colors = ["tab:green" if value <= 1 else "tab:red" for _, value in ratios]
    axes.bar(range(len(ratios)), [math.log2(value) for _, value in ratios], color=colors)
    axes.set_xticks(range(len(ratios)), [query for query, _ in ratios], rotation=90)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(title=workload, ylabel="log2 of the time to the best peer's")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
