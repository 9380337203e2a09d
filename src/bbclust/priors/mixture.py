"""F0 as an expert states it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbclust.priors.contract import check_features, require_partition
from bbclust.priors.covariances import ClusterMoments
from bbclust.priors.elicited import ElicitedPrior
from bbclust.priors.gaussian import GaussianMixture
from bbclust.priors.matching import completed, nearest_pairs
from bbclust.priors.stated import Components, check_components
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats


class MixturePrior:
    r"""Gaussian mixture given by an expert, for all clusters or for some.

    .. math:: F_0 = \sum_j p_j\, N(\mu_j, C_j)

    Parameters
    ----------
    weights : array-like of shape (components,)
        p, positive; rescaled to sum one.
    means : array-like of shape (components, d)
        In the units of the data.
    covariances : array-like of shape (components, d, d)
        Symmetric and positive semi-definite.
    others : {None, "elicited"}, default=None
        What F0 says of the clusters that the expert says nothing of, when there are fewer
        components than clusters. None: nothing, the mixture is used as it was given. "elicited":
        the components are assigned to reference clusters (least sum of squared distances between
        means and centres), and each cluster left over contributes its elicited component. These
        keep their clusters' shares of the data, and the expert's components divide the rest in
        proportion to their weights. Component j of the result belongs to cluster j.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.priors import MixturePrior
    >>> prior = MixturePrior([1, 1], [[0, 0], [4, 4]], [np.eye(2), np.eye(2)])
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) + 4 * (np.arange(50) % 2)[:, None]
    >>> BBC(2, prior=prior, random_state=0).fit(X).prior_.weights
    array([0.5, 0.5])

    An expert who knows one of the two clusters:

    >>> one = MixturePrior([1], [[4, 4]], [np.eye(2)], others="elicited")
    >>> BBC(2, prior=one, random_state=0).fit(X).prior_.means.round(1)
    array([[-0.2,  0.1],
           [ 4. ,  4. ]])
    """

    needs_rows = False

    def __init__(
        self,
        weights: Sequence[float] | Array,
        means: Sequence[Sequence[float]] | Array,
        covariances: Sequence[Any] | Array,
        others: str | None = None,
    ) -> None:
        self.weights, self.means, self.covariances = check_components(
            weights, means, covariances, name="covariances"
        )
        if others not in (None, "elicited"):
            raise ValueError(f"others must be None or 'elicited', got {others!r}.")
        self.others = others

    def __repr__(self) -> str:
        components, d = self.means.shape
        others = "" if self.others is None else f", others={self.others!r}"
        return f"MixturePrior({components} components, {d} features{others})"

    def prepare(
        self, X: Floats | ClusterMoments, reference: Partition | None, scale: float
    ) -> GaussianMixture:
        """The mixture as it was given; the scale acts on elicited components alone.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        GaussianMixture
        """
        stated = Components(self.weights, self.means, self.covariances).mixture()
        if self.others is None:
            return stated
        reference = require_partition(self, reference)
        check_features(stated.n_features, X.shape[1])
        if len(self.weights) >= reference.n_clusters:
            return stated
        pairs = nearest_pairs(reference.centers, self.means)
        return completed(stated, pairs, ElicitedPrior().prepare(X, reference, scale))
