"""bbclust compare: what other methods say about the number of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bbclust.cli import options as o
from bbclust.cli.input.preparation import Prepared, prepare
from bbclust.cli.option_groups import TableOptions
from bbclust.cli.other_methods import ask_other_methods
from bbclust.cli.output.comparison import show_comparison
from bbclust.cli.output.errors import CommandError, library_sentences, prefix_errors_with
from bbclust.cli.output.notes import Notes
from bbclust.cli.output.progress import Progress, watch
from bbclust.cli.output.results import check_table_name, to_json, write_table
from bbclust.cli.output.terminal import show_notes
from bbclust.cli.output.workspace import new_file
from bbclust.cli.parsing import AUTO, parse_k
from bbclust.cli.settings import Method


def compare(
    table: TableOptions,
    k: o.SeveralK = "2:10",
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
    out: o.OutFile = None,
    force: o.Force = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Put the choice of bbclust beside those of nine classical methods.

    With --out, their scores go into a file, whose name says the format: .csv, .tsv, .jsonl,
    .parquet or .xlsx.
    """
    k_values = parse_k(k)
    if k_values == AUTO or len(k_values) < 2:
        raise CommandError(f"--k {k} is not a list of numbers to compare: give for example 2:10.")
    if out is not None:
        check_table_name(Path(out))
    if table.missing is o.Missing.draw:
        raise CommandError(
            "--missing draw is not for compare, since the other methods need complete rows: use "
            "--missing drop."
        )
    prepared = prepare(table.source(), table.scale.value)
    notes = Notes(list(prepared.notes))
    method = Method(k_values, n_resamples=0, seed=seed, jobs=jobs)
    with watch(quiet=quiet) as progress:
        choices = _choices(prepared, method, progress, notes)
    if out is not None:
        with new_file(Path(out), force=force) as path:
            write_table(path, _scores(choices))
    if json:
        print(to_json({"methods": choices, "notes": notes.sentences}))
    elif not quiet:
        show_comparison(choices)
        show_notes(notes.sentences)


def _choices(
    prepared: Prepared, method: Method, progress: Progress, notes: Notes
) -> list[dict[str, Any]]:
    """What bbclust and the others choose, as plain data."""
    from bbclust.report.summary import as_plain, summarize_choice

    progress.begin("choosing K")
    with notes.taken(), prefix_errors_with(prepared.source), library_sentences():
        selector = method.selector(progress.callback(), refit=False).fit(prepared.X)
    progress.begin("asking other methods")
    others = ask_other_methods(prepared.X, list(selector.scores_), method, progress, notes)
    own = {
        "name": "bbclust",
        "best_k": selector.best_k_,
        "larger_is_better": False,
        "k_values": list(selector.scores_),
        "scores": list(selector.scores_.values()),
        "errors": None,
    }
    plain: list[dict[str, Any]] = as_plain([own, *map(summarize_choice, others or [])])
    return plain


def _scores(choices: list[dict[str, Any]]) -> Any:
    """One row for every method and K."""
    import polars as pl

    rows = []
    for choice in choices:
        errors = choice["errors"] or [None] * len(choice["scores"])
        for k, score, error in zip(choice["k_values"], choice["scores"], errors, strict=True):
            rows.append((choice["name"], k, score, error, k == choice["best_k"]))
        if choice["best_k"] not in choice["k_values"]:  # K = 1 is tested and has no score
            rows.append((choice["name"], choice["best_k"], None, None, True))
    schema = {
        "method": pl.String,
        "n_clusters": pl.Int64,
        "score": pl.Float64,
        "standard_error": pl.Float64,
        "chosen": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
