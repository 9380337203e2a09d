"""The engine against its peers, all doing the same job in one run.

Every method clusters the same weighted replicas with five k-means++ starts; the engine has one more
start, from the reference centres, and its time also includes drawing the replicas, aligning and
voting. Methods take turns, and the best of several rounds counts. ``inertia`` is the mean inertia
relative to scikit-learn's: a method may take short cuts, but not to worse clusters.

Peers: a loop over scikit-learn's KMeans; the same with joblib on two processes (two threads only);
faiss's k-means with weights, without subsampling (float32 only). pyckmeans does a job of its own,
consensus k-means, which holds a table of n x n: its ``fit`` and ``predict`` stand against
``BBC.fit`` with as many replicas (small float64 cases, one thread).

One thread against two is measured without peers, on more replicas than there is time for with them.

    python benchmarks/against_peers.py [--cases 150x4 ...] [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bbclust import BBC
from bbclust._native import engine
from bbclust.datasets import load_iris
from bbclust.ensemble.job import Job
from bbclust.ensemble.run import run_replicas
from bbclust.stages.bootstrap import Replica, draw_replica

N_INIT = 5
CONSENSUS_REPLICAS = 100
THREADS_SECONDS = 1.0  # about, per turn of one thread


@dataclass(frozen=True)
class Case:
    """n rows, d features, K clusters; how many replicas are timed."""

    n: int
    d: int
    n_clusters: int
    n_replicas: int

    @property
    def name(self) -> str:
        return f"{self.n}x{self.d}"

    def data(self, dtype: Any) -> np.ndarray:
        """Iris, or Gaussian clusters that overlap a little."""
        if self.n == 150:
            return load_iris().data.astype(dtype)
        generator = np.random.default_rng(0)
        centers = generator.normal(size=(self.n_clusters, self.d)) * 4 / np.sqrt(self.d / 2)
        labels = generator.integers(self.n_clusters, size=self.n)
        noise = generator.standard_normal((self.n, self.d), dtype=dtype)
        return (centers[labels] + noise).astype(dtype)


CASES = (
    Case(150, 4, 3, 1000),
    Case(2_000, 8, 6, 100),
    Case(20_000, 16, 10, 16),
    Case(200_000, 16, 10, 4),
    Case(50_000, 64, 20, 4),
    Case(1_000_000, 8, 5, 4),
)


def job_of(case: Case, X: np.ndarray) -> Job:
    """What the replicas of a fit are made from; two are enough to learn it."""
    model = BBC(case.n_clusters, n_replicas=2, n_init=N_INIT, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few replicas
        model.fit(X)
    return model._state.record.job


def sklearn_one(replica: Replica, n_clusters: int, b: int) -> float:
    model = KMeans(n_clusters, n_init=N_INIT, random_state=b)
    return float(model.fit(replica.points, sample_weight=replica.weights).inertia_)


def sklearn_loop(replicas: list[Replica], n_clusters: int, n_threads: int) -> list[float]:
    """What people would write."""
    with threadpool_limits(n_threads):
        return [sklearn_one(replica, n_clusters, b) for b, replica in enumerate(replicas)]


def sklearn_joblib(replicas: list[Replica], n_clusters: int, n_threads: int) -> list[float]:
    """The same on several processes."""
    return Parallel(n_jobs=n_threads)(
        delayed(sklearn_one)(replica, n_clusters, b) for b, replica in enumerate(replicas)
    )


def faiss_loop(replicas: list[Replica], n_clusters: int, n_threads: int) -> list[float]:
    """faiss stops after its 25 iterations; the final inertia is computed like everybody's."""
    faiss.omp_set_num_threads(n_threads)
    found = []
    for b, replica in enumerate(replicas):
        points = np.ascontiguousarray(replica.points, dtype=np.float32)
        model = faiss.Kmeans(
            points.shape[1],
            n_clusters,
            nredo=N_INIT,
            seed=b + 1,
            max_points_per_centroid=len(points),
            min_points_per_centroid=1,
        )
        model.train(points, weights=replica.weights.astype(np.float32))
        distances, _ = model.index.search(points, 1)
        found.append(float((distances[:, 0] * replica.weights).sum()))
    return found


def consensus(X: np.ndarray, n_clusters: int) -> None:
    """Consensus k-means: subsamples of rows and features, and how often two rows are together."""
    from pyckmeans import CKmeans

    model = CKmeans(n_clusters, n_rep=CONSENSUS_REPLICAS, metrics=())
    model.fit(X)
    model.predict(X)


def measure_consensus(case: Case, rounds: int) -> dict[str, Any]:
    """pyckmeans and BBC, each from the table to the labels."""
    X = case.data(np.float64)
    model = BBC(case.n_clusters, n_replicas=CONSENSUS_REPLICAS, n_init=N_INIT, random_state=0)
    seconds = {"bbclust": np.inf, "pyckmeans": np.inf}
    with threadpool_limits(1):
        for _ in range(rounds):
            for name, work in (
                ("bbclust", lambda: model.fit(X)),
                ("pyckmeans", lambda: consensus(X, case.n_clusters)),
            ):
                start = time.perf_counter()
                work()
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return {"case": case.name, "n_replicas": CONSENSUS_REPLICAS, "seconds": seconds}


def measure(case: Case, dtype: Any, n_threads: int, rounds: int, peers: bool) -> dict[str, Any]:
    X = case.data(dtype)
    job = job_of(case, X)
    everything = range(case.n_replicas)
    replicas = [
        draw_replica(job.table, job.prior, job.plan.resampling, job.plan.seed, b)
        for b in everything
    ]

    def ours() -> list[float]:
        return run_replicas(job, everything, n_jobs=n_threads).inertia.tolist()

    methods: dict[str, Callable[[], list[float]]] = {"bbclust": ours}
    if peers:
        methods["sklearn"] = lambda: sklearn_loop(replicas, case.n_clusters, n_threads)
        if n_threads > 1:
            methods["joblib"] = lambda: sklearn_joblib(replicas, case.n_clusters, n_threads)
        if dtype == np.float32:
            methods["faiss"] = lambda: faiss_loop(replicas, case.n_clusters, n_threads)
    seconds: dict[str, float] = {}
    inertia: dict[str, float] = {}
    for _ in range(rounds):
        for name, method in methods.items():
            for _ in range(3 if name == "bbclust" else 1):
                start = time.perf_counter()
                found = method()
                took = time.perf_counter() - start
                seconds[name] = min(seconds.get(name, np.inf), took)
            inertia[name] = float(np.mean(found))
    return {
        "case": case.name,
        "n_clusters": case.n_clusters,
        "n_replicas": case.n_replicas,
        "dtype": np.dtype(dtype).name,
        "threads": n_threads,
        "seconds": seconds,
        "inertia": inertia,
    }


def measure_threads(case: Case, dtype: Any, rounds: int) -> dict[str, Any]:
    """The engine alone on one thread and on two, in turns."""
    job = job_of(case, case.data(dtype))

    def work(n_replicas: int, n_threads: int) -> float:
        start = time.perf_counter()
        run_replicas(job, range(n_replicas), n_jobs=n_threads)
        return time.perf_counter() - start

    per_replica = work(case.n_replicas, 1) / case.n_replicas
    n_replicas = 2 * max(2 * case.n_replicas, round(THREADS_SECONDS / per_replica / 2))
    seconds = {1: np.inf, 2: np.inf}
    for _ in range(4 * rounds):  # other guests of the machine take one of two cores at times
        for n_threads in seconds:
            seconds[n_threads] = min(seconds[n_threads], work(n_replicas, n_threads))
    return {
        "case": case.name,
        "dtype": np.dtype(dtype).name,
        "n_replicas": n_replicas,
        "seconds": {str(n_threads): took for n_threads, took in seconds.items()},
    }


def line(found: dict[str, Any]) -> str:
    seconds, inertia = found["seconds"], found["inertia"]
    per_replica = 1e3 * seconds["bbclust"] / found["n_replicas"]
    cells = [f"{found['case']:>10} {found['dtype']:8} {found['threads']} {per_replica:9.3f} ms"]
    for name in seconds:
        if name != "bbclust":
            cells.append(
                f"{name} {seconds[name] / seconds['bbclust']:7.1f}x "
                f"(inertia {inertia['bbclust'] / inertia[name]:.5f})"
            )
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="+", default=names, choices=names)
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    found = []
    print("instruction set", engine.ISA)
    for case in CASES:
        if case.name not in arguments.cases:
            continue
        for dtype in arguments.dtypes:
            for n_threads in arguments.threads:
                one = measure(
                    case, np.dtype(dtype).type, n_threads, arguments.rounds, not arguments.alone
                )
                found.append(one)
                print(line(one), flush=True)
    threads_found = []
    for case in CASES:
        if case.name in arguments.cases:
            for dtype in arguments.dtypes:
                one = measure_threads(case, np.dtype(dtype).type, arguments.rounds)
                threads_found.append(one)
                gain = one["seconds"]["1"] / one["seconds"]["2"]
                print(f"{case.name:>10} {one['dtype']:8} two threads {gain:.2f}x", flush=True)
    consensus_found = []
    for case in CASES[:2]:
        if case.name in arguments.cases and not arguments.alone:
            one = measure_consensus(case, arguments.rounds)
            consensus_found.append(one)
            seconds = one["seconds"]
            print(f"{case.name:>10} pyckmeans {seconds['pyckmeans'] / seconds['bbclust']:7.1f}x")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {
                    "instruction set": engine.ISA,
                    "found": found,
                    "threads": threads_found,
                    "consensus": consensus_found,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
