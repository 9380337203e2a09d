"""The files that a command writes into its directory: :data:`OUTPUT_FILES` has an entry for each.

What is written, listed on the terminal and in ``summary.json``, described in ``docs/cli.md`` and
replaced by ``--force`` follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.categories import CategoryCoding
from bbclust.cli.input.rows import Rows
from bbclust.cli.input.scaling import Scaling
from bbclust.cli.input.training import TrainingTable
from bbclust.cli.output.advice import translate
from bbclust.cli.output.results import (
    assignments_of,
    can_report,
    selection_table,
    write_json,
    write_table,
)

if TYPE_CHECKING:
    from bbclust.report import Analysis, Findings

SUMMARY = "summary.json"


@dataclass(frozen=True)
class Results:
    """What the files are made of."""

    findings: Findings  # an Analysis, unless nothing was clustered
    scaling: Scaling
    training: TrainingTable
    codings: tuple[CategoryCoding, ...] = ()
    rows: Rows | None = None  # of a table in memory
    parts: Path | None = None  # where workers wrote the assignments of a larger one
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def is_clustered(self) -> bool:
        from bbclust.report import Analysis

        return isinstance(self.findings, Analysis)

    @property
    def analysis(self) -> Analysis:
        """The findings, of rows that were clustered."""
        from bbclust.report import Analysis

        assert isinstance(self.findings, Analysis)
        return self.findings


@dataclass(frozen=True)
class Condition:
    """When a file is written, in words and as a question to the results."""

    words: str
    holds: Callable[[Results], bool]


@dataclass(frozen=True)
class OutputFile:
    """A file that commands write: its name, what it holds in words, when and how."""

    name: str
    holds: str
    when: Condition
    write: Callable[[Path, Results], None]
    parts: str | None = None  # for a directory: a regular expression for the names in it


ALWAYS = Condition("always", lambda results: True)
K_CHOSEN = Condition("if K was chosen", lambda results: results.findings.selector is not None)
CLUSTERED = Condition("by all but `select`", lambda results: results.is_clustered)
REPORTABLE = Condition(
    f"{CLUSTERED.words}, with the extra `report`",
    lambda results: results.is_clustered and can_report(),
)
IN_MEMORY = Condition(
    f"{CLUSTERED.words}, without `--engine dask`",
    lambda results: results.is_clustered and results.rows is not None,
)
IN_PARTS = Condition("with `--engine dask`", lambda results: results.parts is not None)


def _write_report(path: Path, results: Results) -> None:
    from bbclust.report import render

    path.write_text(render(results.analysis, results.summary), encoding="utf-8")


def _write_assignments(path: Path, results: Results) -> None:
    assert results.rows is not None
    write_table(path, assignments_of(results.analysis, results.rows))


def _move_parts(path: Path, results: Results) -> None:
    assert results.parts is not None
    results.parts.rename(path)


def _write_selection(path: Path, results: Results) -> None:
    assert results.findings.selector is not None
    write_table(path, selection_table(results.findings.selector))


def _write_model(path: Path, results: Results) -> None:
    """A model with what new rows need: its columns, their scaling, and what they were like."""
    metadata: dict[str, Any] = {
        "scaling": results.scaling.to_dict(),
        "table": results.training.to_dict(),
    }
    if results.codings:
        metadata["categories"] = [one.to_dict() for one in results.codings]
    model = copy(results.analysis.model)
    model.n_jobs = None  # threads matter to no result, so the file is the same for any number
    model.save(path, metadata=metadata)


OUTPUT_FILES = (
    OutputFile("report.html", "the report: open it in a browser", REPORTABLE, _write_report),
    OutputFile(
        "assignments.csv", "label and memberships of every row", IN_MEMORY, _write_assignments
    ),
    OutputFile("assignments.parquet", "the same as Parquet", IN_MEMORY, _write_assignments),
    OutputFile(
        "assignments",
        "label and memberships of every row, one Parquet file per partition",
        IN_PARTS,
        _move_parts,
        parts=r"part-\d+\.parquet",
    ),
    OutputFile("selection.csv", "both measures for every K", K_CHOSEN, _write_selection),
    OutputFile(
        SUMMARY,
        "all figures, for programs",
        ALWAYS,
        lambda path, results: write_json(path, results.summary),
    ),
    OutputFile("model.bbc", "the model, for bbclust predict", CLUSTERED, _write_model),
)


def write_files(directory: Path, results: Results) -> dict[str, Any]:
    """Write all files that these results call for; the summary that one of them holds."""
    from bbclust.report import summarize

    wanted = [file for file in OUTPUT_FILES if file.when.holds(results)]
    findings = replace(results.findings, files={file.name: file.holds for file in wanted})
    summary = summarize(findings)
    _speak_of_options(summary["answer"])
    results = replace(results, findings=findings, summary=summary)
    for file in wanted:
        file.write(directory / file.name, results)
    return results.summary


def _speak_of_options(answer: dict[str, Any]) -> None:
    """Say how to try other numbers of clusters in the words of the command.

    Other sentences are left as they are: in these, words such as "votes" are no parameters.
    """

    def speak(sentence: str) -> str:
        return translate(sentence) if "k_range=" in sentence else sentence

    answer["sentences"] = [speak(sentence) for sentence in answer["sentences"]]
    choice = answer.get("choice")
    if choice is not None:
        choice["doubts"] = speak(choice["doubts"])


def foreign_files(directory: Path) -> list[str]:
    """Names in a directory that no command gives."""
    ours = {file.name for file in OUTPUT_FILES}
    foreign = {entry.name for entry in directory.iterdir()} - ours
    for file in OUTPUT_FILES:
        if file.parts is not None and (directory / file.name).is_dir():
            held = (entry.name for entry in (directory / file.name).iterdir())
            foreign.update(name for name in held if not re.fullmatch(file.parts, name))
    return sorted(foreign)
