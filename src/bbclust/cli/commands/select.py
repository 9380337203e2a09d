"""bbclust select: choose the number of clusters, and nothing else."""

from __future__ import annotations

from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.preparation import default_out, prepare
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.option_groups import ReplicaOptions, SelectionOptions, TableOptions
from bbclust.cli.output.errors import CommandError
from bbclust.cli.pipeline import Output, run


def select(
    table: TableOptions,
    selection: SelectionOptions,
    replicas: ReplicaOptions,
    out: o.OutDirectory = None,
    force: o.Force = False,
    resume: o.Resume = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose K without clustering: selection.csv and summary.json."""
    method = selection.method(replicas, table.missing_values)
    if not method.chooses:
        raise CommandError(
            f"--k {selection.k} leaves nothing to choose: give several, such as 2:10."
        )
    engine = LocalEngine(prepare(table.source(), table.scale.value))
    where = default_out(table.file, "-selection") if out is None else Path(out)
    run("select", engine, method, Output(where, force, resume, json, quiet), refit=False)
