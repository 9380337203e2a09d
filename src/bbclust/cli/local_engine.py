"""--engine local: a table in memory, clustered by threads of this process."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.preparation import Prepared
from bbclust.cli.output.files import Results
from bbclust.cli.output.progress import Progress
from bbclust.cli.pipeline import TableInfo

if TYPE_CHECKING:
    from bbclust.estimators.bbc import BBC
    from bbclust.report import Findings
    from bbclust.selection.k_selector import KSelector


@dataclass(frozen=True)
class LocalEngine:
    """An :class:`~bbclust.cli.pipeline.Engine` whose table is loaded already."""

    prepared: Prepared

    @cached_property
    def info(self) -> TableInfo:
        from bbclust.report.analysis import fingerprint_of

        table = self.prepared
        fingerprint = fingerprint_of(table.X, table.rows.columns)
        scaling = table.scaling.to_dict()
        options = {"with_columns": table.rows.original is not None}
        return TableInfo(table.source, table.description, fingerprint, scaling, options)

    @property
    def sample(self) -> Any:
        return self.prepared.X

    def connect(self, progress: Progress) -> AbstractContextManager[None]:
        return nullcontext()

    def load(self, client: None, seed: int, progress: Progress) -> LocalEngine:
        return self

    def fit(self, estimator: BBC | KSelector) -> BBC | KSelector:
        return estimator.fit(self.prepared.X)

    def gather(self, fitted: BBC | KSelector, parts: Path, progress: Progress) -> Results:
        table = self.prepared
        return Results(
            self._findings(fitted),
            table.scaling,
            table.as_training(self.info.fingerprint),
            codings=table.codings,
            rows=table.rows,
        )

    def _findings(self, fitted: BBC | KSelector) -> Findings:
        from bbclust.report import Findings, gather
        from bbclust.report.analysis import versions
        from bbclust.selection.k_selector import KSelector

        details = {**self.prepared.details(), "notes": self.prepared.notes}
        if not isinstance(fitted, KSelector) or fitted.refit:
            return gather(fitted, self.prepared.X, **details)
        return Findings(
            X=self.prepared.X,
            selector=fitted,
            fingerprint=self.info.fingerprint,
            versions=versions(),
            **details,
        )
