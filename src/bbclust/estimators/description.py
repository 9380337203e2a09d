"""What the clusters of a fitted model are like: where they lie, how far apart, what makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.center_posterior import (
    CenterDistances,
    CenterRegions,
    center_intervals,
    center_regions,
    distances_between,
    posterior_centers,
    replicas_needed,
)
from bbclust.diagnostics.variable_importance import VariableImportance, variable_importances


class ClusterDescription:
    """Base of estimators that describe their clusters.

    A subclass has ``replica_centers_``, ``variance_ratio_``, ``memberships_``, ``predict_proba``,
    and either ``_replicas`` and ``_run`` or, loaded from a file, ``_predictors`` with centres.
    """

    replica_centers_: npt.NDArray[np.float64]
    variance_ratio_: float
    memberships_: Any
    predict_proba: Any
    _rows_of_fit: Any
    _replicas: Any
    _predictors: Any

    def centers_interval(self, level: float = 0.95) -> npt.NDArray[np.float64]:
        """Credible intervals of the cluster centres, coordinate by coordinate.

        Equal-tailed intervals of the posterior of each cluster's mean: the Dirichlet process that
        combines data and prior, with the clusters as the replicas find them. Replicas scatter more
        than that posterior, and are drawn together accordingly (``variance_ratio_``). Intervals
        are wider for few replicas, so that they hold ``level`` of the posterior on average.

        Almost without a prior (``prior_weight`` near 0) and for well separated clusters, they are
        confidence intervals too. A prior elicited from the same data counts these twice.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        ndarray of shape (K, d, 2)
            Lower and upper ends; NaN for a cluster that fewer than ``2 / (1 - level) - 1`` of the
            replicas found.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.centers_interval().shape
        (3, 4, 2)
        """
        level = self._check_level(level)
        return center_intervals(self._posterior_centers(), level)

    def centers_region(self, level: float = 0.95) -> CenterRegions:
        """Credible regions of the cluster centres, all coordinates together.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        CenterRegions
            Means, covariances and radii of ellipsoids: the shape of the posterior covariance, so
            large that the share ``level`` of the replicas lies inside. It takes clearly more
            replicas than features.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> regions = BBC(3, random_state=0).fit(load_iris().data).centers_region()
        >>> regions.covariances.shape, regions.radii.round()
        ((3, 4, 4), array([3., 3., 3.]))
        """
        level = self._check_level(level, tails=1)
        return center_regions(self._posterior_centers(), level)

    def center_distances(self, level: float = 0.95) -> CenterDistances:
        """Distances between the cluster centres, with credible intervals.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95

        Returns
        -------
        CenterDistances
            ``distance``, ``lower`` and ``upper``, each of shape (K, K).

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.center_distances().distance.round()
        array([[0., 3., 2.],
               [3., 0., 5.],
               [2., 5., 0.]])
        """
        level = self._check_level(level)
        return distances_between(self._posterior_centers(), level)

    def variable_importance(self, X: Any = None) -> VariableImportance:
        """What each variable tells about the clusters, in bits.

        The mutual information between a variable and the memberships, corrected for its bias: 0
        for a variable that the clusters do not depend on, the entropy of the cluster shares for one
        that determines them. Variables that say the same have it twice.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows to look at, with the memberships of ``predict_proba``; those of ``fit`` with
            ``memberships_`` and their weights by default.

        Returns
        -------
        VariableImportance
            ``bits`` and standard errors ``se``, one per variable, and ``cluster_entropy``.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> importance = model.variable_importance()
        >>> importance.bits.round(1), round(importance.cluster_entropy, 1)
        (array([0.9, 0.4, 1.4, 1.2]), 1.6)
        """
        if X is not None:
            shares = self.predict_proba(X)
            rows = check.check_table(self, X, reset=False)
            return variable_importances(rows, shares, np.ones(len(rows)))
        run = self._rows_of_fit("variable_importance without X")
        shares = self.memberships_ if run.counted is None else self.memberships_[run.counted]
        return variable_importances(run.table.rows, shares, run.table.weights_or_ones())

    def _posterior_centers(self) -> npt.NDArray[np.float64]:
        of_file = not hasattr(self, "_replicas")
        occupied = self._predictors.occupied if of_file else self._replicas.occupied
        return posterior_centers(self.replica_centers_, occupied, self.variance_ratio_)

    def _check_level(self, level: float, *, tails: int = 2) -> float:
        check_is_fitted(self)
        level = check.check_level(level)
        needed = replicas_needed(level, tails=tails)
        if len(self.replica_centers_) < needed:
            raise ValueError(
                f"level={level:g} needs at least {needed} replicas and there are "
                f"{len(self.replica_centers_)}: raise n_replicas, or lower the level."
            )
        return level
