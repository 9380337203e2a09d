"""Rows by their numbers: one pass over the partitions picks all that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed

from bbclust.dask.cluster.session import Session
from bbclust.dask.partitioned.passes import FAN_IN, Task, each_partition, shared
from bbclust.stages.table import Floats

Numbers = npt.NDArray[np.int64]

# Values that tasks of one pass collect from neighbouring partitions, at most.
_COLLECTED = 2**21


@dataclass(frozen=True)
class PickedRows:
    """Some rows of the table.

    Attributes
    ----------
    numbers : ndarray of shape (r,), int64
        Their numbers in the whole table, ascending.
    rows : ndarray of shape (r, d)
        In the units of the data.
    """

    numbers: Numbers
    rows: Floats


def pick_rows(
    session: Session,
    rows: da.Array,
    wanted: Delayed,
    n_sets: int,
    n_values: float,
    read: Sequence[Delayed] | None = None,
) -> list[Delayed]:
    """Several sets of rows, each of which ends up whole on one worker.

    Parameters
    ----------
    rows : dask.array.Array
        The table, in partitions of known lengths.
    wanted : Delayed tuple of ndarrays
        The numbers of the rows of each set, ascending.
    n_sets : int
    n_values : float
        Numbers in all of these rows, about.
    read : list of Delayed, optional
        The partitions, if others look at them too.

    Returns
    -------
    list of Delayed PickedRows
    """
    first_rows = np.cumsum([0, *rows.chunks[0]], dtype=np.int64)
    offsets = shared("first-rows", first_rows)
    parts = each_partition(
        session, "pick-rows", pick_from_partition, rows, wanted, offsets, read=read
    )
    together = int(_COLLECTED * len(parts) / max(n_values, 1))
    size = min(max(together, 1), FAN_IN)
    collect = Task(session, "collect-rows", join_sets)
    groups = [collect(parts[i : i + size]) for i in range(0, len(parts), size)]
    one_set = Task(session, "split-rows", tuple.__getitem__)
    join = Task(session, "join-rows", join_picked)
    return [join([one_set(group, s) for group in groups]) for s in range(n_sets)]


def pick_from_partition(
    rows: Floats, partition: int, wanted: Sequence[Numbers], offsets: Numbers
) -> tuple[PickedRows, ...]:
    """The rows of each set that are in a partition."""
    first, end = offsets[partition : partition + 2]
    sets = []
    for numbers in wanted:
        mine = numbers[slice(*np.searchsorted(numbers, [first, end]))]
        sets.append(PickedRows(mine.copy(), rows[mine - first]))
    return tuple(sets)


def join_sets(parts: Sequence[tuple[PickedRows, ...]]) -> tuple[PickedRows, ...]:
    """Each set of neighbouring partitions as one."""
    return tuple(map(join_picked, zip(*parts, strict=True)))


def join_picked(parts: Sequence[PickedRows]) -> PickedRows:
    """Rows of neighbouring partitions as one, in their order."""
    return PickedRows(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def merged(one: PickedRows, other: PickedRows) -> PickedRows:
    """Both sets of rows, those in both once."""
    numbers = np.union1d(one.numbers, other.numbers)
    rows = np.empty((len(numbers), one.rows.shape[1]), dtype=one.rows.dtype)
    for part in (one, other):
        rows[np.searchsorted(numbers, part.numbers)] = part.rows
    return PickedRows(numbers, rows)
