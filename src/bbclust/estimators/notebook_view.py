"""What a fitted model shows in a notebook: its clusters, how sure they are, the disputed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bbclust import notebook
from bbclust.percentages import percent

DISPUTED = 5  # rows that are shown


class ModelInNotebooks(notebook.ShownInNotebooks):
    """A fitted ensemble as a card before scikit-learn's diagram."""

    def _findings_html(self) -> str:
        return notebook.card(*model_parts(self)) if hasattr(self, "_state") else ""


def model_parts(model: Any) -> list[str]:
    """The answer, the clusters, and the disputed rows if the model has its rows."""
    n_clusters = len(model.cluster_shares_)
    said = f"{n_clusters} cluster{'s'[: n_clusters > 1]}, {model.mean_entropy_:.2f} bits of doubt "
    said += f"on average over {model.n_replicas_:,} replicas"
    if model.worst_pair_ is not None:
        first, second = model.worst_pair_
        said += f"; {first} and {second} are told apart worst"
    shares = [(k, percent(float(share))) for k, share in enumerate(model.cluster_shares_)]
    return [
        notebook.answer(f"{said}."),
        notebook.table(("cluster", "share of the rows"), shares, "Clusters"),
        disputed_rows(model),
    ]


def disputed_rows(model: Any) -> str:
    """The rows of highest entropy with their two largest memberships."""
    memberships = getattr(model, "memberships_", None)
    if memberships is None or memberships.shape[1] < 2:
        return ""
    rows = np.argsort(-model.entropy_, kind="stable")[:DISPUTED]
    rows = rows[model.entropy_[rows] > 0]
    lines = []
    for row in rows:
        first, second = np.argsort(-memberships[row], kind="stable")[:2]
        votes = ", ".join(f"{percent(float(memberships[row, k]))} for {k}" for k in (first, second))
        lines.append((int(row), votes, f"{model.entropy_[row]:.2f}"))
    return notebook.table(("row", "votes", "bits"), lines, "The most disputed rows")
