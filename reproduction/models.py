"""Models of the six data sets, and what is read off them as they grow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust import BBC
from reproduction.measures import MEASURES
from reproduction.study_context import K_VALUES, paper_draw

Array = npt.NDArray[np.float64]

# The paper does not say how many replicas it ran. Ten fit its magnitudes (see the audit of B);
# with 200 the values have settled.
REPLICAS = (10, 200)


def fit_quietly(X: Array, n_clusters: int, **parameters: Any) -> BBC:
    """A fit in which few votes on a row, or none, are what is studied and no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return BBC(n_clusters, votes="drawn", **parameters).fit(X)


def fit_each_k(number: int, draw: int, **parameters: Any) -> Iterator[BBC]:
    """A model of one draw of a data set for each K."""
    X = paper_draw(number, draw).data
    return (fit_quietly(X, k, **parameters) for k in K_VALUES)


def grow_quietly(model: BBC, n_replicas: int) -> BBC:
    """The same model with more replicas, as if it had been fitted with them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        more = n_replicas - model.n_replicas_
        return model.add_replicas(more) if more > 0 else model


def both_measures(model: BBC) -> list[float]:
    """In bits."""
    return [getattr(model, measure) for measure in MEASURES]


def read_while_growing(
    models: Iterable[BBC],
    replicas: Sequence[int],
    read: Callable[[BBC], Sequence[float]] = both_measures,
) -> Array:
    """What is read off models, one for each K, at each of the numbers of replicas.

    Shape (replicas, what is read, K). The models end with the last number of replicas.
    """
    found = [[read(grow_quietly(model, b)) for b in replicas] for model in models]
    return np.moveaxis(np.array(found), 0, -1)
