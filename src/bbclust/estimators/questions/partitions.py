"""What the partitions of the replicas have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from bbclust import validation as check
from bbclust.diagnostics.cluster_stability import (
    UNIQUE_MATCH,
    ClusterStability,
    cluster_stability,
)
from bbclust.diagnostics.comembership import comembership_rates
from bbclust.diagnostics.partition_posterior import PartitionPosterior, partition_posterior
from bbclust.estimators.fitted_model import FittedModel
from bbclust.stages.voting import largest_memberships, memberships


class PartitionQuestions(FittedModel):
    """Rows that stay together, clusters that are found again, and the consensus."""

    def comembership(self, pairs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        r"""How often two rows are in the same cluster, by the votes of all replicas.

        .. math:: c_{ij} = \frac{1}{B} \sum_b I\{\ell_b(x_i) = \ell_b(x_j)\}

        where :math:`\ell_b(x)` is the cluster that replica b votes for, also on rows that it did
        not draw. A replica that abstains on one of the two rows does not count; a pair on which
        all abstain gets NaN.

        Parameters
        ----------
        pairs : array-like of shape (p, 2)
            Numbers of rows of the X given to ``fit``, from 0.

        Returns
        -------
        ndarray of shape (p,)
            Shares between 0 and 1. Memory grows with p and with the number of distinct rows in
            ``pairs``, not with the number of all pairs of rows.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.comembership([[0, 1], [0, 149]]).round(2)
        array([1., 0.])
        """
        record = self._rows_of_fit("comembership")
        pairs = check.check_pairs(pairs, len(record.votes))
        numbers, places = np.unique(pairs, return_inverse=True)
        first, second = places.reshape(pairs.shape).T
        labels = self._state.predictors.labels(record.rows.rows(numbers), numbers)
        return comembership_rates(labels, first, second)

    def top_memberships(self, k: int) -> csr_array:
        """The k largest memberships of each row of ``fit``, for models of many clusters.

        Parameters
        ----------
        k : int from 1 to K
            How many of each row are kept.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, K)
            At most k entries per row; memberships of zero are not stored. Of equal memberships
            those of the lower cluster numbers are kept.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> top = model.top_memberships(1)
        >>> top.shape, top.nnz
        ((150, 3), 150)
        """
        votes = self._rows_of_fit("top_memberships").votes
        k = check.check_integer("k", k, minimum=1, maximum=votes.shape[1])
        return largest_memberships(memberships(votes), k)

    def cluster_stability(self, threshold: float = UNIQUE_MATCH) -> ClusterStability:
        r"""How often each cluster is found again in the replicas.

        Of the clusters of a replica, the one that matches best has the largest Jaccard coefficient
        with the rows of a cluster: rows in both, divided by rows in either. This is ``clusterboot``
        of R's package fpc for the replicas that there are. A replica counts with the rows that it
        voted on: with ``votes="drawn"`` those that it drew, each once however often it was drawn,
        as in ``clusterboot``. A replica that drew no row of a cluster does not count for it, where
        ``clusterboot`` counts 0.

        It tells how stable a cluster is, not whether a gap surrounds it: a cut through one cloud
        may be found again as well.

        Parameters
        ----------
        threshold : float in [0, 1), default=0.5
            A cluster is found again in a replica if the coefficient is greater. Above one half, a
            cluster and its match hold more than half of each other: it has no other match, and
            no other cluster has it. At one half or less ``clusterboot`` calls a cluster dissolved;
            0.75, above which it calls it recovered (``bootrecover``), is a rule of thumb.

        Returns
        -------
        ClusterStability
            ``jaccard``, ``recovered``, their standard errors and ``n_replicas``, of shape (K,), and
            ``jaccard_interval()`` and ``recovered_interval()``.
            NaN for a cluster without any evaluation row that a replica voted on.

        Notes
        -----
        The clusters are those of the reference partition, ``reference_labels_``, as ``clusterboot``
        starts from a clustering of the data. ``labels_`` would not do: they are the majority of the
        same replicas, which agree with themselves. Their rows are the evaluation rows, all or 4,096
        drawn at random, with their weights. The standard errors are about the number of replicas,
        not about that of rows.

        Rows that a replica of ``clusterer`` calls noise, or puts into a cluster without a partner
        in the reference, are not told from rows without a vote, and do not count in that replica.

        References
        ----------
        C. Hennig (2007). Cluster-wise assessment of cluster stability. Computational Statistics &
        Data Analysis 52, 258-271.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> stability = model.cluster_stability()
        >>> stability.jaccard.round(1), stability.recovered.round(1)
        (array([0.9, 1. , 0.9]), array([1., 1., 1.]))
        """
        record = self._rows_of_fit("cluster_stability")
        threshold = check.check_share(
            "threshold", threshold, why="it is compared with Jaccard coefficients"
        )
        table, evaluated = record.job.table, record.job.plan.evaluation_rows
        return cluster_stability(
            record.job.reference.labels[evaluated],
            record.replicas.evaluation_labels,
            record.job.n_clusters,
            None if table.weights is None else table.weights[evaluated],
            threshold=threshold,
        )

    def partition_posterior(self, level: float = 0.95) -> PartitionPosterior:
        r"""The partition as a whole: a consensus of the replicas, and how far they are from it.

        Partitions are compared by the variation of information, which is 0 for the same clusters,
        whatever their names, and counts the bits that one does not tell about the other. The
        consensus has the least mean from the partitions of all replicas that was found; its
        credible ball holds the share ``level`` of them (Wade and Ghahramani 2018, Bayesian Analysis
        13, 559-626). ``labels_`` are decided row by row, the consensus for all rows together.

        It is about the evaluation rows: all rows, or a fixed random sample of 4,096. Every replica
        labels all of them, also those that it did not draw. Replicas scatter more than the
        posterior (``variance_ratio_``), and so does the ball: it errs on the wide side.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Share of the replicas that the credible ball holds.

        Returns
        -------
        PartitionPosterior
            ``labels`` of ``rows``, ``expected_vi``, ``radius``, the bounds of the ball, and what
            ``changes`` in the furthest partition inside; ``print`` tells it in sentences.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> found = model.partition_posterior()
        >>> found.n_clusters, round(found.expected_vi, 1), round(found.radius, 1)
        (3, 0.2, 0.6)
        """
        record = self._rows_of_fit("partition_posterior")
        level = check.check_level(level)
        plan, table = record.job.plan, record.rows.table
        if not plan.clusterer.predicts:
            raise ValueError(
                "partition_posterior compares whole partitions, and replicas of "
                f"{plan.clusterer.name} label only the rows they drew: use a clusterer that can "
                "predict, such as k-means."
            )
        rows = record.rows.numbers_of(plan.evaluation_rows)
        labels = self._state.predictors.labels(table.original(plan.evaluation_rows), rows)
        return partition_posterior(
            np.array([of_replica.astype(np.int16) for of_replica in labels]),
            self.labels_[rows],
            table.weights_or_ones()[plan.evaluation_rows],
            rows=rows,
            n_clusters=len(self.reference_centers_),
            level=level,
        )
