"""How often KSelector finds the true K beside outliers, and how far they drag centres.

Round clusters, 3 to 5 in the plane, of 250 rows: as they are, and with what does not belong to
them. Every draw is chosen from without it, with it, and with it at some ``trim``. Centres are those
of ``BBC`` at the true K (``cluster_centers_``): the largest distance of a true centre from the
nearest of them, in standard deviations, the median over draws.

    python benchmarks/trimming.py --draws 20 > table.md
    python docs/fill_tables.py trimming < table.md
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from k_families import apart, labels_of

from bbclust import BBC, KSelector

Generator = np.random.Generator
N = 250
TRIMS = (0.0, 0.02, 0.05)
K_RANGE = range(2, 8)
FIRST_SEED = 70_000


class Drawn(NamedTuple):
    """A table without and with what does not belong to its clusters, and their centres."""

    clean: np.ndarray
    spoiled: np.ndarray
    centers: np.ndarray


def clusters(generator: Generator, separation: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres, and the centre of every row."""
    centers = apart(generator, int(generator.integers(3, 6)), 2, separation)
    return centers, centers[labels_of(generator, N, len(centers))]


def far_rows(generator: Generator) -> Drawn:
    """Five rows, each five times as far from the middle as the farthest row, anywhere around."""
    centers, of_rows = clusters(generator, 6.0)
    clean = of_rows + generator.normal(size=of_rows.shape)
    middle = clean.mean(axis=0)
    reach = np.linalg.norm(clean - middle, axis=1).max()
    angle = generator.uniform(0, 2 * np.pi, size=5)
    far = middle + 5 * reach * np.column_stack([np.cos(angle), np.sin(angle)])
    return Drawn(clean, np.vstack([clean, far]), centers)


def uniform_noise(generator: Generator) -> Drawn:
    """One row in a hundred anywhere in a box three times as wide as the rows."""
    centers, of_rows = clusters(generator, 6.0)
    clean = of_rows + generator.normal(size=of_rows.shape)
    low, high = clean.min(axis=0), clean.max(axis=0)
    box = generator.uniform(-1, 2, size=(round(N / 100), 2))
    return Drawn(clean, np.vstack([clean, low + box * (high - low)]), centers)


def heavy_tails(generator: Generator) -> Drawn:
    """Student's t with two degrees of freedom in the place of Gaussians."""
    centers, of_rows = clusters(generator, 15.0)
    clean = of_rows + generator.normal(size=of_rows.shape)
    return Drawn(clean, of_rows + generator.standard_t(2.0, size=of_rows.shape), centers)


KINDS: dict[str, Callable[[Generator], Drawn]] = {
    "5 far rows": far_rows,
    "1% noise over a box": uniform_noise,
    "t2 tails": heavy_tails,
}


def chosen_k(X: np.ndarray, trim: float, seed: int) -> int:
    estimator = BBC(n_init=2, trim=trim)
    selector = KSelector(estimator, k_range=K_RANGE, refit=False, random_state=seed % 2**32)
    return int(selector.fit(X).best_k_)


def drag(X: np.ndarray, centers: np.ndarray, trim: float, seed: int) -> float:
    """The largest distance of a true centre from the nearest that is found."""
    model = BBC(len(centers), n_replicas=100, trim=trim, random_state=seed % 2**32).fit(X)
    distances = np.linalg.norm(centers[:, None] - model.cluster_centers_[None], axis=2)
    return float(distances.min(axis=1).max())


def measure(draw: Callable[[Generator], Drawn], name: str, n_draws: int) -> Iterator[str]:
    """For the clean tables, then for every trim: true K in so many draws, and the drag."""
    cells = [("clean", 0.0), *(("spoiled", trim) for trim in TRIMS)]
    hits, drags = np.zeros(len(cells), dtype=int), np.zeros((len(cells), n_draws))
    for i in range(n_draws):
        seed = FIRST_SEED + i
        drawn = draw(np.random.default_rng([seed, *name.encode()]))
        for j, (which, trim) in enumerate(cells):
            X = getattr(drawn, which)
            hits[j] += chosen_k(X, trim, seed) == len(drawn.centers)
            drags[j, i] = drag(X, drawn.centers, trim, seed)
    for right, far in zip(hits, drags, strict=True):
        yield f"{right / n_draws:.0%}, {np.median(far):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    heads = ["true K found, drag of centres", "without", *(f"trim={t:g}" for t in TRIMS)]
    print(f"| {' | '.join(heads)} |")
    print("|---" * (2 + len(TRIMS)) + "|")
    for name in asked.kinds:
        cells = " | ".join(measure(KINDS[name], name, asked.draws))
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
