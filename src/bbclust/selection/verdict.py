"""What the two measures say together: a taxonomy of clusterings, in words.

The paper announces a taxonomy from the joint use of both measures and leaves it open. Here, for
each K, from the doubt of pairs of clusters (bits per vote for either), averaged over s:

- *crisp*: even the worst pair is told apart, its doubt is at most
  :data:`~bbclust.selection.criteria.CRISP_BITS`;
- *one ill-separated pair*: the worst pair stands out, its doubt is at least :data:`STANDS_OUT`
  times that of any other pair;
- *diffuse*: several pairs are ill separated;
- *unresolved*: Monte-Carlo noise hides which of these it is.

With a null reference, a K whose worst pair is no better told apart than in data without clusters
is diffuse, whatever its entropy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from bbclust.selection.criteria import CRISP_BITS
from bbclust.selection.grid import Grid
from bbclust.stages.kmeans import Partition

STANDS_OUT = 2.0
NOISE_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class KVerdict:
    """What one K looks like.

    Attributes
    ----------
    kind : {"crisp", "one ill-separated pair", "diffuse", "unresolved"}
    worst_pair : tuple of two ints
        The clusters worst told apart, over all s together.
    doubt, doubt_se : float
        Bits per vote for either, averaged over s.
    mean_entropy : float
        Mean entropy, averaged over s.
    merged_mean_entropy : float
        What it would be with the worst pair as one cluster.
    sizes : tuple of float
        Shares of the clusters.
    parents : tuple of int, or None
        For each cluster, the cluster of the next smaller K that most of it comes from.
    """

    n_clusters: int
    kind: str
    worst_pair: tuple[int, int]
    doubt: float
    doubt_se: float
    mean_entropy: float
    merged_mean_entropy: float
    sizes: tuple[float, ...]
    parents: tuple[int, ...] | None

    def __str__(self) -> str:
        pair = f"clusters {self.worst_pair[0]} and {self.worst_pair[1]}"
        line = f"K = {self.n_clusters}: {self.kind}"
        if self.kind == "crisp":
            return line + f"; at worst {self.doubt:.2f} bits of doubt between {pair}."
        line += f"; {self.doubt:.2f} bits of doubt between {pair}"
        if self.kind == "one ill-separated pair":
            line += (
                f"; as one cluster the mean entropy falls from {self.mean_entropy:.3f} "
                f"to {self.merged_mean_entropy:.3f}"
            )
        return line + "."


@dataclass(frozen=True)
class Verdict:
    """The answer in sentences; ``str()`` for people, ``to_dict()`` for programs."""

    best_k: int
    tied_k: tuple[int, ...]
    tendency: float | None
    confidence: dict[int, float] | None
    by_k: tuple[KVerdict, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, strings, lists and dicts."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join([self._choice(), self._clusters_or_not(), *map(str, self.by_k)])

    def _choice(self) -> str:
        sentence = f"{self.best_k} clusters fit best"
        if len(self.tied_k) > 1:
            others = ", ".join(str(k) for k in self.tied_k if k != self.best_k)
            sentence += f", tied with {others} within Monte-Carlo error (run more replicas)"
        if self.confidence is not None:
            share = self.confidence.get(self.best_k, 0.0)
            sentence += f"; half-samples of the rows agree {share:.0%} of the time"
        return sentence + "."

    def _clusters_or_not(self) -> str:
        if self.tendency is None:
            return "Whether there are clusters at all (K = 1) was not tested: set null_reference."
        if self.tendency <= 0.05:
            return f"Data without clusters would rarely look like this (p = {self.tendency:.3g})."
        return (
            f"Data without clusters look like this too (p = {self.tendency:.3g}): "
            "take any partition as a convenience, not as a finding."
        )


def classify_separation(
    grid: Grid, null_doubt: dict[int, float] | None = None
) -> tuple[KVerdict, ...]:
    """A verdict for every K; ``null_doubt`` is the 5% quantile in data without clusters."""
    verdicts = []
    for i, n_clusters in enumerate(grid.k_values):
        cells = [grid.cell(n_clusters, scale) for scale in grid.prior_scales]
        doubts = np.mean([cell.pair_doubts for cell in cells], axis=0)
        upper = np.triu_indices(n_clusters, 1)
        order = np.argsort(-doubts[upper], kind="stable")
        pair = (int(upper[0][order[0]]), int(upper[1][order[0]]))
        worst = float(doubts[pair])
        second = float(doubts[upper][order[1]]) if len(order) > 1 else 0.0
        error = float(np.mean([cell.pair_doubt_se for cell in cells]))
        verdicts.append(
            KVerdict(
                n_clusters=n_clusters,
                kind=_kind(
                    worst,
                    second,
                    error,
                    null=None if null_doubt is None else null_doubt[n_clusters],
                ),
                worst_pair=pair,
                doubt=worst,
                doubt_se=error,
                mean_entropy=float(np.mean([cell.mean_entropy for cell in cells])),
                merged_mean_entropy=float(np.mean([cell.merged_mean_entropy for cell in cells])),
                sizes=tuple(float(share) for share in grid.references[i].shares),
                parents=_parents(grid.references, i),
            )
        )
    return tuple(verdicts)


def _kind(worst: float, second: float, error: float, *, null: float | None) -> str:
    noise = NOISE_STANDARD_ERRORS * error
    if null is not None and worst - noise > null:
        return "diffuse"
    if worst + noise < CRISP_BITS:
        return "crisp"
    if worst - noise < CRISP_BITS:
        return "unresolved"
    if worst - noise >= STANDS_OUT * second:
        return "one ill-separated pair"
    if worst + noise >= STANDS_OUT * second:
        return "unresolved"
    return "diffuse"


def _parents(references: tuple[Partition, ...], i: int) -> tuple[int, ...] | None:
    """Which cluster of the previous K each cluster comes from, by most rows."""
    if i == 0:
        return None
    before, now = references[i - 1], references[i]
    cells = now.labels.astype(np.int64) * before.n_clusters + before.labels
    overlap: npt.NDArray[np.int64] = np.bincount(
        cells, minlength=now.n_clusters * before.n_clusters
    ).reshape(now.n_clusters, before.n_clusters)
    return tuple(int(parent) for parent in overlap.argmax(axis=1))
