"""What the vote of replicas does for scikit-learn's clusterers, on Iris and on three blobs.

Adjusted Rand index with the true classes: of the clusterer alone, mean over 20 seeds, and of BBC
around it, mean over 5 seeds. Prints a table.

    python benchmarks/any_clusterer.py | python docs/fill_tables.py any_clusterer
"""

from __future__ import annotations

import warnings

import kmedoids
import numpy as np
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    SpectralClustering,
)
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.ensemble.custom_clusterer import adapt

CLUSTERERS = {
    "GaussianMixture": GaussianMixture(),
    "AgglomerativeClustering": AgglomerativeClustering(),
    "SpectralClustering": SpectralClustering(),
    "BisectingKMeans": BisectingKMeans(),
    "KMedoids (fasterpam)": kmedoids.KMedoids(3, metric="euclidean", method="fasterpam"),
    "StandardScaler, KMeans": make_pipeline(StandardScaler(), KMeans(n_init=3)),
    "HDBSCAN": HDBSCAN(copy=True),
    "DBSCAN(eps=0.8)": DBSCAN(eps=0.8),
}
N_REPLICAS, PLAIN_SEEDS, VOTED_SEEDS = 200, 20, 5


def scores(clusterer: object, X: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Plain, voted, and the share of votes not cast."""
    adapter, ones = adapt(clusterer), np.ones(len(X))
    plain = [
        adjusted_rand_score(truth, adapter.cluster(X, ones, 3, seed).labels)
        for seed in range(PLAIN_SEEDS)
    ]
    models = [
        BBC(3, clusterer=clusterer, n_replicas=N_REPLICAS, random_state=seed).fit(X)
        for seed in range(VOTED_SEEDS)
    ]
    voted = [adjusted_rand_score(truth, model.labels_) for model in models]
    abstained = sum(model.n_abstained_votes_ for model in models)
    cast = sum(int(model.n_votes_.sum()) for model in models)
    return float(np.mean(plain)), float(np.mean(voted)), abstained / (abstained + cast)


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # few votes on some rows, and noise, are told
    iris = load_iris()
    blobs, blob_of = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    data = {"Iris": (iris.data, iris.target), "blobs": (blobs, blob_of)}
    titles = [f"{name}, {what}" for name in data for what in ("alone", "voted", "abstained")]
    print(f"| clusterer | {' | '.join(titles)} |")
    print("|---" * (1 + len(titles)) + "|")
    for name, clusterer in CLUSTERERS.items():
        cells = []
        for X, truth in data.values():
            plain, voted, abstained = scores(clusterer, X, truth)
            cells += [f"{plain:.3f}", f"{voted:.3f}", f"{abstained:.1%}"]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
