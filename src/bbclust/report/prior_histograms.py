"""Prior against data, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.priors import PreparedPrior
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Floats

Array = npt.NDArray[np.float64]

N_DRAWS = 5_000
N_BINS = 40
TAIL = 0.002


@dataclass(frozen=True)
class Histogram:
    """Densities of rows and of draws from the prior between common edges."""

    edges: Array
    data: Array
    prior: Array


def column_histograms(
    prior: PreparedPrior, X: Floats, columns: Sequence[int]
) -> dict[int, Histogram]:
    """Histograms of some columns, in the units in which they were clustered."""
    draws = np.asarray(prior.sample(N_DRAWS, stream_generator(0, Stage.DISPLAY)))
    return {j: _histogram(X[:, j].astype(np.float64), draws[:, j]) for j in columns}


def _histogram(values: Array, draws: Array) -> Histogram:
    draws = draws[np.isfinite(draws)]
    low, high = values.min(), values.max()
    if len(draws):  # a heavy tail would leave nothing of the rest
        ends = np.quantile(draws, [TAIL, 1 - TAIL])
        low, high = min(low, ends[0]), max(high, ends[1])
    if not low < high:
        half = max(0.5, abs(low) / 2)
        low, high = low - half, high + half
    edges = np.linspace(low, high, N_BINS + 1)
    width = edges[1] - edges[0]
    data, prior = (
        np.histogram(one, edges)[0] / (max(len(one), 1) * width) for one in (values, draws)
    )
    return Histogram(edges, data, prior)
