"""Parquet files as rows in partitions, each of them some row groups of one file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
import numpy.typing as npt

from bbclust.stages.table import Floats

# Of a partition, unless a row group has more: enough work for a task, and little memory.
MAX_ROWS = 2**20
MAX_VALUES = 2**22


@dataclass(frozen=True)
class RowGroups:
    """Neighbouring row groups of a file, read together.

    Attributes
    ----------
    path : str
        Where the file is, for all workers.
    groups : tuple of int
    n_rows : int
    """

    path: str
    groups: tuple[int, ...]
    n_rows: int


def cut_into_row_groups(path: str, group_rows: Sequence[int], d: int) -> Iterator[RowGroups]:
    """Parts of a file whose row groups have these numbers of rows, of d columns each.

    Examples
    --------
    >>> cut = cut_into_row_groups("a", [600_000, 400_000, 600_000], d=4)
    >>> [row_groups.groups for row_groups in cut]
    [(0, 1), (2,)]
    """
    most = max(min(MAX_ROWS, MAX_VALUES // d), 1)
    groups: list[int] = []
    n_rows = 0
    for group, more in enumerate(group_rows):
        if n_rows and n_rows + more > most:
            yield RowGroups(path, tuple(groups), n_rows)
            groups, n_rows = [], 0
        groups.append(group)
        n_rows += more
    if n_rows:
        yield RowGroups(path, tuple(groups), n_rows)


def rows_of_row_groups(
    row_groups: Sequence[RowGroups], columns: Sequence[str], dtype: Any
) -> da.Array:
    """The rows as a Dask array with one block per group of row groups; nothing is read yet."""
    name = f"read-parquet-{uuid4().hex}"
    tasks = {
        (name, i, 0): (read_row_groups_of, row_group, tuple(columns), np.dtype(dtype).str)
        for i, row_group in enumerate(row_groups)
    }
    lengths = tuple(row_group.n_rows for row_group in row_groups)
    chunks = (lengths, (len(columns),))
    return da.Array(tasks, name, chunks, meta=np.empty((0, 0), dtype=dtype))


def read_row_groups_of(row_group: RowGroups, columns: Sequence[str], dtype: str) -> Floats:
    """Some columns as numbers, NaN where there are none; a task."""
    rows: Floats = np.empty((row_group.n_rows, len(columns)), dtype=dtype)
    table = read_columns(row_group, columns)
    for j, column in enumerate(table.columns):
        rows[:, j] = _as_floats(column)
    return rows


def read_columns(row_group: RowGroups, columns: Sequence[str]) -> Any:
    """Some columns of some row groups as an Arrow table, in the order asked for."""
    import pyarrow.parquet as pq

    state = os.stat(row_group.path)
    footer = _footer(row_group.path, state.st_size, state.st_mtime_ns)
    with pq.ParquetFile(row_group.path, metadata=footer) as file:
        table = file.read_row_groups(
            list(row_group.groups), columns=list(columns), use_threads=False
        )
    return table.select(list(columns))


@lru_cache(maxsize=32)
def _footer(path: str, size: int, changed: int) -> Any:
    """What a file says of its row groups, which takes longer to read than some rows."""
    import pyarrow.parquet as pq

    return pq.read_metadata(path)


def _as_floats(column: Any) -> npt.NDArray[np.floating]:
    import pyarrow as pa

    if not pa.types.is_float32(column.type):
        column = column.cast(pa.float64(), safe=False)  # whole numbers beyond 2^53 are rounded
    floats: npt.NDArray[np.floating] = column.to_numpy()
    return floats
