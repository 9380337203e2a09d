"""Is there a valley between two centres, deeper than rows without one would show by chance?

The rows nearer to the middle of the two centres than to any third make a convex region
(:meth:`bbclust.selection.neighbours.Neighbours.rows_around`). A log-concave cloud, be it round,
long, uniform or skew, is so in every convex region and on every line, so it has one mode on the
line through the two centres.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bbclust.selection.clouds import Cloud, FilledValley, with_one_mode
from bbclust.selection.p_values import PLAIN, logs_until_plain, share_below
from bbclust.stages.table import count_distinct_rows

Array = npt.NDArray[np.float64]

MIN_ROWS = 6
N_LLOYD = 10
TINY = 1e-6  # a valley less deep is none
ROUNDING = 1e-9  # of sums of weights, so that their scale does not decide


def p_value_of_valley(
    cloud: Cloud, centers: Array, n_clouds: int, generator: np.random.Generator
) -> float:
    """How often rows without a valley between two centres, shape (2, d), show one as deep.

    The rows are compared with the same rows, valley filled, which follow their chance ups and
    downs, and with even ones, which show the deepest valleys by chance; the larger p-value counts.
    """
    if cloud.n < MIN_ROWS or not n_clouds or count_distinct_rows(cloud.rows, 4) < 4:
        return 1.0
    settled = settle(cloud, centers)
    filled = FilledValley.between(cloud, settled)
    middle = around_the_middle(cloud, settled)
    depth = FilledValley.between(middle, settled).depth

    def depth_of_filled() -> float:
        drawn = filled.draw(generator)
        settled = settle(drawn, centers)
        return FilledValley.between(around_the_middle(drawn, settled), settled).depth

    def depth_of_even() -> float:
        even = generator.uniform(size=middle.n)
        return with_one_mode(even, middle.weights, between=(0.25, 0.75))[1]

    p_value = share_as_deep(depth, depth_of_even, n_clouds)
    if p_value > PLAIN[1]:
        return p_value
    return max(p_value, share_as_deep(depth, depth_of_filled, n_clouds))


def share_as_deep(depth: float, depth_of: Callable[[], float], n_clouds: int) -> float:
    """The p-value of a depth among those that are drawn."""
    observed = -float(np.log(max(depth, TINY)))
    logs = logs_until_plain(
        observed, lambda: -float(np.log(max(depth_of(), TINY))), at_most=n_clouds
    )
    return share_below(observed, logs)


def settle(cloud: Cloud, centers: Array) -> Array:
    """Two centres after some steps of Lloyd's algorithm on a cloud."""
    for _ in range(N_LLOYD):
        line = centers[1] - centers[0]
        beyond = np.einsum("ij,j->i", cloud.rows - centers.mean(axis=0), line) > 0
        if not 0 < beyond.sum() < cloud.n:
            break
        before = centers
        centers = np.array(
            [
                np.average(cloud.rows[side], axis=0, weights=cloud.weights[side])
                for side in (~beyond, beyond)
            ]
        )
        if np.array_equal(centers, before):
            break
    return centers


def around_the_middle(cloud: Cloud, centers: Array) -> Cloud:
    """The rows of both sides of the middle, of the heavier side the nearest, as heavy as the other.

    Beside many rows, a valley before few would not show. Rows between two planes are a convex
    region too.
    """
    line = centers[1] - centers[0]
    beyond = np.einsum("ij,j->i", cloud.rows - centers.mean(axis=0), line)
    order = np.argsort(np.abs(beyond), kind="stable")
    light, heavy = sorted(
        (order[beyond[order] <= 0], order[beyond[order] > 0]),
        key=lambda side: float(cloud.weights[side].sum()),
    )
    if not len(light):
        return cloud
    weight = np.cumsum(cloud.weights[heavy])
    enough = (1 - ROUNDING) * cloud.weights[light].sum()
    n_heavy = int(np.searchsorted(weight, enough)) + 1
    return cloud.take(np.sort(np.concatenate([light, heavy[:n_heavy]])))
