"""Bayesian Bagged Clustering of Fisher's Iris, printed as text: ``python -m bbclust.demo``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bbclust.bbc import BBC
from bbclust.datasets import Dataset, load_iris

N_CLUSTERS = 3
SEED = 0
N_SHOWN = 10

Labels = npt.NDArray[np.integer]
Counts = npt.NDArray[np.int64]


def contingency(classes: Labels, labels: Labels, size: int) -> Counts:
    """Rows of each class (down) in each cluster (across), shape (size, size)."""
    table = np.zeros((size, size), dtype=np.int64)
    np.add.at(table, (classes, labels), 1)
    return table


def match_clusters(table: Counts) -> list[int]:
    """The cluster that stands for each class, so that as many rows as possible agree."""
    _, clusters = linear_sum_assignment(table, maximize=True)
    return [int(cluster) for cluster in clusters]


def contingency_lines(iris: Dataset, model: BBC, clusters: list[int]) -> list[str]:
    """Species by cluster, from the votes and from the reference partition side by side."""
    bagged, reference = (
        contingency(iris.target, labels, N_CLUSTERS)[:, clusters]
        for labels in (model.labels_, model.reference_labels_)
    )
    numbers = "".join(f"{cluster:5d}" for cluster in clusters)
    lines = [
        f"{'':12}{'bagged (BBC)':>15}    {'k-means alone':>15}",
        f"{'cluster':12}{numbers}    {numbers}",
    ]
    for name, left, right in zip(iris.target_names, bagged, reference, strict=True):
        cells = ["".join(f"{count:5d}" for count in counts) for counts in (left, right)]
        lines.append(f"{name:12}{cells[0]}    {cells[1]}")
    return lines


def entropy_lines(model: BBC, names: dict[int, str]) -> list[str]:
    """The two summaries of uncertainty, each with its Monte-Carlo standard error."""
    mean = f"{model.mean_entropy_:.3f} +- {model.mean_entropy_se_:.3f}"
    largest = f"{model.max_pairwise_entropy_:.3f} +- {model.max_pairwise_entropy_se_:.3f}"
    pair = " and ".join(f"{cluster} ({names[cluster]})" for cluster in model.worst_pair_ or ())
    return [
        f"mean entropy          {mean} bits  0 when all votes agree, "
        f"{np.log2(N_CLUSTERS):.3f} when they say nothing",
        f"max pairwise entropy  {largest} bits  between clusters {pair}",
    ]


def uncertain_lines(iris: Dataset, model: BBC, names: dict[int, str]) -> list[str]:
    """The rows whose votes are most divided, most divided first."""
    heads = "".join(f"{f'u{cluster}':>7}" for cluster in range(N_CLUSTERS))
    lines = [f"{'row':>5}  {'species':12}{heads}{'entropy':>9}  label"]
    for row in np.argsort(-model.entropy_, kind="stable")[:N_SHOWN]:
        shares = "".join(f"{share:7.3f}" for share in model.memberships_[row])
        label = int(model.labels_[row])
        species = iris.target_names[iris.target[row]]
        lines.append(
            f"{row:5d}  {species:12}{shares}{model.entropy_[row]:9.3f}  {label} ({names[label]})"
        )
    return lines


def describe(iris: Dataset, model: BBC) -> str:
    """Everything the demo prints."""
    clusters = match_clusters(contingency(iris.target, model.labels_, N_CLUSTERS))
    names = dict(zip(clusters, iris.target_names, strict=True))
    n, d = iris.data.shape
    sections = [
        [
            "Bayesian Bagged Clustering of Fisher's Iris",
            f"{n} flowers, {d} measurements in cm, not rescaled (as in the paper); "
            f"K = {N_CLUSTERS}, {model.n_replicas_} replicas, seed {SEED}.",
        ],
        [
            "Species by cluster: each column is the cluster that matches one species.",
            *contingency_lines(iris, model, clusters),
        ],
        [
            "How sure is it? Entropies with their Monte-Carlo standard errors:",
            *entropy_lines(model, names),
        ],
        [
            f"The {N_SHOWN} flowers it is least sure of (rows count from 0; "
            "u0 is the share of votes for cluster 0):",
            *uncertain_lines(iris, model, names),
        ],
    ]
    return "\n\n".join("\n".join(section) for section in sections)


def main() -> None:
    """Fit and print."""
    iris = load_iris()
    print(describe(iris, BBC(N_CLUSTERS, random_state=SEED).fit(iris.data)))


if __name__ == "__main__":
    main()
