"""Is KSelector as sure as it should be? How often K is right, by bin of ``confidence_``.

On the six data sets of the paper, with ten half-samples, as the command has it. How often the test
of "no clusters" is wrong is in ``k_recovery.py``.

    python benchmarks/k_calibration.py [--draws 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np
from joblib import Parallel, delayed

from bbclust import KSelector
from bbclust.datasets import make_paper_dataset

FIRST_SEED = 10_000
PAPER_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
K_RANGE = range(2, 7)


def confidence_and_truth(number: int, seed: int) -> tuple[float, bool]:
    data = make_paper_dataset(number, random_state=100_000 * number + seed).data
    fitted = KSelector(k_range=K_RANGE, n_resamples=10, refit=False, random_state=seed).fit(data)
    sure = 0.0 if fitted.confidence_ is None else fitted.confidence_[fitted.best_k_]
    return sure, fitted.best_k_ == PAPER_K[number]


def run(title: str, jobs: list, n_jobs: int) -> list:
    results, start = [], time.perf_counter()
    for result in Parallel(n_jobs, return_as="generator")(jobs):
        results.append(result)
        if len(results) % max(1, len(jobs) // 10) == 0:
            seconds = time.perf_counter() - start
            print(f"{title}: {len(results)} of {len(jobs)}, {seconds:.0f} s", file=sys.stderr)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20, help="of each data set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    figures: dict[str, object] = {}
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.draws)
    jobs = [delayed(confidence_and_truth)(number, s) for s in seeds for number in PAPER_K]
    pairs = np.array(run("confidence", jobs, arguments.jobs))
    print("| confidence_ | draws | K is right |\n|---|---|---|")
    rows = []
    for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        mine = (pairs[:, 0] >= low) & (pairs[:, 0] < high)
        right = float(pairs[mine, 1].mean()) if mine.any() else float("nan")
        rows.append({"from": low, "to": min(high, 1), "draws": int(mine.sum()), "right": right})
        print(f"| {low:g} to {min(high, 1):g} | {mine.sum()} | {right:.2f} |")
    figures["confidence"] = rows
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
