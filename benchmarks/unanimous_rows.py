r"""Do other samples put the rows on which all votes agree on the same side of the cut?

Tables of one kind are samples of one population. A row on which all votes of a fit agree stays if
k-means of another sample of as many rows, which predicts the rows of the first one, gives it the
cluster that its own sample gave it. Clusters are matched so that as many rows as possible stay.

    python benchmarks/unanimous_rows.py | python docs/fill_tables.py unanimous_rows
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import contingency_matrix

from bbclust import BBC
from bbclust.datasets import make_paper_dataset

FIRST_SEED = 70_000
N_OTHERS = 15  # samples beside each table
N_STARTS = 20  # of k-means
PAPER = ((1, 3), (2, 3), (3, 3), (4, 3), (5, 5), (6, 4))


def paper(number: int) -> Callable[[int], np.ndarray]:
    return lambda seed: make_paper_dataset(number, random_state=seed).data


def cloud(n: int, *scales: float) -> Callable[[int], np.ndarray]:
    return lambda seed: np.random.default_rng(seed).normal(scale=scales, size=(n, len(scales)))


# What the table is, how to sample it, K
KINDS = [
    *((f"data set {number} of the paper", paper(number), k) for number, k in PAPER),
    ("data set 1 of the paper, one cluster too many", paper(1), 4),
    ("one long cloud of 1,000 rows", cloud(1_000, 5.0, 1.0), 2),
    ("one round cloud of 1,000 rows", cloud(1_000, 1.0, 1.0), 3),
    ("one round cloud of 100 rows", cloud(100, 1.0, 1.0), 3),
]


def share_that_stays(model: BBC, X: np.ndarray, other: np.ndarray) -> float:
    """Of the rows on which all votes agree, by k-means of another sample."""
    found = KMeans(len(model.cluster_centers_), n_init=N_STARTS, random_state=0).fit(other)
    labels = found.predict(X)
    _, new = linear_sum_assignment(contingency_matrix(model.labels_, labels), maximize=True)
    stays = new[model.labels_] == labels
    return float(stays[model.entropy_ == 0].mean())


def make_row(sample: Callable[[int], np.ndarray], n_clusters: int, n_tables: int) -> list[str]:
    agreed, stay = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + n_tables):
        X = sample(seed)
        model = BBC(n_clusters, random_state=seed).fit(X)
        others = range(1_000 * seed, 1_000 * seed + N_OTHERS)
        agreed.append(float((model.entropy_ == 0).mean()))
        stay.append(np.mean([share_that_stays(model, X, sample(other)) for other in others]))
    return [f"{np.mean(agreed):.0%}", f"{np.mean(stay):.1%}", f"{min(stay):.1%}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=int, default=20, help="of each kind")
    n_tables = parser.parse_args().tables
    print(
        f"{n_tables} tables of each kind from seed {FIRST_SEED}, {N_OTHERS} other samples beside "
        "each; in how many of them the rows on which all votes agree stay where they are.\n"
    )
    print("| table | K | rows on which all votes agree | stay | worst table |")
    print("|---|---|---|---|---|")
    for name, sample, n_clusters in KINDS:
        cells = [name, str(n_clusters), *make_row(sample, n_clusters, n_tables)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
