"""Bagged clustering without a prior: BagClust1 (Algorithm 2), by votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bbclust.bbc import BBC


class BagClust1(BBC):
    """BagClust1: memberships from votes of Efron's bootstrap (Algorithm 2 of the paper).

    k-means partitions the data. Each replica draws rows with replacement and k-means clusters
    them; its clusters are named so that it agrees with the first partition on as many of the
    drawn rows as possible; then it votes on these rows. It is :class:`~bbclust.BBC` with
    ``resampling="efron"``: there is no prior, and draws have equal weights.

    Parameters
    ----------
    n_clusters : int, default=3
        K.
    n_replicas : int or "auto", default=200
        B. With "auto", blocks of 100 replicas until ``mean_entropy_se_`` is at most ``mc_tol`` and
        the largest ``membership_se_`` at most five times that; 5,000 at most.
    n_draws : int, optional
        m, draws per replica; the number of rows (of positive weight) by default.
    votes : {"auto", "drawn", "all"}, default="auto"
        Whether a replica votes on the rows it drew, as in the paper, or its centres on every row;
        "auto" is "drawn" when ``n_draws`` is at least the number of rows.
    clusterer, n_init, max_iter, tol, mc_tol, callbacks, n_jobs, random_state, verbose
        As of :class:`~bbclust.BBC`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster with most votes; clusters are numbered by decreasing size of the reference.
    memberships_ : ndarray of shape (n, K)
        Share of the votes: of the replicas that drew the row, those in which it is in the cluster.
    entropy_ : ndarray of shape (n,)
        Entropy of each row's memberships, in bits.
    n_votes_ : ndarray of shape (n,)
        Replicas that drew the row.
    and all others of :class:`~bbclust.BBC`
        ``prior_`` is None.

    Notes
    -----
    A replica may draw a row several times. All copies are in the same cluster; they are one vote,
    and one row where clusters are named.

    R's ``clue::cl_bag`` lets every replica vote on all rows: that is ``votes="all"``.

    References
    ----------
    S. Dudoit, J. Fridlyand (2003). Bagging to improve the accuracy of a clustering procedure.
    Bioinformatics 19(9), 1090-1099.

    Examples
    --------
    >>> from bbclust import BagClust1
    >>> from bbclust.datasets import load_iris
    >>> model = BagClust1(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> model.memberships_[0].round(1)
    array([0., 1., 0.])
    >>> int(model.n_votes_.sum() / 200) in range(90, 100)  # of 150 rows a replica draws 95
    True
    """

    # What BBC reads and BagClust1 does not let one choose.
    prior: Any = None
    prior_scale: float = 1.0
    prior_weight: float = 0.0
    resampling: str = "efron"
    weighting: str = "weights"

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        n_replicas: int | str = 200,
        n_draws: int | None = None,
        votes: str = "auto",
        clusterer: Any = None,
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        mc_tol: float = 0.01,
        callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_replicas = n_replicas
        self.n_draws = n_draws
        self.votes = votes
        self.clusterer = clusterer
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.mc_tol = mc_tol
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
