"""How often does `prior_conflict` report a conflict, where there is none and where there is one?

Experts who state the true parameters of three blobs and of the six data sets of the paper; experts
who are wrong about one component.

    python benchmarks/prior_conflict.py [--seeds 100] [--first-seed 2000]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from bbclust import BBC
from bbclust.datasets import _PAPER_DATASETS, make_paper_dataset
from bbclust.priors import MixturePrior

Statement = tuple[np.ndarray, np.ndarray, np.ndarray]


def blobs(seed: int, n: int, separation: float) -> tuple[np.ndarray, Statement]:
    generator = np.random.default_rng(seed)
    angles = np.pi / 2 + 2 * np.pi * np.arange(3) / 3
    means = separation / np.sqrt(3) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shares = np.array([0.4, 0.35, 0.25])
    sizes = (shares * n).astype(int)
    labels = np.repeat(np.arange(3), sizes)
    X = means[labels] + generator.normal(size=(len(labels), 2))
    return X, (sizes / sizes.sum(), means, np.stack([np.eye(2)] * 3))


def paper(number: int, seed: int) -> tuple[np.ndarray, Statement]:
    recipe = _PAPER_DATASETS[number]
    sizes = np.array(recipe.sizes)
    covariances = np.stack([np.array(recipe.covariance)] * len(sizes))
    data = make_paper_dataset(number, random_state=seed).data
    return data, (sizes / sizes.sum(), np.array(recipe.centers), covariances)


def shifted(statement: Statement, seed: int, deviations: float) -> Statement:
    """One component moved by so many of its standard deviations, in a random direction."""
    weights, means, covariances = statement
    generator = np.random.default_rng(seed + 1_000_000)
    j = generator.integers(len(means))
    direction = generator.normal(size=means.shape[1])
    means = means.copy()
    means[j] += (
        deviations * np.linalg.cholesky(covariances[j]) @ direction / np.linalg.norm(direction)
    )
    return weights, means, covariances


def narrowed(statement: Statement, seed: int, factor: float) -> Statement:
    """One component with its standard deviations multiplied."""
    weights, means, covariances = statement
    j = np.random.default_rng(seed + 1_000_000).integers(len(means))
    covariances = covariances.copy()
    covariances[j] *= factor**2
    return weights, means, covariances


def as_stated(statement: Statement, seed: int) -> Statement:
    return statement


def in_conflict(X: np.ndarray, prior: object, n_clusters: int, seed: int) -> bool:
    model = BBC(n_clusters, prior=prior, n_replicas=20, n_init=1, votes="all", random_state=seed)
    return model.fit(X).prior_conflict().conflict


EXPERTS: dict[str, Callable[[Statement, int], Statement]] = {
    "true": as_stated,
    "2 sd off": lambda statement, seed: shifted(statement, seed, 2.0),
    "3 sd off": lambda statement, seed: shifted(statement, seed, 3.0),
    "third of the spread": lambda statement, seed: narrowed(statement, seed, 1 / 3),
    "third of the variance": lambda statement, seed: narrowed(statement, seed, 3**-0.5),
    "3 x the spread": lambda statement, seed: narrowed(statement, seed, 3.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=2000)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    data: dict[str, Callable[[int], tuple[np.ndarray, Statement]]] = {
        f"3 blobs, {gap:g} sd apart, n = {n}": lambda seed, n=n, gap=gap: blobs(seed, n, gap)
        for n in (150, 300)
        for gap in (4.0, 8.0)
    }
    data |= {
        f"data set {number} of the paper": lambda seed, number=number: paper(number, seed)
        for number in _PAPER_DATASETS
    }
    print(f"Conflicts reported, of {len(seeds)} seeds from {seeds[0]}\n")
    print("| data | elicited | " + " | ".join(EXPERTS) + " |")
    print("|---" * (len(EXPERTS) + 2) + "|")
    for name, draw in data.items():
        counts = dict.fromkeys(["elicited", *EXPERTS], 0)
        for seed in seeds:
            X, statement = draw(seed)
            K = len(statement[0])
            counts["elicited"] += in_conflict(X, None, K, seed)
            for expert, change in EXPERTS.items():
                prior = MixturePrior(*change(statement, seed))
                counts[expert] += in_conflict(X, prior, K, seed)
        print(f"| {name} | " + " | ".join(map(str, counts.values())) + " |", flush=True)


if __name__ == "__main__":
    main()
