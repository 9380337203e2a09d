"""The path of analyze, fit, select and demo, on any engine: load, fit, write, print."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bbclust.cli.label_check import label_notes
from bbclust.cli.other_methods import ask_other_methods
from bbclust.cli.output.errors import library_sentences, prefix_errors_with
from bbclust.cli.output.files import Results, write_files
from bbclust.cli.output.notes import Notes
from bbclust.cli.output.progress import Progress, watch
from bbclust.cli.output.results import NO_REPORT, can_report, to_json
from bbclust.cli.output.resuming import finished_summary, identity_of, resumable
from bbclust.cli.output.terminal import show_directory, show_summary
from bbclust.cli.output.workspace import Workspace
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from bbclust.estimators.bbc import BBC
    from bbclust.selection.k_selector import KSelector
    from bbclust.selection.sensitivity import Sensitivity


@dataclass(frozen=True)
class Output:
    """Where results go and what is printed."""

    out: Path
    force: bool = False
    resume: bool = False
    json: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class TableInfo:
    """What is known of a table before it is loaded."""

    source: str  # what it is called
    description: str  # how it is read
    fingerprint: str  # what tells it from any other table
    scaling: Mapping[str, Any]  # what its columns are to be scaled by: the kind, at least
    options: Mapping[str, Any] = field(default_factory=dict)  # what else the results depend on


class LoadedTable(Protocol):
    """A table that is ready to be clustered."""

    @property
    def sample(self) -> Any:
        """Rows in memory, scaled: all of them, or some that stand for all."""

    def fit(self, estimator: BBC | KSelector) -> BBC | KSelector:
        """The estimator, or its twin on workers, fitted to all rows."""

    def gather(self, fitted: BBC | KSelector, parts: Path, progress: Progress) -> Results:
        """What was found; large tables are written into the directory ``parts`` on the way."""


class Engine(Protocol):
    """What ``--engine`` decides: where the table is, and who clusters it."""

    @property
    def info(self) -> TableInfo: ...

    def connect(self, progress: Progress) -> AbstractContextManager[Any]:
        """Whoever does the work, until the end of the block."""

    def load(self, client: Any, seed: int, progress: Progress) -> LoadedTable:
        """The table, by whoever :meth:`connect` gave."""


def run(
    command: str, engine: Engine, method: Method, output: Output, *, refit: bool = True
) -> None:
    """Load a table, choose K and cluster, write the results, and print what was found.

    Parameters
    ----------
    command : str
    engine : Engine
    method : Method
    output : Output
    refit : bool
        Whether rows are clustered once K is chosen.
    """
    info = engine.info
    options = {"name": command, **info.options, **method.settings()}
    identity = identity_of({"command": options, "scaling": info.scaling}, info.fingerprint)
    summary = finished_summary(output.out, identity) if output.resume and not output.force else None
    if summary is None:
        with (
            resumable(output.out, identity, force=output.force, resume=output.resume) as work,
            watch(quiet=output.quiet) as progress,
            engine.connect(progress) as client,
        ):
            results = _analyse(engine, client, method, work, progress, refit)
            settings = {"command": options, "scaling": results.scaling.to_dict()}
            findings = replace(results.findings, settings=settings)
            summary = write_files(work.files, replace(results, findings=findings))
    print_summary(summary, info.description, output)


def print_summary(summary: dict[str, Any], read: str, output: Output) -> None:
    """Say what was found, in what was read, the way the options ask for."""
    if output.json:
        print(to_json(summary))
    elif not output.quiet:
        show_summary(summary, read=read)
        show_directory(output.out, summary["files"])


def _analyse(
    engine: Engine, client: Any, method: Method, work: Workspace, progress: Progress, refit: bool
) -> Results:
    """All that is found in a table."""
    notes = Notes()
    with notes.taken(), prefix_errors_with(engine.info.source), library_sentences():
        table = engine.load(client, method.seed, progress)
        fitted = _fit(table, method, work.checkpoint, progress, refit)
    baselines = None
    if method.chooses and refit and not method.fast:
        progress.begin("asking other methods")
        k_values = list(fitted.grid_.k_values)
        baselines = ask_other_methods(table.sample, k_values, method, progress, notes)
    varied = _vary(fitted, table, progress) if method.sensitivity else None
    results = table.gather(fitted, work.parts, progress)
    progress.begin("writing the results")
    findings = replace(
        results.findings,
        baselines=baselines,
        sensitivity=varied,
        notes=[
            *notes.sentences,
            *results.findings.notes,
            *(label_notes(results.analysis, results.codings) if results.is_clustered else []),
            *([NO_REPORT] if refit and not can_report() else []),
        ],
    )
    return replace(results, findings=findings)


def _vary(fitted: Any, table: LoadedTable, progress: Progress) -> Sensitivity:
    """What other settings would say."""
    from bbclust.selection.sensitivity import sensitivity

    progress.begin("changing the settings")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say of other settings is no note on these
        return sensitivity(fitted, table.sample, callbacks=progress.callback())


def _fit(
    table: LoadedTable, method: Method, checkpoint: Path, progress: Progress, refit: bool
) -> Any:
    """Choose K if there is a choice, and cluster all rows."""
    if not method.chooses:
        progress.begin("clustering all rows")
        return table.fit(method.estimator(progress.callback()))
    progress.begin("choosing K")
    chosen = progress.callback(then="clustering all rows" if refit else None)
    return table.fit(
        method.selector(chosen, progress.callback(), checkpoint=checkpoint, refit=refit)
    )
