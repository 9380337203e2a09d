"""Where the centres are."""

from __future__ import annotations

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
from bbclust.estimators.fitted_model import FittedModel


class CenterQuestions(FittedModel):
    """Intervals and regions of the centres, and the distances between them."""

    variance_ratio_: float

    def centers_interval(self, level: float = 0.95) -> npt.NDArray[np.float64]:
        """Intervals of the cluster centres, coordinate by coordinate.

        With an elicited prior (``prior=None`` or :class:`~bbclust.priors.ElicitedPrior`) or none,
        they are confidence intervals: they hold the centres that as many replicas of ever more
        rows of the same kind would find with the share ``level``, whatever ``prior_weight`` is. The
        prior was read off the same rows, so it does not make them narrower.

        With a prior of your own they are credible intervals of the Dirichlet process that combines
        it with the data: as narrow as data and prior together make them, and right if the prior is.

        Replicas scatter more than either, and are drawn together accordingly
        (``center_variance_ratio_``). Intervals are wider for few replicas and for clusters of few
        rows. Where clusters overlap, k-means centres lie further apart than those of the groups:
        the intervals are for the former.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability of the intervals or regions.

        Returns
        -------
        ndarray of shape (K, d, 2)
            Lower and upper ends; NaN for a cluster that fewer than ``2 / (1 - level) - 1`` of the
            replicas found, and for one of a single row, whose spread nothing tells.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.centers_interval().shape
        (3, 4, 2)
        """
        level = self._check_level(level)
        return center_intervals(self._posterior_centers(), level, self._rows_of_clusters())

    def centers_region(self, level: float = 0.95) -> CenterRegions:
        """Regions of the cluster centres, all coordinates together.

        What they hold is what :meth:`centers_interval` says.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability of the intervals or regions.

        Returns
        -------
        CenterRegions
            Means, covariances and radii of ellipsoids: the shape of the covariance over the
            replicas, so large that the share ``level`` of them lies inside, and larger for clusters
            of few rows; NaN for those of no more rows than features. It takes clearly more replicas
            than features.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> regions = BBC(3, random_state=0).fit(load_iris().data).centers_region()
        >>> regions.covariances.shape, regions.radii.round()
        ((3, 4, 4), array([3., 3., 4.]))
        """
        level = self._check_level(level, tails=1)
        return center_regions(self._posterior_centers(), level, self._rows_of_clusters())

    def center_distances(self, level: float = 0.95) -> CenterDistances:
        """Distances between the cluster centres, with intervals as of :meth:`centers_interval`.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability of the intervals or regions.

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
        return distances_between(self._posterior_centers(), level, self._rows_of_clusters())

    def _posterior_centers(self) -> npt.NDArray[np.float64]:
        # files of earlier versions lack the other ratio
        ratio = getattr(self, "center_variance_ratio_", self.variance_ratio_)
        return posterior_centers(self.replica_centers_, self._state.occupied, ratio)

    def _rows_of_clusters(self) -> npt.NDArray[np.float64] | None:
        """Rows from which each centre was estimated, if by them alone."""
        rows = getattr(self, "cluster_rows_", None)
        return None if rows is None or np.isnan(rows).any() else rows

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
