"""Are the answer and the relative doubt free of n? Structures at 300, 3,000 and 30,000 rows.

python benchmarks/k_and_n.py [--seeds 40000:40020] [--jobs 2]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from k_families import SHAPES, Generator, labels_of, rotation

from bbclust import KSelector

SIZES = (300, 3000, 30_000)
CENTERS = np.array([[0.0, 0.0], [20.0, 0.0], [10.0, 17.0]])


def gaussians(ratio: float, scale: float) -> Callable[[Generator, int], np.ndarray]:
    """Three Gaussians of an axis ratio, each in its own direction."""

    def draw(generator: Generator, n: int) -> np.ndarray:
        labels = labels_of(generator, n, 3)
        noise = generator.normal(size=(n, 2)) * [ratio, 1.0]
        for j in range(3):
            noise[labels == j] = noise[labels == j] @ rotation(generator, 2)
        return scale * CENTERS[labels] + noise

    return draw


def shapes(one: Callable[[Generator, int], np.ndarray]) -> Callable[[Generator, int], np.ndarray]:
    """Three clouds of radius one, 2.6 apart."""

    def draw(generator: Generator, n: int) -> np.ndarray:
        labels = labels_of(generator, n, 3)
        X = 0.13 * CENTERS[labels]
        for j in range(3):
            X[labels == j] += one(generator, int((labels == j).sum())) @ rotation(generator, 2)
        return X

    return draw


STRUCTURES = {
    "round, 20 sd apart": gaussians(1.0, 1.0),
    "round, 5 sd apart": gaussians(1.0, 0.25),
    "round, 4 sd apart": gaussians(1.0, 0.2),
    "axis ratio 2, 20 sd apart": gaussians(2.0, 1.0),
    "axis ratio 5, 6 long sds apart": gaussians(5.0, 1.5),
    **{f"three {name}": shapes(one) for name, one in SHAPES.items()},
}


def run(name: str, n: int, seed: int) -> tuple[str, int, bool, float]:
    generator = np.random.default_rng([seed, n, *name.encode()])
    selector = KSelector(refit=False, random_state=seed).fit(STRUCTURES[name](generator, n))
    doubts = [test.relative_doubt for test in selector.verdict_.pairs]
    right = selector.best_k_ == 3
    return name, n, right, float(np.log(max(doubts))) if right and doubts else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="40000:40020", help="first:end")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    first, end = (int(part) for part in arguments.seeds.split(":"))
    results = Parallel(arguments.jobs)(
        delayed(run)(name, n, seed)
        for seed in range(first, end)
        for name in STRUCTURES
        for n in SIZES
    )
    print(f"| three clusters | {' | '.join(f'K found, n = {n:,}' for n in SIZES)} | ", end="")
    print(f"{' | '.join(f'largest relative doubt, n = {n:,}' for n in SIZES)} |")
    print("|---" * (1 + 2 * len(SIZES)) + "|")
    for name in STRUCTURES:
        cells = []
        mine = {n: [one for one in results if one[:2] == (name, n)] for n in SIZES}
        cells += [f"{np.mean([one[2] for one in mine[n]]):.2f}" for n in SIZES]
        for n in SIZES:
            logs = np.array([one[3] for one in mine[n] if np.isfinite(one[3])])
            spread = logs.std(ddof=1) if len(logs) > 1 else np.nan
            cells.append(
                f"{np.exp(logs.mean()):.3f} (x/ {np.exp(spread):.1f})" if len(logs) else "-"
            )
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
