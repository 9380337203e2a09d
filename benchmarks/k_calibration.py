"""Is KSelector as sure as it should be?

Two tables: how often the test of K = 1 calls clusters where there are none (the uniform square and
one Gaussian; 5% is the level), and how often K is right by bin of ``confidence_`` on the six data
sets of the paper.

    python benchmarks/k_calibration.py [--null-draws 200] [--confidence-draws 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset, make_uniform_square

FIRST_SEED = 10_000
LEVEL = 0.05
PAPER_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
K_RANGE = range(2, 7)


def selector(seed: int, **parameters: int) -> KSelector:
    return KSelector(
        BBC(n_replicas=100, n_init=3), k_range=K_RANGE, refit=False, random_state=seed, **parameters
    )


def uniform(seed: int) -> np.ndarray:
    return make_uniform_square(200, random_state=seed)


def gaussian(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(200, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])


def calls_clusters(draw: Callable[[int], np.ndarray], seed: int) -> bool:
    fitted = selector(seed, null_reference=19).fit(draw(seed))
    return fitted.cluster_tendency_ <= LEVEL


def confidence_and_truth(number: int, seed: int) -> tuple[float, bool]:
    data = make_paper_dataset(number, random_state=100_000 * number + seed).data
    fitted = selector(seed, n_resamples=20).fit(data)
    return fitted.confidence_[fitted.best_k_], fitted.best_k_ == PAPER_K[number]


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
    parser.add_argument("--null-draws", type=int, default=200)
    parser.add_argument("--confidence-draws", type=int, default=20, help="of each data set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.null_draws)
    figures: dict[str, object] = {}
    print("| no clusters | draws | called clusters at 5% |\n|---|---|---|")
    for name, draw in (("uniform square", uniform), ("one Gaussian", gaussian)):
        calls = run(name, [delayed(calls_clusters)(draw, s) for s in seeds], arguments.jobs)
        figures[name] = float(np.mean(calls))
        print(f"| {name} | {len(calls)} | {np.mean(calls):.3f} |", flush=True)
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.confidence_draws)
    jobs = [delayed(confidence_and_truth)(number, s) for s in seeds for number in PAPER_K]
    pairs = np.array(run("confidence", jobs, arguments.jobs))
    print("\n| confidence_ | draws | K is right |\n|---|---|---|")
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
