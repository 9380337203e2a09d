"""bbclust fit: cluster with a given number of clusters."""

from __future__ import annotations

from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.preparation import default_out, make_source, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.pipeline import Output, run
from bbclust.cli.settings import Method


def fit(
    file: o.File,
    k: o.SingleK,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
    columns: o.ColumnNames = None,
    exclude: o.Exclude = None,
    id: o.Id = None,  # noqa: A002
    no_id: o.NoId = False,
    truth: o.Truth = None,
    scale: o.Scaling = o.Scale.standard,
    missing: o.OnMissing = o.Missing.error,
    n_replicas: o.Replicas = 200,
    n_init: o.NInit = None,
    n_draws: o.Draws = None,
    prior_scale: o.PriorScale = 1.0,
    prior_weight: o.PriorWeight = 0.5,
    resampling: o.ResamplingKind = o.Resampling.proper,
    weighting: o.WeightingKind = o.Weighting.weights,
    votes: o.VotesKind = o.Votes.auto,
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
    out: o.OutDirectory = None,
    force: o.Force = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Cluster with a given K, and write assignments, model and report."""
    method = Method(
        k=(k,),
        n_replicas=n_replicas,
        n_init=n_init,
        n_draws=n_draws,
        prior_scales=(prior_scale,),
        prior_weight=prior_weight,
        resampling=resampling.value,
        weighting=weighting.value,
        votes=votes.value,
        seed=seed,
        jobs=jobs,
    )
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
        truth=truth,
        missing=missing.value,
    )
    where = default_out(file, "-bbclust") if out is None else Path(out)
    engine = LocalEngine(prepare(source, scale.value))
    run("fit", engine, method, Output(where, force, False, json, quiet))
