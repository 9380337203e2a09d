"""bbclust demo: Fisher's Iris, all the way from a table to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbclust.cli import options as o
from bbclust.cli.input.columns import Wanted
from bbclust.cli.input.preparation import prepare_table
from bbclust.cli.input.tables import InputTable
from bbclust.cli.local_engine import LocalEngine
from bbclust.cli.output.terminal import say
from bbclust.cli.parsing import parse_k
from bbclust.cli.pipeline import Output, run
from bbclust.cli.settings import Method

if TYPE_CHECKING:
    import polars as pl

Where = Annotated[str, typer.Option("--out", metavar="DIRECTORY", help="Where the results go.")]


def demo(
    out: Where = "bbclust-demo",
    k: o.KRange = "2:10",
    fast: o.Fast = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
    force: o.Force = False,
    resume: o.Resume = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Analyse Fisher's Iris, which comes along: 150 flowers of three species.

    The four measurements, all in cm, are not rescaled: so it is in the paper.
    """
    table = InputTable("Fisher's Iris", _iris(), "embedded, in cm and not rescaled as in the paper")
    prepared = prepare_table(table, Wanted(truth="species"), "error", "none")
    method = Method(k=parse_k(k), fast=fast, seed=seed, jobs=jobs)
    run("demo", LocalEngine(prepared), method, Output(Path(out), force, resume, json, quiet))
    if not (json or quiet):
        say("", "With a table of your own: bbclust analyze data.csv")


def _iris() -> pl.DataFrame:
    import polars as pl

    from bbclust.datasets import load_iris

    iris = load_iris()
    species = [iris.target_names[code] for code in iris.target]
    return pl.DataFrame(iris.data, schema=list(iris.feature_names)).with_columns(
        pl.Series("species", species)
    )
