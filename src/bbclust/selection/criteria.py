"""From the two measures over K and s to one score per K, a choice, and how firm the choice is.

The paper's criteria are the K of lowest mean entropy and the K of lowest maximum mean pairwise
entropy. Their logarithms are averaged over s: small values count, and one large s does not drown
the rest.

The default, "auto", starts from the paper's K of lowest pairwise entropy and goes up from there:
**the largest K that holds**. That K is a stable cut, but where clusters come in groups it may be a
cut between the groups. A larger K holds when

- even its worst pair of clusters leaves at most half (:data:`HOLDS`) the doubt that two halves of
  its own clusters leave (:meth:`bbclust.selection.splits.Splits.doubt_of_halves`),
- and at most half the doubt that the best cut in two or three of the clusters one started from
  leaves, unless these have valleys themselves
  (:meth:`bbclust.selection.splits.Splits.doubt_of_cuts`), and
- none of its four most doubtful pairs of neighbours is as hard to tell apart as two halves of one
  cloud would be (:meth:`bbclust.selection.splits.Splits.relative_doubt`);

or when even its worst pair leaves no more doubt than two halves of its own clusters, and there is a
valley between every two neighbours (:meth:`bbclust.selection.splits.Splits.is_separated`, with the
level of 0.05 shared among the K's of which that is asked). This is the way of small clusters beside
large ones: replicas draw few of their rows, and doubt them.

Doubts are only ever compared with doubts that were found from as many rows, draws and at the same
s; no entropy is compared with a constant.

A criterion is one entry of :data:`CRITERIA`; estimators, the command and the report read it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from bbclust.selection.grid import Grid
from bbclust.selection.p_values import LEVEL
from bbclust.selection.splits import Splits
from bbclust.stages.random_streams import Stage, stream_generator

Array = npt.NDArray[np.float64]

PAIRWISE, MEAN, DOUBT = "max_pairwise_entropy", "mean_entropy", "pair_doubt"
HOLDS = 0.5
N_DOUBTFUL_PAIRS = 4

N_NOISE_DRAWS = 500
TIE_SHARE = 0.05


@dataclass(frozen=True)
class Evidence:
    """What clouds without a gap say of the clusters of each K.

    Attributes
    ----------
    cuts : dict
        K: doubt of a cut through a cluster, in bits: of two halves of its own clusters, or, where
        that is less, of the clusters one started from; NaN if one is too small to have halves.
    apart : dict
        K: whether its most doubtful neighbours are more apart than two halves of one cloud, for
        the K's of which it was asked.
    separated : dict
        K: True where a valley is shown between every two neighbours, and that was asked.
    tendency : float or None
        p-value of "one cloud, without a valley and with parts as loose"; None if it was not asked.
    relative_doubt : float or None
        Of the neighbours of the K found, the least.
    """

    cuts: dict[int, float] = field(default_factory=dict)
    apart: dict[int, bool] = field(default_factory=dict)
    separated: dict[int, bool] = field(default_factory=dict)
    tendency: float | None = None
    relative_doubt: float | None = None

    @property
    def is_one_cloud(self) -> bool:
        """No clusters are shown, and no neighbours are more apart than two halves of one cloud."""
        if self.tendency is None or self.relative_doubt is None:
            return False
        return self.tendency > LEVEL and self.relative_doubt >= 1

    def limit(self, k: int) -> float:
        """The doubt up to which a K holds; one that never does has the least number."""
        cut = self.cuts.get(k, np.nan)
        if self.separated.get(k):
            return cut
        if np.isnan(cut) or not self.apart.get(k, True):
            return np.finfo(float).tiny
        return HOLDS * cut

    def for_draws(self, ratio: float) -> Evidence:
        """The same for replicas of ``ratio`` times as many draws: doubts go with 1 / sqrt(m)."""
        fewer = {k: float(np.minimum(cut / np.sqrt(ratio), 1.0)) for k, cut in self.cuts.items()}
        return replace(self, cuts=fewer)


NO_EVIDENCE = Evidence()


@dataclass(frozen=True)
class Scores:
    """One score per K, lower is better, and what decides whether a larger K holds.

    Attributes
    ----------
    k_values : tuple of int, increasing
    values, influence : ndarrays of shape (number of K's,), (number of K's, B)
        The score, and what each replica moves it, to first order.
    doubts, doubt_influence : ndarrays of the same shapes
        The logarithm that is compared with the limits; for the paper's criteria the score itself.
    limits : ndarray of shape (number of K's,)
        A K whose doubt is at or below its limit holds.
    one : bool
        Whether the answer is K = 1.
    """

    k_values: tuple[int, ...]
    values: Array
    influence: Array
    doubts: Array
    doubt_influence: Array
    limits: Array
    one: bool = False

    def best(self) -> int:
        """The K of lowest score, the smallest among equals, or the largest that holds; or 1."""
        return int(self._choose(self.values[None, :], self.doubts[None, :])[0])

    def _choose(self, values: Array, doubts: Array) -> npt.NDArray[np.int64]:
        """The choice in each row of (rows, K's)."""
        holds = doubts <= self.limits
        n = values.shape[1]
        largest = np.where(holds.any(axis=1), n - 1 - holds[:, ::-1].argmax(axis=1), -1)
        chosen = np.array(self.k_values)[np.maximum(values.argmin(axis=1), largest)]
        return np.ones_like(chosen) if self.one else chosen

    def difference_se(self) -> Array:
        """Monte-Carlo standard error of each score's difference from the best, paired."""
        best = self.best()
        lowest = self.k_values.index(best) if best > 1 else int(self.values.argmin())
        differences = self.influence - self.influence[lowest]
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
        wins = np.bincount(self._choose(values, doubts), minlength=self.k_values[-1] + 1)
        possible = (1, *self.k_values) if self.one else self.k_values
        return {k: float(wins[k]) / N_NOISE_DRAWS for k in possible}


def tied(best: int, wins: dict[int, float]) -> tuple[int, ...]:
    """K's that win often enough by noise alone to be called tied with the best."""
    return tuple(k for k, share in wins.items() if k == best or share >= TIE_SHARE)


def score(grid: Grid, criterion: str = "auto", evidence: Evidence = NO_EVIDENCE) -> Scores:
    """Scores of a grid under a criterion."""
    return CRITERIA[criterion].score(grid, evidence)


def score_measure(grid: Grid, measure: str) -> Scores:
    """As the paper has it: the lowest value of one measure; of several without any, the largest."""
    values, influence = mean_logs(grid, measure)
    floor = np.full(len(values), np.log(grid.floor))
    return Scores(grid.k_values, values, influence, values, influence, floor)


def score_auto(grid: Grid, evidence: Evidence = NO_EVIDENCE) -> Scores:
    """The paper's pairwise entropy, and the largest K above it that holds."""
    pairwise, influence = mean_logs(grid, PAIRWISE)
    doubts, doubt_influence = mean_logs(grid, DOUBT)
    limits = np.log([evidence.limit(k) for k in grid.k_values])
    at_floor = pairwise <= np.log(grid.floor)
    start = len(at_floor) - 1 - at_floor[::-1].argmax() if at_floor.any() else pairwise.argmin()
    values = pairwise.copy()
    values[start] -= at_floor.any()  # of several without any entropy, the largest
    return Scores(
        grid.k_values,
        values,
        influence,
        doubts,
        doubt_influence,
        limits,
        one=evidence.is_one_cloud,
    )


def gather_evidence(grid: Grid, splits: Splits) -> Evidence:
    """What clouds say of each K, from the largest down until one holds."""
    references = dict(zip(grid.k_values, grid.references, strict=True))
    halves = {k: splits.doubt_of_halves(reference) for k, reference in references.items()}
    scores = score_auto(grid, Evidence(halves))
    start = grid.k_values[int(scores.values.argmin())]
    doubts = dict(zip(grid.k_values, np.exp(scores.doubts), strict=True))
    cuts = halves
    if scores.best() > start:
        of_start = splits.doubt_of_cuts(references[start])
        cuts = {k: float(np.minimum(h, of_start)) if k > start else h for k, h in halves.items()}
    evidence = Evidence(dict(cuts))
    told_apart = [k for k in grid.k_values if k > start and doubts[k] <= halves[k]]
    for k in reversed(told_apart):
        if doubts[k] <= HOLDS * cuts[k]:
            evidence.apart[k] = splits.is_apart(grid, references[k], N_DOUBTFUL_PAIRS)
            if evidence.apart[k]:
                break
        if splits.is_separated(grid, references[k], LEVEL / len(told_apart)):
            evidence.separated[k] = True
            evidence.cuts[k] = halves[k]
            break
    return evidence


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
        Scores of a grid, and of what clouds without a gap say of its K's.
    """

    name: str
    title: str
    sentence: str
    score: Callable[[Grid, Evidence], Scores]


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "auto",
            "bbclust, both measures",
            "The rule: from the number of least entropy between the two clusters worst told apart, "
            "up to the largest of which even the worst pair leaves at most half the doubt of a cut "
            "through a cluster, and its most doubtful pairs less than two halves of one cloud; or "
            "less than a cut, with a valley between every two neighbours.",
            score_auto,
        ),
        Criterion(
            "pairwise",
            "bbclust, pairwise entropy",
            "The rule: the least entropy between the two clusters worst told apart.",
            lambda grid, evidence: score_measure(grid, PAIRWISE),
        ),
        Criterion(
            "mean",
            "bbclust, mean entropy",
            "The rule: the least mean entropy.",
            lambda grid, evidence: score_measure(grid, MEAN),
        ),
    )
}
