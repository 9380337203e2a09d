"""Are component_probabilities probabilities? What is claimed, and what is found.

Mixtures of K = 2 to 5 groups in d = 2 to 5 dimensions. Each group lies ``separation`` standard
deviations from its nearest neighbour. *Equal*: unit spheres of equal shares. *Unequal*: ellipsoids
in random directions with standard deviations from 0.6 to 1.5, and shares in the ratio 1 : 2 : ... :
K. Uniform balls and Student's t have standard deviation one, and equal shares.

A row is a hit if its most probable cluster is the group that it was drawn from; clusters and groups
of a table are matched one to one for most hits. The expected calibration error (ECE) is the mean
over rows of |mean largest probability - share of hits| of the row's bin, of 15 bins of equal width
(Guo, Pleiss, Sun & Weinberger 2017). Bins hold the rows of all tables of a line.

    python benchmarks/calibrate_belonging.py [--draws 2] [--first-seed 5000] > belonging.md
    python docs/fill_tables.py calibrate_belonging < belonging.md
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from bbclust import BBC

FIRST_SEED = 5000  # what was chosen was chosen on seeds below 1000
BINS = 15
SEPARATIONS = (1.5, 2.0, 3.0, 5.0)
SIZES = (300, 1000, 3000)
METHODS = ("component_probabilities", "votes", "GaussianMixture", "true mixture")


class Groups(NamedTuple):
    """A table, the groups of its rows, and the probabilities of groups by the true mixture."""

    X: np.ndarray
    labels: np.ndarray
    truth: np.ndarray | None


class Line(NamedTuple):
    """What a line of the table is about."""

    separation: float
    kind: str
    n: int


def place_means(
    generator: np.random.Generator, n_groups: int, d: int, separation: float
) -> np.ndarray:
    """Means in random directions from each other, each at the separation from its nearest."""
    means = [np.zeros(d)]
    while len(means) < n_groups:
        direction = generator.normal(size=d)
        step = separation * direction / np.linalg.norm(direction)
        candidate = means[generator.integers(len(means))] + step
        if np.linalg.norm(np.array(means) - candidate, axis=1).min() > separation * (1 - 1e-9):
            means.append(candidate)
    return np.array(means)


def draw_gaussian(seed: int, line: Line, n_groups: int, d: int) -> Groups:
    generator = np.random.default_rng([seed, n_groups, line.kind == "unequal"])
    means = place_means(generator, n_groups, d, line.separation)
    shares, covariances = np.full(n_groups, 1 / n_groups), np.stack([np.eye(d)] * n_groups)
    if line.kind == "unequal":
        shares = generator.permutation(np.arange(1, n_groups + 1) / sum(range(n_groups + 1)))
        axes = np.linalg.qr(generator.normal(size=(n_groups, d, d)))[0]
        variances = np.exp(2 * generator.uniform(np.log(0.6), np.log(1.5), size=(n_groups, d)))
        covariances = np.einsum("kij,kj,klj->kil", axes, variances, axes)
    labels = generator.choice(n_groups, size=line.n, p=shares)
    X = np.stack([generator.multivariate_normal(means[j], covariances[j]) for j in labels])
    density = [
        share * multivariate_normal(mean, covariance).pdf(X)
        for share, mean, covariance in zip(shares, means, covariances, strict=True)
    ]
    return Groups(X, labels, np.stack(density, axis=1) / np.sum(density, axis=0)[:, None])


def draw_other_shape(seed: int, line: Line, n_groups: int, d: int) -> Groups:
    """Round groups of standard deviation one that are not Gaussian."""
    generator = np.random.default_rng([seed, n_groups])
    labels = generator.integers(n_groups, size=line.n)
    normals = generator.normal(size=(line.n, d))
    if line.kind == "uniform balls":
        radius = np.sqrt(d + 2) * generator.random(line.n) ** (1 / d)
        points = normals / np.linalg.norm(normals, axis=1)[:, None] * radius[:, None]
    else:
        points = normals / np.sqrt(generator.chisquare(3, line.n))[:, None]
    means = place_means(generator, n_groups, d, line.separation)
    return Groups(means[labels] + points, labels, None)


class Claims(NamedTuple):
    """The largest probability of each row, and whether it is that of its group."""

    claimed: np.ndarray
    hit: np.ndarray


def compare(probabilities: np.ndarray, labels: np.ndarray) -> Claims:
    n_groups = probabilities.shape[1]
    found = probabilities.argmax(axis=1)
    counts = np.bincount(found * n_groups + labels, minlength=n_groups**2)
    _, group = linear_sum_assignment(counts.reshape(n_groups, n_groups), maximize=True)
    return Claims(probabilities.max(axis=1), group[found] == labels)


def claims_of_table(groups: Groups, n_groups: int, seed: int) -> Iterator[tuple[str, Claims]]:
    model = BBC(n_groups, n_replicas=100, random_state=seed).fit(groups.X)
    yield METHODS[0], compare(model.component_probabilities(), groups.labels)
    yield METHODS[1], compare(model.memberships_, groups.labels)
    mixture = GaussianMixture(n_groups, random_state=seed).fit(groups.X)
    yield METHODS[2], compare(mixture.predict_proba(groups.X), groups.labels)
    if groups.truth is not None:
        yield METHODS[3], compare(groups.truth, groups.labels)


class Bins(NamedTuple):
    """Sums over the rows of each bin."""

    rows: np.ndarray
    claimed: np.ndarray
    hits: np.ndarray

    def ece(self) -> float:
        return float(np.abs(self.claimed - self.hits).sum() / self.rows.sum())


def bin_claims(claims: list[Claims]) -> Bins:
    claimed = np.concatenate([one.claimed for one in claims])
    hit = np.concatenate([one.hit for one in claims])
    places = np.minimum((claimed * BINS).astype(int), BINS - 1)
    return Bins(*(np.bincount(places, value, BINS) for value in (np.ones(len(hit)), claimed, hit)))


Results = dict[tuple[str, Line, int], list[Claims]]


def print_lines(results: Results, lines: list[Line]) -> None:
    print("| separation | groups | n | " + " | ".join(METHODS) + " |")
    print("|---" * (3 + len(METHODS)) + "|")
    for line in lines:
        cells = [f"{line.separation:g} sd", line.kind, f"{line.n:,}"]
        print("| " + " | ".join(cells + pooled(results, lambda key, at=line: key[1] == at)) + " |")


def pooled(results: Results, belongs) -> list[str]:
    """ECE of every method over the tables that belong."""
    cells = []
    for method in METHODS:
        claims = [c for key, of in results.items() if key[0] == method and belongs(key) for c in of]
        cells.append(f"{bin_claims(claims).ece():.3f}" if claims else "")
    return cells


def print_summary(results: Results, gaussian: list[Line]) -> None:
    print("| over | " + " | ".join(METHODS) + " |")
    print("|---" * (1 + len(METHODS)) + "|")

    def tell(name: str, belongs) -> None:
        cells = pooled(results, lambda key: key[1] in gaussian and belongs(key))
        print(f"| {name} | " + " | ".join(cells) + " |")

    for n_groups in range(2, 6):
        tell(f"{n_groups} groups", lambda key, at=n_groups: key[2] == at)
    for n in sorted({line.n for line in gaussian}):
        tell(f"n = {n:,}", lambda key, at=n: key[1].n == at)
    tell("all", lambda key: True)
    by_line = [pooled(results, lambda key, at=line: key[1] == at) for line in gaussian]
    means = np.array(by_line, dtype=float).mean(axis=0)
    print("| mean of the lines above | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


def print_bins(results: Results, gaussian: list[Line]) -> None:
    print("| largest probability | " + " | | | ".join(METHODS[:3]) + " | | |")
    print("|---" * 10 + "|")
    print("| | " + " | ".join(["rows", "claimed", "found"] * 3) + " |")
    bins = []
    for method in METHODS[:3]:
        mine = [of for key, of in results.items() if key[0] == method and key[1] in gaussian]
        bins.append(bin_claims([claims for of in mine for claims in of]))
    for i in range(BINS):
        if not any(b.rows[i] for b in bins):
            continue
        cells = [f"{i / BINS:.2f} to {(i + 1) / BINS:.2f}"]
        for b in bins:
            rows = b.rows[i]
            shares = (b.claimed[i] / rows, b.hits[i] / rows) if rows else ()
            cells += [f"{rows:,.0f}", *(f"{share:.2f}" for share in shares)]
            cells += [""] * (2 - len(shares))
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2, help="per K; half at n = 3000")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Best performing initialization")
    kinds = ("equal", "unequal")
    gaussian = [Line(s, kind, n) for s in SEPARATIONS for kind in kinds for n in options.sizes]
    shapes = ("uniform balls", "Student t, 3 df")
    others = [Line(s, kind, 1000) for kind in shapes for s in SEPARATIONS[1:]]
    results: Results = defaultdict(list)
    start = time.perf_counter()
    for line in gaussian + others:
        draws = max(1, options.draws // 2) if line.n == 3000 else options.draws
        draw = draw_gaussian if line in gaussian else draw_other_shape
        for n_groups in range(2, 6):
            for seed in range(options.first_seed, options.first_seed + draws):
                groups = draw(seed, line, n_groups, 2 + (n_groups + seed) % 4)
                for method, claims in claims_of_table(groups, n_groups, seed):
                    results[method, line, n_groups].append(claims)
        print(f"{line}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(f"Expected calibration error, {options.draws} tables for each of K = 2 to 5 in a line")
    print(f"(half as many at n = 3,000), seeds from {options.first_seed}:\n")
    print_lines(results, gaussian)
    print("\nThe same rows together; claims of too much in one table and of too little in another")
    print("cancel in bins of many tables, and less so in the mean of the lines:\n")
    print_summary(results, gaussian)
    print("\nClaimed and found, by the largest probability, all of these rows:\n")
    print_bins(results, gaussian)
    print("\nGroups that are not Gaussian:\n")
    print_lines(results, others)


if __name__ == "__main__":
    main()
