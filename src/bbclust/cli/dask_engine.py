"""--engine dask: tables larger than memory, read in partitions by workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bbclust.cli.dask_options import ClusterOptions, connected
from bbclust.cli.input.column_survey import ColumnSurvey, survey_columns
from bbclust.cli.input.parquet_files import ParquetTable, open_parquet
from bbclust.cli.input.preparation import Source
from bbclust.cli.output.errors import CommandError, library_sentences
from bbclust.cli.output.files import Results
from bbclust.cli.output.progress import Progress
from bbclust.cli.pipeline import TableInfo
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from distributed import Client

    from bbclust.dask import DaskBBC
    from bbclust.diagnostics.row_counts import RowCounts
    from bbclust.estimators.base import FittedEnsemble
    from bbclust.estimators.bbc import BBC
    from bbclust.report import Analysis
    from bbclust.selection.k_selector import KSelector


@dataclass(frozen=True)
class DaskEngine:
    """An :class:`~bbclust.cli.pipeline.Engine` whose table stays in its files."""

    table: ParquetTable
    scale: str
    cluster: ClusterOptions

    @property
    def info(self) -> TableInfo:
        table, scaling = self.table, {"kind": self.scale}
        options = {"engine": "dask", "with_columns": bool(table.carried)}
        return TableInfo(table.name, table.description, table.fingerprint, scaling, options)

    @contextmanager
    def connect(self, progress: Progress) -> Iterator[Client]:
        progress.begin("starting workers" if self.cluster.scheduler is None else "connecting")
        with connected(self.cluster) as client:
            yield client

    def load(self, client: Client, seed: int, progress: Progress) -> DaskTable:
        progress.begin("measuring the columns")
        return DaskTable(client, survey_columns(client, self.table, self.scale, seed))


def open_on_dask(source: Source, scale: str, method: Method, cluster: ClusterOptions) -> DaskEngine:
    """A Parquet table for workers; refuses what they cannot do, before any work."""
    _check_packages()
    _check_options(source, scale, method)
    cluster.check()
    table = open_parquet(source.file, source.wanted, with_columns=source.with_columns)
    return DaskEngine(table, scale, cluster)


def _check_packages() -> None:
    from importlib.util import find_spec

    for name in ("distributed", "dask", "pyarrow"):
        if find_spec(name) is None:
            raise CommandError(f"{name} is missing: pip install 'bbclust[dask]'.")


def _check_options(source: Source, scale: str, method: Method) -> None:
    """Refuse what takes all rows in memory."""
    from bbclust.dask.partitioned.fit import check_for_partitions

    refused = {
        "--scale robust": scale == "robust",
        f"--missing {source.missing}": source.missing != "error",
        "--truth": source.wanted.truth is not None,
        "--categories one-hot": source.wanted.one_hot,
        "--sensitivity": method.sensitivity,
    }
    for option, given in refused.items():
        if given:
            raise CommandError(
                f"{option} needs all rows in memory, and --engine dask has some at a time: leave "
                "one of the two out."
            )
    if source.dialect.sheet is not None:
        raise CommandError("--sheet is for Excel workbooks, and --engine dask reads Parquet only.")
    if source.dialect.na:
        raise CommandError(
            "--na is not for --engine dask, which takes numbers as they are stored: store missing "
            "values as such, or leave --engine out."
        )
    with library_sentences():
        check_for_partitions(method.estimator(None))


@dataclass(frozen=True)
class DaskTable:
    """A :class:`~bbclust.cli.pipeline.LoadedTable` in partitions, and the workers' client."""

    client: Client
    survey: ColumnSurvey

    @property
    def sample(self) -> Any:
        return self.survey.sample

    def fit(self, estimator: BBC | KSelector) -> BBC | KSelector:
        from bbclust.dask import DaskBBC, DaskKSelector
        from bbclust.selection.k_selector import KSelector

        twin = DaskKSelector if isinstance(estimator, KSelector) else DaskBBC
        return twin(**estimator.get_params(deep=False), client=self.client).fit(self.survey.rows)

    def gather(self, fitted: BBC | KSelector, parts: Path, progress: Progress) -> Results:
        from bbclust.selection.k_selector import KSelector

        selector = fitted if isinstance(fitted, KSelector) else None
        model: Any = fitted if selector is None else selector.best_estimator_
        progress.begin("writing memberships")
        counts = _write_assignments(model, self.survey, parts, progress)
        ids = _ids_of_sample(self.survey, parts)
        analysis = _analysis(_without_workers(model), selector, self.survey, counts, ids)
        return Results(analysis, self.survey.scaling, self.survey.as_training(), parts=parts)


def _write_assignments(
    model: DaskBBC, survey: ColumnSurvey, parts: Path, progress: Progress
) -> RowCounts:
    from bbclust.dask.partitioned.assignments import RowIds, write_assignments

    parts.mkdir()
    ids = RowIds(survey.row_groups, survey.table.id, survey.table.carried)
    counts = write_assignments(model, parts, ids, progress.callback())
    expected = len(survey.row_groups)
    missing = expected - sum(1 for _ in parts.iterdir())
    if missing:
        raise CommandError(
            f"{missing:,} of {expected:,} files that workers wrote are not in {parts}: give --out "
            "a directory that all machines share."
        )
    return counts


def _ids_of_sample(survey: ColumnSurvey, parts: Path) -> list[Any] | None:
    """What the rows of the sample are called, out of the files that hold it."""
    import numpy as np
    import pyarrow.parquet as pq

    if survey.table.id is None:
        return None
    ids: list[Any] = []
    ends = np.cumsum([row_group.n_rows for row_group in survey.row_groups])
    bounds = np.searchsorted(survey.numbers, [0, *ends])
    for i, part in enumerate(sorted(parts.iterdir())):
        places = survey.numbers[bounds[i] : bounds[i + 1]] - (ends[i] - survey.row_groups[i].n_rows)
        ids += pq.read_table(part, columns=["id"]).column(0).take(places).to_pylist()
    return ids


def _without_workers(model: DaskBBC) -> FittedEnsemble:
    """The model as it comes out of its file."""
    from bbclust.estimators.load_model import load_model

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.bbc"
        model.save(path)
        return load_model(path)


def _analysis(
    model: FittedEnsemble,
    selector: KSelector | None,
    survey: ColumnSurvey,
    counts: RowCounts,
    ids: list[Any] | None,
) -> Analysis:
    """What the report tells: counts of all rows, and a sample of them."""
    from bbclust.report.analysis import Analysis, versions
    from bbclust.stages.entropies import entropy

    table, scaling = survey.table, survey.scaling
    memberships = model.predict_proba(survey.sample)
    return Analysis(
        model=model,
        X=survey.sample,
        columns=table.columns,
        memberships=memberships,
        labels=memberships.argmax(axis=1),
        entropy=entropy(memberships),
        selector=selector,
        original=None if scaling.kind == "none" else survey.original,
        scaling=scaling.in_words(),
        ids=ids,
        id_name=table.id or "id",
        source=Path(table.name).name or table.name,
        row_numbers=survey.numbers,
        first_row=1,
        set_aside=table.set_aside,
        audit=[one.to_dict() for one in table.audit],
        fingerprint=table.fingerprint,
        versions=versions(),
        notes=[*table.notes, *_sample_notes(survey)],
        whole=counts,
    )


def _sample_notes(survey: ColumnSurvey) -> list[str]:
    if not survey.is_sample:
        return []
    return [
        "Means of columns, doubts between clusters and the least sure rows are those of a random "
        f"sample of {len(survey.sample):,} rows."
    ]
