"""The command line: one file per command.

Nothing heavy is imported before a command runs: ``bbclust --help`` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys

from bbclust.cli.output.errors import CommandError, one_sentence

# Objects that are made before Python looks for those that nobody needs any more. Imports and
# figures make hundreds of thousands that stay, and to look at them again and again takes time.
_OBJECTS_BETWEEN_LOOKS = 100_000


def main() -> None:
    """Run the command that was typed."""
    for stream in (sys.stdout, sys.stderr):  # a name of a row may hold what a terminal cannot show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    _save_processor_time()
    with one_sentence():
        try:
            from bbclust.cli.app import app
        except ModuleNotFoundError as error:
            if error.name not in ("typer", "rich"):
                raise
            raise CommandError(f"{error.name} is missing: pip install 'bbclust[cli]'.") from None
        app()


def _save_processor_time() -> None:
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)
    # Threads of BLAS wait for small products by turning round and round; the engine has its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
