"""The path that analyze, fit and demo share: choose K, cluster, compare, write, tell."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.preparation import Prepared
from bbclust.cli.output.errors import library_sentences, prefix_errors_with
from bbclust.cli.output.progress import Progress, watch
from bbclust.cli.output.results import (
    NO_REPORT,
    assignments_of,
    can_report,
    save_model,
    selection_table,
    to_json,
    write_json,
    write_table,
)
from bbclust.cli.output.resuming import finished_summary, identity_of, resumable
from bbclust.cli.output.terminal import show_directory, show_summary
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from bbclust.baselines import KChoice
    from bbclust.estimators.base import FittedEnsemble
    from bbclust.report import Analysis
    from bbclust.selection.k_selector import KSelector

# Rows that the other methods see: some of them compare all rows with all others.
COMPARED_ROWS = 2_000


@dataclass(frozen=True)
class Output:
    """Where results go and what is told."""

    out: Path
    force: bool = False
    resume: bool = False
    json: bool = False
    quiet: bool = False


@dataclass
class Notes:
    """What the library warned of, each once."""

    sentences: list[str] = field(default_factory=list)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the warnings of the block."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            sentence = str(warning.message)
            if issubclass(warning.category, UserWarning) and sentence not in self.sentences:
                self.sentences.append(sentence)


def run(command: str, prepared: Prepared, method: Method, output: Output) -> None:
    """Analyse prepared rows, write the results, and tell what was found."""
    identity = identity_of(command, method, prepared)
    summary = finished_summary(output.out, identity) if output.resume and not output.force else None
    if summary is None:
        with (
            resumable(output.out, identity, force=output.force, resume=output.resume) as work,
            watch(quiet=output.quiet) as progress,
        ):
            analysis = analyse(prepared, method, work.checkpoint, progress, identity["settings"])
            progress.begin("writing the results")
            summary = write_results(work.files, analysis, prepared)
    tell(summary, prepared.description, output)


def tell(summary: dict[str, Any], read: str, output: Output) -> None:
    """Say what was found, in what was read, the way the options ask for."""
    if output.json:
        print(to_json(summary))
    elif not output.quiet:
        show_summary(summary, read=read)
        show_directory(output.out)


def analyse(
    prepared: Prepared,
    method: Method,
    checkpoint: Path,
    progress: Progress,
    settings: dict[str, Any],
) -> Analysis:
    """Choose K if there is a choice, cluster all rows, and ask other methods."""
    from bbclust.report import gather

    notes = Notes()
    baselines = None
    with notes.taken(), prefix_errors_with(prepared.source), library_sentences():
        if method.chooses:
            estimator: FittedEnsemble | KSelector = _choose(prepared, method, checkpoint, progress)
        else:
            progress.begin("clustering all rows")
            estimator = method.estimator(progress.callback()).fit(prepared.X)
    if method.chooses and not method.fast:
        progress.begin("asking other methods")
        k_values = list(estimator.grid_.k_values)
        baselines = ask_other_methods(prepared.X, k_values, method, progress, notes)
    progress.end()
    return gather(
        estimator,
        prepared.X,
        **prepared.details(),
        settings=settings,
        baselines=baselines,
        notes=notes.sentences,
        seconds=dict(progress.seconds),
    )


def _choose(prepared: Prepared, method: Method, checkpoint: Path, progress: Progress) -> KSelector:
    progress.begin("choosing K")
    chosen = progress.callback(then="clustering all rows")
    selector = method.selector(chosen, progress.callback(), checkpoint=checkpoint)
    return selector.fit(prepared.X)


def ask_other_methods(
    X: Any, k_values: list[int], method: Method, progress: Progress, notes: Notes
) -> list[KChoice] | None:
    """What the classical methods say about K, on a sample of a large table."""
    from bbclust.baselines import compare_baselines
    from bbclust.stages.random_streams import Stage, fixed_sample

    if len(X) > COMPARED_ROWS:
        X = X[fixed_sample(len(X), COMPARED_ROWS, method.seed, Stage.SELECTION_SAMPLE, 1)]
        notes.sentences.append(
            f"The other methods saw a sample of {COMPARED_ROWS:,} rows, since some of them compare "
            "every row with every other."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compare_baselines(
                X,
                k_values,
                callbacks=progress.callback(),
                random_state=method.seed,
                n_jobs=method.jobs,
            )
    except ValueError as error:
        notes.sentences.append(f"The other methods have no answer here: {error}")
        return None


def write_results(directory: Path, analysis: Analysis, prepared: Prepared) -> dict[str, Any]:
    """All files of a command, and the summary that one of them holds."""
    table = assignments_of(analysis, prepared.rows)
    write_table(directory / "assignments.csv", table)
    write_table(directory / "assignments.parquet", table)
    save_model(directory / "model.bbc", analysis.model, prepared.scaling)
    return write_findings(directory, analysis)


def write_findings(directory: Path, analysis: Analysis) -> dict[str, Any]:
    """The files that do not grow with the rows, and the summary that one of them holds."""
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
