"""The commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from bbclust import __version__
from bbclust.cli.commands.analyze import analyze
from bbclust.cli.commands.compare import compare
from bbclust.cli.commands.demo import demo
from bbclust.cli.commands.fit import fit
from bbclust.cli.commands.predict import predict
from bbclust.cli.commands.report import report
from bbclust.cli.commands.select import select
from bbclust.cli.option_groups import ungroup
from bbclust.cli.output.errors import CommandError, handle_errors

app = typer.Typer(
    name="bbclust",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (analyze, fit, select, predict, compare, report, demo):
    app.command()(handle_errors(ungroup(command)))


# Whatever is asked of it, --help included.
@app.command(
    hidden=True,
    context_settings={
        "help_option_names": [],
        "ignore_unknown_options": True,
        "allow_extra_args": True,
    },
)
@handle_errors
def reproduce() -> None:
    """Say where the command has gone."""
    raise CommandError(
        "The command reproduce has moved: in a copy of the repository, run python -m reproduction."
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bbclust {__version__}")
        raise typer.Exit


@app.callback(epilog="bbclust COMMAND --help tells more, and docs/cli.md all.")
def about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """How many clusters are in a table, which rows are in which, and how sure is that?

    Start with: bbclust analyze data.csv
    """
