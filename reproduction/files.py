"""The files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduction.page import render
from reproduction.results import write_results

PAGE, RESULTS, PICTURES = "paper.md", "paper.json", Path("images") / "paper"


def check_replaceable(directory: Path, *, force: bool) -> None:
    """Refuse to replace the files of an earlier run, unless that is wanted, before a new one."""
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{directory}: this is a file: give --out a directory.")
    for name in (RESULTS, PAGE):
        if not force and (directory / name).exists():
            raise ValueError(
                f"{directory / name}: the file exists: say --force to replace it, or --out."
            )


def write_all(results: dict[str, Any], directory: Path, *, again: bool = False) -> list[Path]:
    """Results and page into a directory, which is made if it is not there.

    Parameters
    ----------
    results : dict
        As from :func:`~reproduction.run`.
    directory : Path
    again : bool, default=False
        The results come from a file: write the page only.

    Returns
    -------
    list of Path
        What was written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    if not again:
        write_results(results, directory / RESULTS)
        written.append(directory / RESULTS)
    (directory / PAGE).write_text(render(results), encoding="utf-8", newline="\n")
    return [*written, directory / PAGE]
