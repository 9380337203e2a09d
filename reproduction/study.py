"""One table, figure or question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reproduction.study_context import StudyContext

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What is measured, and how it is shown.

    Attributes
    ----------
    name : str
        As on the command line: "table-4".
    title : str
    measure : callable
        From a context to a result of plain data, which goes into a JSON file.
    show : callable
        From a result, as read from that file, to a section of the page, without its title.
    draw : callable, optional
        From a result to its pictures by name.
    expect : callable, optional
        From a result to the figures by name that a test compares with ``paper_quick.json``.
    """

    name: str
    title: str
    measure: Callable[[StudyContext], Result]
    show: Callable[[Result], str]
    draw: Callable[[Result], dict[str, Figure]] | None = None
    expect: Callable[[Result], dict[str, float]] | None = None
