"""Does the engine's haste change what is measured? Its entropies against starts that all run out.

Clusters overlap here, so that replicas have partitions to disagree about. scikit-learn clusters
the very replicas that the engine drew, from the reference centres and from five k-means++
seedings, each on all points until nothing moves; the lowest inertia wins, and votes are counted in
NumPy. Both see the same draws, so most of their noise cancels out of the difference of the mean
entropies. Next to it: the Monte-Carlo error of the mean entropy of one fit with 200 replicas.

Tables are numbered, and those below 1,000 were looked at when it was decided which runs are given
up.

    python benchmarks/same_measure.py [--tables 24] [--first 1000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from bbclust import BBC
from bbclust._native import engine
from bbclust.ensemble.job import Job
from bbclust.stages.alignment import overlap_matrix
from bbclust.stages.bootstrap import draw_replica
from bbclust.stages.entropies import entropy


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


def exhaustive_votes(job: Job, n_replicas: int) -> np.ndarray:
    n_clusters = len(job.reference.centers)
    centers = job.reference.centers - job.table.center
    votes = np.zeros((job.table.n, n_clusters))
    for b in range(n_replicas):
        replica = draw_replica(job.table, job.prior, job.plan.resampling, job.plan.seed, b)
        best = min(
            (
                KMeans(
                    n_clusters, init=init, n_init=n_init, tol=0.0, max_iter=1000, random_state=b
                ).fit(replica.points, sample_weight=replica.weights)
                for init, n_init in ((centers, 1), ("k-means++", job.plan.clusterer.n_init))
            ),
            key=lambda model: model.inertia_,
        )
        drawn = (replica.rows >= 0) & (replica.weights > 0)
        rows, labels = replica.rows[drawn], best.labels_[drawn]
        overlap = overlap_matrix(labels, job.reference.labels[rows], n_clusters)
        _, to_reference = linear_sum_assignment(overlap, maximize=True)
        votes[rows, to_reference[labels]] += 1
    return votes


def mean_entropy(votes: np.ndarray) -> float:
    voted = votes[votes.sum(axis=1) > 0]
    return float(entropy(voted / voted.sum(axis=1, keepdims=True)).mean())


def compare(case: Case, numbers: range) -> dict[str, Any]:
    """Mean entropy by the engine and with all starts run out, on each of several tables."""
    found: dict[str, list[float]] = {"bbclust": [], "exhaustive": [], "monte carlo error": []}
    for number in numbers:
        model = BBC(
            case.n_clusters,
            n_replicas=case.n_replicas,
            prior_scale=case.prior_scale,
            prior_weight=case.prior_weight,
            votes="drawn",
            random_state=number,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few replicas
            model.fit(case.data(number), sample_weight=case.weights(number))
        found["bbclust"].append(mean_entropy(model._state.record.replicas.votes))
        found["exhaustive"].append(
            mean_entropy(exhaustive_votes(model._state.record.job, case.n_replicas))
        )
        error = model.mean_entropy_se_ * np.sqrt(case.n_replicas / 200)
        found["monte carlo error"].append(float(error))
    return {
        "case": f"{case.n}x{case.d}",
        "settings": case.settings,
        "n_true": case.n_true,
        "n_clusters": case.n_clusters,
        "n_replicas": case.n_replicas,
        "mean_entropy": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--first", type=int, default=1000, help="number of the first table")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    found = []
    for case in CASES:
        one = compare(case, range(arguments.first, arguments.first + arguments.tables))
        ours, exhaustive, _ = (np.array(v) for v in one["mean_entropy"].values())
        error = (ours - exhaustive).std(ddof=1) / np.sqrt(len(ours))
        print(
            f"{one['case']:>9} K={one['n_clusters']} {one['settings']} "
            f"{exhaustive.mean():.4f} bits exhaustively, "
            f"{(ours - exhaustive).mean():+.4f} with the engine (standard error {error:.4f})",
            flush=True,
        )
        found.append(one)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"instruction set": engine.ISA, "found": found}, file, indent=1)


if __name__ == "__main__":
    main()
