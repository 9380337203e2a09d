"""Are the clusters of a table tighter than the parts of one cloud with the spread of all rows?"""

from __future__ import annotations

from functools import partial

import numpy as np

from bbclust.selection.clouds import Cloud, Drawn
from bbclust.selection.one_cloud import Ellipsoid, IndependentAxes
from bbclust.selection.p_values import LEVEL, logs_until_plain, share_below
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.table import count_distinct_rows, make_table


def p_value_of_tightness(
    cloud: Cloud, n_clusters: int, n_clouds: int, generator: np.random.Generator
) -> float:
    """How often one cloud with the spread of the rows, cut in as many, has parts as tight.

    The largest p-value over three kinds of clouds, see :mod:`bbclust.selection.one_cloud`.
    """
    if count_distinct_rows(cloud.rows, n_clusters + 1) <= n_clusters or not n_clouds:
        return 1.0
    observed = log_looseness(cloud, n_clusters, generator)
    worst = 0.0
    for kind in (IndependentAxes.principal, IndependentAxes.least_gaussian, Ellipsoid.like):
        like = kind(cloud)
        if like is not None and worst <= LEVEL:
            draw = partial(log_looseness_of_draw, like, n_clusters, generator)
            logs = logs_until_plain(observed, draw, at_most=n_clouds, least_spread=0.0)
            worst = max(worst, share_below(observed, logs, least_spread=0.0))
    return worst


def log_looseness(cloud: Cloud, n_clusters: int, generator: np.random.Generator) -> float:
    """The logarithm of the share of the variance that is within the clusters of a cloud."""
    table = make_table(cloud.rows, cloud.weights / cloud.weights.mean())
    found = cluster_reference(table, n_clusters, int(generator.integers(2**63 - 1)))
    within = cloud.rows - found.centers[found.labels]
    whole = cloud.rows - np.average(cloud.rows, axis=0, weights=cloud.weights)
    loose, all_of_it = (
        float(np.einsum("i,ij,ij->", cloud.weights, rows, rows)) for rows in (within, whole)
    )
    return float(np.log(max(loose / all_of_it, np.finfo(float).tiny)))


def log_looseness_of_draw(like: Drawn, n_clusters: int, generator: np.random.Generator) -> float:
    """The same of a cloud that is drawn."""
    return log_looseness(like.draw(generator), n_clusters, generator)
