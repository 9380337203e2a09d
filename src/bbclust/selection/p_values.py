"""Where a number is among those of clouds: as many clouds as it takes, and a p-value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

Array = npt.NDArray[np.float64]

LEVEL = 0.05
FIRST_CLOUDS = 7
PLAIN = (1e-3, 0.25)  # a p-value outside of these is not looked at more closely
LEAST_SPREAD = 0.1  # of the logarithm of a doubt or a depth: what few replicas leave open


def logs_until_plain(
    observed: float,
    draw: Callable[[], float],
    at_most: int,
    least_spread: float = LEAST_SPREAD,
) -> Array:
    """Logarithms of clouds, as many as it takes to see where the observed one is."""
    logs: list[float] = []
    while len(logs) < at_most and not _is_plain(observed, logs, least_spread):
        logs.append(draw())
    return np.array(logs)


def share_below(observed: float, logs: Array, least_spread: float = LEAST_SPREAD) -> float:
    """The p-value of a logarithm among those of clouds, by Student's distribution."""
    n = len(logs)
    if n < 2:
        return 1.0
    spread = max(float(logs.std(ddof=1)), least_spread, np.finfo(float).tiny)
    return float(stdtr(n - 1, (observed - logs.mean()) / (spread * np.sqrt(1 + 1 / n))))


def in_words(p_value: float, smallest: float = PLAIN[0]) -> str:
    """A p-value as it is printed; below the smallest that is looked at closely, just that.

    Examples
    --------
    >>> from bbclust.selection.p_values import in_words
    >>> in_words(0.0301), in_words(2e-5)
    ('p = 0.03', 'p < 0.001')
    """
    return f"p < {smallest:.2g}" if p_value < smallest else f"p = {p_value:.2g}"


def _is_plain(observed: float, logs: list[float], least_spread: float) -> bool:
    """Whether more clouds would not change what is said."""
    return len(logs) >= FIRST_CLOUDS and not (
        PLAIN[0] <= share_below(observed, np.array(logs), least_spread) <= PLAIN[1]
    )
