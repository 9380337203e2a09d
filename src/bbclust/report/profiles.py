"""What sets each cluster apart: its means, and how far they are from those of the other rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.stages.table import Floats

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Profiles:
    """One row per cluster, one column per variable.

    Attributes
    ----------
    sizes : ndarray of shape (K,), int64
    means, means_of_rest : ndarrays of shape (K, d)
        Mean of the cluster's rows and of all others, by the values that there are; NaN where there
        are none.
    differences : ndarray of shape (K, d)
        The first minus the second, in standard deviations of the column; zero where one of them is
        missing or the column is constant.
    """

    sizes: npt.NDArray[np.int64]
    means: Array
    means_of_rest: Array
    differences: Array

    def most_telling(self, cluster: int, count: int) -> list[int]:
        """Columns in which the cluster differs most from the rest, the largest first."""
        order = np.argsort(-np.abs(self.differences[cluster]), kind="stable")[:count]
        return [int(column) for column in order]


def make_profiles(values: Floats, labels: npt.NDArray[np.integer], n_clusters: int) -> Profiles:
    r"""Profiles of the clusters 0 to K - 1; rows with the label -1 are in none of them.

    .. math:: \frac{\bar x_{\text{cluster}} - \bar x_{\text{rest}}}{\text{sd}(x)}
    """
    d = values.shape[1]
    # The first place is for rows in no cluster.
    sizes = np.bincount(labels + 1, minlength=n_clusters + 1)[1:]
    sums, totals = np.empty((n_clusters, d)), np.empty(d)
    seen, n_seen = np.empty((n_clusters, d)), np.empty(d)
    deviations, shifts = np.empty(d), np.empty(d)
    for column in range(d):
        x = values[:, column].astype(np.float64)
        places = (labels + 1)[~np.isnan(x)]
        x = x[~np.isnan(x)]
        shifts[column] = x.mean() if len(x) else np.nan
        x -= shifts[column]  # else values far from zero would lose their digits in the sums
        deviations[column] = x.std() if x.any() else 0.0
        totals[column], n_seen[column] = x.sum(), len(x)
        sums[:, column] = np.bincount(places, weights=x, minlength=n_clusters + 1)[1:]
        seen[:, column] = np.bincount(places, minlength=n_clusters + 1)[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / seen
        rest = (totals - sums) / (n_seen - seen)
        differences = np.nan_to_num((means - rest) / deviations, nan=0.0, posinf=0.0, neginf=0.0)
    return Profiles(sizes, means + shifts, rest + shifts, differences)
