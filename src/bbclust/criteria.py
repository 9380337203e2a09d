"""From the two measures over K and s to one score per K, a choice, and how firm the choice is.

The paper's criteria are the K of lowest mean entropy and the K of lowest maximum mean pairwise
entropy. Their logarithms are averaged over s: small values count, and one large s does not drown
the rest.

The default, "auto", corrects the second in two ways, both found by ``benchmarks/k_recovery.py``:

- The mean over all points dilutes the doubt between two of many clusters. So each point counts by
  its membership in the two, which makes it bits per vote for either: the *doubt* between the two
  (:func:`bbclust.entropy.pair_doubts`).
- Well separated groups of clusters are stable too: any cut between them is crisp, and which of the
  crisp ones has the least entropy is chance. So below :data:`CRISP_BITS` nothing is compared any
  more, and **the largest crisp K is chosen**; without a crisp K, the one of lowest score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stability import Grid
from bbclust.streams import Stage, stream_generator

Array = npt.NDArray[np.float64]

CRITERIA = ("auto", "pairwise", "mean")
PAIRWISE, MEAN, DOUBT = "max_pairwise_entropy", "mean_entropy", "pair_doubt"
CRISP_BITS = 0.18

N_NOISE_DRAWS = 1000
TIE_SHARE = 0.05


@dataclass(frozen=True)
class Scores:
    """One score per K; lower is better, and below the floor all are equally good.

    Attributes
    ----------
    k_values : tuple of int, increasing
    values : ndarray of shape (number of K's,)
    moves : ndarray of shape (number of K's, B)
        What each replica moves the score, to first order.
    floor : float
        Scores at or below it are ties, which go to the largest K.
    """

    k_values: tuple[int, ...]
    values: Array
    moves: Array
    floor: float

    def best(self) -> int:
        """The largest K at the floor, else the K of lowest score, the smallest among equals."""
        return self.k_values[int(_choose(self.values[None, :], self.floor)[0])]

    def difference_se(self) -> Array:
        """Monte-Carlo standard error of each score's difference from the best, paired."""
        differences = self.moves - self.moves[self.k_values.index(self.best())]
        n_replicas = self.moves.shape[1]
        return np.asarray(np.sqrt(n_replicas / max(n_replicas - 1, 1) * (differences**2).sum(1)))

    def noise_wins(self, seed: int) -> dict[int, float]:
        """Share of wins of each K when the replicas are resampled, the same ones for every K."""
        n_replicas = self.moves.shape[1]
        generator = stream_generator(seed, Stage.CONFIDENCE)
        equal = np.full(n_replicas, 1 / n_replicas)
        counts = generator.multinomial(n_replicas, equal, N_NOISE_DRAWS)
        noisy = self.values + np.einsum("rb,kb->rk", counts - 1.0, self.moves)
        wins = np.bincount(_choose(noisy, self.floor), minlength=len(self.k_values))
        return {k: float(w) / N_NOISE_DRAWS for k, w in zip(self.k_values, wins, strict=True)}


def tied(best: int, wins: dict[int, float]) -> tuple[int, ...]:
    """K's that win often enough by noise alone to be called tied with the best."""
    return tuple(k for k, share in wins.items() if k == best or share >= TIE_SHARE)


def _choose(values: Array, floor: float) -> npt.NDArray[np.int64]:
    """Index of the choice in each row of (rows, K's)."""
    crisp = values <= floor
    largest_crisp = values.shape[1] - 1 - crisp[:, ::-1].argmax(axis=1)
    return np.asarray(np.where(crisp.any(axis=1), largest_crisp, values.argmin(axis=1)))


def score(grid: Grid, criterion: str = "auto") -> Scores:
    """Scores of a grid under a criterion."""
    measure = {"auto": DOUBT, "pairwise": PAIRWISE, "mean": MEAN}[criterion]
    values, moves = grid.values(measure), grid.moves(measure)
    visible = values > grid.floor
    seen = np.maximum(values, grid.floor)
    relative = np.where(visible[:, :, None], moves, 0.0) / seen[:, :, None]
    return Scores(
        grid.k_values,
        values=np.log(seen).mean(axis=1),
        moves=relative.mean(axis=1),
        floor=float(np.log(CRISP_BITS if criterion == "auto" else grid.floor)),
    )
