"""The engine against scikit-learn on shapes that nobody chose, drawn at random from a seed.

Rows are log-uniform from 100 to 300,000, columns from 2 to 64, clusters from 2 to 50 and at most a
tenth of the rows, every other table with clusters that overlap. Each shape is clustered by the
engine and by a loop of ``KMeans(n_init=5)`` on the same weighted replicas, on one thread, in turns;
the best of several rounds counts. The engine's time includes drawing, aligning and voting.

    python benchmarks/random_shapes.py --seed 1 [--shapes 40] [--isas avx2 portable] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from against_peers import job_of, sklearn_loop

from bbclust._native import ISAS, engine, using_isa
from bbclust.ensemble.run import run_replicas
from bbclust.stages.bootstrap import draw_replica

SECONDS = 0.25  # about, of the engine per turn
LEAST_REPLICAS = 8  # of the engine per turn, so that memory new to the process counts as in a fit
MOST_REPLICAS = 200  # of a peer's turn: small tables need no more


@dataclass(frozen=True)
class Shape:
    n: int
    d: int
    n_clusters: int
    overlapping: bool
    seed: int

    @property
    def name(self) -> str:
        how = "overlapping" if self.overlapping else "separated"
        return f"{self.n:,} x {self.d}, K = {self.n_clusters}, {how}"

    def data(self, dtype: Any) -> np.ndarray:
        """Gaussian clusters; neighbours are some 2.5 standard deviations apart, or 8."""
        generator = np.random.default_rng(self.seed)
        centers = generator.normal(size=(self.n_clusters, self.d))
        apart = (2.5 if self.overlapping else 8.0) / nearest_distance(centers)
        labels = generator.integers(self.n_clusters, size=self.n)
        noise = generator.standard_normal((self.n, self.d), dtype=dtype)
        return (apart * centers[labels] + noise).astype(dtype)


def nearest_distance(centers: np.ndarray) -> float:
    """From a centre to its nearest other, the median."""
    squares = ((centers[:, None] - centers[None]) ** 2).sum(axis=2)
    return float(np.median(np.sqrt(np.sort(squares, axis=1)[:, 1])))


def draw_shapes(seed: int, count: int) -> Iterator[Shape]:
    generator = np.random.default_rng(seed)
    for number in range(count):
        n = round(float(np.exp(generator.uniform(np.log(100), np.log(300_000)))))
        d = int(generator.integers(2, 65))
        n_clusters = int(generator.integers(2, min(50, n // 10) + 1))
        yield Shape(n, d, n_clusters, number % 2 == 1, 1000 * seed + number)


def measure(shape: Shape, dtype: Any, isas: list[str], rounds: int, peers: bool) -> dict[str, Any]:
    X = shape.data(dtype)
    job = job_of(shape, X)

    def ours(isa: str, n_replicas: int) -> tuple[float, np.ndarray]:
        with using_isa(isa):
            start = time.perf_counter()
            done = run_replicas(job, range(n_replicas), n_jobs=1)
            return (time.perf_counter() - start) / n_replicas, done.inertia

    n_replicas = int(np.clip(SECONDS / ours(isas[0], 2)[0], LEAST_REPLICAS, 2000))
    n_theirs = min(n_replicas, MOST_REPLICAS, max(2, n_replicas // 10))
    replicas = [
        draw_replica(job.table, job.prior, job.plan.resampling, job.plan.seed, b)
        for b in range(n_theirs)
    ]
    seconds: dict[str, float] = {}
    inertia: dict[str, float] = {}
    for _ in range(rounds):
        for isa in isas:
            took, found = ours(isa, n_replicas)
            seconds[isa] = min(seconds.get(isa, np.inf), took)
            inertia[isa] = float(np.mean(found[:n_theirs]))
        if peers:
            start = time.perf_counter()
            theirs = sklearn_loop(replicas, shape.n_clusters, 1)
            took = (time.perf_counter() - start) / n_theirs
            seconds["sklearn"] = min(seconds.get("sklearn", np.inf), took)
            inertia["sklearn"] = float(np.mean(theirs))
    return {
        "shape": shape.name,
        "dtype": np.dtype(dtype).name,
        "n_replicas": n_replicas,
        "seconds": seconds,
        "inertia": inertia,
    }


def summary(found: list[dict[str, Any]], isa: str, dtype: str) -> str:
    ratios = [
        one["seconds"]["sklearn"] / one["seconds"][isa] for one in found if one["dtype"] == dtype
    ]
    mean = np.exp(np.mean(np.log(ratios)))
    return f"{isa} {dtype}: geometric mean {mean:.1f}, lowest {min(ratios):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shapes", type=int, default=40)
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    parser.add_argument("--isas", nargs="+", default=[engine.ISA], choices=ISAS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    found = []
    for shape in draw_shapes(arguments.seed, arguments.shapes):
        for dtype in arguments.dtypes:
            one = measure(
                shape,
                np.dtype(dtype).type,
                arguments.isas,
                arguments.rounds,
                not arguments.alone,
            )
            found.append(one)
            cells = [f"{one['shape']:44} {dtype}"]
            cells += [f"{isa} {1e3 * one['seconds'][isa]:.3f} ms" for isa in arguments.isas]
            if not arguments.alone:
                first = arguments.isas[0]
                ratio = one["seconds"]["sklearn"] / one["seconds"][first]
                worse = one["inertia"][first] / one["inertia"]["sklearn"]
                cells.append(f"{ratio:6.1f}x (inertia {worse:.5f})")
            print("  ".join(cells), flush=True)
    if not arguments.alone:
        for isa in arguments.isas:
            for dtype in arguments.dtypes:
                print(summary(found, isa, dtype))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"seed": arguments.seed, "found": found}, file, indent=1)


if __name__ == "__main__":
    main()
