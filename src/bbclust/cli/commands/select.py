"""bbclust select: choose the number of clusters, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli import options as o
from bbclust.cli.input.preparation import Prepared, default_out, make_source, prepare
from bbclust.cli.output.errors import CommandError, library_sentences, prefix_errors_with
from bbclust.cli.output.progress import watch
from bbclust.cli.output.results import selection_table, to_json, write_json, write_table
from bbclust.cli.output.resuming import finished_summary, identity_of, resumable
from bbclust.cli.output.terminal import show_choice, show_directory
from bbclust.cli.parsing import parse_k, parse_scales
from bbclust.cli.pipeline import Notes, Output
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    from bbclust.selection.k_selector import KSelector


def select(
    file: o.File,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
    columns: o.ColumnNames = None,
    exclude: o.Exclude = None,
    id: o.Id = None,  # noqa: A002
    no_id: o.NoId = False,
    scale: o.Scaling = o.Scale.standard,
    missing: o.OnMissing = o.Missing.error,
    k: o.KRange = "2:10",
    n_replicas: o.Replicas = 200,
    n_init: o.NInit = None,
    n_draws: o.Draws = None,
    prior_scales: o.PriorScales = "1,1.5,2.5",
    prior_weight: o.PriorWeight = 0.5,
    resampling: o.ResamplingKind = o.Resampling.proper,
    weighting: o.WeightingKind = o.Weighting.weights,
    criterion: o.CriterionKind = o.Criterion.auto,
    null_reference: o.NullReference = 19,
    n_resamples: o.NResamples = 20,
    fast: o.Fast = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
    out: o.OutDirectory = None,
    force: o.Force = False,
    resume: o.Resume = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose K without clustering: selection.csv and summary.json."""
    method = Method(
        k=parse_k(k),
        n_replicas=n_replicas,
        n_init=n_init,
        n_draws=n_draws,
        prior_scales=parse_scales(prior_scales),
        prior_weight=prior_weight,
        resampling=resampling.value,
        weighting=weighting.value,
        criterion=criterion.value,
        null_reference=null_reference,
        n_resamples=n_resamples,
        fast=fast,
        seed=seed,
        jobs=jobs,
    )
    if not method.chooses:
        raise CommandError(f"--k {k} leaves nothing to choose: give several, such as 2:10.")
    source = make_source(
        file,
        delimiter=delimiter,
        header=header,
        decimal=decimal,
        encoding=encoding,
        columns=columns,
        exclude=exclude,
        id=id,
        no_id=no_id,
        missing=missing.value,
    )
    where = default_out(file, "-selection") if out is None else Path(out)
    _choose(prepare(source, scale.value), method, Output(where, force, resume, json, quiet))


def _choose(prepared: Prepared, method: Method, output: Output) -> None:
    identity = identity_of("select", method, prepared)
    summary = finished_summary(output.out, identity) if output.resume and not output.force else None
    if summary is None:
        notes = Notes()
        with (
            resumable(output.out, identity, force=output.force, resume=output.resume) as work,
            watch(quiet=output.quiet) as progress,
        ):
            progress.begin("choosing K")
            with notes.taken(), prefix_errors_with(prepared.source), library_sentences():
                selector = method.selector(
                    progress.callback(), checkpoint=work.checkpoint, refit=False
                ).fit(prepared.X)
            progress.end()
            facts = {**identity, "notes": notes.sentences, "seconds": progress.seconds}
            summary = _summarize(prepared, selector, facts)
            write_table(work.files / "selection.csv", selection_table(selector))
            write_json(work.files / "summary.json", summary)
    if output.json:
        print(to_json(summary))
    elif not output.quiet:
        show_choice(summary, read=prepared.description)
        show_directory(output.out)


def _summarize(prepared: Prepared, selector: KSelector, facts: dict[str, Any]) -> dict[str, Any]:
    """The part of a summary that needs no clustering."""
    from bbclust.report.analysis import versions
    from bbclust.report.summary import SCHEMA, as_plain, summarize_selection

    summary: dict[str, Any] = as_plain(
        {
            "schema": SCHEMA,
            "data": prepared.summary() | {"fingerprint": facts["fingerprint"]},
            "answer": {
                "sentences": str(selector.verdict_).splitlines()[:2],
                "n_clusters": selector.best_k_,
                "chosen": True,
                "tied_k": selector.tied_k_,
            },
            "selection": summarize_selection(selector),
            "settings": facts["settings"],
            "seed": selector.random_state,
            "versions": versions(),
            "seconds": facts["seconds"],
            "notes": facts["notes"],
        }
    )
    return summary
