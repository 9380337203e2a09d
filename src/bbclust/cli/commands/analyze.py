"""bbclust analyze: from a file to everything that can be said about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.dask_engine import open_on_dask
from bbclust.cli.dask_options import ClusterOptions, refuse_cluster_options
from bbclust.cli.input.preparation import default_out, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.option_groups import ReplicaOptions, SelectionOptions, TableOptions
from bbclust.cli.output.errors import CommandError
from bbclust.cli.pipeline import Engine, Output, run


def analyze(
    table: TableOptions,
    selection: SelectionOptions,
    replicas: ReplicaOptions,
    cluster: ClusterOptions,
    truth: o.Truth = None,
    engine: o.EngineKind = o.Engine.local,
    out: o.OutDirectory = None,
    with_columns: o.WithColumns = False,
    sensitivity: o.WithSensitivity = False,
    force: o.Force = False,
    resume: o.Resume = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose K, cluster, and write a report: the whole way from a file."""
    method = replace(selection.method(replicas, table.missing_values), sensitivity=sensitivity)
    if sensitivity and not method.chooses:
        raise CommandError(
            "--sensitivity asks what other settings would choose, and --k gives one number: give a "
            "range such as --k 2:10, or leave it out."
        )
    source, scale = table.source(truth=truth), table.scale.value
    source = replace(source, with_columns=with_columns)
    where = default_out(table.file, "-bbclust") if out is None else Path(out)
    if engine is o.Engine.dask:
        chosen: Engine = open_on_dask(source, scale, method, cluster)
    else:
        refuse_cluster_options(cluster)
        chosen = LocalEngine(prepare(source, scale))
    run("analyze", chosen, method, Output(where, force, resume, json, quiet))
