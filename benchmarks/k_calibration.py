"""What is ``confidence_`` a confidence in? How often K is right, by the share of half-samples.

Over fresh draws of the rows of ``k_families.py`` that have clusters and, as drawn, at most 330
rows and ten K's to choose from, and of one large cluster beside two small ones, 440 rows; with ten
half-samples, as the command has it. How often the test of "no clusters" is wrong is in
``k_recovery.py``.

    python benchmarks/k_calibration.py [--draws 8] --json benchmarks/results/k_calibration.json
    python benchmarks/k_calibration.py --table benchmarks/results/k_calibration.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from k_families import FAMILY, Row, gaussians

from bbclust import KSelector

FIRST_SEED = 60_000
MOST_ROWS, MOST_K = 330, 10
SMALL_CLUSTERS = gaussians("sizes 20 : 1 : 1", shares=(20, 1, 1), least=440, most=440, limit=None)
ROWS = [
    row
    for row in FAMILY
    if row.group != "none" and row.k_max <= MOST_K and not row.name.endswith("any n")
]
GROUPS = {
    "paper": "the paper's data sets",
    "wide": "round clusters",
    "shape": "other shapes",
    "uneven": "unequal spreads and sizes, outliers, tails, few rows, many columns",
}
BINS = ((0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


def run_draw(row: Row, seed: int) -> dict[str, object] | None:
    """How sure one draw is of its K, and whether that is right; None if it has too many rows."""
    X, labels = row.table(seed)
    if len(X) > MOST_ROWS and row.name != SMALL_CLUSTERS.name:
        return None
    selector = KSelector(
        k_range=range(2, row.k_max + 1), n_resamples=10, refit=False, random_state=seed
    ).fit(X)
    sure = 0.0 if selector.confidence_ is None else selector.confidence_[selector.best_k_]
    return {
        "row": row.name,
        "group": row.group,
        "seed": seed,
        "sure": round(float(sure), 2),
        "right": bool(selector.best_k_ == int(labels.max()) + 1),
    }


def run(jobs: list, n_jobs: int, file: Path | None) -> list[dict]:
    """What every draw gives; the file has what there is at any time."""
    results: list[dict] = []
    start = time.perf_counter()
    for done, result in enumerate(Parallel(n_jobs, return_as="generator")(jobs), start=1):
        if result is not None:
            results.append(result)
            if file is not None:
                file.write_text("[\n" + ",\n".join(map(json.dumps, results)) + "\n]\n")
        if done % max(1, len(jobs) // 20) == 0:
            seconds = time.perf_counter() - start
            print(f"{done} of {len(jobs)}, {seconds:.0f} s", file=sys.stderr, flush=True)
    return results


def print_tables(results: list[dict]) -> None:
    sure = np.array([one["sure"] for one in results])
    right = np.array([one["right"] for one in results])
    print("| confidence_ | its mean | draws | K is right |\n|---|---|---|---|")
    for low, high in BINS:
        mine = (sure >= low) & (sure < high)
        cells = [f"{sure[mine].mean():.2f}", f"{mine.sum()}", f"{right[mine].mean():.2f}"]
        if not mine.any():
            cells = ["-", "0", "-"]
        print(f"| {low:g} to {min(high, 1):g} | " + " | ".join(cells) + " |")
    print(
        "\n| tables | draws | K is right | mean confidence_ | where K is right | where it is wrong "
        "|\n|---|---|---|---|---|---|"
    )
    groups = np.array([one["group"] for one in results])
    small = np.array([one["row"] == SMALL_CLUSTERS.name for one in results])
    lines = [(title, (groups == group) & ~small) for group, title in GROUPS.items()]
    for title, mine in [*lines, ("sizes 400 : 20 : 20", small), ("all", small | True)]:
        cells = [title, str(mine.sum()), mean_of(right[mine]), mean_of(sure[mine])]
        cells += [mean_of(sure[mine & right]), mean_of(sure[mine & ~right])]
        print("| " + " | ".join(cells) + " |")


def mean_of(values: np.ndarray) -> str:
    return f"{values.mean():.2f}" if len(values) else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8, help="of each row")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to write what was found")
    parser.add_argument("--table", type=Path, help="print the tables of such a file")
    arguments = parser.parse_args()
    if arguments.table is not None:
        print_tables(json.loads(arguments.table.read_text()))
        return
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.draws)
    jobs = []
    for seed in seeds:
        jobs += [delayed(run_draw)(row, seed) for row in ROWS]
        small = range(
            FIRST_SEED + 4 * (seed - FIRST_SEED), FIRST_SEED + 4 * (seed + 1 - FIRST_SEED)
        )
        jobs += [delayed(run_draw)(SMALL_CLUSTERS, other) for other in small]
    print_tables(run(jobs, arguments.jobs, arguments.json))


if __name__ == "__main__":
    main()
