"""Memberships of all rows, made partition by partition when they are asked for.

One fused task per partition lets the centres of all replicas vote on its rows. What is read off the
votes (memberships, labels, entropies) shares that task, so that computing all of it together takes
one pass over the rows.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import delayed

from bbclust._native import ISAS, engine, using_isa
from bbclust.dask.partitioned.reference import NearestCenterRule
from bbclust.dask.partitioned.row_picking import PickedRows
from bbclust.dask.partitioned.table import first_bad_value
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.io.assignment_columns import membership_columns
from bbclust.stages.entropies import MembershipSummary, entropy, summarize_memberships
from bbclust.stages.monte_carlo import membership_se
from bbclust.stages.table import Floats
from bbclust.stages.voting import memberships

Array = npt.NDArray[np.float64]


def votes_of(rows: da.Array, predictors: CenterPredictors) -> da.Array:
    """Votes of all replicas on every row, shape (n, K), int32; nothing is computed.

    Lengths of partitions may be unknown. Tasks compute with the present instruction set, or with
    the widest that there is where they run.
    """
    name = f"replica-centers-{dask.base.tokenize(predictors)}"
    n_clusters = predictors.centers.shape[1]
    return rows.map_blocks(
        vote_on_partition,
        engine.ISA,
        predictors=delayed(predictors, name=name, traverse=False),
        dtype=np.int32,
        chunks=(rows.chunks[0], (n_clusters,)),
        meta=np.empty((0, 0), dtype=np.int32),
    )


def vote_on_partition(
    rows: Floats, isa: str, predictors: CenterPredictors, block_id: Any = None
) -> npt.NDArray[np.int32]:
    """Votes on the rows of a partition; a task."""
    bad = first_bad_value(rows, block_id[0])
    if bad is not None:
        raise ValueError(
            f"X holds {'NaN' if bad.is_nan else 'infinity (inf)'} in row {bad.row} of partition "
            f"{bad.partition}, column {bad.column}: drop or fill such rows first."
        )
    with _at_most(isa):
        return predictors.vote(rows)


def _at_most(isa: str) -> AbstractContextManager[None]:
    return using_isa(min(isa, engine.best_isa(), key=ISAS.index))


def memberships_of(votes: da.Array) -> da.Array:
    """Share of the votes of each cluster, shape (n, K)."""
    return votes.map_blocks(memberships, dtype=np.float64, meta=np.empty((0, 0)))


def membership_se_of(votes: da.Array) -> da.Array:
    """Posterior standard deviation of the memberships under Jeffreys' prior, shape (n, K)."""
    return votes.map_blocks(membership_se, dtype=np.float64, meta=np.empty((0, 0)))


def labels_of(votes: da.Array, min_confidence: float | None = None) -> da.Array:
    """Cluster with most votes, shape (n,); -1 where its share is below ``min_confidence``."""
    return _by_row(votes, most_votes, np.int64, min_confidence)


def entropies_of(votes: da.Array) -> da.Array:
    """Entropy of each row's memberships in bits, shape (n,)."""
    return _by_row(votes, entropy_of_votes, np.float64)


def reference_labels_of(rows: da.Array, rule: NearestCenterRule) -> da.Array:
    """Reference cluster of every row, shape (n,)."""
    return _by_row(rows, label_by_rule, np.int32, rule, engine.ISA)


def _by_row(blocks: da.Array, function: Any, dtype: Any, *arguments: Any) -> da.Array:
    return blocks.map_blocks(
        function, *arguments, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype)
    )


def most_votes(votes: npt.NDArray[np.int32], min_confidence: float | None) -> npt.NDArray[np.int64]:
    """Labels of the rows of a partition; a task."""
    labels: npt.NDArray[np.int64] = votes.argmax(axis=1)
    if min_confidence is not None:
        labels[memberships(votes).max(axis=1, initial=0.0) < min_confidence] = -1
    return labels


def entropy_of_votes(votes: npt.NDArray[np.int32]) -> Array:
    """Entropies of the rows of a partition; a task."""
    return entropy(memberships(votes)) if len(votes) else np.zeros(0)


def label_by_rule(rows: Floats, rule: NearestCenterRule, isa: str) -> npt.NDArray[np.int32]:
    """Reference labels of the rows of a partition; a task."""
    with _at_most(isa):
        return rule.labels(rows)


def summarize_sample(sample: PickedRows, predictors: CenterPredictors) -> MembershipSummary:
    """Means over the rows of a sample; a task."""
    return summarize_memberships(memberships(predictors.vote(sample.rows)))


def write_parquet(votes: da.Array, path: str | os.PathLike[str]) -> None:
    """Write label, entropy and memberships of all rows, one file per partition, in one pass.

    No more than a partition per thread of the workers is in memory at a time.
    """
    import dask.dataframe as dd  # needs pandas and pyarrow, which arrays do not

    path = os.fspath(path)
    if os.path.isdir(path) and os.listdir(path):
        raise FileExistsError(f"{path} holds files already: give the name of a new directory.")
    frames = [delayed(frame_of_votes)(part) for part in votes.to_delayed().ravel()]
    meta = frame_of_votes(np.ones((1, votes.shape[1]), dtype=np.int32)).iloc[:0]
    table = dd.from_delayed(frames, meta=meta, verify_meta=False)
    table.to_parquet(path, write_index=False, name_function=name_of_part)


def name_of_part(partition: int) -> str:
    """Name of a file; by name, files are in the order of partitions."""
    return f"part-{partition:06d}.parquet"


def frame_of_votes(votes: npt.NDArray[np.int32]) -> Any:
    """Label, entropy and memberships as a data frame; a task."""
    import pandas as pd

    label, entropies = most_votes(votes, None), entropy_of_votes(votes)
    shares = membership_columns(memberships(votes))
    return pd.DataFrame({"label": label, "entropy": entropies, **shares})
