"""Lines for people: broken between words on a terminal, whole in files and pipes."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import wrap
from typing import TextIO


def fit_line(line: str, stream: TextIO, indent: int = 0) -> str:
    """A line as it goes to a stream, in several if that is a terminal that is too narrow."""
    return fill(line, get_terminal_size().columns, indent) if stream.isatty() else line


def fill(line: str, width: int, indent: int = 0) -> str:
    """A line in as many as the width asks for, those after the first begin with blanks.

    Examples
    --------
    >>> from bbclust.cli.output.wrapping import fill
    >>> print(fill("Clustered    sepal length, sepal width, petal length", 40, indent=13))
    Clustered    sepal length, sepal width,
                 petal length
    """
    if len(line) <= width:
        return line
    start, rest = line[:indent], line[indent:]
    room = max(width - indent, 20)
    parts = wrap(rest, room, break_long_words=False, break_on_hyphens=False)
    return start + f"\n{' ' * indent}".join(parts)
