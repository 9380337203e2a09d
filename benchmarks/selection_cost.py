"""What choosing K costs.

On Iris (K from 2 to 10, five s, the default 200 replicas), one ``KSelector.fit`` on one and two
threads against 40 fits of scikit-learn's ``KMeans(n_init=10)`` with K from 2 to 10 on one thread,
in turns, best of several. Then the cost on a million rows against a hundred thousand, without the
refit.

    python benchmarks/selection_cost.py [--rounds 5] [--rows 1000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bbclust import KSelector
from bbclust.datasets import load_iris

PAPER_SCALES = (1, 1.5, 3, 4.5, 6)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def forty_fits(X: np.ndarray) -> None:
    for fit in range(40):
        KMeans(2 + fit % 9, n_init=10, random_state=fit).fit(X)


def on_iris(rounds: int) -> None:
    X = load_iris().data
    selector = KSelector(prior_scales=PAPER_SCALES, random_state=0)
    peer: list[float] = []
    ours: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        with threadpool_limits(1):
            peer.append(timed(lambda: forty_fits(X)))
        for n_jobs, times in ours.items():
            times.append(timed(lambda n=n_jobs: selector.set_params(n_jobs=n).fit(X)))
    print(f"40 fits of KMeans          {1e3 * min(peer):8.0f} ms")
    for n_jobs, times in ours.items():
        print(
            f"KSelector, {n_jobs} thread(s)     {1e3 * min(times):8.0f} ms, "
            f"ratio {min(times) / min(peer):.2f}"
        )


def at_scale(rows: int) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 8)).astype(np.float32)
    X += 5 * generator.integers(0, 5, size=(rows, 1)).astype(np.float32)
    few = X[: rows // 10]
    selector = KSelector(refit=False, random_state=0)
    times = {len(data): min(timed(lambda d=data: selector.fit(d)) for _ in range(2))
             for data in (few, X)}  # fmt: skip
    for n, seconds in times.items():
        print(f"{n:10,} rows            {seconds:8.2f} s")
    print(f"ratio                      {times[len(X)] / times[len(few)]:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    on_iris(arguments.rounds)
    at_scale(arguments.rows)


if __name__ == "__main__":
    main()
