"""F0 read off the reference partition."""

from __future__ import annotations

from collections.abc import Sequence

from bbclust.priors.contract import require_partition
from bbclust.priors.covariances import FORMS, ClusterMoments, cluster_factors
from bbclust.priors.gaussian import GaussianMixture
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Floats
from bbclust.validation import check_choice


class ElicitedPrior:
    r"""Gaussian mixture read off the reference partition (Algorithm 3, steps 3 to 6).

    .. math:: F_0 = \sum_j \frac{n_j}{n}\, N(c_j, s\, C_j)

    Component j has weight n_j / n, the centre of cluster j as its mean, and ``scale`` times the
    covariance of cluster j (divided by n_j, so that a row of weight two counts as two rows and a
    cluster of one point becomes a point mass).

    Parameters
    ----------
    covariance : {"empirical", "shrunk", "diagonal", "spherical", "tied"}, default="empirical"
        - "empirical": as the paper has it.
        - "shrunk": towards a sphere, the more the fewer points a cluster has (OAS), so that
          clusters of few points in many dimensions are not flat.
        - "diagonal": columns are independent within a cluster.
        - "spherical": one variance per cluster, the mean over its columns.
        - "tied": one covariance for all clusters, that of the deviations from the own centre; a
          cluster of one point gets it too.

        All but "empirical" need d x d numbers per cluster.

    References
    ----------
    Y. Chen, A. Wiesel, Y. C. Eldar, A. O. Hero (2010). Shrinkage algorithms for MMSE covariance
    estimation. IEEE Transactions on Signal Processing 58, 5016-5029, for "shrunk".

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.priors import ElicitedPrior
    >>> X = load_iris().data[:, 2:]
    >>> model = BBC(3, prior=ElicitedPrior(covariance="diagonal"), random_state=0).fit(X)
    >>> print(model.prior_.describe())
    Gaussian mixture, 3 components in 2 dimensions
      0: weight 0.347, mean (4.27, 1.34), standard deviations (0.455, 0.211)
      1: weight 0.333, mean (1.46, 0.246), standard deviations (0.172, 0.104)
      2: weight 0.32, mean (5.6, 2.04), standard deviations (0.516, 0.27)
    """

    needs_rows = False

    def __init__(self, covariance: str = "empirical") -> None:
        self.covariance = check_choice("covariance", covariance, FORMS)

    def __repr__(self) -> str:
        if self.covariance == "empirical":
            return "ElicitedPrior()"
        return f"ElicitedPrior(covariance={self.covariance!r})"

    def prepare(
        self, X: Floats | ClusterMoments, reference: Partition | None, scale: float
    ) -> GaussianMixture:
        """Elicit F0 from the partition of the rows of X.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        GaussianMixture
            Component j belongs to cluster j.
        """
        reference = require_partition(self, reference)
        factors = cluster_factors(X, reference, self.covariance)
        return GaussianMixture(reference.shares, reference.centers, factors).scaled(scale)

    def prepare_scales(
        self, X: Floats | ClusterMoments, reference: Partition | None, scales: Sequence[float]
    ) -> list[GaussianMixture]:
        """F0 at several scales, elicited once.

        Parameters
        ----------
        X, reference
            As of :meth:`prepare`.
        scales : sequence of float
            Values of s.

        Returns
        -------
        list of GaussianMixture
            One for each scale.
        """
        elicited = self.prepare(X, reference, 1.0)
        return [elicited.scaled(scale) for scale in scales]
