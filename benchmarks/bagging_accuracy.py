"""Does bagging make clusters better?

Adjusted Rand index against the true classes of fresh draws of the six data sets of the paper, with
the true K: k-means with 30 starts, BBC, BagClust1, and BagClust2 by each of its methods.

    python benchmarks/bagging_accuracy.py [--draws 50] | python docs/fill_tables.py bagging_accuracy
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import adjusted_rand_score

from bbclust import BBC, BagClust1, BagClust2
from bbclust.datasets import Dataset, make_paper_dataset

FIRST_SEED = 30_000
PAPER_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
METHODS = ("average", "complete", "single", "pam")


def accuracies(points: Dataset, n_clusters: int, seed: int) -> dict[str, float]:
    """Adjusted Rand index of each method."""
    bbc = BBC(n_clusters, random_state=seed).fit(points.data)
    labels = {"k-means": bbc.reference_labels_, "BBC": bbc.labels_}
    labels["BagClust1"] = BagClust1(n_clusters, random_state=seed).fit_predict(points.data)
    for method in METHODS:
        model = BagClust2(n_clusters, method=method, random_state=seed)
        labels[f"BagClust2, {method}"] = model.fit_predict(points.data)
    return {name: adjusted_rand_score(points.target, given) for name, given in labels.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Does bagging make clusters better?")
    parser.add_argument("--draws", type=int, default=50, help="of each data set")
    draws = parser.parse_args().draws
    found: dict[str, list[list[float]]] = {}  # by method, data set and draw
    for number, n_clusters in PAPER_K.items():
        for seed in range(FIRST_SEED, FIRST_SEED + draws):
            points = make_paper_dataset(number, random_state=seed)
            for name, value in accuracies(points, n_clusters, seed).items():
                found.setdefault(name, [[] for _ in PAPER_K])[number - 1].append(value)
    print_table({name: np.array(values) for name, values in found.items()})


def print_table(found: dict[str, np.ndarray]) -> None:
    plain = found["k-means"]
    _, draws = plain.shape
    print(f"{draws} draws of each data set, seeds {FIRST_SEED} to {FIRST_SEED + draws - 1}.\n")
    sets = " | ".join(f"data set {number}" for number in PAPER_K)
    print(f"| method | {sets} | mean | minus k-means |")
    print("|---" * (len(PAPER_K) + 3) + "|")
    for name, values in found.items():
        cells = " | ".join(f"{mean:.3f}" for mean in values.mean(axis=1))
        gain = (values - plain).ravel()
        error = gain.std(ddof=1) / np.sqrt(gain.size)
        print(f"| {name} | {cells} | {values.mean():.3f} | {gain.mean():+.4f} ± {error:.4f} |")


if __name__ == "__main__":
    main()
