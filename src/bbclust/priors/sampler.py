"""F0 as anything that can be sampled: a function, or a distribution of scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array, Floats


@dataclass(frozen=True)
class SampledFunction:
    """A function as a prior that is ready to be sampled.

    Attributes
    ----------
    function : callable
        ``function(n, generator)`` gives n draws, shape (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.priors import SamplerPrior
    >>> def exponential(n, generator):
    ...     return generator.exponential(size=(n, 2))
    >>> drawn = SamplerPrior(exponential).prepare(None, None, 1.0)
    >>> drawn.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    >>> drawn.describe()
    'Draws of the function exponential'
    """

    function: Callable[[int, np.random.Generator], Any]

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
        return np.asarray(self.function(n, generator), dtype=np.float64)

    def describe(self) -> str:
        """The function's name.

        Returns
        -------
        str
        """
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"Draws of the function {name}"


@dataclass(frozen=True)
class SampledDistribution:
    """One frozen distribution of scipy for all columns, or one per column.

    Attributes
    ----------
    distributions : tuple of frozen distributions
        Univariate ones, one per column; or a single one of any dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from bbclust.priors import SamplerPrior
    >>> drawn = SamplerPrior([stats.norm(0, 1), stats.gamma(2)]).prepare(None, None, 1.0)
    >>> drawn.n_features, drawn.sample(3, np.random.default_rng(0)).shape
    (2, (3, 2))
    >>> drawn.logpdf([[0.0, 1.0]]).round(2)
    array([-1.92])
    >>> drawn.describe()
    'Distribution of scipy: norm(0, 1), gamma(2)'
    """

    distributions: tuple[Any, ...]

    @property
    def n_features(self) -> int | None:
        """Number of columns; None when a distribution does not say."""
        if len(self.distributions) > 1 or _is_univariate(self.distributions[0]):
            return len(self.distributions)
        known = getattr(self.distributions[0], "dim", None)
        return int(known) if isinstance(known, (int, np.integer)) else None

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
        if n == 0:
            return np.zeros((0, self.n_features or self.sample(1, generator).shape[1]))
        columns = [
            # scipy drops the axis of a single draw or a single column
            np.reshape(distribution.rvs(size=n, random_state=generator), (n, -1))
            for distribution in self.distributions
        ]
        return np.concatenate(columns, axis=1).astype(np.float64)

    def logpdf(self, X: Floats) -> Array:
        """Log density of points; TypeError if a distribution has none.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Points, in the units of the data.

        Returns
        -------
        ndarray of shape (n,)
            Natural logarithms; -inf where there is no density.
        """
        X = np.asarray(X, dtype=np.float64)
        for distribution in self.distributions:
            if not callable(getattr(distribution, "logpdf", None)):
                raise TypeError(f"{_name(distribution)} has no density: it has no logpdf.")
        if self._joint():
            # one row at a time: some distributions of scipy want points in columns
            return np.array([np.squeeze(self.distributions[0].logpdf(row)) for row in X])
        columns = [one.logpdf(X[:, f]) for f, one in enumerate(self.distributions)]
        return np.asarray(np.sum(columns, axis=0))

    def _joint(self) -> bool:
        return len(self.distributions) == 1 and not _is_univariate(self.distributions[0])

    def describe(self) -> str:
        """The names of the distributions.

        Returns
        -------
        str
        """
        names = ", ".join(_name(one) for one in self.distributions[:10])
        more = ", ..." if len(self.distributions) > 10 else ""
        return f"Distribution of scipy: {names}{more}"


def _is_univariate(distribution: Any) -> bool:
    """Whether it is one of scipy's univariate distributions, which alone have quantiles."""
    return hasattr(distribution, "ppf")


def _name(distribution: Any) -> str:
    family = getattr(distribution, "dist", distribution)
    name = str(getattr(family, "name", type(distribution).__name__).removesuffix("_frozen"))
    given = [_number(value) for value in getattr(distribution, "args", ())]
    given += [f"{key}={_number(value)}" for key, value in getattr(distribution, "kwds", {}).items()]
    return f"{name}({', '.join(given)})" if given else name


def _number(value: Any) -> str:
    return f"{float(value):.3g}" if np.ndim(value) == 0 else "..."


class SamplerPrior:
    """F0 as anything that can be sampled.

    Parameters
    ----------
    sampler : callable, frozen scipy distribution, or sequence of those
        - a function ``sampler(n, generator)`` that returns n draws, shape (n, d), and takes all its
          randomness from the :class:`numpy.random.Generator` it is given. A named function can be
          pickled and copied to other processes, a lambda cannot;
        - a frozen distribution of :mod:`scipy.stats`, univariate for data of one column;
        - a sequence of univariate frozen distributions, one per column, which are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from bbclust import BBC
    >>> from bbclust.priors import SamplerPrior
    >>> X = np.random.default_rng(0).gamma(2, size=(100, 2))
    >>> prior = SamplerPrior([stats.gamma(2), stats.gamma(2)])
    >>> print(BBC(2, prior=prior, random_state=0).fit(X).prior_.describe())
    Distribution of scipy: gamma(2), gamma(2)
    """

    needs_rows = False

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self._prepared = _prepare(sampler)

    def __repr__(self) -> str:
        return f"SamplerPrior({self.sampler!r})"

    def prepare(
        self, X: Floats, reference: Partition | None, scale: float
    ) -> SampledFunction | SampledDistribution:
        """The distribution as it was given: neither the data nor the scale acts on it.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        SampledFunction or SampledDistribution
        """
        return self._prepared


def _prepare(sampler: Any) -> SampledFunction | SampledDistribution:
    if _can_be_drawn(sampler):
        return SampledDistribution((sampler,))
    if callable(sampler) and not hasattr(sampler, "rvs"):
        return SampledFunction(sampler)
    if isinstance(sampler, Sequence) and len(sampler) and not isinstance(sampler, str):
        for column, one in enumerate(sampler):
            if not (_can_be_drawn(one) and _is_univariate(one)):
                raise TypeError(
                    f"Distribution {column} of the prior is {one!r}: "
                    "give one univariate frozen scipy distribution per column of the data."
                )
        return SampledDistribution(tuple(sampler))
    raise TypeError(
        f"SamplerPrior needs a function (n, generator), a frozen scipy distribution such as "
        f"scipy.stats.norm(0, 1), or one of these per column, got {sampler!r}."
    )


def _can_be_drawn(sampler: Any) -> bool:
    """Whether it is a frozen distribution; those not frozen can be called to freeze them."""
    return callable(getattr(sampler, "rvs", None)) and not callable(sampler)
