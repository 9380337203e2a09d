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
# Of values that were rounded, every gap is a multiple of the step, but for errors of floats.
ROUNDING = 1e-2


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
    draws, values = draws[np.isfinite(draws)], values[~np.isnan(values)]
    if not len(values):
        values = draws
    low, high = values.min(), values.max()
    if len(draws):  # a heavy tail would leave nothing of the rest
        ends = np.quantile(draws, [TAIL, 1 - TAIL])
        low, high = min(low, ends[0]), max(high, ends[1])
    edges = _edges(values, float(low), float(high))
    width = edges[1] - edges[0]
    data, prior = (
        np.histogram(one, edges)[0] / (max(len(one), 1) * width) for one in (values, draws)
    )
    return Histogram(edges, data, prior)


def _edges(values: Array, low: float, high: float) -> Array:
    """At most about :data:`N_BINS` equal bins from low to high.

    Few rows get few bins (twice those of Rice's rule, as clusters are narrower than the column).
    Of values that were rounded each bin holds the same number of possible ones: else bins between
    two possible values would be empty however many rows lie there.
    """
    if not low < high:
        half = max(0.5, abs(low) / 2)
        return np.linspace(low - half, high + half, N_BINS + 1)
    most_bins = np.ceil(4 * len(values) ** (1 / 3))
    width = max((high - low) / N_BINS, (values.max() - values.min()) / most_bins)
    step = _step(values)
    if step is None or step < width / N_BINS:  # too fine to be seen
        return np.linspace(low, high, max(1, round((high - low) / width)) + 1)
    width = step * max(1, round(width / step))
    start = values.min() - step / 2
    start -= width * np.ceil((start - low) / width)
    n_bins = max(1, int(np.ceil((max(high, values.max() + step / 2) - start) / width)))
    return np.asarray(start + width * np.arange(n_bins + 1))


def _step(values: Array) -> float | None:
    """The step of values that were rounded; None where they were not, or cannot be told."""
    gaps = np.diff(np.unique(values))
    gaps = gaps[gaps > 1e-9 * (values.max() - values.min())]  # one value, rounded twice
    if not len(gaps):
        return None
    step = float(gaps.min())
    multiples = gaps / step
    return step if np.abs(multiples - np.round(multiples)).max() <= ROUNDING else None
