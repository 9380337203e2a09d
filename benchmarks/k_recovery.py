"""How often each way of choosing K finds the true one, over many fresh draws of many tables.

Every draw of every row of ``k_families.py`` is given to ``KSelector`` as it is called by default
and, for the first draws of each row, to the classical indices of ``bbclust.baselines``. For tables
without clusters the answer is right when the verdict leads with "No clusters" or ``best_k_`` is 1.

Rules and constants were chosen on seeds below 3,000 and are judged on seeds from 40,000, run once:

    python benchmarks/k_recovery.py --seeds 0:6 --no-baselines
    python benchmarks/k_recovery.py --seeds 40000:40050 --more 4 --baselines 20 --json results.json
    python benchmarks/k_recovery.py --table results.json > k_recovery.md
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import chain

import numpy as np
from joblib import Parallel, delayed
from k_families import FAMILY, Row
from sklearn.metrics import adjusted_rand_score

from bbclust import KSelector
from bbclust.baselines import compare_baselines

OURS = ("auto (default)", "pairwise", "mean")
SOLVED = 0.7  # adjusted Rand index of k-means at the true K with the nearest true mean, the median
GROUPS = {
    "paper": "The paper's six data sets, K from 2 to 6",
    "wide": "Round clusters: as published, and at any n from 100 to 10,000",
    "shape": "Well separated clusters of other shapes",
    "uneven": "Unequal spreads and sizes, outliers, tails, few rows, many columns",
    "none": "No clusters, any n from 50 to 10,000, 2 to 10 columns",
}


def run_draw(number: int, seed: int, *, baselines: bool) -> dict[str, object]:
    """What is chosen for one draw of one row."""
    row = FAMILY[number]
    X, labels = row.table(seed)
    k_values = range(2, row.k_max + 1)
    true_k = int(labels.max()) + 1
    started = time.process_time()
    selector = KSelector(k_range=k_values, refit=False, random_state=seed).fit(X)
    seconds = time.process_time() - started
    verdict = selector.verdict_
    chosen = {"auto (default)": selector.best_k_}
    chosen |= {name: selector.best_k_by_[name] for name in OURS[1:]}
    if baselines and true_k > 1:
        for choice in compare_baselines(
            X, k_values, n_references=10, n_splits=10, random_state=seed
        ):
            chosen[choice.name] = choice.best_k
    solved = 1.0
    if true_k > 1 and true_k in selector.grid_.k_values:
        partition = selector.grid_.references[selector.grid_.k_values.index(true_k)]
        if len(partition.labels) == len(labels):
            inside = labels >= 0
            nearest = nearest_mean(X[inside], labels[inside])
            solved = float(adjusted_rand_score(nearest, partition.labels[inside]))
    return {
        "row": row.name,
        "seed": seed,
        "n": len(X),
        "true_k": true_k,
        "chosen": chosen,
        "none": not verdict.has_clusters,
        "p": verdict.tendency,
        "relative_doubt": max((test.relative_doubt for test in verdict.pairs), default=None),
        "ari": solved,
        "seconds": seconds,
    }


def nearest_mean(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cluster whose true mean is nearest to each row."""
    means = np.array([X[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    return ((X[:, None, :] - means[None]) ** 2).sum(axis=2).argmin(axis=1)


def is_right(draw: dict, method: str) -> bool:
    """Whether a method is right on a draw; without clusters, whether the verdict says so."""
    if draw["true_k"] == 1 and method == OURS[0]:
        return draw["none"] or draw["chosen"][method] == 1
    return draw["chosen"][method] == draw["true_k"]


def rate(draws: list[dict], method: str) -> float:
    return float(np.mean([is_right(draw, method) for draw in draws]))


def best_baseline(draws: list[dict]) -> tuple[str, float, float, float] | None:
    """The best baseline on a row: name, its rate, ours less its, and the paired error of that."""
    draws = [draw for draw in draws if len(draw["chosen"]) > len(OURS)]
    names = [name for name in (draws[0]["chosen"] if draws else ()) if name not in OURS]
    names = [name for name in names if all(name in draw["chosen"] for draw in draws)]
    if not names:
        return None
    name = max(names, key=lambda one: rate(draws, one))
    each = np.array(
        [float(is_right(draw, OURS[0])) - float(is_right(draw, name)) for draw in draws]
    )
    return name, rate(draws, name), float(each.mean()), float(each.std() / np.sqrt(len(each)))


def row_line(row: Row, draws: list[dict]) -> str:
    n, ours = len(draws), rate(draws, OURS[0])
    error = np.sqrt(ours * (1 - ours) / n)
    cells = [row.name, str(n), f"{ours:.2f} ± {error:.2f}"]
    if row.group == "none":
        ones = np.mean([draw["chosen"][OURS[0]] == 1 for draw in draws])
        cells += [f"{ones:.2f}"]
        return "| " + " | ".join(cells) + " |"
    best = best_baseline(draws)
    cells += [f"{rate(draws, name):.2f}" for name in OURS[1:]]
    cells += (
        ["-", "-"]
        if best is None
        else [f"{best[1]:.2f} ({best[0]})", f"{best[2]:+.2f} ± {best[3]:.2f}"]
    )
    cells += [f"{np.mean([draw['none'] for draw in draws]):.2f}"]
    cells += [f"{np.median([draw['ari'] for draw in draws]):.2f}"]
    return "| " + " | ".join(cells) + " |"


def print_table(results: list[dict]) -> None:
    """One table per group, and what they come to."""
    by_row: dict[str, list[dict]] = {}
    for draw in results:
        by_row.setdefault(draw["row"], []).append(draw)
    for group, title in GROUPS.items():
        rows = [row for row in FAMILY if row.group == group and row.name in by_row]
        if not rows:
            continue
        print(f"### {title}\n")
        if group == "none":
            print('| table | draws | "no clusters" | of these K = 1 |\n|---|---|---|---|')
        else:
            print(
                "| table | draws | default | pairwise | mean | best baseline | default less it | "
                '"no clusters" | ARI at the true K |\n|---|---|---|---|---|---|---|---|---|'
            )
        for row in rows:
            print(row_line(row, by_row[row.name]))
        rates = [rate(by_row[row.name], OURS[0]) for row in rows]
        print(f"\nMean over these rows: {np.mean(rates):.3f}.\n")
    print_means(by_row)


def print_means(by_row: dict[str, list[dict]]) -> None:
    """Means over the rows with clusters, for every method, where k-means solves the true K."""
    solved = {
        row.name: by_row[row.name]
        for row in FAMILY
        if row.group != "none"
        and row.name in by_row
        and np.median([draw["ari"] for draw in by_row[row.name]]) >= SOLVED
    }
    left_out = [
        row.name
        for row in FAMILY
        if row.group != "none" and row.name in by_row and row.name not in solved
    ]
    paired = {
        name: [draw for draw in draws if len(draw["chosen"]) > len(OURS)] or draws
        for name, draws in solved.items()
    }
    names = list(
        dict.fromkeys(chain.from_iterable(d["chosen"] for v in paired.values() for d in v))
    )
    print("### All rows with clusters\n")
    print("| method | rows | mean over them | default on them |\n|---|---|---|---|")
    lines = []
    for name in names:
        asked = [
            draws for draws in paired.values() if all(name in draw["chosen"] for draw in draws)
        ]
        means = [np.mean([rate(draws, one) for draws in asked]) for one in (name, OURS[0])]
        lines.append((means[0], name, len(asked), means[1]))
    for mean, name, n_rows, default in sorted(lines, reverse=True):
        print(f"| {name} | {n_rows} | {mean:.3f} | {default:.3f} |")
    everywhere = np.mean([rate(draws, OURS[0]) for draws in solved.values()])
    print(
        f"\nOn the draws that baselines were given, where they were; on all draws the mean of the "
        f"default is {everywhere:.3f}. Left out, since k-means at "
        f"the true K and the nearest true mean have an adjusted Rand index below {SOLVED}: "
        f"{', '.join(left_out) or 'none'}."
    )


def choose_rows(only: str) -> list[Row]:
    """Rows of this name or group, or else those that have it in their names."""
    exactly = [row for row in FAMILY if only in (row.name, row.group)]
    return exactly or [row for row in FAMILY if only in row.name]


def read_draws(files: list[str]) -> list[dict]:
    """All draws of the files; one that is in several counts once, with all that was asked of it."""
    draws: dict[tuple[str, int], dict] = {}
    for name in files:
        with open(name) as file:
            for draw in json.load(file):
                key = draw["row"], draw["seed"]
                if len(draw["chosen"]) >= len(draws.get(key, draw)["chosen"]):
                    draws[key] = draw
    return list(draws.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:3", help="first:end")
    parser.add_argument(
        "--more", type=int, default=1, help="times as many draws of rows with a limit"
    )
    parser.add_argument(
        "--only", default="", help="only this row or group, or rows with this in them"
    )
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--baselines", type=int, default=10**9, help="only for so many draws a row")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write every draw to this file")
    parser.add_argument("--table", nargs="+", help="only print the tables of these files")
    arguments = parser.parse_args()
    if arguments.table:
        print_table(read_draws(arguments.table))
        return
    results: list[dict] = []
    first, end = (int(part) for part in arguments.seeds.split(":"))
    chosen = choose_rows(arguments.only)
    tasks = [
        (number, seed, not arguments.no_baselines and seed - first < arguments.baselines)
        for seed in range(first, first + (end - first) * arguments.more)
        for number, row in enumerate(FAMILY)
        if row in chosen and (seed < end or row.limit is not None)
    ]
    started = time.perf_counter()
    jobs = (delayed(run_draw)(number, seed, baselines=asked) for number, seed, asked in tasks)
    for result in Parallel(arguments.jobs, return_as="generator_unordered", batch_size=1)(jobs):
        results.append(result)
        if len(results) % max(1, len(tasks) // 50) == 0:
            seconds = time.perf_counter() - started
            print(f"{len(results)} of {len(tasks)} draws, {seconds:.0f} s", file=sys.stderr)
            if arguments.json:
                with open(arguments.json, "w") as file:
                    json.dump(results, file)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file)
    print_table(results)


if __name__ == "__main__":
    main()
