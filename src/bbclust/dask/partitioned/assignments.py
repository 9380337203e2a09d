"""Labels and memberships of all rows into Parquet files, one per partition, and their counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from distributed import as_completed

from bbclust.dask.cluster.session import open_session
from bbclust.dask.partitioned.memberships import name_of_part
from bbclust.dask.partitioned.parquet import RowGroups, read_columns
from bbclust.dask.partitioned.passes import each_partition, shared, start
from bbclust.diagnostics.row_counts import RowCounts, add_counts, count_rows
from bbclust.io.assignment_columns import assignment_columns, name_beside
from bbclust.io.whole_file import remove_drafts, whole_file
from bbclust.stages.entropies import entropy


@dataclass(frozen=True)
class RowIds:
    """What the rows are called: by a column of the files, or by their numbers from 1.

    ``carried`` are columns of the files that the assignments carry.
    """

    row_groups: tuple[RowGroups, ...]
    column: str | None = None
    carried: tuple[str, ...] = ()

    def of_partition(self, i: int) -> Any:
        """Names of the rows of partition i."""
        if self.column is not None:
            return read_columns(self.row_groups[i], [self.column]).column(0)
        first = 1 + sum(row_group.n_rows for row_group in self.row_groups[:i])
        return np.arange(first, first + self.row_groups[i].n_rows)


def write_assignments(
    model: Any,
    directory: str | os.PathLike[str],
    ids: RowIds,
    progress: Callable[[int, int], None],
) -> RowCounts:
    """Write the assignments of every row of ``fit`` and count the rows, in one pass.

    Parameters
    ----------
    model : DaskBBC
        Fitted to the rows of ``ids.row_groups``.
    directory : path
        An empty directory that all workers can write to.
    ids : RowIds
    progress : callable
        Called with how many partitions are written, and how many there are.
    """
    with open_session(model.client) as session:
        nodes = each_partition(
            session,
            "write-memberships",
            write_partition,
            model.memberships_,
            shared("row-ids", ids),
            os.path.abspath(directory),
            model.n_replicas_,
        )
        futures = start(session, nodes)
        place = {future.key: i for i, future in enumerate(futures)}
        completed = as_completed(futures, loop=session.client.loop)
        del futures  # what is fetched is not computed again when a worker dies
        found: dict[int, RowCounts] = {}
        for future in completed:
            found[place[future.key]] = future.result()
            progress(len(found), len(place))
    remove_drafts(directory)  # of workers that died while they wrote
    return add_counts([found[i] for i in range(len(found))])


def write_partition(
    memberships: npt.NDArray[np.float64], partition: int, ids: RowIds, directory: str, n_votes: int
) -> RowCounts:
    """Write the file of a partition; a task, which may run again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels, entropies = memberships.argmax(axis=1), entropy(memberships)
    table = pa.table(
        assignment_columns(
            ids.of_partition(partition),
            labels,
            memberships,
            entropies,
            n_votes,  # in partitions, all replicas vote on all rows
        )
    )
    if ids.carried:
        carried = read_columns(ids.row_groups[partition], list(ids.carried))
        for name, other in zip(
            name_beside(table.column_names, ids.carried), ids.carried, strict=True
        ):
            table = table.append_column(name, carried.column(other))
    with whole_file(os.path.join(directory, name_of_part(partition))) as draft:
        pq.write_table(table, draft)
    return count_rows(memberships, labels, entropies)
