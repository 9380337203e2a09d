"""How often Monte-Carlo errors and intervals hold what they say.

Monte-Carlo figures (memberships, mean entropy, largest doubt) are compared with what many replicas
of the same table give; intervals and regions of centres with the centres that the method finds in a
table of 200,000 rows of the same kind, each over repetitions with other seeds or other samples.

    python benchmarks/calibrate_errors.py [--repetitions 300] [--first-seed 9000] > errors.md
    python docs/fill_tables.py calibrate_errors < errors.md

Seeds below 5,000 were used to choose the formulas.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs

from bbclust import BBC
from bbclust.datasets import load_iris, make_paper_dataset

Array = npt.NDArray[np.float64]

N_LIMIT = 8_000  # replicas that stand for ever more of them
N_ROWS_LIMIT = 200_000


class Setting(NamedTuple):
    name: str
    X: Array
    n_clusters: int
    n_replicas: int
    weights: Array | None = None
    parameters: Mapping[str, Any] = MappingProxyType({})


class Groups(NamedTuple):
    """Three round groups in two dimensions."""

    name: str
    distance: float
    n: int
    prior_weight: float
    prior_scale: float = 1.0
    weighted: bool = False


def settings(first_seed: int) -> Iterator[Setting]:
    paper = make_paper_dataset(1, random_state=first_seed).data
    iris = load_iris().data
    fifth = make_paper_dataset(5, random_state=first_seed).data
    large, _ = make_blobs(3000, centers=4, cluster_std=2.5, random_state=first_seed)
    weights = np.random.default_rng(first_seed).uniform(0.2, 3.0, size=len(iris))
    yield Setting("data set 1, K = 3", paper, 3, 50)
    yield Setting("data set 1, K = 3", paper, 3, 200)
    yield Setting("data set 1, K = 3", paper, 3, 1000)
    yield Setting("data set 1, K = 4, omega = 0.1", paper, 4, 100, None, {"prior_weight": 0.1})
    yield Setting("data set 5, K = 5, omega = 0.9", fifth, 5, 200, None, {"prior_weight": 0.9})
    yield Setting("Iris, K = 3", iris, 3, 50)
    yield Setting("Iris, K = 4, weights", iris, 4, 100, weights)
    yield Setting("Iris, K = 3, votes of all", iris, 3, 100, None, {"votes": "all", "n_draws": 75})
    yield Setting("4 blobs of 3,000 rows", large, 4, 100)


def groups() -> Iterator[Groups]:
    yield Groups("apart", 8, 60, 0.1)
    yield Groups("apart", 8, 60, 0.5)
    yield Groups("apart", 8, 60, 0.9)
    yield Groups("apart", 8, 300, 0.5)
    yield Groups("apart", 8, 300, 0.9)
    yield Groups("apart", 8, 300, 0.5, weighted=True)
    yield Groups("apart", 8, 3000, 0.7)
    yield Groups("4 sds apart", 4, 60, 0.5)
    yield Groups("4 sds apart", 4, 300, 0.1)
    yield Groups("4 sds apart", 4, 300, 0.5, 2.5)
    yield Groups("4 sds apart", 4, 300, 0.9, 0.5)
    yield Groups("3 sds apart", 3, 300, 0.5)
    yield Groups("3 sds apart", 3, 300, 0.9)


def share(found: list[npt.NDArray[np.bool_]] | list[bool]) -> str:
    """A share and its standard error, over repetitions."""
    by_repetition = np.array([np.mean(one) for one in found])
    error = by_repetition.std() / math.sqrt(len(by_repetition))
    return f"{by_repetition.mean():.3f} ± {error:.3f}"


def fit(setting: Setting, n_replicas: int, seed: int) -> BBC:
    model = BBC(setting.n_clusters, n_replicas=n_replicas, random_state=seed, **setting.parameters)
    return model.fit(setting.X, sample_weight=setting.weights)


def monte_carlo_row(setting: Setting, n_repetitions: int, first_seed: int) -> list[str]:
    limit = fit(setting, N_LIMIT, first_seed - 1)
    entropy = limit.mean_entropy_ - limit.mean_entropy_bias_
    doubt = limit.max_pair_doubt_ - limit.max_pair_doubt_bias_
    pairwise = limit.max_pairwise_entropy_
    shares: list[npt.NDArray[np.bool_]] = []
    held: dict[str, list[bool]] = {"entropy": [], "doubt": []}
    plain, pairwise_found = [], []
    for seed in range(first_seed, first_seed + n_repetitions):
        model = fit(setting, setting.n_replicas, seed)
        low, high = model.mean_entropy_interval()
        held["entropy"].append(low <= entropy <= high)
        low, high = model.max_pair_doubt_interval()
        held["doubt"].append(low <= doubt <= high)
        plain.append(model.mean_entropy_)
        pairwise_found.append(model.max_pairwise_entropy_)
        # rows that are disputed: the others have memberships of 0 and 1, which always hold
        disputed = np.abs(limit.memberships_ - 0.5) < 0.45
        low, high = np.moveaxis(model.memberships_interval()[disputed], -1, 0)
        inside = limit.memberships_[disputed]
        shares.append((low <= inside) & (inside <= high))
    return [
        setting.name,
        str(setting.n_replicas),
        share(shares),
        share(held["entropy"]),
        share(held["doubt"]),
        f"{np.mean(plain):.3f}",
        f"{entropy:.3f}",
        f"{np.mean(pairwise_found):.3f}",
        f"{pairwise:.3f}",
    ]


def sample(group: Groups, n: int, seed: int) -> tuple[Array, Array, Array | None]:
    """Rows, true means, and weights that tell nothing of them."""
    generator = np.random.default_rng(seed)
    means = group.distance * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    labels = generator.choice(3, size=n, p=[0.4, 0.3, 0.3])
    weights = generator.uniform(0.2, 3.0, size=n) if group.weighted else None
    return means[labels] + generator.normal(size=(n, 2)), means, weights


def in_order(model: BBC, means: Array) -> npt.NDArray[np.int64]:
    """The cluster of each group."""
    distances = ((means[:, None] - model.reference_centers_[None]) ** 2).sum(axis=2)
    return linear_sum_assignment(distances)[1]


def center_row(group: Groups, n_repetitions: int, first_seed: int) -> list[str]:
    parameters = {"prior_weight": group.prior_weight, "prior_scale": group.prior_scale}
    X, means, _ = sample(group, N_ROWS_LIMIT, first_seed - 1)
    limit = BBC(3, n_replicas=10, random_state=0, **parameters).fit(X)
    centers = limit.cluster_centers_[in_order(limit, means)]
    intervals, regions, of_groups, distances = [], [], [], []
    between = np.sqrt(((centers[:, None] - centers[None]) ** 2).sum(axis=2))
    upper = np.triu_indices(3, k=1)
    for seed in range(first_seed, first_seed + n_repetitions):
        X, _, weights = sample(group, group.n, seed)
        model = BBC(3, random_state=seed, **parameters).fit(X, sample_weight=weights)
        order = in_order(model, means)
        low, high = np.moveaxis(model.centers_interval()[order], -1, 0)
        intervals.append((low <= centers) & (centers <= high))
        of_groups.append((low <= means) & (means <= high))
        found = model.centers_region()
        away = found.centers[order] - centers
        length = [
            math.sqrt(one @ np.linalg.solve(covariance, one))
            for one, covariance in zip(away, found.covariances[order], strict=True)
        ]
        regions.append(np.array(length) <= found.radii[order])
        apart = model.center_distances()
        ends = (end[np.ix_(order, order)][upper] for end in (apart.lower, apart.upper))
        lower_end, upper_end = ends
        distances.append((lower_end <= between[upper]) & (between[upper] <= upper_end))
    return [
        group.name + ", weights" * group.weighted,
        f"{group.n:,}",
        f"{group.prior_weight:g}",
        f"{group.prior_scale:g}",
        share(intervals),
        share(regions),
        share(distances),
        share(of_groups),
    ]


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--first-seed", type=int, default=9000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    repeat = (options.repetitions, options.first_seed)
    print(f"{options.repetitions} repetitions of each, nominal 95%.\n")
    print(
        "Monte-Carlo figures of the same table: how often `memberships_interval` of disputed rows, "
        "`mean_entropy_interval` and `max_pair_doubt_interval` hold "
        f"what {N_LIMIT:,} replicas give; and the entropies themselves, as found and in the limit. "
        "The paper's maximum pairwise entropy is the last pair of columns: no interval is given.\n"
    )
    heads = ["table", "B", "memberships", "mean entropy", "largest doubt"]
    heads += ["mean entropy found", "limit", "max pairwise found", "limit"]
    print(table(heads, [monte_carlo_row(one, *repeat) for one in settings(options.first_seed)]))
    print(
        "\nCentres over samples of rows, elicited prior, 200 replicas: how often "
        "`centers_interval`, `centers_region` and `center_distances` hold those that the method "
        f"finds in {N_ROWS_LIMIT:,} rows; and how often the intervals hold the means of the "
        "groups, from which k-means keeps away where groups overlap.\n"
    )
    heads = ["three groups", "n", "omega", "s", "intervals", "regions", "distances", "group means"]
    print(table(heads, [center_row(one, *repeat) for one in groups()]))


if __name__ == "__main__":
    main()
