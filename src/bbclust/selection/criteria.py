"""From the two measures over K and s to one score per K, a choice, and how firm the choice is.

The paper's criteria are the K of lowest mean entropy and the K of lowest maximum mean pairwise
entropy. Their logarithms are averaged over s: small values count, and one large s does not drown
the rest.

The default, "auto", was found by ``benchmarks/k_recovery.py``: **the largest crisp K; without a
crisp K, the lowest pairwise entropy and half the mean entropy together.**

- Well separated groups of clusters are stable too: any cut between them is crisp, and which of the
  crisp ones has the least entropy is chance. The finest cut that still holds is the answer.
- Crisp is a matter of the *doubt* between two clusters
  (:func:`bbclust.stages.entropies.pair_doubts`), in which each point counts by its membership in
  the two: a mean over all points would dilute it when there are many clusters. K is crisp when its
  largest doubt is at most :data:`CRISP_BITS`.

A criterion is one entry of :data:`CRITERIA`; estimators, the command and the report read it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.selection.grid import Grid
from bbclust.stages.random_streams import Stage, stream_generator

Array = npt.NDArray[np.float64]

PAIRWISE, MEAN, DOUBT = "max_pairwise_entropy", "mean_entropy", "pair_doubt"
CRISP_BITS = 0.18
MEAN_WEIGHT = 0.5

N_NOISE_DRAWS = 500
TIE_SHARE = 0.05


@dataclass(frozen=True)
class Scores:
    """One score per K, lower is better, and what decides whether a K is as good as can be.

    Attributes
    ----------
    k_values : tuple of int, increasing
    values, influence : ndarrays of shape (number of K's,), (number of K's, B)
        The score, and what each replica moves it, to first order.
    doubts, doubt_influence : ndarrays of the same shapes
        The logarithm that is compared with the floor; for the paper's criteria the score itself.
    floor : float
        K's whose doubt is at or below it are ties, which go to the largest K.
    """

    k_values: tuple[int, ...]
    values: Array
    influence: Array
    doubts: Array
    doubt_influence: Array
    floor: float

    def best(self) -> int:
        """The largest K at the floor, else the K of lowest score, the smallest among equals."""
        chosen = _choose(self.values[None, :], self.doubts[None, :], self.floor)
        return self.k_values[int(chosen[0])]

    def difference_se(self) -> Array:
        """Monte-Carlo standard error of each score's difference from the best, paired."""
        differences = self.influence - self.influence[self.k_values.index(self.best())]
        n_replicas = self.influence.shape[1]
        return np.asarray(np.sqrt(n_replicas / max(n_replicas - 1, 1) * (differences**2).sum(1)))

    def bootstrap_win_rates(self, seed: int) -> dict[int, float]:
        """Share of wins of each K when the replicas are resampled, the same ones for every K."""
        n_replicas = self.influence.shape[1]
        generator = stream_generator(seed, Stage.CONFIDENCE)
        equal = np.full(n_replicas, 1 / n_replicas)
        counts = generator.multinomial(n_replicas, equal, N_NOISE_DRAWS) - 1.0
        values = self.values + np.einsum("rb,kb->rk", counts, self.influence)
        doubts = self.doubts + np.einsum("rb,kb->rk", counts, self.doubt_influence)
        wins = np.bincount(_choose(values, doubts, self.floor), minlength=len(self.k_values))
        return {k: float(w) / N_NOISE_DRAWS for k, w in zip(self.k_values, wins, strict=True)}


def tied(best: int, wins: dict[int, float]) -> tuple[int, ...]:
    """K's that win often enough by noise alone to be called tied with the best."""
    return tuple(k for k, share in wins.items() if k == best or share >= TIE_SHARE)


def _choose(values: Array, doubts: Array, floor: float) -> npt.NDArray[np.int64]:
    """Index of the choice in each row of (rows, K's)."""
    crisp = doubts <= floor
    largest_crisp = values.shape[1] - 1 - crisp[:, ::-1].argmax(axis=1)
    return np.asarray(np.where(crisp.any(axis=1), largest_crisp, values.argmin(axis=1)))


def score(grid: Grid, criterion: str = "auto") -> Scores:
    """Scores of a grid under a criterion."""
    return CRITERIA[criterion].score(grid)


def score_measure(grid: Grid, measure: str) -> Scores:
    """As the paper has it: the lowest value of one measure."""
    values, influence = mean_logs(grid, measure)
    return Scores(grid.k_values, values, influence, values, influence, float(np.log(grid.floor)))


def score_auto(grid: Grid) -> Scores:
    """The largest crisp K; without one, both measures together."""
    pairwise, pairwise_influence = mean_logs(grid, PAIRWISE)
    mean, mean_influence = mean_logs(grid, MEAN)
    doubts, doubt_influence = mean_logs(grid, DOUBT)
    return Scores(
        grid.k_values,
        values=pairwise + MEAN_WEIGHT * mean,
        influence=pairwise_influence + MEAN_WEIGHT * mean_influence,
        doubts=doubts,
        doubt_influence=doubt_influence,
        floor=float(np.log(CRISP_BITS)),
    )


def mean_logs(grid: Grid, measure: str) -> tuple[Array, Array]:
    """Mean over s of the logarithm of a measure, floored, and what each replica moves it."""
    values, influence = grid.values(measure), grid.influence(measure)
    seen = np.maximum(values, grid.floor)
    relative = np.where((values > grid.floor)[:, :, None], influence, 0.0) / seen[:, :, None]
    return np.log(seen).mean(axis=1), relative.mean(axis=1)


@dataclass(frozen=True)
class Criterion:
    """One way to choose K.

    Attributes
    ----------
    name : str
        What ``KSelector(criterion=...)`` takes.
    title : str
        What it is called beside other methods.
    sentence : str
        How it chooses.
    score : callable
        Scores of a grid.
    """

    name: str
    title: str
    sentence: str
    score: Callable[[Grid], Scores]


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "auto",
            "bbclust, both measures",
            "The rule: the largest number of which even the worst pair of clusters is well "
            "separated; if there is none, the least of both measures together.",
            score_auto,
        ),
        Criterion(
            "pairwise",
            "bbclust, pairwise entropy",
            "The rule: the least entropy between the two clusters worst told apart.",
            lambda grid: score_measure(grid, PAIRWISE),
        ),
        Criterion(
            "mean",
            "bbclust, mean entropy",
            "The rule: the least mean entropy.",
            lambda grid: score_measure(grid, MEAN),
        ),
    )
}
