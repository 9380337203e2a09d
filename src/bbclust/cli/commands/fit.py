"""bbclust fit: cluster with a given number of clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.preparation import default_out, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.option_groups import ReplicaOptions, TableOptions
from bbclust.cli.pipeline import Output, run


def fit(
    table: TableOptions,
    k: o.SingleK,
    replicas: ReplicaOptions,
    truth: o.Truth = None,
    prior_scale: o.PriorScale = 1.0,
    votes: o.VotesKind = o.Votes.auto,
    out: o.OutDirectory = None,
    with_columns: o.WithColumns = False,
    force: o.Force = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Cluster with a given K, and write assignments, model and report."""
    method = replicas.method(
        k=(k,), prior_scales=(prior_scale,), votes=votes.value, missing=table.missing_values
    )
    source = replace(table.source(truth=truth), with_columns=with_columns)
    engine = LocalEngine(prepare(source, table.scale.value))
    where = default_out(table.file, "-bbclust") if out is None else Path(out)
    run("fit", engine, method, Output(where, force, False, json, quiet))
