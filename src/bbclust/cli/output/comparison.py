"""What compare prints: which K each method chooses, then its scores in tables that fit."""

from __future__ import annotations

from collections.abc import Sequence
from shutil import get_terminal_size
from typing import Any

from bbclust.cli.output.terminal import say, show_table

# Names in the tables of scores, which stand below the table of whole names in the same order.
SHORTER = {"principal components": "PC", "one standard error": "1 se", "prediction": "pred."}
BETWEEN = 3  # blanks between two columns on a terminal

Column = tuple[str, list[str]]  # heading and cells


def show_comparison(choices: Sequence[dict[str, Any]]) -> None:
    """What every method chooses, and its scores; bbclust is the first of them."""
    say(_sentence(choices))
    rows = [
        (one["name"], str(one["best_k"]), "larger" if one["larger_is_better"] else "smaller")
        for one in choices
    ]
    show_table("Methods", ("method", "chosen K", "better is"), rows)
    k_values = sorted({k for one in choices for k in one["k_values"]})
    names = [_shorter(one["name"]) for one in choices]
    columns = [_column(k, choices) for k in k_values]
    for i, block in enumerate(fit_columns(names, columns, get_terminal_size().columns)):
        title = "Scores by number of clusters (* chosen)" if i == 0 else "Scores, continued"
        lines = zip(names, *(cells for _, cells in block), strict=True)
        show_table(title, ("K", *(head for head, _ in block)), [tuple(line) for line in lines])


def fit_columns(names: Sequence[str], columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Columns in as few tables as a width allows, each beside the names; one column at least.

    Examples
    --------
    >>> from bbclust.cli.output.comparison import fit_columns
    >>> columns = [(str(k), ["0.25"]) for k in range(2, 7)]
    >>> [[head for head, _ in block] for block in fit_columns(["gap"], columns, 30)]
    [['2', '3', '4'], ['5', '6']]
    """
    blocks: list[list[Column]] = []
    room = 0
    for head, cells in columns:
        needed = max(map(len, [head, *cells])) + BETWEEN
        if not blocks or needed > room:
            blocks.append([])
            room = width - BETWEEN - max(map(len, names)) - BETWEEN
        blocks[-1].append((head, cells))
        room -= needed
    return blocks


def _sentence(choices: Sequence[dict[str, Any]]) -> str:
    """How many methods choose what bbclust does, and what the others choose."""
    own, *others = (one["best_k"] for one in choices)
    said = f"bbclust chooses {own}."
    if not others:
        return said
    often = sorted(set(others), key=lambda k: (k != own, -others.count(k), k))
    counts = [
        f"{n} {'chooses' if n == 1 else 'choose'} {k}" for k in often if (n := others.count(k))
    ]
    return f"{said} Of {len(others)} other methods {', '.join(counts)}."


def _column(k: int, choices: Sequence[dict[str, Any]]) -> Column:
    """The scores of one K, that of a method that chooses it marked."""
    cells = []
    for one in choices:
        score = dict(zip(one["k_values"], one["scores"], strict=True)).get(k)
        text = "" if score is None else f"{score:.3g}"
        cells.append(f"{text}*" if one["best_k"] == k else text)
    return str(k), cells


def _shorter(name: str) -> str:
    for long, short in SHORTER.items():
        name = name.replace(long, short)
    return name
