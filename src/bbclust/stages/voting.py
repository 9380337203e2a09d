"""Votes into memberships."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from bbclust._native import engine
from bbclust.stages.observed_kmeans import observed_lloyd
from bbclust.stages.table import Floats, has_missing

Array = npt.NDArray[np.float64]


def memberships(
    votes: npt.NDArray[np.int32], otherwise: npt.NDArray[np.integer] | None = None
) -> Array:
    """Share of votes of each cluster, (n, K).

    Rows without votes belong to the cluster given by ``otherwise``, to all alike where that is -1;
    they are zero when it is not given.
    """
    totals = votes.sum(axis=1, dtype=np.int64)
    shares = np.asarray(votes / np.maximum(totals, 1)[:, None])
    if otherwise is not None:
        without = np.flatnonzero(totals == 0)
        labels = otherwise[without]
        shares[without[labels < 0]] = 1 / votes.shape[1]
        shares[without[labels >= 0], labels[labels >= 0]] = 1.0
    return shares


def largest_memberships(shares: Array, k: int) -> csr_array:
    """The k largest positive entries of each row, of equal ones the first; shape (n, K)."""
    largest = np.sort(np.argsort(-shares, axis=1, kind="stable")[:, :k], axis=1)
    values = np.take_along_axis(shares, largest, axis=1)
    stored = values > 0
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    return csr_array((values[stored], largest[stored], starts), shape=shares.shape)


def vote_by_centers(
    rows: Floats,
    centers: Array,
    occupied: npt.NDArray[np.bool_],
    *,
    n_jobs: int = 1,
    missing: tuple[Any, ...] | None = None,
    first_replica: int = 0,
) -> npt.NDArray[np.int32]:
    """Every replica's centres vote on every row: nearest occupied centre, (n, K).

    ``centers`` (B, K, d) and ``rows`` (n, d) are in the same units; unoccupied centres abstain.
    Incomplete rows are completed for each replica, see
    :meth:`~bbclust.stages.missing_values.MissingDraws.for_engine`.
    """
    votes = np.zeros((len(rows), centers.shape[1]), dtype=np.int32)
    if len(rows) == 0:
        return votes
    engine.vote_by_centers(
        rows, centers, occupied.view(np.uint8), missing, first_replica, n_jobs, votes
    )
    return votes


def nearest_center(rows: Floats, centers: Array) -> npt.NDArray[np.int32]:
    """Index of the nearest centre of each row, over the columns that it has."""
    if has_missing(rows):
        observed = rows.astype(np.float64)
        return observed_lloyd(observed, np.ones(len(rows)), centers, max_iter=0).labels
    occupied = np.ones((1, len(centers)), dtype=np.bool_)
    votes = vote_by_centers(rows, centers[None], occupied)
    return np.asarray(votes.argmax(axis=1), dtype=np.int32)


def count_votes(labels: npt.NDArray[np.int16], n_clusters: int) -> npt.NDArray[np.int32]:
    """Votes (E, K) from the labels (B, E) of all replicas; -1 is no vote."""
    counts = np.zeros((labels.shape[1], n_clusters), dtype=np.int32)
    engine.count_labels(labels, counts)
    return counts
