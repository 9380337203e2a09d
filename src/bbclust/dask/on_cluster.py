"""What estimators on a cluster have in common: a client, and what they refuse."""

from __future__ import annotations

import copy
import os
from typing import Any

from distributed import Client

from bbclust.estimators.bbc import BBC


class OnCluster:
    """Base of estimators with a client: it is shared by clones, and left out of pickles."""

    client: Client | None
    performance_report: str | os.PathLike[str] | None

    def _check_cluster_parameters(self) -> None:
        if self.client is not None and not isinstance(self.client, Client):
            raise TypeError(
                f"client must be a distributed.Client, got {self.client!r}: "
                "use Client(address) for the address of a scheduler."
            )
        if self.client is not None and self.client.asynchronous:
            raise TypeError("client is asynchronous, and fit waits: use Client(...) without that.")
        if self.performance_report is not None and not isinstance(
            self.performance_report, str | os.PathLike
        ):
            raise TypeError(
                "performance_report must be the path of an HTML file, got "
                f"{self.performance_report!r}."
            )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "client": None}

    def __sklearn_clone__(self) -> OnCluster:
        without_client = copy.copy(self)  # by way of __getstate__
        clone: OnCluster = super(OnCluster, without_client).__sklearn_clone__()  # type: ignore[misc]
        clone.client = self.client
        return clone


def refuse_missing(estimator: BBC) -> None:
    """Refuse ``missing="draw"``, which no cluster does yet."""
    if estimator.missing == "draw":
        raise ValueError(
            "missing='draw' is not for Dask: fit BBC or KSelector, or fill missing values first."
        )
