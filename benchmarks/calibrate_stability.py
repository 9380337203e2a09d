r"""Do the Monte-Carlo errors of the stability of clusters hold?

Fits of the same table that differ in their random state, with B replicas each: how often is the
stability that many replicas give in the interval by B replicas? A table is three
Gaussian clusters of 50%, 30% and 20% of the rows that overlap, divided into 3, or into 4, of which
some are cuts. The reference partition, of which clusters are found again, is that of the limit:
k-means may find another one that is as good, or number two clusters of one size the other way
round, and then the limit is another, too.

    python benchmarks/calibrate_stability.py [--fits 200] | \
        python docs/fill_tables.py calibrate_stability
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np

from bbclust import BBC
from bbclust.diagnostics.cluster_stability import ClusterStability

FIRST_SEED = 50_000
N_ROWS = (60, 200, 600)
N_CLUSTERS = (3, 4)
N_REPLICAS = (50, 200)
# prior_weight, and whether the rows have weights
SETTINGS = ((0.1, False), (0.5, False), (0.5, True), (0.9, False))
N_LIMIT = 10_000  # replicas that stand for infinitely many
SIZES = (0.5, 0.3, 0.2)
CENTERS = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 3.0]])
NAMES = ("jaccard", "recovered")


def make_table(n: int) -> np.ndarray:
    generator = np.random.default_rng(n)
    groups = np.repeat(np.arange(3), np.rint(n * np.array(SIZES)).astype(int))
    return CENTERS[groups] + generator.normal(size=(n, 2))


def make_weights(n: int) -> np.ndarray:
    return np.random.default_rng(n + 1).uniform(0.2, 2.0, size=n)


class Calibration:
    """Stabilities of many fits beside their limit, of shape (fits, K)."""

    def __init__(self, limit: ClusterStability, fits: list[ClusterStability], name: str) -> None:
        values = np.array([getattr(one, name) for one in fits])
        intervals = [getattr(one, f"{name}_interval")() for one in fits]
        wanted = getattr(limit, name)
        self.held = np.array([(low <= wanted) & (wanted <= high) for low, high in intervals])
        self.errors = np.array([getattr(one, f"{name}_se") for one in fits])
        self.deviations = values - wanted

    def coverage(self) -> str:
        """Share of the fits whose interval holds the limit: mean over the clusters, and least."""
        by_cluster = self.held.mean(axis=0)
        return f"{by_cluster.mean():.1%} ({by_cluster.min():.1%})"

    def shift(self) -> str:
        """How far the mean is off, in standard errors: mean over the clusters."""
        return f"{(self.deviations.mean(axis=0) / self.errors.mean(axis=0)).mean():+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the errors of the stability hold?")
    parser.add_argument("--fits", type=int, default=200, help="of each setting")
    n_fits = parser.parse_args().fits
    warnings.simplefilter("ignore")  # few votes a row are part of the question
    print(
        f"{n_fits} fits of each setting, random states from {FIRST_SEED}; the limit is that of "
        f"{N_LIMIT:,} replicas. Coverage, of 95%: mean over the clusters and, in brackets, least. "
        "Shift: mean of `jaccard` minus its limit, in standard errors.\n"
    )
    columns = ["rows", "K", "omega", "weights", *(f"limit of `{name}`" for name in NAMES)]
    for b in N_REPLICAS:
        columns += [f"B = {b}: `jaccard`", "`recovered`", "shift"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for n, k, (omega, weighted) in product(N_ROWS, N_CLUSTERS, SETTINGS):
        print(f"| {' | '.join(make_row(n, k, omega, weighted, n_fits))} |", flush=True)


def make_row(n: int, n_clusters: int, omega: float, weighted: bool, n_fits: int) -> list[str]:
    X, weights = make_table(n), make_weights(n) if weighted else None

    def fit(n_replicas: int, seed: int, reference: np.ndarray | None = None) -> BBC:
        model = BBC(n_clusters, n_replicas=n_replicas, prior_weight=omega, random_state=seed)
        return model.fit(X, sample_weight=weights, reference_labels=reference)

    many = fit(N_LIMIT, FIRST_SEED - 1)
    limit, reference = many.cluster_stability(), many.reference_labels_
    row = [str(n), str(n_clusters), f"{omega:g}", "0.2 to 2" if weighted else "none"]
    row += [" ".join(f"{value:.2f}" for value in getattr(limit, name)) for name in NAMES]
    for b in N_REPLICAS:
        seeds = range(FIRST_SEED, FIRST_SEED + n_fits)
        fits = [fit(b, seed, reference).cluster_stability() for seed in seeds]
        jaccard, recovered = (Calibration(limit, fits, name) for name in NAMES)
        row += [jaccard.coverage(), recovered.coverage(), jaccard.shift()]
    return row


if __name__ == "__main__":
    main()
