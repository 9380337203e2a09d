"""bbclust analyze --engine dask: tables larger than memory, read in partitions by workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.errors import CommandError, library_sentences, naming
from bbclust.cli.method import Method
from bbclust.cli.outputs import ASSIGNMENTS, Workspace
from bbclust.cli.parquet_files import ParquetTable, open_parquet
from bbclust.cli.preparation import Source
from bbclust.cli.progress import Progress, watch
from bbclust.cli.results import (
    NO_REPORT,
    can_report,
    save_model,
    selection_table,
    to_json,
    write_json,
    write_table,
)
from bbclust.cli.resuming import finished_summary, resumable
from bbclust.cli.run import Notes, Output, ask_other_methods
from bbclust.cli.scaling import Scaling
from bbclust.cli.terminal import show_directory, show_summary

if TYPE_CHECKING:
    import numpy.typing as npt
    from dask.array import Array
    from distributed import Client

    from bbclust.dask import DaskBBC, DaskKSelector
    from bbclust.dask.assignments import Totals
    from bbclust.dask.measuring import Measured
    from bbclust.dask.parquet import Piece
    from bbclust.report import Analysis

# Rows that stand for all in the report and in the summary.
SAMPLE = 100_000
SAMPLE_VALUES = 2**23
LEAST_MEMORY = 512 * 2**20  # Python, its libraries, and room for a partition
PARTITIONS_IN_MEMORY = 10  # what a task makes of a partition, in copies of it


@dataclass(frozen=True)
class ClusterOptions:
    """Which workers do the work, as the options give it."""

    scheduler: str | None = None
    workers: int | None = None
    memory_limit: str | None = None

    @property
    def memory_bytes(self) -> int | None:
        """The limit of each worker; refuses what is no size, or too small to begin with."""
        from dask.utils import parse_bytes

        if self.memory_limit is None:
            return None
        try:
            limit = parse_bytes(self.memory_limit)
        except ValueError:
            raise CommandError(
                f"--memory-limit {self.memory_limit!r} is not understood: give a size such as 1GiB."
            ) from None
        if limit < LEAST_MEMORY:
            raise CommandError(
                f"--memory-limit {self.memory_limit} is less than the 512 MiB that a worker needs "
                "for itself and a partition: give more, and fewer workers if need be."
            )
        return int(limit)

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.scheduler is None:
            _ = self.memory_bytes
            return
        for option, value in (("--workers", self.workers), ("--memory-limit", self.memory_limit)):
            if value is not None:
                raise CommandError(
                    f"{option} is for workers that are started here, and those of --scheduler run "
                    "already: leave one of the two out."
                )


def refuse_cluster_options(options: ClusterOptions) -> None:
    """These options mean nothing to the local engine."""
    for option, value in (
        ("--scheduler", options.scheduler),
        ("--workers", options.workers),
        ("--memory-limit", options.memory_limit),
    ):
        if value is not None:
            raise CommandError(f"{option} is for --engine dask: say that too, or leave it out.")


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
            _cluster_sentences(),
        ):
            progress.begin("starting workers" if cluster.scheduler is None else "connecting")
            with _opened(cluster) as client:
                summary = _analyse(client, table, scale, method, work, progress)
    if output.json:
        print(to_json(summary))
    elif not output.quiet:
        show_summary(summary, read=table.description)
        show_directory(output.out)


def _check_packages() -> None:
    from importlib.util import find_spec

    for name in ("distributed", "dask", "pyarrow"):
        if find_spec(name) is None:
            raise CommandError(f"{name} is missing: pip install 'bbclust[dask]'.")


def _check_options(source: Source, scale: str, method: Method) -> None:
    """Refuse what takes all rows in memory, before any work."""
    from bbclust.dask.partitioned import check_for_partitions

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


@contextmanager
def _cluster_sentences() -> Iterator[None]:
    """What goes wrong on a cluster, in the sentences that the library has for it."""
    from bbclust.dask.clusters import NobodyAnswersError

    try:
        yield
    except NobodyAnswersError as error:
        raise CommandError(str(error)) from error
    except ConnectionError as error:  # how to go on is told by the command
        raise ConnectionError(str(error).rpartition(": ")[0]) from error
    except (MemoryError, RuntimeError, ImportError) as error:
        if not str(error):
            raise
        raise CommandError(str(error)) from error


@contextmanager
def _opened(options: ClusterOptions) -> Iterator[Client]:
    from bbclust.dask.clusters import open_client

    with open_client(
        options.scheduler, n_workers=options.workers, memory_limit=options.memory_bytes
    ) as client:
        yield client


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
    with notes.taken(), naming(table.name), library_sentences():
        progress.begin("measuring the columns")
        looked_at = _look(client, table, scale, method.seed)
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
    return _write_results(
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
class LookedAt:
    """A table after one look at all of it.

    Attributes
    ----------
    table : ParquetTable
        Without columns that do not vary.
    pieces : tuple of Piece
        Its partitions.
    scaling : Scaling
    rows : dask.array.Array of shape (n, d)
        The scaled rows, not in memory.
    numbers : ndarray of shape (m,)
        Numbers of the rows of a sample, from 0.
    original, sample : ndarrays of shape (m, d)
        These rows, as in the files and scaled.
    """

    table: ParquetTable
    pieces: tuple[Piece, ...]
    scaling: Scaling
    rows: Array
    numbers: npt.NDArray[Any]
    original: npt.NDArray[Any]
    sample: npt.NDArray[Any]

    @property
    def is_sample(self) -> bool:
        return len(self.sample) < int(self.rows.shape[0])


def _look(client: Client, table: ParquetTable, scale: str, seed: int) -> LookedAt:
    """Measure the columns, take a sample, and leave out columns that do not vary."""
    import numpy as np

    from bbclust.dask.measuring import measure
    from bbclust.dask.parquet import rows_of_pieces
    from bbclust.streams import root_seed

    pieces = tuple(table.pieces())
    _check_pieces(client, table, max(piece.n_rows for piece in pieces))
    at_most = max(min(SAMPLE, SAMPLE_VALUES // len(table.columns)), 1)
    try:
        rows = rows_of_pieces(pieces, table.columns, table.dtype)
        found = measure(client, rows, at_most, root_seed(seed))
    except FileNotFoundError as error:
        raise CommandError(
            f"A worker finds no file {error.filename!r}: the files must have the same path on all "
            "machines."
        ) from error
    if found.bad is not None:
        raise CommandError(_gap_sentence(table, found))
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
    rows = rows_of_pieces(pieces, table.columns, table.dtype)
    original = np.ascontiguousarray(found.sample.rows[:, varies], dtype=table.dtype)
    return LookedAt(
        table,
        pieces,
        scaling,
        rows.map_blocks(scaling.apply, dtype=rows.dtype, meta=rows._meta),
        found.sample.numbers,
        original,
        scaling.apply(original),
    )


def _check_pieces(client: Client, table: ParquetTable, largest: int) -> None:
    """Refuse row groups that no worker has the memory for."""
    from dask.utils import format_bytes

    from bbclust.dask.clusters import smallest_memory

    limit = smallest_memory(client)
    needed = PARTITIONS_IN_MEMORY * 8 * largest * len(table.columns)
    if limit is not None and needed > limit:
        raise CommandError(
            f"A row group holds {largest:,} rows, for which a worker needs about "
            f"{format_bytes(needed)} and has {format_bytes(limit)}: write the file in row groups "
            "of a million rows, or give more with --memory-limit and fewer --workers."
        )


def _scaling(table: ParquetTable, kind: str, found: Measured, varies: Any) -> Scaling:
    """As :func:`~bbclust.cli.scaling.measure_scaling`, from one pass over all rows."""
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


@dataclass(frozen=True)
class Fitted:
    """What was fitted: a model, and the selector that chose its K if there was a choice."""

    model: DaskBBC
    selector: DaskKSelector | None


def _fit(
    client: Client, looked_at: LookedAt, method: Method, checkpoint: Path, progress: Progress
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

    def chosen(done: int, total: int) -> None:
        progress.update(done, total)
        if done == total:
            progress.begin("clustering all rows")

    twin = method.selector(chosen, progress.callback(), checkpoint=checkpoint)
    selector: DaskKSelector = fit(DaskKSelector(**twin.get_params(deep=False), client=client))
    model: Any = selector.best_estimator_
    return Fitted(model, selector)


def _write_assignments(
    directory: Path, looked_at: LookedAt, model: DaskBBC, progress: Progress
) -> Totals:
    from bbclust.dask.assignments import Names, write_assignments
    from bbclust.report.sentences import CLEAR_SHARE

    pieces, folder = looked_at.pieces, directory / ASSIGNMENTS
    folder.mkdir()
    names = Names(pieces, looked_at.table.id)
    totals = write_assignments(model, folder, names, CLEAR_SHARE, progress.callback())
    missing = len(pieces) - sum(1 for _ in folder.iterdir())
    if missing:
        raise CommandError(
            f"{missing:,} of {len(pieces):,} files that workers wrote are not in {folder}: give "
            "--out a directory that all machines share."
        )
    return totals


def _names_of_sample(directory: Path, looked_at: LookedAt) -> list[Any] | None:
    """What the rows of the sample are called, out of the files that hold it."""
    import numpy as np
    import pyarrow.parquet as pq

    if looked_at.table.id is None:
        return None
    names: list[Any] = []
    ends = np.cumsum([piece.n_rows for piece in looked_at.pieces])
    starts = np.searchsorted(looked_at.numbers, [0, *ends])
    for part, end, piece, first, last in zip(
        sorted((directory / ASSIGNMENTS).iterdir()),
        ends,
        looked_at.pieces,
        starts,
        starts[1:],
        strict=False,
    ):
        places = looked_at.numbers[first:last] - (end - piece.n_rows)
        names += pq.read_table(part, columns=["id"]).column(0).take(places).to_pylist()
    return names


def _gather(
    directory: Path, looked_at: LookedAt, selector: DaskKSelector | None, totals: Totals
) -> Analysis:
    """What the report tells: counts of all rows, and a sample of them."""
    from bbclust.entropy import entropy
    from bbclust.report.analysis import Analysis, WholeTable, versions
    from bbclust.storage import load_model

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
        whole=WholeTable(
            totals.sizes, totals.entropies, totals.agreed_rows, totals.rows_in_between
        ),
    )


def _write_results(directory: Path, analysis: Analysis) -> dict[str, Any]:
    """The files that are small, and the summary that one of them holds."""
    from bbclust.report import render, summarize

    if not can_report():
        analysis = replace(analysis, notes=[*analysis.notes, NO_REPORT])
    summary = summarize(analysis)
    if analysis.selector is not None:
        write_table(directory / "selection.csv", selection_table(analysis.selector))
    write_json(directory / "summary.json", summary)
    if can_report():
        page = render(analysis, summary)
        (directory / "report.html").write_text(page, encoding="utf-8")
    return summary
