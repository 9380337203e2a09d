r"""The posterior of the partition: its centre, and a ball that holds most of it.

The replicas' partitions of some rows stand for the posterior. Its centre is the consensus c*, of
least expected variation of information from them. Its credible ball of a level is

.. math:: \{c : VI(c, c^*) \le r\}, \qquad
          r = \min\{r : \sum_b I[VI(c_b, c^*) \le r] \ge \text{level} \cdot B\},

and its bounds are the replicas inside that are furthest from c* of all (horizontal bound), of
those with the fewest clusters (vertical upper bound) and of those with the most (vertical lower
bound); see Wade and Ghahramani (2018): Bayesian cluster analysis: point estimation and credible
balls. Bayesian Analysis 13, 559-626.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bbclust.diagnostics.consensus_partition import find_consensus
from bbclust.diagnostics.variation_of_information import (
    Codes,
    Labels,
    group_rows,
    number_in_order,
    vi_from_partition,
)
from bbclust.percentages import percent
from bbclust.stages.monte_carlo import standard_error
from bbclust.stages.table import Array

_NAMED_CHANGES = 2  # that a sentence names


@dataclass(frozen=True)
class Change:
    """Rows that are in one cluster of the consensus and in another elsewhere.

    Attributes
    ----------
    source, target : int
        The clusters; a target that the consensus does not have is a cluster of its own.
    share : float
        Of the rows of ``source``.
    share_of_rows : float
        Of all rows.
    is_new : bool
        Whether the consensus lacks ``target``.
    """

    source: int
    target: int
    share: float
    share_of_rows: float
    is_new: bool

    def __str__(self) -> str:
        what = "all" if self.share == 1 else percent(self.share)
        where = "becomes a cluster of its own" if self.is_new else f"goes to cluster {self.target}"
        return f"{what} of cluster {self.source} {where}"


@dataclass(frozen=True)
class BoundingPartition:
    """A replica's partition at the edge of a credible ball.

    Attributes
    ----------
    replica : int
        Its number.
    labels : ndarray of shape (E,), int64
        Numbered like the clusters of the consensus that they overlap most; others follow.
    vi : float
        Variation of information from the consensus, in bits.
    n_clusters : int
        Clusters that are not empty on these rows.
    """

    replica: int
    labels: Codes
    vi: float
    n_clusters: int


@dataclass(frozen=True)
class PartitionPosterior:
    r"""What the replicas say of the partition as a whole; ``print`` tells it in sentences.

    Attributes
    ----------
    rows : ndarray of shape (E,), int64
        Numbers of the rows of ``fit`` that it is about, the evaluation rows: all of them, or a
        fixed random sample.
    labels : ndarray of shape (E,), int64
        The consensus: of least expected variation of information from the replicas. Its clusters go
        by the numbers of the model's that they overlap most; others follow.
    expected_vi : float
        Mean variation of information between the consensus and the replicas, in bits.
    expected_vi_se : float
        Its Monte-Carlo standard error. The consensus is found from the same replicas, so that other
        ones are a little further from it on average.
    expected_vi_of_labels : float
        The same mean for ``labels_``.
    level : float
    radius : float
        The least variation of information from the consensus within which this share of the
        replicas lies: the r-th smallest of B, with r = level B rounded up.
    coverage, coverage_se : float
        What this radius says of replicas that were not run. The share of these inside has the mean
        r / (B + 1) over runs, and this standard deviation: it is that of an order statistic,
        whatever the distribution, and falls like :math:`1 / \sqrt B`. The radius itself does not
        shrink with B.
    furthest, fewest, most : BoundingPartition
        Bounds of the ball: the replica inside that is furthest from the consensus; the furthest of
        those with the fewest clusters; the furthest of those with the most.
    changes : tuple of Change
        What is elsewhere in ``furthest`` than in the consensus, the most rows first.
    n_replicas : int
        B.
    """

    rows: npt.NDArray[np.int64]
    labels: Codes
    expected_vi: float
    expected_vi_se: float
    expected_vi_of_labels: float
    level: float
    radius: float
    coverage: float
    coverage_se: float
    furthest: BoundingPartition
    fewest: BoundingPartition
    most: BoundingPartition
    changes: tuple[Change, ...]
    n_replicas: int

    @property
    def n_clusters(self) -> int:
        """Clusters of the consensus."""
        return len(np.unique(self.labels))

    def __str__(self) -> str:
        clusters, rows = _count(self.n_clusters, "cluster"), _count(len(self.rows), "row")
        return (
            f"The consensus of {_count(self.n_replicas, 'replica')} on {rows} has {clusters}; "
            f"replicas are {self.expected_vi:.2f} bits of variation of information from it on "
            f"average, and {self.expected_vi_of_labels:.2f} from labels_. {self.describe_ball()}"
        )

    def describe_ball(self) -> str:
        """How wide the ball is, and what changes in the furthest partition inside."""
        level = percent(self.level)
        if not self.changes:
            return f"{level} of the replicas are the same as the consensus."
        few, many = self.fewest.n_clusters, self.most.n_clusters
        between = f" and have {few} to {many} clusters" if few < many else ""
        moved = sum(change.share_of_rows for change in self.changes)
        named = " and ".join(str(change) for change in self.changes[:_NAMED_CHANGES])
        rest = len(self.changes) - _NAMED_CHANGES
        others = f", with {_count(rest, 'smaller change')}" if rest > 0 else ""
        return (
            f"The nearest {level} of the replicas are within {self.radius:.2f} bits{between}. In "
            f"the furthest of these {percent(moved)} of the rows change their cluster: "
            f"{named}{others}."
        )


def partition_posterior(
    labels: Labels,
    published: Labels,
    weights: Array,
    *,
    rows: npt.NDArray[np.int64],
    n_clusters: int,
    level: float,
) -> PartitionPosterior:
    """The consensus of the partitions of all replicas, and the credible ball around it.

    Parameters
    ----------
    labels : ndarray of shape (B, E)
        Clusters of E rows by every replica; rows in no cluster (-1) count as one more.
    published : ndarray of shape (E,)
        The model's own clusters, from 0 to ``n_clusters`` - 1, or -1.
    weights : ndarray of shape (E,)
        Positive masses of the rows.
    rows : ndarray of shape (E,)
        Their numbers.
    n_clusters : int
        K of the model.
    level : float

    Examples
    --------
    Of four replicas three agree, and one has a row elsewhere:

    >>> import numpy as np
    >>> from bbclust.diagnostics.partition_posterior import partition_posterior
    >>> replicas = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> found = partition_posterior(replicas, replicas[0], np.ones(4), rows=np.arange(4),
    ...                             n_clusters=2, level=0.95)
    >>> found.labels, round(found.radius, 2)
    (array([0, 0, 1, 1]), 1.19)
    >>> print(found.changes[0])
    50% of cluster 1 goes to cluster 0
    """
    groups = group_rows(np.vstack([labels, published[None]]), weights)
    replicas, own = groups.labels[:-1], groups.labels[-1]
    found = number_in_order(find_consensus(replicas, groups.weights, own))
    vi = vi_from_partition(replicas, found, groups.weights)
    consensus = number_like(found[groups.group], published, weights, n_clusters)
    n_needed = n_inside(level, len(vi))
    radius = float(np.sort(vi)[n_needed - 1])
    inside = np.flatnonzero(vi <= radius)
    counts = (replicas.max(axis=1) + 1)[inside]
    names = max(n_clusters, int(consensus.max()) + 1)

    def furthest_of(some: npt.NDArray[np.int64]) -> BoundingPartition:
        replica = int(some[vi[some].argmax()])
        named = number_like(replicas[replica][groups.group], consensus, weights, names)
        n_found = int(replicas[replica].max()) + 1
        return BoundingPartition(replica, named, float(vi[replica]), n_found)

    furthest = furthest_of(inside)
    coverage = n_needed / (len(vi) + 1)
    return PartitionPosterior(
        rows=rows,
        labels=consensus,
        expected_vi=float(vi.mean()),
        expected_vi_se=standard_error((vi - vi.mean()) / len(vi)),
        expected_vi_of_labels=float(vi_from_partition(replicas, own, groups.weights).mean()),
        level=level,
        radius=radius,
        coverage=coverage,
        coverage_se=math.sqrt(coverage * (1 - coverage) / (len(vi) + 2)),
        furthest=furthest,
        fewest=furthest_of(inside[counts == counts.min()]),
        most=furthest_of(inside[counts == counts.max()]),
        changes=find_changes(consensus, furthest.labels, weights),
        n_replicas=len(vi),
    )


def n_inside(level: float, n_replicas: int) -> int:
    """How many of the replicas a ball of this level holds: at least one."""
    return max(1, math.ceil(level * n_replicas - 1e-9))


def number_like(labels: Labels, reference: Labels, weights: Array, n_reference: int) -> Codes:
    """Labels (E,), renamed for the largest overlap with those of a reference (E,), from 0 to R - 1.

    Clusters that overlap with none that is left get numbers from R on, the heaviest first. -1 in
    the reference names nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.diagnostics.partition_posterior import number_like
    >>> number_like(np.array([0, 0, 1, 1, 2]), np.array([1, 1, 1, 0, -1]), np.ones(5), 2)
    array([1, 1, 0, 0, 2])
    """
    found, codes = np.unique(labels, return_inverse=True)
    codes = codes.reshape(-1)
    cells = codes * (n_reference + 1) + reference + 1
    size = len(found) * (n_reference + 1)
    overlap = np.bincount(cells, weights, size).reshape(len(found), -1)[:, 1:]
    names = np.full(len(found), -1, dtype=np.int64)
    mine, theirs = linear_sum_assignment(overlap, maximize=True)
    paired = overlap[mine, theirs] > 0
    names[mine[paired]] = theirs[paired]
    left_over = np.flatnonzero(names < 0)
    heaviest = left_over[np.argsort(-np.bincount(codes, weights)[left_over], kind="stable")]
    names[heaviest] = n_reference + np.arange(len(heaviest))
    return np.asarray(names[codes])


def find_changes(consensus: Codes, other: Codes, weights: Array) -> tuple[Change, ...]:
    """Which rows of which cluster are in another one, the most rows first.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.diagnostics.partition_posterior import find_changes
    >>> consensus, other = np.array([0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 2, 0])
    >>> for change in find_changes(consensus, other, np.ones(6)):
    ...     print(change)
    20% of cluster 0 becomes a cluster of its own
    all of cluster 1 goes to cluster 0
    """
    moved = consensus != other
    if not moved.any():
        return ()
    sizes, total = np.bincount(consensus, weights), weights.sum()
    pairs, places = np.unique(
        np.column_stack([consensus, other])[moved], axis=0, return_inverse=True
    )
    masses = np.bincount(places.reshape(-1), weights[moved])
    known = set(consensus.tolist())
    leaves_none = {int(c) for c in known if moved[consensus == c].all()}
    changes = []
    for i in np.argsort(-masses, kind="stable"):
        source, target = (int(cluster) for cluster in pairs[i])
        alone = source in leaves_none and (pairs[:, 0] == source).sum() == 1
        share = 1.0 if alone else float(masses[i] / sizes[source])
        share_of_rows = float(masses[i] / total)
        changes.append(Change(source, target, share, share_of_rows, target not in known))
    return tuple(changes)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
