"""One look at all of a table that is larger than memory: its columns measured, a sample taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.parquet_files import ParquetTable
from bbclust.cli.input.scaling import Scaling
from bbclust.cli.input.training import TrainingTable
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import numpy.typing as npt
    from dask.array import Array
    from distributed import Client

    from bbclust.dask.partitioned.measuring import Measured
    from bbclust.dask.partitioned.parquet import RowGroups

# Rows that stand for all in the report and in the summary.
SAMPLE = 100_000
SAMPLE_VALUES = 2**23
PARTITIONS_IN_MEMORY = 10  # what a task makes of a partition, in copies of it


@dataclass(frozen=True)
class ColumnSurvey:
    """A table after one look at all of it.

    Attributes
    ----------
    table : ParquetTable
        Without columns that do not vary.
    row_groups : tuple of RowGroups
        Its partitions.
    scaling : Scaling
    rows : dask.array.Array of shape (n, d)
        The scaled rows, not in memory.
    numbers : ndarray of shape (m,)
        Numbers of the rows of a sample, from 0.
    original, sample : ndarrays of shape (m, d)
        These rows, as in the files and scaled.
    low, high : tuples of d float
        Smallest and largest value of each column, of all rows.
    """

    table: ParquetTable
    row_groups: tuple[RowGroups, ...]
    scaling: Scaling
    rows: Array
    numbers: npt.NDArray[Any]
    original: npt.NDArray[Any]
    sample: npt.NDArray[Any]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def is_sample(self) -> bool:
        return len(self.sample) < int(self.rows.shape[0])

    def as_training(self) -> TrainingTable:
        """What a model of these rows keeps of them."""
        table, n_rows = self.table, int(self.rows.shape[0])
        aside = tuple(table.set_aside)
        return TrainingTable(table.id, None, aside, n_rows, self.low, self.high)


def survey_columns(client: Client, table: ParquetTable, scale: str, seed: int) -> ColumnSurvey:
    """Measure the columns, take a sample, and leave out columns that do not vary."""
    import numpy as np

    from bbclust.dask.partitioned.parquet import rows_of_row_groups

    row_groups = tuple(table.row_groups())
    _check_row_groups(client, table, max(row_group.n_rows for row_group in row_groups))
    found = _measure(client, table, row_groups, seed)
    constant = {
        name: f"constant, always {low:g}"
        for name, low, high in zip(table.columns, found.low, found.high, strict=True)
        if low == high
    }
    if len(constant) == len(table.columns):
        raise CommandError("No column holds numbers that vary: there is nothing to cluster.")
    varies = np.array([name not in constant for name in table.columns])
    table = table.without(constant)
    scaling = _scaling(table, scale, found, varies)
    rows = rows_of_row_groups(row_groups, table.columns, table.dtype)
    original = np.ascontiguousarray(found.sample.rows[:, varies], dtype=table.dtype)
    return ColumnSurvey(
        table,
        row_groups,
        scaling,
        rows.map_blocks(scaling.apply, dtype=rows.dtype, meta=rows._meta),
        found.sample.numbers,
        original,
        scaling.apply(original),
        tuple(map(float, found.low[varies])),
        tuple(map(float, found.high[varies])),
    )


def _measure(
    client: Client, table: ParquetTable, row_groups: tuple[RowGroups, ...], seed: int
) -> Measured:
    """One pass over all rows; refuses gaps."""
    from bbclust.dask.partitioned.measuring import measure
    from bbclust.dask.partitioned.parquet import rows_of_row_groups
    from bbclust.stages.random_streams import root_seed

    at_most = max(min(SAMPLE, SAMPLE_VALUES // len(table.columns)), 1)
    try:
        rows = rows_of_row_groups(row_groups, table.columns, table.dtype)
        found = measure(client, rows, at_most, root_seed(seed))
    except FileNotFoundError as error:
        raise CommandError(
            f"A worker finds no file {error.filename!r}: the files must have the same path on all "
            "machines."
        ) from error
    if found.bad is not None:
        raise CommandError(_gap_sentence(table, found))
    return found


def _check_row_groups(client: Client, table: ParquetTable, largest: int) -> None:
    """Refuse row groups that no worker has the memory for."""
    from dask.utils import format_bytes

    from bbclust.dask.cluster.client import smallest_memory

    limit = smallest_memory(client)
    needed = PARTITIONS_IN_MEMORY * 8 * largest * len(table.columns)
    if limit is not None and needed > limit:
        raise CommandError(
            f"A row group holds {largest:,} rows, for which a worker needs about "
            f"{format_bytes(needed)} and has {format_bytes(limit)}: write the file in row groups "
            "of a million rows, or give more with --memory-limit and fewer --workers."
        )


def _scaling(table: ParquetTable, kind: str, found: Measured, varies: Any) -> Scaling:
    """As :func:`~bbclust.cli.input.scaling.measure_scaling`, from one pass over all rows."""
    d = len(table.columns)
    if kind == "none":
        return Scaling(kind, table.columns, (0.0,) * d, (1.0,) * d)
    centers, scales = found.mean[varies].tolist(), found.deviation[varies].tolist()
    for name, center, scale in zip(table.columns, centers, scales, strict=True):
        if not (abs(center) + scale < float("inf") and scale > 0):
            raise CommandError(
                f"Column {name!r} holds numbers too large or too small to be scaled: multiply it "
                "by a power of ten, or leave it out with --exclude."
            )
    return Scaling(kind, table.columns, tuple(centers), tuple(scales))


def _gap_sentence(table: ParquetTable, found: Measured) -> str:
    assert found.bad is not None
    row, column, is_nan = found.bad
    what = "has no number" if is_nan else "holds an infinite number"
    return (
        f"Row {row + 1:,}, column {table.columns[column]!r} {what}: correct it or drop such rows "
        "from the files, or leave the column out with --exclude."
    )
