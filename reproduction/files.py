"""The files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduction.page import render
from reproduction.results import write_results

PAGE, RESULTS, PICTURES = "paper.md", "paper.json", Path("images") / "paper"


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
