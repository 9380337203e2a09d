"""The command line: one file per command.

Nothing heavy is imported before a command runs: ``bbclust --help`` answers at once.
"""

from __future__ import annotations

import sys

from bbclust.cli.output.errors import CommandError, one_sentence


def main() -> None:
    """Run the command that was typed."""
    for stream in (sys.stdout, sys.stderr):  # a name of a row may hold what a terminal cannot show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with one_sentence():
        try:
            from bbclust.cli.app import app
        except ModuleNotFoundError as error:
            if error.name not in ("typer", "rich"):
                raise
            raise CommandError(f"{error.name} is missing: pip install 'bbclust[cli]'.") from None
        app()
