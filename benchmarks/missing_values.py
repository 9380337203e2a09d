"""Missing values: BBC(missing="draw") beside dropping rows and filling values once.

Values are removed from complete tables, completely at random or the more the larger they are. Each
way is asked for the labels of all rows and for their entropies, and compared with the true classes
and with what BBC says of the complete table. A row keeps one value at least.

    python benchmarks/missing_values.py [--seeds 10] [--first-seed 2000] > missing.md
    python docs/fill_tables.py missing_values < missing.md

The seeds below 100 were used to write the method; they are not those reported.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from bbclust import BBC
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.stages.voting import nearest_center

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

SHARES = (0.05, 0.2, 0.4)
N_REPLICAS = 100
BINS = (0.0, 0.6, 0.8, 0.95, 1.01)
FEWEST_ROWS = 5  # complete ones per cluster, below which nothing is left to fit


class Data(NamedTuple):
    X: Array
    truth: Labels


class Answer(NamedTuple):
    labels: Labels
    memberships: Array | None
    entropy: Array | None


def correlated(seed: int) -> Data:
    """Three clusters in five columns, each with correlations of its own."""
    generator = np.random.default_rng(seed)
    truth = np.repeat(np.arange(3), 100)
    factors = generator.normal(size=(3, 5, 5)) / np.sqrt(5)
    means = 1.5 * generator.normal(size=(3, 5))
    X = means[truth] + np.einsum("if,ifg->ig", generator.normal(size=(300, 5)), factors[truth])
    return Data(X, truth)


def blobs(seed: int, d: int, K: int, spread: float) -> Data:
    return Data(*make_blobs(300, d, centers=K, cluster_std=spread, random_state=seed))


def iris(seed: int) -> Data:
    return Data(load_iris().data, load_iris().target)


def paper(seed: int, number: int) -> Data:
    found = make_paper_dataset(number, random_state=seed)
    return Data(found.data, found.target)


SETS: dict[str, Callable[[int], Data]] = {
    "Iris": iris,
    "data set 1 of the paper, 2 columns": lambda seed: paper(seed, 1),
    "data set 6 of the paper, 2 columns": lambda seed: paper(seed, 6),
    "4 blobs, 5 columns": lambda seed: blobs(seed, 5, 4, 2.5),
    "5 blobs, 8 columns": lambda seed: blobs(seed, 8, 5, 3.5),
    "3 correlated clusters, 5 columns": correlated,
}


def at_random(X: Array, share: float, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    return generator.random(X.shape) < share


def large_ones(X: Array, share: float, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """The largest value of a column is twice as likely to be missing as one in the middle."""
    ranks = X.argsort(axis=0).argsort(axis=0) / (len(X) - 1)
    return generator.random(X.shape) < 2 * share * ranks


REMOVALS = {"at random": at_random, "large values": large_ones}


def with_holes(X: Array, remove: Callable[..., npt.NDArray[np.bool_]], share: float, seed: int):
    generator = np.random.default_rng(seed)
    missing = remove(X, share, generator)
    empty = np.flatnonzero(missing.all(axis=1))
    missing[empty, generator.integers(0, X.shape[1], len(empty))] = False
    return np.where(missing, np.nan, X)


def cluster(X: Array, K: int, seed: int, **parameters: str) -> Answer:
    model = BBC(K, n_replicas=N_REPLICAS, random_state=seed, **parameters).fit(X)
    return Answer(model.labels_, model.memberships_, model.entropy_)


def draw(X: Array, K: int, seed: int) -> Answer:
    return cluster(X, K, seed, missing="draw")


def by_mean(X: Array, K: int, seed: int) -> Answer:
    return cluster(SimpleImputer().fit_transform(X), K, seed)


def iterative(X: Array, K: int, seed: int) -> Answer:
    return cluster(IterativeImputer(random_state=seed).fit_transform(X), K, seed)


def drop(X: Array, K: int, seed: int) -> Answer | None:
    complete = ~np.isnan(X).any(axis=1)
    if complete.sum() < FEWEST_ROWS * K:
        return None
    model = BBC(K, n_replicas=N_REPLICAS, random_state=seed).fit(X[complete])
    labels = nearest_center(X, model.cluster_centers_).astype(np.int64)
    labels[complete] = model.labels_
    return Answer(labels, None, None)


WAYS = {"draw": draw, "iterative": iterative, "mean": by_mean, "drop": drop}


def renamed(labels: Labels, like: Labels, K: int) -> Labels:
    """Labels by the names that agree best."""
    overlap = np.zeros((K, K))
    np.add.at(overlap, (labels, like), 1)
    return linear_sum_assignment(-overlap)[1][labels]


class Found(NamedTuple):
    """Sums over tables, by what was removed and by the way."""

    right: dict[tuple[str, ...], list[float]]
    entropy: dict[tuple[str, ...], list[float]]
    agreeing: dict[tuple[str, ...], list[float]]


def compare(name: str, seed: int, found: Found) -> None:
    X, truth = SETS[name](seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = len(np.unique(truth))
    whole = cluster(X, K, seed)
    for mechanism, remove in REMOVALS.items():
        for share in SHARES:
            holes = with_holes(X, remove, share, seed)
            gone = np.isnan(holes).any(axis=1)
            removed = (mechanism, f"{share:.0%}")
            note(found.right, (*removed, name, "complete"), whole.labels, truth, K)
            if gone.any():
                found.entropy[(*removed, "complete")].append(float(whole.entropy[gone].mean()))
            for way, ask in WAYS.items():
                answer = ask(holes, K, seed)
                if answer is None:
                    continue
                note(found.right, (*removed, name, way), answer.labels, truth, K)
                if answer.memberships is None or not gone.any():
                    continue
                found.entropy[(*removed, way)].append(float(answer.entropy[gone].mean()))
                same = renamed(answer.labels, whole.labels, K) == whole.labels
                place = np.digitize(answer.memberships.max(axis=1), BINS) - 1
                for b in range(len(BINS) - 1):
                    found.agreeing[mechanism, str(b), way] += same[gone & (place == b)].tolist()


def note(to: dict, key: tuple[str, ...], labels: Labels, truth: Labels, K: int) -> None:
    to[key].append(float((renamed(labels, truth, K) == truth).mean()))


def percent(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f}" if values else "too few"


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def accuracy_table(found: Found) -> list[str]:
    ways = ["complete", *WAYS]
    lines = [row(["removed", "data", *ways]), row(["---"] * (2 + len(ways)))]
    for mechanism in REMOVALS:
        for share in (f"{share:.0%}" for share in SHARES):
            means = defaultdict(list)
            for name in SETS:
                cells = [found.right[mechanism, share, name, way] for way in ways]
                lines.append(row([f"{share} {mechanism}", name, *map(percent, cells)]))
                for way, values in zip(ways, cells, strict=True):
                    means[way] += [float(np.mean(values))] if values else []
            whole = [percent(means[w]) if len(means[w]) == len(SETS) else "" for w in ways]
            lines.append(row([f"**{share} {mechanism}**", "**mean**", *whole]))
    return lines


def entropy_table(found: Found) -> list[str]:
    ways = ["complete", "draw", "iterative", "mean"]
    lines = [row(["removed", *ways]), row(["---"] * (1 + len(ways)))]
    for mechanism in REMOVALS:
        for share in (f"{share:.0%}" for share in SHARES):
            cells = [f"{np.mean(found.entropy[mechanism, share, way]):.3f}" for way in ways]
            lines.append(row([f"{share} {mechanism}", *cells]))
    return lines


def calibration_table(found: Found) -> list[str]:
    ways = ["draw", "iterative", "mean"]
    lines = [row(["removed", "largest membership", *ways]), row(["---"] * (2 + len(ways)))]
    for mechanism in REMOVALS:
        for b in range(len(BINS) - 1):
            some = [found.agreeing[mechanism, str(b), way] for way in ways]
            all_rows = [
                sum(len(found.agreeing[mechanism, str(c), way]) for c in range(len(BINS) - 1))
                for way in ways
            ]
            cells = [
                f"{percent(values)} ({len(values) / total:.0%} of rows)"
                for values, total in zip(some, all_rows, strict=True)
            ]
            between = f"{BINS[b]:g} to {min(BINS[b + 1], 1):g}"
            lines.append(row([mechanism, between, *cells]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=2000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    found = Found(defaultdict(list), defaultdict(list), defaultdict(list))
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for name in SETS:
        for seed in seeds:
            compare(name, seed, found)
    print(f"{arguments.seeds} tables of each kind, {N_REPLICAS} replicas, columns standardised.\n")
    print("Rows with the label of their class, in percent of all rows:\n")
    print("\n".join(accuracy_table(found)))
    print("\nMean entropy, in bits, of the rows that miss something:\n")
    print("\n".join(entropy_table(found)))
    print(
        "\nRows that miss something and get the label that they have in the complete table, in "
        "percent, by their largest membership:\n"
    )
    print("\n".join(calibration_table(found)))


if __name__ == "__main__":
    main()
