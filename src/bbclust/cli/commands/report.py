"""bbclust report: a report on the rows of a file by a saved model."""

from __future__ import annotations

from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.models import check_gaps, open_model
from bbclust.cli.input.preparation import Prepared, default_out, prepare_for
from bbclust.cli.input.range_check import range_notes
from bbclust.cli.input.training import TrainingTable
from bbclust.cli.option_groups import ReadOptions
from bbclust.cli.output.errors import CommandError, library_sentences, prefix_errors_with
from bbclust.cli.output.results import NO_REPORT, can_report, to_json
from bbclust.cli.output.terminal import say, show_summary
from bbclust.cli.output.workspace import new_file


def report(
    model: o.Model,
    rows: ReadOptions,
    truth: o.Truth = None,
    jobs: o.Jobs = -1,
    out: o.OutFile = None,
    force: o.Force = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a report on the rows of FILE, judged by MODEL."""
    if not can_report():
        raise CommandError(NO_REPORT)
    from bbclust.report import gather, render, summarize

    opened = open_model(model, jobs)
    prepared = prepare_for(rows.source(truth=truth), opened)
    notes = range_notes(opened.training, prepared.rows.columns, prepared.rows.X)
    path = default_out(rows.file, "-report.html") if out is None else Path(out)
    with prefix_errors_with(prepared.source), library_sentences():
        check_gaps(opened.fitted, prepared.X)
        analysis = gather(
            opened.fitted,
            prepared.X,
            **prepared.details(),
            same_rows=_same_rows(prepared, opened.training),
            notes=[*prepared.notes, *notes],
        )
    summary = summarize(analysis)
    with new_file(path, force=force) as draft:
        draft.write_text(render(analysis, summary), encoding="utf-8")
    if json:
        print(to_json(summary))
    elif not quiet:
        show_summary(summary, read=prepared.description)
        say("", f"The report is {path}: open it in a browser.")


def _same_rows(prepared: Prepared, training: TrainingTable | None) -> bool | None:
    """Whether these are the rows that the model was fitted on; None if it does not tell."""
    from bbclust.report.analysis import fingerprint_of

    if training is None or training.fingerprint is None:
        return None
    return training.fingerprint == fingerprint_of(prepared.X, prepared.rows.columns)
