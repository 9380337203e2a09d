"""Which columns are clustered, which one names the rows, and which are set aside and why.

A column is clustered if it holds numbers, and set aside otherwise; text is coded only when asked
for. The rules are in docs/cli.md; each can be overruled by an option.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bbclust.cli.input.audit import ColumnAudit, audit_columns, audit_notes
from bbclust.cli.input.audit_rules import are_few
from bbclust.cli.input.categories import CategoryCoding, code_categories, known_cells
from bbclust.cli.input.column_names import named_like_id
from bbclust.cli.input.notation import Numbers
from bbclust.cli.input.tables import InputTable, is_text
from bbclust.cli.input.total_rows import find_total_row
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

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
    one_hot: bool = False  # whether to code text categories


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
    codings : tuple of CategoryCoding
        Categories whose indicators are among the features.
    audit : tuple of ColumnAudit
        What was seen of every column.
    notes : tuple of str
        Sentences about columns that are clustered and may not be measurements, and about totals.
    """

    features: dict[str, pl.Series]
    id: str | None
    truth: str | None
    set_aside: dict[str, str]
    codings: tuple[CategoryCoding, ...] = ()
    audit: tuple[ColumnAudit, ...] = ()
    notes: tuple[str, ...] = ()


def choose_columns(
    table: InputTable, wanted: Wanted, known: Sequence[CategoryCoding] = ()
) -> Columns:
    """Give every column of a table its part.

    Parameters
    ----------
    table : InputTable
    wanted : Wanted
    known : sequence of CategoryCoding
        Columns of categories that a model knows already.
    """
    names = table.frame.columns
    asked = resolve("--columns", wanted.columns, names)
    excluded = resolve("--exclude", wanted.exclude, names)
    truth = None if wanted.truth is None else resolve_one("--truth", wanted.truth, names)
    row_id = None if wanted.id is None else resolve_one("--id", wanted.id, names)
    if row_id is not None and not is_plain(table.frame[row_id]):
        raise CommandError(
            f"--id: column {row_id!r} holds {table.frame[row_id].dtype}, which CSV cannot hold: "
            "name another."
        )
    for name in asked:
        if name in excluded:
            raise CommandError(f"Column {name!r} is in --columns and in --exclude: leave one out.")
    if row_id is None and wanted.detect_id:
        row_id = find_id(table, but_not={*asked, *excluded, *table.spare, *wanted.not_id, truth})

    codings = {one.column: one for one in known}
    judged = {
        name: "text"
        if name in codings
        else _judge(table.frame[name], table, asked=name in asked, one_hot=wanted.one_hot)
        for name in names
        if _may_be_clustered(name, asked, (*excluded, *table.spare, row_id, truth))
    }
    numbers = {name: one for name, one in judged.items() if not isinstance(one, str)}
    others = {name: _numbers_or_none(table, name) for name in names if name not in judged}
    seen = numbers | {name: one for name, one in others.items() if one is not None}
    audits = {one.column: one for one in audit_columns(table, seen)}
    features: dict[str, pl.Series] = {}
    set_aside: dict[str, str] = {}
    for name in names:
        if name in (row_id, truth) and name not in asked:
            continue
        reason = _why_not(name, asked, excluded, table.spare)
        if reason is None and wanted.one_hot and _is_category(judged[name], audits[name], asked):
            codings[name] = code_categories(_categories(table, name))
        if reason is None and name in codings:
            features |= codings[name].indicators(_categories(table, name))
            continue
        reason = reason or _of_values(judged[name], audits[name], wanted)
        reason = reason or _of_audit(audits[name], asked)
        if reason is None:
            features[name] = numbers[name]
        else:
            set_aside[name] = reason
    if not features:
        raise CommandError(_no_numbers(names, set_aside))
    return Columns(
        features,
        row_id,
        truth,
        set_aside,
        tuple(codings.values()),
        tuple(
            replace(audits[name], part=_part(name, features, codings, row_id, truth))
            for name in names
        ),
        _notes(table, features, tuple(audits.values()), asked),
    )


def _categories(table: InputTable, name: str) -> pl.Series:
    """The cells of a column, without the codes of --na."""
    return known_cells(table.frame[name], table.notation.codes.texts)


def _is_category(judged: pl.Series | str, audit: ColumnAudit, asked: Collection[str]) -> bool:
    """Whether to code a column: few categories, none of them a date or a label, or asked for."""
    if not isinstance(judged, str) or judged not in ("text", "true or false"):
        return False
    few = are_few(audit.n_distinct, audit.n_known) and audit.to_set_aside is None
    return audit.n_distinct > 1 and (audit.column in asked or few)


def _may_be_clustered(name: str, asked: Collection[str], aside: Collection[str | None]) -> bool:
    return name in asked if asked else name not in aside


def _why_not(
    name: str, asked: Collection[str], excluded: Collection[str], spare: Collection[str]
) -> str | None:
    """Why the options leave a column out."""
    if name in excluded:
        return "excluded"
    if asked:
        return None if name in asked else "not in --columns"
    return "another array of the file" if name in spare else None


def _of_values(judged: pl.Series | str, audit: ColumnAudit, wanted: Wanted) -> str | None:
    """Why what a column holds cannot be clustered."""
    if isinstance(judged, str):
        found = audit.to_set_aside
        return judged if judged != "text" or found is None else f"text, {found.reason}"
    return None if wanted.constant else _constant(judged)


def _of_audit(audit: ColumnAudit, asked: Collection[str]) -> str | None:
    """Why a column of numbers measures nothing."""
    found = audit.to_set_aside
    if found is None or audit.column in asked:
        return None
    return f"{found.reason}; --columns takes it in"


def _part(
    name: str,
    features: Collection[str],
    coded: Collection[str],
    row_id: str | None,
    truth: str | None,
) -> str:
    if name in coded:
        return "categories"
    if name in features:
        return "clustered"
    return {row_id: "row names", truth: "known classes"}.get(name, "set aside")


def _notes(
    table: InputTable,
    features: dict[str, pl.Series],
    audits: Sequence[ColumnAudit],
    asked: Collection[str],
) -> tuple[str, ...]:
    """What to doubt; columns that were asked for by name are not doubted for what they are."""
    doubted = [
        replace(one, findings=tuple(f for f in one.findings if f.kind == "sentinel"))
        if one.column in asked
        else one
        for one in audits
    ]
    total = find_total_row(table.frame, features)
    return (*audit_notes(doubted, tuple(features)), *([] if total is None else [total]))


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


def _unnamed_first(names: Sequence[str]) -> bool:
    """Whether the first column has no name where others have: an index that was saved along."""
    if _PANDAS_INDEX.fullmatch(names[0].lower()):
        return True
    return names[0] == "column_1" and len(names) > 1 and names[1] != "column_2"


def _counts_rows(numbers: pl.Series) -> bool:
    return (
        len(numbers) > 2 and numbers[0] in (0, 1) and bool((numbers.diff().drop_nulls() == 1).all())
    )


def _judge(column: pl.Series, table: InputTable, *, asked: bool, one_hot: bool) -> pl.Series | str:
    """The numbers of a column, or why it is set aside; refuses one with a few cells of text."""
    import polars as pl

    if column.null_count() == len(column):
        return "empty"
    if is_text(column):
        return _judge_text(column, table, asked=asked and not one_hot)
    if column.dtype == pl.Boolean:
        return column.cast(pl.Float64) if asked and not one_hot else "true or false"
    if not column.dtype.is_numeric():
        if asked:
            raise CommandError(
                f"Column {column.name!r} of --columns holds {column.dtype}, which is "
                "no number: leave it out."
            )
        return "dates or times" if column.dtype.is_temporal() else f"{column.dtype}, no number"
    return table.numbers(column.name).values


def _numbers_or_none(table: InputTable, name: str) -> pl.Series | None:
    """The numbers of a column that is not clustered, if it holds nothing else."""
    column = table.frame[name]
    if not (is_text(column) or column.dtype.is_numeric()):
        return None
    parsed = table.numbers(name)
    plain = parsed.problem is None and not (parsed.are_flags or parsed.n_bad)
    return parsed.values if plain and parsed.n_gaps < len(column) else None


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
    return parsed.values


def _constant(numbers: pl.Series) -> str | None:
    known = numbers.drop_nulls()
    known = known.filter(known.is_finite())
    if len(known) and known.min() == known.max():
        return f"constant, always {known[0]:g}"
    return None


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


def is_plain(column: pl.Series) -> bool:
    """Whether CSV can hold a column."""
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
