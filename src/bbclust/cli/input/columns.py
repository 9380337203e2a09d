"""Which columns are clustered, which one names the rows, and which are set aside and why.

Nothing is encoded: a column is clustered if it holds numbers, and set aside otherwise. The rules
are in docs/cli.md; each can be overruled by an option.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbclust.cli.input.notation import Numbers
from bbclust.cli.input.tables import InputTable, is_text
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

# A column of whole numbers whose name starts or ends with one of the first, or is one of the
# others, tells rows apart and measures nothing.
_ID_WORDS = {"id", "ids", "uuid", "guid", "identifier"}
_INDEX_NAMES = {"index", "idx", "key", "row", "rowid", "rownum", "row_number", "rowname"}
_INDEX_NAMES |= {"row_name", "rownames", "row_names"}
_PANDAS_INDEX = re.compile(r"__index_level_\d+__|unnamed: \d+")


@dataclass(frozen=True)
class Wanted:
    """What was asked for; None and empty mean that it is left to the rules."""

    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    id: str | None = None
    detect_id: bool = True
    not_id: tuple[str, ...] = ()  # columns that are known to name no rows
    truth: str | None = None
    constant: bool = False  # whether to keep columns that do not vary


@dataclass(frozen=True)
class Columns:
    """The part that every column plays.

    Attributes
    ----------
    features : dict from name to Series of numbers
        What is clustered; null, NaN or infinite where there is no number.
    id, truth : str or None
        The column that names the rows, and the one that holds known classes.
    set_aside : dict from name to reason
    """

    features: dict[str, pl.Series]
    id: str | None
    truth: str | None
    set_aside: dict[str, str]


def choose_columns(table: InputTable, wanted: Wanted) -> Columns:
    """Give every column of a table its part."""
    names = table.frame.columns
    asked = resolve("--columns", wanted.columns, names)
    excluded = resolve("--exclude", wanted.exclude, names)
    truth = None if wanted.truth is None else resolve_one("--truth", wanted.truth, names)
    row_id = None if wanted.id is None else resolve_one("--id", wanted.id, names)
    if row_id is not None and not _is_plain(table.frame[row_id]):
        raise CommandError(
            f"--id: column {row_id!r} holds {table.frame[row_id].dtype}, which CSV cannot hold: "
            "name another."
        )
    for name in asked:
        if name in excluded:
            raise CommandError(f"Column {name!r} is in --columns and in --exclude: leave one out.")
    if row_id is None and wanted.detect_id:
        row_id = find_id(table, but_not={*asked, *excluded, *table.spare, *wanted.not_id, truth})

    features: dict[str, pl.Series] = {}
    set_aside: dict[str, str] = {}
    for name in names:
        if name in (row_id, truth) and name not in asked:
            continue
        if name in excluded:
            set_aside[name] = "excluded"
        elif asked and name not in asked:
            set_aside[name] = "not in --columns"
        elif name in table.spare and not asked:
            set_aside[name] = "another array of the file"
        else:
            judged = _judge(table.frame[name], table, asked=name in asked)
            if not isinstance(judged, str) and not wanted.constant:
                judged = _unless_constant(judged)
            if isinstance(judged, str):
                set_aside[name] = judged
            else:
                features[name] = judged
    if not features:
        raise CommandError(_no_numbers(names, set_aside))
    return Columns(features, row_id, truth, set_aside)


def resolve(option: str, given: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns out of what was given: each a name, or several separated by commas."""
    resolved: list[str] = []
    for text in given:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        resolved.extend(resolve_one(option, part, names) for part in parts if part)
    return tuple(dict.fromkeys(resolved))


def resolve_one(option: str, name: str, names: Sequence[str]) -> str:
    """A name of a column; refuses one that does not exist and says which may be meant."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {_some(names)}."
    raise CommandError(f"{option}: there is no column {name!r}; {hint}")


def find_id(table: InputTable, but_not: Collection[str | None] = ()) -> str | None:
    """The first column that names the rows, if there is one.

    It holds a different value in every row, without gaps. These are text; or whole numbers under a
    name that says so (:func:`named_like_id`); or, in the first column, whole numbers without a name
    or such that count the rows from 0 or 1.
    """
    for position, name in enumerate(table.frame.columns):
        column = table.frame[name]
        if name in but_not or not (is_text(column) or column.dtype.is_integer()):
            continue
        if column.null_count() or column.n_unique() < len(column):
            continue
        numbers = column
        if is_text(column):
            parsed = table.numbers(name)
            if parsed.n_bad > parsed.n_numbers and not parsed.n_gaps:
                return name
            if parsed.n_bad or parsed.n_gaps or parsed.way or parsed.problem:
                continue
            if not _are_whole(parsed.values):
                continue
            numbers = parsed.values
        first = position == 0 and (_unnamed_first(table.frame.columns) or _counts_rows(numbers))
        if first or named_like_id(name):
            return name
    return None


def named_like_id(name: str) -> bool:
    """Whether a name says that its numbers only tell rows apart.

    Examples
    --------
    >>> [named_like_id(name) for name in ("ID", "customer_id", "customerId", "row", "humid")]
    [True, True, True, True, False]
    """
    return name.strip().lower().replace(" ", "_") in _INDEX_NAMES or _says_id(name)


def _says_id(name: str) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    return bool(words) and not _ID_WORDS.isdisjoint((words[0], words[-1]))


def _unnamed_first(names: Sequence[str]) -> bool:
    """Whether the first column has no name where others have: an index that was saved along."""
    if _PANDAS_INDEX.fullmatch(names[0].lower()):
        return True
    return names[0] == "column_1" and len(names) > 1 and names[1] != "column_2"


def _counts_rows(numbers: pl.Series) -> bool:
    return (
        len(numbers) > 2 and numbers[0] in (0, 1) and bool((numbers.diff().drop_nulls() == 1).all())
    )


def _judge(column: pl.Series, table: InputTable, *, asked: bool) -> pl.Series | str:
    """The numbers of a column, or why it is set aside; refuses one with a few cells of text."""
    import polars as pl

    if column.null_count() == len(column):
        return "empty"
    if is_text(column):
        return _judge_text(column, table, asked=asked)
    if column.dtype == pl.Boolean:
        return column.cast(pl.Float64) if asked else "true or false"
    if not column.dtype.is_numeric():
        if asked:
            raise CommandError(
                f"Column {column.name!r} of --columns holds {column.dtype}, which is "
                "no number: leave it out."
            )
        return "dates or times" if column.dtype.is_temporal() else f"{column.dtype}, no number"
    if not asked and column.dtype.is_integer() and _says_id(column.name):
        return "an id by its name; --columns takes it in"
    return table.numbers(column.name).values


def _judge_text(column: pl.Series, table: InputTable, *, asked: bool) -> pl.Series | str:
    column = _as_text(column)
    parsed = table.numbers(column.name)
    if parsed.n_gaps == len(column):
        return "empty"
    if parsed.are_flags and not asked:
        return "true or false"
    if parsed.problem is not None:
        raise CommandError(parsed.problem)
    if parsed.n_bad and (asked or parsed.n_bad <= parsed.n_numbers):
        raise CommandError(_bad_cell(column, parsed))
    if parsed.n_bad:
        return "text"
    if not asked and _says_id(column.name) and _are_whole(parsed.values):
        return "an id by its name; --columns takes it in"
    return parsed.values


def _unless_constant(numbers: pl.Series) -> pl.Series | str:
    known = numbers.drop_nulls()
    known = known.filter(known.is_finite())
    if len(known) and known.min() == known.max():
        return f"constant, always {known[0]:g}"
    return numbers


def _bad_cell(column: pl.Series, parsed: Numbers) -> str:
    assert parsed.first_bad is not None
    more = f" ({parsed.n_bad} such cells in all)" if parsed.n_bad > 1 else ""
    return (
        f"Row {parsed.first_bad + 1}, column {column.name!r} holds "
        f"{_shortened(column[parsed.first_bad])} where numbers are needed{more}: correct it, or "
        f"leave the column out with --exclude {shlex.quote(column.name)}."
    )


def _no_numbers(names: Sequence[str], set_aside: dict[str, str]) -> str:
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(set_aside.items())[:5])
    return (
        f"No column holds numbers that vary, out of {_some(names)}"
        f"{f' ({reasons})' if reasons else ''}: there is nothing to cluster."
    )


def _is_plain(column: pl.Series) -> bool:
    import polars as pl

    return not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object))


def _as_text(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.cast(pl.String)


def _are_whole(values: pl.Series) -> bool:
    known = values.drop_nulls()
    return bool((known == known.floor()).all())


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown


def _shortened(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:37]}...")
