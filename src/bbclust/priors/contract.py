"""What a prior must offer, and the checks that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats


class PreparedPrior(Protocol):
    """A prior that is ready to be sampled, in the units of the data.

    It may also have:

    - ``n_features``, which is compared with the data;
    - ``logpdf(X)``, ``describe()``, and ``notice``, a sentence that ``fit`` shows as a warning;
    - ``engine_mixture()``, for a Gaussian mixture: the arrays with which the engine draws from it
      (:class:`~bbclust.stages.bootstrap.MixtureArrays`), instead of calling ``sample``;
    - a place in model files, see :func:`~bbclust.priors.stored_as`.

    Examples
    --------
    Whatever has ``sample`` will do, here a ring of radius ten:

    >>> import numpy as np
    >>> from bbclust import proper_bayesian_bootstrap
    >>> class Ring:
    ...     n_features = 2
    ...     def sample(self, n, generator):
    ...         angle = generator.uniform(0, 2 * np.pi, size=n)
    ...         return 10 * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.zeros((50, 2))
    >>> replica = next(proper_bayesian_bootstrap(X, Ring(), random_state=0))
    >>> np.unique(np.hypot(*replica.points.T).round(6))
    array([ 0., 10.])
    """

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """Draw from F0.

        It is called for every replica, in any order, perhaps by several threads or in several
        processes: it must change nothing in the object.

        Parameters
        ----------
        n : int
            Number of draws, which may be zero.
        generator : numpy.random.Generator
            Where all randomness comes from: each replica has a generator of its own, and its draws
            must not depend on which replicas were drawn before.

        Returns
        -------
        draws : ndarray of shape (n, d)
            Independent draws: finite numbers, in the units of the data, and near enough that their
            squared distances from the rows are finite too. ``fit`` refuses all else with a
            ValueError.
        """
        ...


class Prior(Protocol):
    """A prior that may depend on the data through the reference partition.

    It may also have:

    - ``needs_rows = False`` in its class, if ``prepare`` reads nothing off X but its ``shape`` and
      the sizes and covariances of clusters: then a table in partitions, whose rows are never
      together, is described to it by exact :class:`~bbclust.priors.covariances.ClusterMoments`,
      and ``labels`` of the reference are empty. Others get a sample of the rows. Subclasses, which
      may read more, say it again;
    - ``prepare_scales(X, reference, scales)``, a list of prepared priors, if several scales are
      less work together;
    - ``number_clusters(reference)``, if it decides which number each cluster gets (see
      :class:`~bbclust.priors.ModelPrior`).

    Examples
    --------
    F0 is uniform on the box that the rows fill:

    >>> import numpy as np
    >>> from bbclust import BBC
    >>> class Box:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    ...     def sample(self, n, generator):
    ...         return generator.uniform(self.low, self.high, size=(n, len(self.low)))
    >>> class BoxPrior:
    ...     def prepare(self, X, reference, scale):
    ...         return Box(X.min(axis=0), X.max(axis=0))
    >>> X = np.array([[0.0, 5.0], [1.0, 6.0], [8.0, 1.0], [9.0, 0.0]])
    >>> BBC(2, prior=BoxPrior(), votes="all", random_state=0).fit(X).prior_.high
    array([9., 6.])
    """

    def prepare(self, X: Floats, reference: Partition, scale: float) -> PreparedPrior:
        """Make F0 from the data, before any replica is drawn.

        :class:`~bbclust.BBC` calls it once in a fit, :class:`~bbclust.KSelector` for every K and
        every scale. The result must depend on the arguments alone and not on global random
        numbers: the same data and seed must give the same F0 wherever it is made. Nothing of the
        arguments may be changed, and the prior itself not either, which other fits share.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            The rows that F0 may be read off, float32 or float64, in the units of the data: those of
            positive weight that are in a cluster, without outliers that ``trim`` leaves out. What
            they miss under ``missing="draw"`` is filled. With ``needs_rows = False`` it may instead
            be :class:`~bbclust.priors.covariances.ClusterMoments`: ``shape``, ``sizes`` of shape
            (K,) and ``covariances`` of shape (K, d, d).
        reference : Partition
            The partition of X into K clusters: ``labels`` of shape (n,), ``centers`` of shape
            (K, d), ``shares`` of shape (K,), of the total weight, and ``weights`` of shape (n,), of
            the rows and with mean one, or None when all are equal. ``reference`` is None where
            there is no partition, in :func:`~bbclust.proper_bayesian_bootstrap`.
        scale : float
            s (``prior_scale``), positive. It should multiply the covariances that are read off the
            data, and nothing that was stated by an expert.

        Returns
        -------
        prepared : PreparedPrior
            Something with ``sample(n, generator)`` that gives draws of d features. It is published
            as ``prior_`` and used by all replicas; it may be the prior itself. To be sent to a Dask
            cluster it must be possible to pickle it.
        """
        ...


def needs_rows(prior: object) -> bool:
    """Whether ``prepare`` reads rows, and not only the moments of clusters.

    The class of the prior says so itself: a claim is not inherited, as a subclass may read more.
    """
    return bool(vars(type(prior)).get("needs_rows", True))


def prepare_scales(
    prior: Prior, X: Any, reference: Partition, scales: Sequence[float], n_features: int
) -> list[PreparedPrior]:
    """The prior at several scales, from rows or, if these will do, from moments of clusters."""
    together = getattr(prior, "prepare_scales", None)
    if together is None:
        prepared = (prior.prepare(X, reference, scale) for scale in scales)
    else:
        prepared = together(X, reference, scales)
    return [check_prepared(one, n_features) for one in prepared]


def check_prepared(prior: Any, n_features: int) -> PreparedPrior:
    """The prior itself, if it can be sampled and fits the data."""
    if not callable(getattr(prior, "sample", None)):
        raise TypeError(
            f"{prior!r} cannot be sampled: a prior needs prepare(X, reference, scale) that returns "
            "an object with sample(n, generator)."
        )
    known = getattr(prior, "n_features", None)
    if known is not None:
        check_features(int(known), n_features)
    prepared: PreparedPrior = prior
    return prepared


def check_features(of_prior: int, of_data: int) -> None:
    """Refuse a prior of another dimension than the data."""
    if of_prior != of_data:
        raise ValueError(
            f"The prior has {of_prior} features and X has {of_data}: "
            "give a prior with one entry per column of X."
        )


def require_partition(prior: object, reference: Partition | None) -> Partition:
    """The reference, for priors that are read off it."""
    if reference is None:
        raise TypeError(
            f"{prior!r} reads a partition of the data and there is none here: "
            "fit BBC and pass its prior_, or give a MixturePrior."
        )
    return reference
