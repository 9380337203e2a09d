"""What a prior must offer, and the checks that all of them share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Floats

Array = npt.NDArray[np.float64]


class PreparedPrior(Protocol):
    """A prior that is ready to be sampled, in the units of the data.

    Those of this package also have ``logpdf(X)`` where the density is known, ``describe()``, and
    ``n_features`` where it is known; a sentence in ``notice`` is shown as a warning after ``fit``.
    """

    def sample(self, n: int, generator: np.random.Generator) -> Array:
        """n draws, shape (n, d)."""
        ...


class Prior(Protocol):
    """A prior that may depend on the data through the reference partition.

    With a method ``number_clusters(reference)`` it also decides which number each cluster gets
    (see :class:`~bbclust.priors.ModelPrior`).
    """

    def prepare(self, X: Floats, reference: Partition, scale: float) -> PreparedPrior: ...


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
