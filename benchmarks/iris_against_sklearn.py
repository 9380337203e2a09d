"""1,000 replicas of Iris: the engine against a loop over scikit-learn's KMeans.

Both cluster the same replicas with the same weights, five k-means++ starts each (the engine one
more, from the reference centres), on one thread, in turns, best of several. The engine's time also
includes drawing the replicas, aligning and voting; a second line gives the whole of ``BBC.fit``.

    python benchmarks/iris_against_sklearn.py [--rounds 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bbclust import BBC
from bbclust._native import engine
from bbclust.bootstrap import Replica, draw_replica
from bbclust.datasets import load_iris
from bbclust.ensemble import run_block

N_REPLICAS = 1000
N_CLUSTERS = 3
N_INIT = 5


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cluster_one_by_one(replicas: list[Replica]) -> list[float]:
    """What people would write."""
    return [
        KMeans(N_CLUSTERS, n_init=N_INIT, random_state=b)
        .fit(replica.points, sample_weight=replica.weights)
        .inertia_
        for b, replica in enumerate(replicas)
    ]


def measure(rounds: int) -> dict[str, float | str]:
    model = BBC(N_CLUSTERS, n_replicas=N_REPLICAS, n_init=N_INIT, random_state=0)
    X = load_iris().data
    model.fit(X)
    run = model._run
    everything = range(N_REPLICAS)
    replicas = [
        draw_replica(run.table, run.prior, run.plan.resampling, run.plan.seed, b)
        for b in everything
    ]
    peer, ours, fit = [], [], []
    for _ in range(rounds):
        peer.append(timed(lambda: cluster_one_by_one(replicas)))
        for _ in range(5):
            ours.append(
                timed(lambda: run_block(run.table, run.reference, run.prior, run.plan, everything))
            )
            fit.append(timed(lambda: model.fit(X)))
    return {
        "instruction set": engine.ISA,
        "scikit-learn loop (ms)": 1e3 * min(peer),
        "engine (ms)": 1e3 * min(ours),
        "BBC.fit (ms)": 1e3 * min(fit),
        "ratio, engine": min(peer) / min(ours),
        "ratio, BBC.fit": min(peer) / min(fit),
        "mean inertia, ours / peer": float(
            model._replicas.inertia.mean() / np.mean(cluster_one_by_one(replicas))
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        figures = measure(arguments.rounds)
    for name, value in figures.items():
        print(f"{name:28} {value if isinstance(value, str) else format(value, '.5g')}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
