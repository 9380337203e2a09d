"""Bagged clustering without a prior: by votes (BagClust1) and by dissimilarities (BagClust2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import squareform
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.comembership import (
    cluster_by_linkage,
    fill_dissimilarity,
    mean_among_landmarks,
    mean_to_landmarks,
    silhouette,
    unknown_dissimilarity,
)
from bbclust.estimators.bbc import BBC
from bbclust.stages.alignment import align, overlap_matrix
from bbclust.stages.table import Floats

LINKAGES = ("average", "complete", "single")


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
        It tells how stable the division is, not how probable it is that the row belongs there.
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
    missing: str = "error"
    trim: float = 0.0
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


class BagClust2(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""BagClust2: rows are as dissimilar as replicas of Efron's bootstrap tell them apart.

    Replicas are those of :class:`~bbclust.BagClust1`. With :math:`R_{ij}` the replicas that drew
    both rows and :math:`\ell_b` the clusters of replica b,

    .. math:: D_{ij} = \frac{|\{b \in R_{ij} : \ell_b(x_i) \ne \ell_b(x_j)\}|}{|R_{ij}|},

    and D is clustered. It does not depend on how clusters of replicas are matched.

    Parameters
    ----------
    n_clusters : int, default=3
        K, of every replica and of the result.
    n_replicas : int, default=200
        B.
    method : {"average", "complete", "single", "pam"}, default="average"
        How D is clustered: by scipy's hierarchical linkage, or by partitioning around medoids, as
        in the article (extra ``pam``). Ward's linkage is left out: it wants Euclidean distances,
        and shares that come from other replicas for every pair are none.
    n_draws : int, optional
        m, draws per replica; the number of rows by default.
    votes : {"auto", "drawn", "all"}, default="auto"
        "drawn": D is as above. "all": every replica's centres label every row, and R are all
        replicas. "auto" is "drawn" when ``n_draws`` is at least the number of rows.
    max_exact_rows : int, default=4096
        Up to so many rows, D is computed for all pairs. Of more rows so many are drawn as
        landmarks, and each other row joins the cluster of lowest mean dissimilarity to its
        landmarks, by the labels of all replicas.
    max_memory : int, default=2**31
        Bytes. With E rows compared, D and its clustering take ``8 E**2`` bytes, ``12 E**2`` by
        "pam": 134 and 201 MB at 4,096 rows. More than ``max_memory`` is refused before it is
        taken.
    clusterer : None, estimator or callable, optional
        As of :class:`~bbclust.BBC`, if it takes the number of clusters.
    n_init, max_iter, tol, callbacks, n_jobs, random_state, verbose
        As of :class:`~bbclust.BBC`; ``verbose=1`` also says the memory before it is taken.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Clusters, named after those of the reference partition that they overlap most: as in
        ``ensemble_``.
    silhouette_ : ndarray of shape (n,)
        How sure the cluster of each row is, from -1 to 1: :math:`(b - a) / \max(a, b)`, with a the
        mean dissimilarity to the other rows (landmarks) of its cluster, b the smallest to those of
        another cluster. 0 on the border, and for a row alone in its cluster.
    dissimilarity_ : ndarray of shape (E (E - 1) / 2,)
        D in scipy's condensed form; ``scipy.spatial.distance.squareform`` makes it square.
    landmark_rows_ : ndarray of shape (E,)
        The rows that D is about: all, or the landmarks.
    n_pairs_never_drawn_ : int
        Pairs of them that no replica drew both of; their D is by the labels of all replicas.
    ensemble_ : BagClust1
        The replicas, with their votes: memberships, entropies, ``comembership`` of any pairs.
    reference_labels_, reference_centers_ : ndarrays of shape (n,), (K, d)
        The reference partition, from whose centres each replica has one of its starts.
    n_iter_ : int
        Largest number of Lloyd iterations.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    S. Dudoit, J. Fridlyand (2003). Bagging to improve the accuracy of a clustering procedure.
    Bioinformatics 19(9), 1090-1099.

    Examples
    --------
    >>> from bbclust import BagClust2
    >>> from bbclust.datasets import load_iris
    >>> model = BagClust2(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> model.dissimilarity_.shape
    (11175,)
    >>> model.labels_[:5]
    array([1, 1, 1, 1, 1])

    Other rows join the clusters that they are least dissimilar to:

    >>> model.transform([[5.0, 3.4, 1.5, 0.2]])
    array([[1., 0., 1.]])
    >>> model.predict([[5.0, 3.4, 1.5, 0.2]])
    array([1])
    """

    ensemble_: BagClust1

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        n_replicas: int = 200,
        method: str = "average",
        n_draws: int | None = None,
        votes: str = "auto",
        max_exact_rows: int = 4096,
        max_memory: int = 2**31,
        clusterer: Any = None,
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        callbacks: Callable[[int, int], None] | Iterable[Callable[[int, int], None]] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_replicas = n_replicas
        self.method = method
        self.n_draws = n_draws
        self.votes = votes
        self.max_exact_rows = max_exact_rows
        self.max_memory = max_memory
        self.clusterer = clusterer
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> BagClust2:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Numbers without gaps. Columns are used as they are: scale them first if their units
            differ.
        y : ignored
            There for scikit-learn's sake.

        Returns
        -------
        self
            The model, fitted.
        """
        replicas = self._check_parameters()
        with check.all_or_nothing(self):
            X = check.check_table(self, X, reset=True)
            self._say_memory(min(len(X), self.max_exact_rows))
            self.ensemble_ = replicas.fit(X)
            self._compare(X)
            self._publish(X)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Mean dissimilarity of rows to the rows (landmarks) of each cluster.

        It is by the labels of all replicas, also for the rows of ``fit``, and a row of ``fit``
        counts itself.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K)
            From 0, as in all replicas together with the rows of the cluster, to 1.
        """
        check_is_fitted(self)
        return self._mean_dissimilarity(check.check_table(self, X, reset=False))

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Cluster of the lowest mean dissimilarity, for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n,)
            Numbers of clusters, as in ``labels_``.
        """
        return np.asarray(self.transform(X).argmin(axis=1))

    @property
    def _n_features_out(self) -> int:
        return len(self.reference_centers_)

    def _check_parameters(self) -> BagClust1:
        """The replicas, ready to be run."""
        check.check_integer("n_replicas", self.n_replicas, minimum=1)
        shared = self.get_params(deep=False)
        own = {name: shared.pop(name) for name in ("method", "max_exact_rows", "max_memory")}
        replicas = BagClust1(**shared)
        replicas._check_parameters()
        clusterer = replicas._clusterer()
        if not clusterer.takes_number:
            raise ValueError(
                f"BagClust2 needs a clusterer that takes the number of clusters, and "
                f"{clusterer.name} finds its own: use BagClust1."
            )
        check.check_choice("method", own["method"], (*LINKAGES, "pam"))
        fewest = max(2, int(self.n_clusters))
        check.check_integer("max_exact_rows", own["max_exact_rows"], minimum=fewest)
        check.check_number("max_memory", own["max_memory"], above=0, why="it counts bytes")
        if self.method == "pam":
            import_pam()
        replicas._max_evaluation_points = int(self.max_exact_rows)
        return replicas

    def _say_memory(self, n_compared: int) -> None:
        needed = (12 if self.method == "pam" else 8) * n_compared**2
        said = f"the dissimilarities of {n_compared:,} rows take {needed / 1e6:,.0f} MB"
        if needed > self.max_memory:
            raise ValueError(
                f"method={self.method!r}: {said}, and max_memory allows "
                f"{self.max_memory / 1e6:,.0f}: lower max_exact_rows={self.max_exact_rows}, "
                "or raise max_memory."
            )
        if self.verbose:
            print(f"BagClust2: {said}", flush=True)

    def _compare(self, X: Floats) -> None:
        """Set the dissimilarities of all pairs of landmarks."""
        record = self.ensemble_._rows_of_fit("dissimilarity_")
        self.landmark_rows_ = record.job.plan.evaluation_rows
        labels = record.replicas.evaluation_labels
        by_all = self.ensemble_.replica_labels(X[self.landmark_rows_])
        self._landmark_labels = np.array([some.astype(np.int16) for some in by_all])
        n_clusters = len(self.ensemble_.reference_centers_)
        D = unknown_dissimilarity(len(self.landmark_rows_))
        fill_dissimilarity(D, labels, n_clusters)
        self.n_pairs_never_drawn_ = int(np.isnan(D).sum())
        if self.n_pairs_never_drawn_:
            fill_dissimilarity(D, self._landmark_labels, n_clusters)
            D[np.isnan(D)] = 1.0  # no replica has an opinion on both
            check.warn_user(
                f"{self.n_pairs_never_drawn_} of {len(D)} pairs of rows were drawn together by "
                f"none of the {len(labels)} replicas and get their dissimilarity from the "
                "replicas' centres: raise n_replicas, or set votes='all'."
            )
        self.dissimilarity_ = D

    def _publish(self, X: Floats) -> None:
        """Cluster the landmarks, name their clusters, and let the other rows join."""
        landmarks, D = self.landmark_rows_, self.dissimilarity_
        self.reference_labels_ = self.ensemble_.reference_labels_
        self.reference_centers_ = self.ensemble_.reference_centers_
        self.n_iter_ = self.ensemble_.n_iter_
        n_clusters = len(self.reference_centers_)
        if self.method == "pam":
            clusters = cluster_by_medoids(D, n_clusters)
        else:
            clusters = cluster_by_linkage(D, len(landmarks), n_clusters, self.method)
        self._landmark_clusters = _name(clusters, self.reference_labels_[landmarks], n_clusters)
        among = mean_among_landmarks(D, self._landmark_clusters, n_clusters)
        self.labels_ = np.empty(len(X), dtype=np.int64)
        self.silhouette_ = np.empty(len(X))
        self.labels_[landmarks] = self._landmark_clusters
        self.silhouette_[landmarks] = silhouette(among, self._landmark_clusters)
        others = np.setdiff1d(np.arange(len(X)), landmarks, assume_unique=True)
        if len(others):
            means = self._mean_dissimilarity(X[others])
            self.labels_[others] = means.argmin(axis=1)
            self.silhouette_[others] = silhouette(means, self.labels_[others])

    def _mean_dissimilarity(self, X: Floats) -> npt.NDArray[np.float64]:
        return mean_to_landmarks(
            self.ensemble_.replica_labels(X),
            len(X),
            self._landmark_labels,
            self._landmark_clusters,
            len(self.reference_centers_),
        )


def _name(
    clusters: npt.NDArray[np.int32], reference: npt.NDArray[np.integer], n_clusters: int
) -> npt.NDArray[np.int64]:
    """Clusters, renamed for the largest overlap with the reference; -1 there is noise."""
    counted = reference >= 0
    overlap = overlap_matrix(clusters[counted], reference[counted], n_clusters)
    to_reference = align(overlap, np.zeros(overlap.shape)).to_reference
    return to_reference[clusters].astype(np.int64)


def import_pam() -> Callable[..., Any]:
    """Partitioning around medoids, from an optional package."""
    try:
        from kmedoids import fastpam1
    except ImportError:
        raise ImportError(
            "method='pam' needs the package kmedoids: pip install 'bbclust[pam]', or choose "
            "another method."
        ) from None
    pam: Callable[..., Any] = fastpam1
    return pam


def cluster_by_medoids(
    dissimilarity: npt.NDArray[np.float64], n_clusters: int
) -> npt.NDArray[np.int32]:
    """K clusters around medoids, by BUILD and SWAP; fewer if so many rows cannot be told apart."""
    square = squareform(dissimilarity, checks=False)
    return np.asarray(import_pam()(square, n_clusters, init="build").labels, dtype=np.int32)
