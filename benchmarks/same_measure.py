"""Does the engine's haste change what is measured? Its entropies against starts that all run out.

Clusters overlap here, so that replicas have partitions to disagree about. scikit-learn clusters
the very replicas that the engine drew, from the reference centres and from five k-means++
seedings, each on all points until nothing moves; the lowest inertia wins, and votes are counted in
NumPy. Both see the same draws, so most of their noise cancels out of the difference of the mean
entropies. Next to it: the Monte-Carlo error of the mean entropy of one fit with 200 replicas.

Then the same on shapes that nobody chose, drawn at random from a seed, most of them with many
clusters. There are so many replicas that the stages ``seed_centers`` and ``lloyd``, which know no
shortcut, take scikit-learn's place.

Tables are numbered, and those below 1,000 were looked at when it was decided which runs are given
up; so were the random shapes of seeds below 2,000. By those of seed 2001 it was then decided that
centres move once in an iteration.

    python benchmarks/same_measure.py [--tables 96] [--first 1000] [--seed 2002] [--shapes 100]
        [--processes 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from random_shapes import nearest_distance
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from bbclust import BBC
from bbclust._native import engine
from bbclust.ensemble.job import Job
from bbclust.stages.alignment import overlap_matrix
from bbclust.stages.bootstrap import Replica, draw_replica
from bbclust.stages.entropies import entropy
from bbclust.stages.kmeans import LloydRun, lloyd, seed_centers

TABLES_OF_SHAPE = 6


@dataclass(frozen=True)
class Case:
    """Rows, features, clusters in the data and asked for, replicas; s, omega, weights of rows."""

    n: int
    d: int
    n_true: int
    n_clusters: int
    n_replicas: int
    prior_scale: float = 1.0
    prior_weight: float = 0.5
    weighted: bool = False

    @property
    def settings(self) -> str:
        words = []
        if self.prior_scale != 1.0:
            words.append(f"s = {self.prior_scale:g}")
        if self.prior_weight != 0.5:
            words.append(f"omega = {self.prior_weight:g}")
        if self.weighted:
            words.append("weights")
        return ", ".join(words)

    def data(self, number: int) -> np.ndarray:
        generator = np.random.default_rng([self.n, self.d, number])
        centers = 3.0 / np.sqrt(self.d) * generator.normal(size=(self.n_true, self.d))
        labels = generator.integers(self.n_true, size=self.n)
        return centers[labels] + generator.normal(size=(self.n, self.d))

    def weights(self, number: int) -> np.ndarray | None:
        """Log-normal: the heaviest tenth has more than half of the weight."""
        if not self.weighted:
            return None
        return np.random.default_rng([self.n, number]).lognormal(sigma=1.5, size=self.n)


CASES = (
    Case(150, 2, 3, 3, 200),
    Case(600, 4, 4, 4, 100),
    Case(2_000, 8, 4, 4, 100),
    Case(2_000, 8, 4, 6, 100),
    Case(6_000, 3, 4, 4, 60),
    Case(20_000, 4, 4, 4, 40),
    Case(100_000, 3, 4, 4, 20),
    Case(2_000, 8, 4, 4, 100, prior_scale=10.0),
    Case(2_000, 8, 4, 4, 100, prior_weight=0.8),
    Case(2_000, 8, 4, 4, 100, weighted=True),
    Case(6_000, 6, 12, 12, 40),
)


@dataclass(frozen=True)
class Shape:
    """Rows, features, clusters in the data and asked for; neighbours in standard deviations."""

    n: int
    d: int
    n_true: int
    n_clusters: int
    apart: float
    seed: int

    def data(self, number: int) -> np.ndarray:
        generator = np.random.default_rng([self.seed, number])
        centers = generator.normal(size=(self.n_true, self.d))
        centers *= self.apart / nearest_distance(centers)
        labels = generator.integers(self.n_true, size=self.n)
        return centers[labels] + generator.normal(size=(self.n, self.d))


def draw_shapes(seed: int, count: int) -> Iterator[Shape]:
    generator = np.random.default_rng(seed)
    for number in range(count):
        n = round(float(np.exp(generator.uniform(np.log(1100), np.log(20_000)))))
        d = int(generator.integers(2, 31))
        n_true = int(generator.integers(4, 41))
        n_clusters = n_true + int(generator.integers(-2, 3))
        yield Shape(n, d, n_true, n_clusters, generator.uniform(2, 3.5), 1000 * seed + number)


ClusterAll = Callable[[Job, Replica, int], np.ndarray]


def by_scikit_learn(job: Job, replica: Replica, b: int) -> np.ndarray:
    """Labels of the best of all starts."""
    centers = job.reference.centers - job.table.center
    starts = ((centers, 1), ("k-means++", job.plan.clusterer.n_init))
    models = [
        KMeans(
            job.n_clusters, init=init, n_init=n_init, tol=0.0, max_iter=1000, random_state=b
        ).fit(replica.points, sample_weight=replica.weights)
        for init, n_init in starts
    ]
    return min(models, key=lambda model: model.inertia_).labels_


def by_stages(job: Job, replica: Replica, b: int) -> np.ndarray:
    """The same, out of the stages of which the engine's runs are made."""
    points, weights = replica.points, replica.weights

    def run(centers: np.ndarray) -> LloydRun:
        return lloyd(points, weights, centers, max_iter=1000)

    seedings = (
        seed_centers(points, weights, job.n_clusters, seed=job.plan.seed, start=start, replica=b)
        for start in range(1, job.plan.clusterer.n_init + 1)
    )
    runs = [run(job.reference.centers - job.table.center), *map(run, seedings)]
    return min(runs, key=lambda one: one.inertia).labels


def exhaustive_votes(job: Job, n_replicas: int, cluster: ClusterAll) -> np.ndarray:
    votes = np.zeros((job.table.n, job.n_clusters))
    for b in range(n_replicas):
        replica = draw_replica(job.table, job.prior, job.plan.resampling, job.plan.seed, b)
        drawn = (replica.rows >= 0) & (replica.weights > 0)
        rows, labels = replica.rows[drawn], cluster(job, replica, b)[drawn]
        overlap = overlap_matrix(labels, job.reference.labels[rows], job.n_clusters)
        _, to_reference = linear_sum_assignment(overlap, maximize=True)
        votes[rows, to_reference[labels]] += 1
    return votes


def mean_entropy(votes: np.ndarray) -> float:
    voted = votes[votes.sum(axis=1) > 0]
    return float(entropy(voted / voted.sum(axis=1, keepdims=True)).mean())


def fit(model: BBC, X: np.ndarray, weights: np.ndarray | None = None) -> BBC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few replicas
        return model.fit(X, sample_weight=weights)


def both_entropies(model: BBC, cluster: ClusterAll) -> tuple[float, float]:
    """The mean entropy by the engine and with all starts run out."""
    record = model._state.record
    votes = exhaustive_votes(record.job, model.n_replicas_, cluster)
    return mean_entropy(record.replicas.votes), mean_entropy(votes)


def compare_on_table(case: Case, number: int) -> tuple[float, float, float]:
    """Mean entropy by the engine and with all starts run out; the error of a fit."""
    model = BBC(
        case.n_clusters,
        n_replicas=case.n_replicas,
        prior_scale=case.prior_scale,
        prior_weight=case.prior_weight,
        votes="drawn",
        random_state=number,
    )
    fit(model, case.data(number), case.weights(number))
    ours, exhaustive = both_entropies(model, by_scikit_learn)
    return ours, exhaustive, float(model.mean_entropy_se_ * np.sqrt(case.n_replicas / 200))


def compare(case: Case, numbers: range, workers: Parallel) -> dict[str, Any]:
    """The same on each of several tables."""
    several = workers(delayed(compare_on_table)(case, number) for number in numbers)
    names = ("bbclust", "exhaustive", "monte carlo error")
    found = dict(zip(names, map(list, zip(*several, strict=True)), strict=True))
    return {
        "case": f"{case.n}x{case.d}",
        "settings": case.settings,
        "n_true": case.n_true,
        "n_clusters": case.n_clusters,
        "n_replicas": case.n_replicas,
        "mean_entropy": found,
    }


def compare_on_shape(shape: Shape) -> tuple[float, float]:
    """Mean entropies over several tables."""
    several = [
        both_entropies(
            fit(
                BBC(shape.n_clusters, n_replicas=20, votes="drawn", random_state=number),
                shape.data(number),
            ),
            by_stages,
        )
        for number in range(TABLES_OF_SHAPE)
    ]
    ours, exhaustive = np.mean(several, axis=0)
    return float(ours), float(exhaustive)


def compare_shapes(seed: int, count: int, workers: Parallel) -> dict[str, Any]:
    """The same on random shapes."""
    several = workers(delayed(compare_on_shape)(shape) for shape in draw_shapes(seed, count))
    ours, exhaustive = map(list, zip(*several, strict=True))
    found = {"bbclust": ours, "exhaustive": exhaustive}
    return {"seed": seed, "tables_of_shape": TABLES_OF_SHAPE, "mean_entropy": found}


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=96)
    parser.add_argument("--first", type=int, default=1000, help="number of the first table")
    parser.add_argument("--seed", type=int, default=2002, help="of the random shapes")
    parser.add_argument("--shapes", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.tables)
    workers = Parallel(n_jobs=arguments.processes)
    found = []
    for case in CASES:
        one = compare(case, numbers, workers)
        ours, exhaustive, _ = (np.array(v) for v in one["mean_entropy"].values())
        difference, error = mean_and_error(ours - exhaustive)
        print(
            f"{one['case']:>9} K={one['n_clusters']} {one['settings']} "
            f"{exhaustive.mean():.4f} bits exhaustively, "
            f"{difference:+.4f} with the engine (standard error {error:.4f})",
            flush=True,
        )
        found.append(one)
    drawn = compare_shapes(arguments.seed, arguments.shapes, workers)
    ours, exhaustive = (np.array(v) for v in drawn["mean_entropy"].values())
    difference, error = mean_and_error((ours - exhaustive) / exhaustive)
    print(f"{arguments.shapes} random shapes: {difference:+.2%} (standard error {error:.2%})")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {"instruction set": engine.ISA, "found": found, "drawn": drawn}, file, indent=1
            )


if __name__ == "__main__":
    main()
