"""What a fitted model is made of, besides the attributes that it publishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bbclust.ensemble.job import Job, Replicas
from bbclust.ensemble.predictors import ReplicaPredictors
from bbclust.stages.monte_carlo import Precision
from bbclust.stages.table import WeightedRows

# Why something that needs the rows of ``fit`` cannot be answered, by where they were.
WITHOUT_ROWS = {
    "file": "needs the rows that were clustered, and a model loaded from a file does not hold "
    "them: ask before saving, or fit again.",
    "partitions": "needs all rows in memory, and this model was fitted to a partitioned table: fit "
    "a sample of it, or ask for memberships_.",
}


@dataclass(frozen=True)
class FitRecord:
    """A fit of rows in memory.

    Attributes
    ----------
    rows : WeightedRows
    job : Job
        What the replicas depend on; kept so that more of them can be added.
    replicas : Replicas
    trace : list of Precision
        How precise the results became.
    votes : ndarray of shape (n, K)
        Votes on all rows of X.
    """

    rows: WeightedRows
    job: Job
    replicas: Replicas
    trace: list[Precision]
    votes: npt.NDArray[np.int32]


@dataclass(frozen=True)
class FittedState:
    """What can answer questions to a fitted model.

    Attributes
    ----------
    predictors : ReplicaPredictors
        Vote on any rows.
    occupied : ndarray of shape (B, K), bool
        False where a replica did not find a cluster.
    dtype : str
        Type of the rows of ``fit``, "float32" or "float64".
    source : {"memory", "partitions", "file"}
        Where the rows of ``fit`` are; a model loaded from a file has none.
    record : FitRecord or None
        For rows in memory alone.
    unstored_prior : str or None
        For a model of a file that could not hold its prior, what that was.
    """

    predictors: ReplicaPredictors
    occupied: npt.NDArray[np.bool_]
    dtype: str
    source: str
    record: FitRecord | None = None
    unstored_prior: str | None = None
