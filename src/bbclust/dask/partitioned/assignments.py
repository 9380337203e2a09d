"""Labels and memberships of all rows into Parquet files, one per partition, and their totals."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from distributed import as_completed

from bbclust.dask.estimators import DaskBBC
from bbclust.dask.partitioned.memberships import entropy_of_votes, name_of_part
from bbclust.dask.partitioned.parquet import RowGroups, read_columns
from bbclust.dask.partitioned.passes import each_partition, shared, start
from bbclust.io.whole_file import remove_drafts, whole_file
from bbclust.stages.voting import memberships


@dataclass(frozen=True)
class RowIds:
    """What the rows are called: by a column of the files, or by their numbers from 1."""

    row_groups: tuple[RowGroups, ...]
    column: str | None = None

    def of_partition(self, i: int) -> Any:
        """Names of the rows of partition i."""
        if self.column is not None:
            return read_columns(self.row_groups[i], [self.column]).column(0)
        first = 1 + sum(row_group.n_rows for row_group in self.row_groups[:i])
        return np.arange(first, first + self.row_groups[i].n_rows)


@dataclass(frozen=True)
class Totals:
    """What the memberships of some rows add up to.

    Attributes
    ----------
    sizes : ndarray of shape (K,), int64
        Rows of each cluster.
    entropies : ndarray of shape (K,)
        Their entropies, added up.
    agreed_rows : int
        Rows on which all votes agree.
    rows_in_between : int
        Rows on which no cluster has a clear share of the votes.
    """

    sizes: npt.NDArray[np.int64]
    entropies: npt.NDArray[np.float64]
    agreed_rows: int
    rows_in_between: int


def write_assignments(
    model: DaskBBC,
    directory: str | os.PathLike[str],
    names: RowIds,
    clear_share: float,
    progress: Callable[[int, int], None],
) -> Totals:
    """Write name, label, memberships, entropy and votes of every row of ``fit``, by one pass.

    Parameters
    ----------
    model : DaskBBC
        Fitted to the rows of ``names.row_groups``.
    directory : path
        An empty directory that all workers can write to.
    names : RowIds
    clear_share : float
        Share of the votes with which a row is not in between.
    progress : callable
        Hears how many partitions are written, and how many there are.
    """
    with model._on_workers():
        session = model._session
        nodes = each_partition(
            session,
            "write-memberships",
            write_partition,
            model._votes,
            shared("row-names", names),
            os.path.abspath(directory),
            clear_share,
        )
        futures = start(session, nodes)
        place = {future.key: i for i, future in enumerate(futures)}
        completed = as_completed(futures, loop=session.client.loop)
        del futures  # what is fetched is not computed again when a worker dies
        found: dict[int, Totals] = {}
        for future in completed:
            found[place[future.key]] = future.result()
            progress(len(found), len(place))
    remove_drafts(directory)
    return add_totals([found[i] for i in range(len(found))])


def write_partition(
    votes: npt.NDArray[np.int32], partition: int, names: RowIds, directory: str, clear_share: float
) -> Totals:
    """Write the file of a partition; a task, which may run again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shares = memberships(votes)
    labels, entropies = votes.argmax(axis=1), entropy_of_votes(votes)
    table = pa.table(
        {
            "id": names.of_partition(partition),
            "label": labels,
            **{f"membership_{k}": shares[:, k] for k in range(votes.shape[1])},
            "entropy": entropies,
            "n_votes": votes.sum(axis=1),
        }
    )
    with whole_file(os.path.join(directory, name_of_part(partition))) as draft:
        pq.write_table(table, draft)
    return Totals(
        sizes=np.bincount(labels, minlength=votes.shape[1]),
        entropies=np.bincount(labels, entropies, votes.shape[1]).astype(np.float64),
        agreed_rows=int((entropies == 0).sum()),
        rows_in_between=int((shares.max(axis=1, initial=0.0) < clear_share).sum()),
    )


def add_totals(parts: Sequence[Totals]) -> Totals:
    """Totals of all partitions, added from the first to the last."""
    return Totals(
        sizes=np.sum([part.sizes for part in parts], axis=0),
        entropies=np.sum([part.entropies for part in parts], axis=0),
        agreed_rows=sum(part.agreed_rows for part in parts),
        rows_in_between=sum(part.rows_in_between for part in parts),
    )
