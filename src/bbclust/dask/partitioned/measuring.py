"""One look at a table whose lengths are known: what its columns are like, and a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass

import dask.array as da
import numpy as np
from distributed import Client

from bbclust.dask.cluster.session import open_session
from bbclust.dask.partitioned.passes import (
    each_partition,
    joined_in_order,
    partitions_of,
    shared,
    start,
)
from bbclust.dask.partitioned.row_picking import PickedRows, pick_rows
from bbclust.dask.partitioned.table import (
    Array,
    Survey,
    join_moments,
    survey_partition,
)
from bbclust.stages.random_streams import Stage, fixed_sample


@dataclass(frozen=True)
class Measured:
    """What one pass tells.

    Attributes
    ----------
    mean, deviation, low, high : ndarrays of shape (d,)
        Of each column; standard deviations of all rows, divided by n.
    sample : PickedRows
        Some rows, each as likely as any other, and their numbers.
    bad : tuple of three int, or None
        Row, column and whether it is NaN (1) or infinite (0) of the first value that is not finite.
        The other fields mean nothing then.
    """

    mean: Array
    deviation: Array
    low: Array
    high: Array
    sample: PickedRows
    bad: tuple[int, int, int] | None


def measure(client: Client, rows: da.Array, at_most: int, seed: int) -> Measured:
    """Measure the columns of a table and take a sample of at most so many rows, in one pass."""
    n, d = rows.shape
    numbers = fixed_sample(n, at_most, seed, Stage.REFERENCE_SAMPLE)
    with open_session(client) as session:
        read = partitions_of(rows)
        parts = each_partition(session, "measure-columns", survey_partition, rows, read=read)
        measures = joined_in_order(session, "join-measures", join_moments, parts)
        wanted = shared("sample-numbers", (numbers,))
        (picked,) = pick_rows(session, rows, wanted, 1, len(numbers) * d, read)
        found, sample = (future.result() for future in start(session, [measures, picked]))
    with np.errstate(invalid="ignore"):
        deviation = np.sqrt(found.squares / max(n, 1))
    return Measured(found.mean, deviation, found.low, found.high, sample, _bad_value(found))


def _bad_value(found: Survey) -> tuple[int, int, int] | None:
    bad = found.bad
    if bad is None:
        return None
    return sum(found.lengths[: bad.partition]) + bad.row, bad.column, int(bad.is_nan)
