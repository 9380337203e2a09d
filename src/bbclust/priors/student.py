"""F0 with heavier tails: mixtures of multivariate Student distributions."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammaln

from bbclust.priors.covariances import ClusterMoments
from bbclust.priors.elicited import ElicitedPrior
from bbclust.priors.gaussian import GaussianMixture
from bbclust.priors.stated import check_components
from bbclust.priors.storage import PlainData, require, stored_as
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats

# A draw lies more than r scales out with a probability of about r^-df: with this df, beyond 1e150,
# whose squares overflow, once in 1e16 draws.
SMALLEST_DF = 0.11


@stored_as("StudentMixture")
@dataclass(frozen=True)
class StudentMixture:
    r"""A mixture of multivariate Student distributions, any of which may be singular.

    With weights :math:`p_j`, means :math:`\mu_j`, scale matrices :math:`S_j` and
    :math:`\nu` degrees of freedom its density is

    .. math:: \sum_j p_j \frac{\Gamma((\nu + d) / 2)}{\Gamma(\nu / 2)\, (\nu \pi)^{d/2}\,
              |S_j|^{1/2}} \left(1 + \tfrac 1 \nu (x - \mu_j)' S_j^{-1} (x - \mu_j)
              \right)^{-(\nu + d)/2}.

    A draw is a mean plus Gaussian noise with the scale matrix as covariance, times
    ``sqrt(df / c)`` with c from the chi-square distribution with ``df`` degrees of freedom.

    Attributes
    ----------
    core : GaussianMixture
        Weights, means and scale matrices: the mixture it tends to as ``df`` grows.
    df : float
        Degrees of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.priors import StudentMixturePrior
    >>> prior = StudentMixturePrior(4, weights=[1], means=[[0, 0]], scales=[np.eye(2)])
    >>> mixture = prior.prepare(None, None, 1.0)
    >>> mixture.covariances
    array([[[2., 0.],
            [0., 2.]]])
    >>> mixture.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    >>> mixture.logpdf([[0, 0], [5, 0]]).round(1)
    array([-1.8, -7.8])
    >>> mixture.scaled(4.0).scales
    array([[[4., 0.],
            [0., 4.]]])
    >>> print(mixture.describe())
    Student mixture with 4 degrees of freedom, 1 component in 2 dimensions
      0: weight 1, mean (0, 0), scales (1, 1)
    """

    core: GaussianMixture
    df: float

    @property
    def n_features(self) -> int:
        """d, the number of columns."""
        return self.core.n_features

    @property
    def weights(self) -> Array:
        """Weights of the components, shape (components,)."""
        return self.core.weights

    @property
    def means(self) -> Array:
        """Means of the components, shape (components, d).

        They are only centres of symmetry for ``df`` of 1 or less.
        """
        return self.core.means

    @property
    def factors(self) -> tuple[Array, ...]:
        """A tuple: ``factors[j].T @ factors[j]`` is the scale matrix of component j."""
        return self.core.factors

    @property
    def scales(self) -> Array:
        """Scale matrices, shape (components, d, d)."""
        return self.core.covariances

    @property
    def covariances(self) -> Array:
        """``df / (df - 2)`` times the scale matrices, shape (components, d, d).

        They exist for ``df`` above 2 only; ValueError otherwise.
        """
        if self.df <= 2:
            raise ValueError(
                f"A Student distribution with df={self.df:g} has no covariance: "
                "use its scales, or df above 2."
            )
        return self.df / (self.df - 2) * self.scales

    def to_plain_data(self) -> PlainData:
        """The core, and the degrees of freedom, for model files.

        Returns
        -------
        PlainData
        """
        return PlainData(self.core.to_plain_data().arrays, {"df": float(self.df)})

    @classmethod
    def from_plain_data(cls, data: PlainData, n_features: int) -> StudentMixture:
        """The mixture that a file describes; ValueError if it is an impossible one.

        Parameters
        ----------
        data, n_features
            As of :meth:`bbclust.priors.StorablePrior.from_plain_data`.

        Returns
        -------
        StudentMixture
        """
        df = data.details["df"]
        require(type(df) is float and 0 < df < np.inf, "its prior is of an impossible kind")
        return StudentMixture(GaussianMixture.from_plain_data(data, n_features), df)

    def scaled(self, scale: float) -> StudentMixture:
        """The mixture with other scale matrices.

        Parameters
        ----------
        scale : float
            Positive; multiplies all scale matrices.

        Returns
        -------
        StudentMixture
        """
        return StudentMixture(self.core.scaled(scale), self.df)

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws.

        Parameters
        ----------
        n, generator
            As of :meth:`bbclust.priors.PreparedPrior.sample`.

        Returns
        -------
        ndarray of shape (n, d)
        """
        centers, noise = self.core.sample_parts(n, generator)
        stretch = np.sqrt(self.df / generator.chisquare(self.df, size=n))
        return centers + stretch[:, None] * noise

    def logpdf(self, X: Floats) -> Array:
        """Log density of points.

        Singular components count on their supports alone, see :mod:`bbclust.priors.density`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points, in the units of the data.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; -inf where there is no density.
        """
        return self.core.log_density(X, self._log_student)

    def _log_student(self, squares: Array, rank: int) -> Array:
        df = self.df
        peak = gammaln((df + rank) / 2) - gammaln(df / 2) - rank / 2 * np.log(df * np.pi)
        return np.asarray(peak - (df + rank) / 2 * np.log1p(squares / df))

    def describe(self) -> str:
        """The mixture in words: a line in all, and one for each component.

        Returns
        -------
        str
        """
        components = self.core.describe_components("scales")
        return f"Student mixture with {self.df:g} degrees of freedom, {components}"


class StudentMixturePrior:
    """Mixture of Student distributions: for data with outliers, or for a prior that insists less.

    It is elicited from the reference partition, unless ``weights``, ``means`` and ``scales`` are
    given. Elicited or not, the **scale matrix** is what is matched: it takes the place that the
    covariance has in a Gaussian mixture, so the bulk of each component stays where it is and the
    tails get heavier. The covariance is ``df / (df - 2)`` times as large, and exists only for
    ``df`` above 2.

    Parameters
    ----------
    df : float, default=4
        Degrees of freedom, positive: 1 is a Cauchy distribution, above 30 it is hardly different
        from a Gaussian.
    weights : array-like of shape (components,), optional
        Positive; rescaled to sum one.
    means : array-like of shape (components, d), optional
        In the units of the data.
    scales : array-like of shape (components, d, d), optional
        Symmetric and positive semi-definite.

    References
    ----------
    D. Peel, G. J. McLachlan (2000). Robust mixture modelling using the t distribution. Statistics
    and Computing 10, 339-348.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.priors import StudentMixturePrior
    >>> model = BBC(3, prior=StudentMixturePrior(df=3), random_state=0).fit(load_iris().data)
    >>> model.prior_.df
    3.0
    >>> bool((model.prior_.covariances == 3 * model.prior_.scales).all())
    True
    """

    needs_rows = False

    def __init__(
        self, df: float = 4.0, weights: Any = None, means: Any = None, scales: Any = None
    ) -> None:
        if isinstance(df, bool) or not isinstance(df, Real):
            raise TypeError(f"df must be a number, got {df!r}.")
        if not 0 < float(df) < np.inf:
            raise ValueError(
                f"df must be positive and finite, got {df!r}: for Gaussian tails use MixturePrior "
                "or ElicitedPrior."
            )
        if float(df) < SMALLEST_DF:
            raise ValueError(
                f"df must be at least {SMALLEST_DF:g}, got {df!r}: with fewer degrees of freedom "
                "some draws are too far out to compute with."
            )
        self.df: float = float(df)
        self.stated: GaussianMixture | None = None
        missing = [
            name
            for name, value in (("weights", weights), ("means", means), ("scales", scales))
            if value is None
        ]
        if len(missing) == 3:
            return
        if missing:
            raise ValueError(
                f"{' and '.join(missing)} of the prior are missing: "
                "give weights, means and scales, or none of them to have them elicited."
            )
        self.stated = check_components(weights, means, scales, name="scales").mixture()

    def __repr__(self) -> str:
        if self.stated is None:
            return f"StudentMixturePrior(df={self.df:g})"
        components, d = self.stated.means.shape
        return f"StudentMixturePrior(df={self.df:g}, {components} components, {d} features)"

    def prepare(
        self, X: Floats | ClusterMoments, reference: Partition | None, scale: float
    ) -> StudentMixture:
        """Elicit F0 from the partition of the rows of X, or take the mixture as it was given.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        StudentMixture
        """
        if self.stated is not None:
            return StudentMixture(self.stated, self.df)
        elicited = ElicitedPrior().prepare(X, reference, scale)
        return StudentMixture(elicited, self.df)
