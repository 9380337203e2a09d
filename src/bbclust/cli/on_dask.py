"""bbclust analyze --engine dask: tables larger than memory, read in partitions by workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.column_survey import ColumnSurvey, survey_columns
from bbclust.cli.dask_options import ClusterOptions, cluster_sentences, opened
from bbclust.cli.input.parquet_files import ParquetTable, open_parquet
from bbclust.cli.input.preparation import Source
from bbclust.cli.output.errors import CommandError, library_sentences, prefix_errors_with
from bbclust.cli.output.progress import Progress, watch
from bbclust.cli.output.results import save_model
from bbclust.cli.output.resuming import finished_summary, resumable
from bbclust.cli.output.workspace import ASSIGNMENTS, Workspace
from bbclust.cli.pipeline import Notes, Output, ask_other_methods, tell, write_findings
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from distributed import Client

    from bbclust.dask import DaskBBC, DaskKSelector
    from bbclust.diagnostics.row_counts import RowCounts as Totals
    from bbclust.report import Analysis


def run_on_dask(
    source: Source, scale: str, method: Method, cluster: ClusterOptions, output: Output
) -> None:
    """Analyse a Parquet table by workers, write the results, and tell what was found."""
    _check_packages()
    _check_options(source, scale, method)
    cluster.check()
    table = open_parquet(source.file, source.wanted)
    identity = _identity(method, table, {"kind": scale})
    summary = finished_summary(output.out, identity) if output.resume and not output.force else None
    if summary is None:
        with (
            resumable(output.out, identity, force=output.force, resume=output.resume) as work,
            watch(quiet=output.quiet) as progress,
            cluster_sentences(),
        ):
            progress.begin("starting workers" if cluster.scheduler is None else "connecting")
            with opened(cluster) as client:
                summary = _analyse(client, table, scale, method, work, progress)
    tell(summary, table.description, output)


def _check_packages() -> None:
    from importlib.util import find_spec

    for name in ("distributed", "dask", "pyarrow"):
        if find_spec(name) is None:
            raise CommandError(f"{name} is missing: pip install 'bbclust[dask]'.")


def _check_options(source: Source, scale: str, method: Method) -> None:
    """Refuse what takes all rows in memory, before any work."""
    from bbclust.dask.partitioned.fit import check_for_partitions

    refused = {
        "--scale robust": scale == "robust",
        "--missing drop": source.missing == "drop",
        "--truth": source.wanted.truth is not None,
    }
    for option, given in refused.items():
        if given:
            raise CommandError(
                f"{option} needs all rows in memory, and --engine dask has some at a time: leave "
                "one of the two out."
            )
    with library_sentences():
        check_for_partitions(method.estimator(None))


def _identity(method: Method, table: ParquetTable, scaling: dict[str, Any]) -> dict[str, Any]:
    command = {"name": "analyze", "engine": "dask", **method.settings()}
    return {
        "settings": {"command": command, "scaling": scaling},
        "fingerprint": table.fingerprint,
    }


def _analyse(
    client: Client,
    table: ParquetTable,
    scale: str,
    method: Method,
    work: Workspace,
    progress: Progress,
) -> dict[str, Any]:
    """All results of a table, in the workspace; its summary."""
    notes = Notes()
    with notes.taken(), prefix_errors_with(table.name), library_sentences():
        progress.begin("measuring the columns")
        looked_at = survey_columns(client, table, scale, method.seed)
        fitted = _fit(client, looked_at, method, work.checkpoint, progress)
    baselines = None
    if fitted.selector is not None and not method.fast:
        progress.begin("asking other methods")
        k_values = list(fitted.selector.grid_.k_values)
        baselines = ask_other_methods(looked_at.sample, k_values, method, progress, notes)
    progress.begin("writing memberships")
    totals = _write_assignments(work.files, looked_at, fitted.model, progress)
    save_model(work.files / "model.bbc", fitted.model, looked_at.scaling)
    progress.begin("writing the results")
    settings = _identity(method, table, looked_at.scaling.to_dict())["settings"]
    if looked_at.is_sample:
        notes.sentences.append(
            f"Means of columns, doubts between clusters and the least sure rows are those of a "
            f"random sample of {len(looked_at.sample):,} rows."
        )
    analysis = _gather(work.files, looked_at, fitted.selector, totals)
    progress.end()
    return write_findings(
        work.files,
        replace(
            analysis,
            settings=settings,
            baselines=baselines,
            notes=notes.sentences,
            seconds=dict(progress.seconds),
        ),
    )


@dataclass(frozen=True)
class Fitted:
    """What was fitted: a model, and the selector that chose its K if there was a choice."""

    model: DaskBBC
    selector: DaskKSelector | None


def _fit(
    client: Client, looked_at: ColumnSurvey, method: Method, checkpoint: Path, progress: Progress
) -> Fitted:
    """Choose K if there is a choice, and cluster all rows."""
    from bbclust.dask import DaskBBC, DaskKSelector

    def fit(model: DaskBBC | DaskKSelector) -> Any:
        model.fit(looked_at.rows)
        return model

    if not method.chooses:
        progress.begin("clustering all rows")
        local = method.estimator(progress.callback())
        return Fitted(fit(DaskBBC(**local.get_params(deep=False), client=client)), None)
    progress.begin("choosing K")
    chosen = progress.callback(then="clustering all rows")
    twin = method.selector(chosen, progress.callback(), checkpoint=checkpoint)
    selector: DaskKSelector = fit(DaskKSelector(**twin.get_params(deep=False), client=client))
    model: Any = selector.best_estimator_
    return Fitted(model, selector)


def _write_assignments(
    directory: Path, looked_at: ColumnSurvey, model: DaskBBC, progress: Progress
) -> Totals:
    from bbclust.dask.partitioned.assignments import RowIds, write_assignments

    row_groups, folder = looked_at.row_groups, directory / ASSIGNMENTS
    folder.mkdir()
    names = RowIds(row_groups, looked_at.table.id)
    totals = write_assignments(model, folder, names, progress.callback())
    missing = len(row_groups) - sum(1 for _ in folder.iterdir())
    if missing:
        raise CommandError(
            f"{missing:,} of {len(row_groups):,} files that workers wrote are not in {folder}: give "
            "--out a directory that all machines share."
        )
    return totals


def _names_of_sample(directory: Path, looked_at: ColumnSurvey) -> list[Any] | None:
    """What the rows of the sample are called, out of the files that hold it."""
    import numpy as np
    import pyarrow.parquet as pq

    if looked_at.table.id is None:
        return None
    names: list[Any] = []
    ends = np.cumsum([row_group.n_rows for row_group in looked_at.row_groups])
    starts = np.searchsorted(looked_at.numbers, [0, *ends])
    for part, end, row_group, first, last in zip(
        sorted((directory / ASSIGNMENTS).iterdir()),
        ends,
        looked_at.row_groups,
        starts,
        starts[1:],
        strict=False,
    ):
        places = looked_at.numbers[first:last] - (end - row_group.n_rows)
        names += pq.read_table(part, columns=["id"]).column(0).take(places).to_pylist()
    return names


def _gather(
    directory: Path, looked_at: ColumnSurvey, selector: DaskKSelector | None, totals: Totals
) -> Analysis:
    """What the report tells: counts of all rows, and a sample of them."""
    from bbclust.estimators.load_model import load_model
    from bbclust.report.analysis import Analysis, versions
    from bbclust.stages.entropies import entropy

    table, scaling = looked_at.table, looked_at.scaling
    model = load_model(directory / "model.bbc")
    memberships = model.predict_proba(looked_at.sample)
    return Analysis(
        model=model,
        X=looked_at.sample,
        columns=table.columns,
        memberships=memberships,
        labels=memberships.argmax(axis=1),
        entropy=entropy(memberships),
        selector=selector,
        original=None if scaling.kind == "none" else looked_at.original,
        scaling=scaling.in_words(),
        ids=_names_of_sample(directory, looked_at),
        id_name=table.id or "id",
        source=table.name,
        row_numbers=looked_at.numbers,
        first_row=1,
        set_aside=table.set_aside,
        fingerprint=table.fingerprint,
        versions=versions(),
        whole=totals,
    )
