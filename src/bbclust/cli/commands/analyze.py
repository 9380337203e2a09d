"""bbclust analyze: from a file to everything that can be said about it."""

from __future__ import annotations

from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.dask_engine import open_on_dask
from bbclust.cli.dask_options import ClusterOptions, refuse_cluster_options
from bbclust.cli.input.preparation import default_out, make_source, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.parsing import parse_k, parse_scales
from bbclust.cli.pipeline import Engine, Output, run
from bbclust.cli.settings import Method


def analyze(
    file: o.File,
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
    engine: o.EngineKind = o.Engine.local,
    workers: o.Workers = None,
    memory_limit: o.MemoryLimit = None,
    scheduler: o.Scheduler = None,
    out: o.OutDirectory = None,
    force: o.Force = False,
    resume: o.Resume = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose K, cluster, and write a report: the whole way from a file."""
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
    cluster = ClusterOptions(scheduler, workers, memory_limit)
    if engine is o.Engine.dask:
        chosen: Engine = open_on_dask(source, scale.value, method, cluster)
    else:
        refuse_cluster_options(cluster)
        chosen = LocalEngine(prepare(source, scale.value))
    run("analyze", chosen, method, Output(where, force, resume, json, quiet))
