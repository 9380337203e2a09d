"""From the two measures over K and s to one score per K, a choice, and how firm the choice is.

A score is the mean over s of the logarithm of a measure: small values count, and one large s does
not drown the rest. Lower is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stability import Grid
from bbclust.streams import Stage, stream_generator

Array = npt.NDArray[np.float64]

PAIRWISE, MEAN = "max_pairwise_entropy", "mean_entropy"

# Weights of the two measures in each criterion; "auto" was chosen by benchmarks/k_recovery.py.
CRITERIA: dict[str, dict[str, float]] = {
    "auto": {PAIRWISE: 1.0, MEAN: 0.25},
    "pairwise": {PAIRWISE: 1.0},
    "mean": {MEAN: 1.0},
}

N_NOISE_DRAWS = 2000
TIE_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Scores:
    """One score per K, what each replica moves it, and whether it has nothing left to see.

    Attributes
    ----------
    k_values : tuple of int
    values : ndarray of shape (number of K's,)
    moves : ndarray of shape (number of K's, B)
    at_floor : ndarray of shape (number of K's,), bool
        Every measure is at its floor: not even one vote dissents.
    """

    k_values: tuple[int, ...]
    values: Array
    moves: Array
    at_floor: npt.NDArray[np.bool_]

    def best(self) -> int:
        """K of the lowest score; ties at the floor go to the largest K, others to the smallest."""
        lowest = np.flatnonzero(self.values == self.values.min())
        chosen = lowest[-1] if self.at_floor[lowest].all() else lowest[0]
        return self.k_values[int(chosen)]

    def difference_se(self) -> Array:
        """Monte-Carlo standard error of each K's difference from the best, paired by replica."""
        best = self.k_values.index(self.best())
        differences = self.moves - self.moves[best]
        n_replicas = self.moves.shape[1]
        return np.asarray(np.sqrt(n_replicas / max(n_replicas - 1, 1) * (differences**2).sum(1)))

    def tied(self) -> tuple[int, ...]:
        """K's that Monte-Carlo noise does not tell from the best; more replicas would."""
        best = self.k_values.index(self.best())
        near = self.values - self.values[best] <= TIE_STANDARD_ERRORS * self.difference_se()
        near[best] = True
        return tuple(k for k, is_near in zip(self.k_values, near, strict=True) if is_near)

    def noise_wins(self, seed: int) -> dict[int, float]:
        """Share of wins of each K when the replicas are resampled, the same ones for every K."""
        n_replicas = self.moves.shape[1]
        generator = stream_generator(seed, Stage.CONFIDENCE)
        counts = generator.multinomial(
            n_replicas, np.full(n_replicas, 1 / n_replicas), N_NOISE_DRAWS
        )
        noisy = self.values + np.einsum("rb,kb->rk", counts - 1.0, self.moves)
        best = self.k_values.index(self.best())
        # exact ties, as at the floor, go to the chosen K
        noisy[:, best] = np.nextafter(noisy[:, best], -np.inf)
        wins = np.bincount(noisy.argmin(axis=1), minlength=len(self.k_values)) / N_NOISE_DRAWS
        return {k: float(share) for k, share in zip(self.k_values, wins, strict=True)}


def score(grid: Grid, criterion: str = "auto") -> Scores:
    """Scores of a grid under a criterion."""
    n_k, n_replicas = len(grid.k_values), grid.moves(MEAN).shape[2]
    values, moves = np.zeros(n_k), np.zeros((n_k, n_replicas))
    at_floor = np.ones(n_k, dtype=np.bool_)
    for measure, weight in CRITERIA[criterion].items():
        each = score_measure(grid.values(measure), grid.moves(measure), grid.floor)
        values += weight * each.values
        moves += weight * each.moves
        at_floor &= each.at_floor
    return Scores(grid.k_values, values, moves, at_floor)


@dataclass(frozen=True)
class MeasureScores:
    """Mean logarithm of one measure over s, per K."""

    values: Array
    moves: Array
    at_floor: npt.NDArray[np.bool_]


def score_measure(values: Array, moves: Array, floor: float) -> MeasureScores:
    """values (K's, s's) and moves (K's, s's, B) into mean logarithms, floored."""
    visible = values > floor
    relative = moves / np.where(visible, values, 1.0)[:, :, None]
    return MeasureScores(
        values=np.log(np.maximum(values, floor)).mean(axis=1),
        moves=np.where(visible[:, :, None], relative, 0.0).mean(axis=1),
        at_floor=np.asarray(~visible.any(axis=1)),
    )
