r"""How often each cluster is found again, as ``clusterboot`` of R's package fpc.

With C the rows of a cluster, V the rows that replica b votes on, and :math:`D_1, D_2, \ldots` the
clusters of its votes,

.. math:: \gamma_b(C) = \max_j \frac{|C \cap D_j|}{|(C \cap V) \cup D_j|}

is the largest Jaccard coefficient of the cluster with one of the replica. Its mean over the
replicas is the stability of the cluster.

References
----------
C. Hennig (2007). Cluster-wise assessment of cluster stability. Computational Statistics & Data
Analysis 52, 258-271.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stages.monte_carlo import bounded_mean_interval, share_interval
from bbclust.validation import check_level

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer]

# With a coefficient above one half, more than half of the cluster is in D and more than half of D
# in the cluster. So no other cluster of the replica, and none of the clustering, matches as well.
UNIQUE_MATCH = 0.5


@dataclass(frozen=True)
class ClusterStability:
    """How often K clusters are found again in replicas.

    A cluster without any row that replicas voted on has NaN everywhere and 0 replicas.

    Attributes
    ----------
    jaccard : ndarray of shape (K,)
        Largest Jaccard coefficient of the cluster with one of a replica, averaged over replicas.
    jaccard_se : ndarray of shape (K,)
        Monte-Carlo standard error of that mean; NaN with one replica.
    recovered : ndarray of shape (K,)
        Share of the replicas with a coefficient above ``threshold``.
    recovered_se : ndarray of shape (K,)
        Posterior standard deviation of that share under Jeffreys' prior, which is not 0 where all
        replicas agree.
    n_replicas : ndarray of shape (K,), int64
        Replicas that voted on a row of the cluster; others do not count.
    threshold : float
    """

    jaccard: Array
    jaccard_se: Array
    recovered: Array
    recovered_se: Array
    n_replicas: npt.NDArray[np.int64]
    threshold: float = UNIQUE_MATCH

    def jaccard_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Where ``jaccard`` would be by ever more replicas: lower and upper ends, (K,) each.

        Jeffreys' intervals of shares of as many trials as have the same error: coefficients near 1
        are skew.
        """
        level = check_level(level)
        return bounded_mean_interval(self.jaccard, self.jaccard_se, self.n_replicas, level)

    def recovered_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Where ``recovered`` would be by ever more replicas: lower and upper ends, (K,) each.

        By Jeffreys' prior; ``recovered_se`` is too coarse for shares near 0 and 1.
        """
        successes = np.rint(np.nan_to_num(self.recovered) * self.n_replicas)
        return share_interval(successes, self.n_replicas, check_level(level))


def cluster_stability(
    labels: Labels,
    replica_labels: Labels,
    n_clusters: int,
    weights: Array | None = None,
    *,
    threshold: float = UNIQUE_MATCH,
) -> ClusterStability:
    """How often each cluster is found again.

    Parameters
    ----------
    labels : ndarray of shape (E,)
        The clustering, from 0 to K - 1; -1 for a row in no cluster.
    replica_labels : ndarray of shape (B, E)
        Votes of every replica, -1 where it did not vote. Its clusters may be numbered in any way.
    n_clusters : int
        K.
    weights : ndarray of shape (E,), optional
        Positive weights of the rows, which are summed where rows are counted otherwise.
    threshold : float, default=0.5
        Coefficient above which a cluster counts as found again.

    Returns
    -------
    ClusterStability

    Notes
    -----
    E is at most 4,096 for a fitted model, whatever the number of rows. Time is O(B E log E), memory
    O(B K + E).

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.diagnostics.cluster_stability import cluster_stability
    >>> labels = np.array([0, 0, 0, 1, 1, 1])
    >>> replicas = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, -1, -1]])
    >>> found = cluster_stability(labels, replicas, 2)
    >>> found.jaccard.round(2), found.recovered
    (array([0.83, 0.75]), array([1. , 0.5]))
    """
    jaccards = replica_jaccards(labels, replica_labels, n_clusters, weights)
    counted = ~np.isnan(jaccards)
    n_replicas = counted.sum(axis=0)
    mean = _divide(np.where(counted, jaccards, 0).sum(axis=0), n_replicas)
    squares = np.where(counted, jaccards - mean, 0) ** 2
    variance = _divide(squares.sum(axis=0), n_replicas - 1)
    recoveries = (counted & (jaccards > threshold)).sum(axis=0)
    return ClusterStability(
        jaccard=mean,
        jaccard_se=np.sqrt(_divide(variance, n_replicas)),
        recovered=_divide(recoveries, n_replicas),
        recovered_se=_share_se(recoveries, n_replicas),
        n_replicas=n_replicas,
        threshold=threshold,
    )


def replica_jaccards(
    labels: Labels, replica_labels: Labels, n_clusters: int, weights: Array | None = None
) -> Array:
    """Largest Jaccard coefficient of each cluster with one of each replica, shape (B, K).

    Parameters are those of :func:`cluster_stability`. NaN where a replica voted on no row of the
    cluster: fpc, which has 0 there, would count a cluster of few rows as dissolved whenever none of
    them is drawn.
    """
    found = np.full((len(replica_labels), n_clusters), np.nan)
    for one, theirs in zip(found, replica_labels, strict=True):
        voted = theirs >= 0
        _largest_jaccards(
            labels[voted].astype(np.int64),
            theirs[voted].astype(np.int64),
            None if weights is None else weights[voted],
            out=one,
        )
    return found


def _largest_jaccards(
    mine: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64], weights: Array | None, *, out: Array
) -> None:
    """Set the coefficients (K,) of one replica for the clusters that have rows."""
    if len(theirs) == 0:
        return
    sizes_of_theirs = np.bincount(theirs, weights)
    inside = mine >= 0  # a row in no cluster still counts in the replica's
    mine, theirs = mine[inside], theirs[inside]
    weights = None if weights is None else weights[inside]
    sizes = np.bincount(mine, weights, len(out))
    # Only cells with rows, of which there are at most E: a table of K x K takes 8 GB at K = 32,767.
    cells, places = np.unique(mine * len(sizes_of_theirs) + theirs, return_inverse=True)
    common = np.bincount(places.ravel(), weights)
    cluster, of_replica = np.divmod(cells, len(sizes_of_theirs))
    jaccards = common / (sizes[cluster] + sizes_of_theirs[of_replica] - common)
    np.fmax.at(out, cluster, jaccards)


def _divide(sums: npt.NDArray[np.number], counts: npt.NDArray[np.int64]) -> Array:
    """Means; NaN where nothing was counted."""
    means: Array = np.full(len(counts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _share_se(successes: npt.NDArray[np.int64], trials: npt.NDArray[np.int64]) -> Array:
    a, b = successes + 0.5, trials - successes + 0.5
    deviation = np.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    return np.asarray(np.where(trials > 0, deviation, np.nan))
