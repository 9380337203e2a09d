"""Tables with a known number of clusters, to choose and to judge rules for K on.

Every row of the family draws a fresh table for every seed; where a row says so, the number of rows,
columns, clusters, the shape and the orientation are drawn as well. Rows are in groups:

- *paper*: the six data sets of the paper;
- *wide*: round and nearly round clusters, 2 to 20 in 2 to 50 dimensions, as published and at any
  number of rows from 100 to 10,000;
- *shape*: well separated clusters that are long, flat, uniform, triangular or denser on one side;
- *uneven*: unequal spreads and sizes, groups of groups, outliers, heavy tails, duplicates, few
  rows, columns of noise, correlated columns;
- *none*: one cloud of every shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bbclust.datasets import make_paper_dataset

PAPER_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
Generator = np.random.Generator
Labelled = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Row:
    """One kind of table.

    Attributes
    ----------
    draw : callable
        A table and the cluster of each row, -1 for outliers, from a generator.
    overlapping : bool
        Clusters overlap so much that "no clusters" is no scandal.
    limit : float or None
        Share of draws in which the right K is to be found, if the row has a limit of its own.
    """

    name: str
    group: str
    draw: Callable[[Generator], Labelled]
    k_max: int = 10
    overlapping: bool = False
    limit: float | None = None

    def table(self, seed: int) -> Labelled:
        X, labels = self.draw(np.random.default_rng([seed, *self.name.encode()]))
        return np.ascontiguousarray(X), labels


def any_n(generator: Generator, least: int = 100, most: int = 10_000) -> int:
    """A number of rows, evenly on the logarithmic scale."""
    return int(np.exp(generator.uniform(np.log(least), np.log(most))))


def rotation(generator: Generator, d: int) -> np.ndarray:
    axes, signs = np.linalg.qr(generator.normal(size=(d, d)))
    return axes * np.sign(np.diag(signs))


def apart(generator: Generator, k: int, d: int, least: float) -> np.ndarray:
    """Centres of which the nearest two are ``least`` apart."""
    centers = generator.normal(size=(k, d))
    gaps = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    return centers * least / gaps[np.triu_indices(k, 1)].min()


def labels_of(generator: Generator, n: int, k: int, shares: np.ndarray | None = None) -> np.ndarray:
    """Labels, each cluster with at least three rows."""
    p = np.ones(k) / k if shares is None else shares / shares.sum()
    labels = generator.choice(k, size=n, p=p)
    labels[: 3 * k] = np.repeat(np.arange(k), 3)
    return labels


# --- clusters -------------------------------------------------------------------------------------


def paper(number: int) -> Row:
    def draw(generator: Generator) -> Labelled:
        drawn = make_paper_dataset(number, random_state=int(generator.integers(2**31)))
        return drawn.data, drawn.target

    return Row(f"data set {number}", "paper", draw, k_max=6, overlapping=True)


def blobs(
    name: str,
    k: int,
    d: int,
    n: int | None,
    separation: float,
    *,
    unequal: bool = False,
    elongation: float = 1.0,
    freedom: float | None = None,
    k_max: int = 10,
    overlapping: bool = False,
) -> Row:
    """Clusters whose nearest centres are ``separation`` standard deviations apart."""

    def draw(generator: Generator) -> Labelled:
        rows = any_n(generator, max(100, 15 * k)) if n is None else n
        shares = np.geomspace(1, 4, k) if unequal else None
        labels = labels_of(generator, rows, k, shares)
        if freedom is None:
            noise = generator.normal(size=(rows, d))
        else:
            noise = generator.standard_t(freedom, size=(rows, d))
        noise[:, 0] *= elongation
        return apart(generator, k, d, separation)[labels] + noise, labels

    return Row(name, "wide", draw, k_max, overlapping)


def wide(n_of: Callable[[int], int | None], suffix: str) -> list[Row]:
    def row(name: str, k: int, d: int, n: int, separation: float, **more: object) -> Row:
        return blobs(name + suffix, k, d, n_of(n), separation, **more)

    return [
        row("2 clusters", 2, 2, 100, 5.0),
        row("4 in 5 dimensions", 4, 5, 300, 5.0),
        row("10 in 10 dimensions", 10, 10, 2000, 6.0, k_max=15),
        row("15 in the plane", 15, 2, 5000, 6.0, k_max=20),
        row("20 in 20 dimensions", 20, 20, 4000, 6.0, k_max=25),
        row("3 unequal", 3, 2, 200, 4.0, unequal=True),
        row("5 in the plane", 5, 2, 1000, 3.5),
        row("6 in 10 dimensions", 6, 10, 500, 4.5),
        row("8 unequal", 8, 3, 1000, 4.5, unequal=True, k_max=15),
        row("3 in 50 dimensions", 3, 50, 150, 6.0),
        row("12 in the plane", 12, 2, 1500, 4.5, k_max=18),
        row("3 overlapping", 3, 2, 500, 2.7, overlapping=True),
        row("3 of 100 rows, overlapping", 3, 2, 100, 3.0, overlapping=True),
        row("5 overlapping in 5 dimensions", 5, 5, 400, 3.0, overlapping=True),
        row("4 elongated", 4, 3, 400, 6.0, elongation=2.0),
        row("4 with heavy tails", 4, 3, 500, 6.0, freedom=4.0),
        row("6 unequal, overlapping", 6, 4, 800, 3.5, unequal=True, overlapping=True),
    ]


def long_clusters(n: int) -> Row:
    """Gaussians of axis ratio 1.5 to 5, each in its own direction, six long sds apart."""

    def draw(generator: Generator) -> Labelled:
        k, d = int(generator.integers(2, 6)), int(generator.integers(2, 5))
        ratio = generator.uniform(1.5, 5)
        labels = labels_of(generator, n, k)
        noise = generator.normal(size=(n, d))
        noise[:, 0] *= ratio
        for j in range(k):
            noise[labels == j] = noise[labels == j] @ rotation(generator, d)
        return apart(generator, k, d, 6 * ratio)[labels] + noise, labels

    return Row(f"axis ratio 1.5 to 5, n = {n:,}", "shape", draw, limit=0.95)


def disc(generator: Generator, n: int, d: int) -> np.ndarray:
    """Uniform in a ball of radius one."""
    directions = generator.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * generator.uniform(size=(n, 1)) ** (1 / d)


def block(generator: Generator, n: int, ratio: float = 3.0) -> np.ndarray:
    return (generator.uniform(size=(n, 2)) - 0.5) * [
        2 * ratio / np.hypot(ratio, 1),
        2 / np.hypot(ratio, 1),
    ]


def triangle(generator: Generator, n: int) -> np.ndarray:
    corners = np.array([[0, 1], [-np.sqrt(0.75), -0.5], [np.sqrt(0.75), -0.5]])
    return generator.dirichlet(np.ones(3), size=n) @ corners


def gradient(generator: Generator, n: int) -> np.ndarray:
    """A square that is denser and denser towards one side."""
    return (np.sqrt(generator.uniform(size=(n, 2)) ** [1, 2]) - 0.5) * np.sqrt(2)


def uniform_clusters(
    name: str, one: Callable[[Generator, int], np.ndarray], n: int, k: int | None = None
) -> Row:
    """Clouds within a circle of radius one, 2.6 apart, each in its own direction."""

    def draw(generator: Generator) -> Labelled:
        n_clusters = int(generator.integers(2, 6)) if k is None else k
        labels = labels_of(generator, n, n_clusters)
        X = apart(generator, n_clusters, 2, 2.6)[labels]
        for j in range(n_clusters):
            X[labels == j] += one(generator, int((labels == j).sum())) @ rotation(generator, 2)
        return X, labels

    return Row(f"{name}, n = {n:,}", "shape", draw, limit=0.95)


def gaussians(
    name: str,
    *,
    limit: float | None,
    sds: object = 1.0,
    shares: object = None,
    separation: float = 6.0,
    least: int = 100,
    most: int = 10_000,
    freedom: float | None = None,
    after: Callable[[Generator, np.ndarray, np.ndarray], Labelled] = lambda _, *both: both,
    k: int = 3,
    d: int = 2,
    overlapping: bool = False,
) -> Row:
    """Round clusters with their own spreads and shares; gaps count in the larger of two spreads."""

    def draw(generator: Generator) -> Labelled:
        n = any_n(generator, least, most)
        spread = np.broadcast_to(np.asarray(sds, dtype=float), k)
        centers = generator.normal(size=(k, d))
        gaps = np.linalg.norm(centers[:, None] - centers[None], axis=2)
        needed = np.maximum(spread[:, None], spread[None]) * separation
        upper = np.triu_indices(k, 1)
        centers *= (needed[upper] / gaps[upper]).max()
        labels = labels_of(generator, n, k, None if shares is None else np.asarray(shares, float))
        noise = (
            generator.normal(size=(n, d))
            if freedom is None
            else generator.standard_t(freedom, size=(n, d))
        )
        return after(generator, centers[labels] + noise * spread[labels, None], labels)

    return Row(name, "uneven", draw, overlapping=overlapping, limit=limit)


def nested(generator: Generator) -> Labelled:
    """Three groups of three clusters."""
    n = any_n(generator, 150)
    groups, within = apart(generator, 3, 2, 30.0), [apart(generator, 3, 2, 6.0) for _ in range(3)]
    centers = np.vstack(
        [group + near - near.mean(axis=0) for group, near in zip(groups, within, strict=True)]
    )
    labels = labels_of(generator, n, 9)
    return centers[labels] + generator.normal(size=(n, 2)), labels


def with_outliers(generator: Generator, X: np.ndarray, labels: np.ndarray) -> Labelled:
    """One row in fifty anywhere within three times the range."""
    count = max(1, len(X) // 50)
    middle, half = (X.max(0) + X.min(0)) / 2, (X.max(0) - X.min(0)) / 2
    far = middle + 3 * half * generator.uniform(-1, 1, size=(count, X.shape[1]))
    return np.vstack([X, far]), np.concatenate([labels, np.full(count, -1)])


def with_noise_columns(generator: Generator, X: np.ndarray, labels: np.ndarray) -> Labelled:
    return np.hstack([X, generator.normal(size=(len(X), 48))]), labels


def with_correlated_columns(generator: Generator, X: np.ndarray, labels: np.ndarray) -> Labelled:
    mixed = X @ generator.normal(size=(X.shape[1], 8))
    return np.hstack([X, mixed + 0.3 * generator.normal(size=mixed.shape)]), labels


def with_duplicates(generator: Generator, X: np.ndarray, labels: np.ndarray) -> Labelled:
    """Every row between one and nine times."""
    times = generator.integers(1, 10, size=len(X))
    return np.repeat(X, times, axis=0), np.repeat(labels, times)


def rounded(generator: Generator, X: np.ndarray, labels: np.ndarray) -> Labelled:
    """Numbers kept to half a standard deviation."""
    return np.round(2 * X) / 2, labels


# --- no clusters ----------------------------------------------------------------------------------


def cloud(name: str, one: Callable[[Generator, int, int], np.ndarray], d: int | None = None) -> Row:
    def draw(generator: Generator) -> Labelled:
        n, columns = any_n(generator, 50), int(generator.choice([2, 3, 5, 10])) if d is None else d
        return one(generator, n, columns), np.zeros(n, dtype=int)

    return Row(name, "none", draw, limit=0.93)


def long_gaussian(generator: Generator, n: int, d: int) -> np.ndarray:
    X = generator.normal(size=(n, d))
    X[:, 0] *= 5
    return X @ rotation(generator, d)


def rectangle(generator: Generator, n: int, d: int) -> np.ndarray:
    X = generator.uniform(size=(n, d))
    X[:, 0] *= 3
    return X


def likert(generator: Generator, n: int, d: int) -> np.ndarray:
    """Answers from one to five, the columns correlated by one common opinion."""
    opinion = generator.normal(size=(n, 1)) + generator.normal(size=(n, d))
    return np.clip(np.round(3 + opinion), 1, 5)


NONE = [
    cloud("round Gaussian", lambda g, n, d: g.normal(size=(n, d))),
    cloud("Gaussian 5:1", long_gaussian),
    cloud("rectangle 3:1 along the axes", rectangle),
    cloud("rectangle 3:1 across the axes", lambda g, n, d: rectangle(g, n, d) @ rotation(g, d)),
    cloud("ball", disc),
    cloud("triangle", lambda g, n, d: triangle(g, n), d=2),
    cloud("t3", lambda g, n, d: g.standard_t(3, size=(n, d))),
    cloud("log-normal", lambda g, n, d: np.exp(g.normal(size=(n, d)))),
    cloud("exponential", lambda g, n, d: g.exponential(size=(n, d))),
    cloud("Likert grid", likert),
]

SHAPES: dict[str, Callable[[Generator, int], np.ndarray]] = {
    "discs": lambda g, n: disc(g, n, 2),
    "blocks 1 x 3": block,
    "triangles": triangle,
    "density gradients": gradient,
}

FAMILY: list[Row] = [
    *(paper(number) for number in PAPER_K),
    *wide(lambda n: n, ""),
    *wide(lambda n: None, ", any n"),
    *(long_clusters(n) for n in (100, 300, 1000, 3000, 10_000)),
    *(
        uniform_clusters(name, one, n)
        for name, one in SHAPES.items()
        for n in (100, 300, 1000, 3000, 10_000)
    ),
    Row("nested 3 x 3", "uneven", nested, k_max=15, limit=0.95),
    gaussians("sds .3 : 1 : 3", sds=(0.3, 1, 3), limit=0.95),
    gaussians("sizes 1 : 20", shares=(1, 20, 20), least=400, limit=0.85),
    gaussians("sizes 1 : 100", shares=(1, 100, 100), least=2000, limit=None),
    gaussians("outliers", after=with_outliers, limit=0.85),
    gaussians("t3 tails", freedom=3.0, separation=10, limit=None),
    gaussians("t2 tails", freedom=2.0, separation=15, limit=None),
    gaussians("15 rows", least=15, most=15, separation=10, limit=0.95),
    gaussians("48 noise columns", after=with_noise_columns, separation=8, limit=0.95),
    gaussians("correlated columns", after=with_correlated_columns, limit=None),
    gaussians("duplicates", after=with_duplicates, most=2000, limit=None),
    gaussians("rounded", after=rounded, limit=None),
    *NONE,
]
