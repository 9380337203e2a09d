"""Multiply-adds per second of the engine's passes, against a large matrix product in the same run.

Rows are 1,000,000 x 16 of float32, clusters 10. ``votes="all"`` and ``predict``: the centres of
200 replicas vote on every row. ``assignment``: iterations of Lloyd's algorithm from random centres,
with all that belongs to them. The matrix product is 4,096 x 4,096 on as many threads. All take
turns, best of several.

    python benchmarks/share_of_peak.py [--rows 1000000] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from bbclust import BBC
from bbclust._native import engine
from bbclust.stages.kmeans import lloyd
from bbclust.stages.voting import vote_by_centers

D, K, B = 16, 10, 200
SIDE = 4096
PRODUCT = "matrix product"


def blobs(rows: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(K, D)) * 4 / np.sqrt(D / 2)
    noise = generator.standard_normal((rows, D), dtype=np.float32)
    return (centers[generator.integers(K, size=rows)] + noise).astype(np.float32)


def measure(X: np.ndarray, threads: int, rounds: int) -> dict[str, float]:
    """Billions of multiply-adds a second."""
    n = len(X)
    square = np.random.default_rng(1).standard_normal((SIDE, SIDE), dtype=np.float32)
    ones = np.ones(n)
    random_centers = np.random.default_rng(2).normal(size=(K, D))
    model = BBC(K, n_replicas=B, n_draws=10_000, votes="all", n_jobs=threads, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:20_000])
    occupied = np.ones((B, K), dtype=np.bool_)

    def assign() -> float:
        return n * D * K * lloyd(X, ones, random_centers, max_iter=20).n_iter

    def vote() -> float:
        vote_by_centers(X, model.replica_centers_, occupied, n_jobs=threads)
        return n * D * K * B

    def predict() -> float:
        model.predict(X)
        return n * D * K * B

    def multiply() -> float:
        square @ square
        return SIDE**3

    works: dict[str, Callable[[], float]] = {
        PRODUCT: multiply,
        'votes="all"': vote,
        "predict": predict,
    }
    if threads == 1:
        works["assignment"] = assign
    rates = dict.fromkeys(works, 0.0)
    with threadpool_limits(threads):
        for _ in range(rounds):
            for name, work in works.items():
                start = time.perf_counter()
                amount = work()
                rates[name] = max(rates[name], amount / (time.perf_counter() - start) / 1e9)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    X = blobs(arguments.rows)
    found = []
    for threads in arguments.threads:
        rates = measure(X, threads, arguments.rounds)
        found.append({"threads": threads, "rates": rates})
        for name, rate in rates.items():
            print(f"{threads} {name:15} {rate:7.1f} {rate / rates[PRODUCT]:5.2f}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {"instruction set": engine.ISA, "rows": len(X), "found": found}, file, indent=1
            )


if __name__ == "__main__":
    main()
