"""bbclust select: choose the number of clusters, and nothing else."""

from __future__ import annotations

from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.preparation import default_out, make_source, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.output.errors import CommandError
from bbclust.cli.parsing import parse_k, parse_scales
from bbclust.cli.pipeline import Output, run
from bbclust.cli.settings import Method


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
    engine = LocalEngine(prepare(source, scale.value))
    run("select", engine, method, Output(where, force, resume, json, quiet), refit=False)
