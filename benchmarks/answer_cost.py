"""What the full answer costs, in processor time on one thread, side by side in one run.

The full answer is ``KSelector(n_resamples=10).fit``: the grid, comparisons with clouds, tests,
half-samples and the model. Beside it are the plain grid alone (every K and s, 200 replicas) and a
silhouette sweep (``KMeans(n_init=10)`` and silhouette for K from 2 to 10), on Iris, on 20,000 rows
of 10 columns and on tables of random shape. Interleaved, best of several rounds.

    python benchmarks/answer_cost.py [--rounds 3] [--tables 4] [--skip-large-silhouette]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris
from bbclust.selection.grid import GridJob, GridSettings, GridUnderWay
from bbclust.selection.k_selector import MAX_SAMPLE, default_n_draws
from bbclust.stages.table import make_table

K_VALUES = tuple(range(2, 11))
SCALES = (1.0, 1.5, 2.5)


def full_answer(X: np.ndarray) -> None:
    KSelector(n_resamples=10, random_state=0).fit(X)


def plain_grid(X: np.ndarray) -> None:
    table = make_table(np.ascontiguousarray(X[:MAX_SAMPLE]))
    settings = GridSettings(BBC(n_init=2)._settings(), 200, default_n_draws(table.n))
    GridUnderWay(GridJob(table, K_VALUES, SCALES, settings, 0)).run()


def silhouette_sweep(X: np.ndarray) -> None:
    for k in K_VALUES:
        silhouette_score(X, KMeans(k, n_init=10, random_state=0).fit_predict(X))


def processor_time(work: Callable[[np.ndarray], None], X: np.ndarray) -> float:
    start = time.process_time()
    work(X)
    return time.process_time() - start


def blobs(seed: int, n: int, d: int, k: int, separation: float) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centers = separation * generator.normal(size=(k, d))
    return centers[generator.integers(k, size=n)] + generator.normal(size=(n, d))


def tables(count: int) -> dict[str, np.ndarray]:
    found = {"Iris": load_iris().data, "20,000 x 10, K = 6": blobs(0, 20_000, 10, 6, 3.0)}
    for seed in range(count):
        generator = np.random.default_rng(seed)
        n = int(np.exp(generator.uniform(np.log(100), np.log(8000))))
        d, k = int(generator.integers(2, 20)), int(generator.integers(1, 9))
        name = f"{n:,} x {d}, K = {k}"
        found[name] = blobs(seed, n, d, k, generator.uniform(0.7, 4))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--skip-large-silhouette", action="store_true")
    arguments = parser.parse_args()
    print(
        "| table | full answer, s | plain grid | full / grid | silhouettes | full / silhouettes |"
    )
    print("|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for name, X in tables(arguments.tables).items():
            large = len(X) > 10_000
            times: dict[Callable[[np.ndarray], None], list[float]] = {
                full_answer: [],
                plain_grid: [],
            }
            if not (large and arguments.skip_large_silhouette):
                times[silhouette_sweep] = []
            for turn in range(arguments.rounds):
                for work, seconds in times.items():
                    if turn == 0 or not (large and work is silhouette_sweep):
                        seconds.append(processor_time(work, X))
            best = {work: min(seconds) for work, seconds in times.items()}
            full, grid = best[full_answer], best[plain_grid]
            other = best.get(silhouette_sweep, float("nan"))
            print(
                f"| {name} | {full:.2f} | {grid:.2f} | {full / grid:.1f} | {other:.2f} | "
                f"{full / other:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
