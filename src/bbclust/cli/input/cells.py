"""What a cell of text means: a plain number, a gap, or something else.

Numbers that people wrote, with thousands, units and other decimal marks, are the subject of
:mod:`bbclust.cli.input.notation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Compared in lower case: the words of spreadsheets, databases, R, pandas and statistical offices.
GAPS = (
    *("", "na", "n/a", "n.a.", "<na>", "#na", "#n/a", "#n/a n/a", "nan", "-nan", "+nan"),
    *("null", "(null)", "none", "nil", "\\n", "missing", "1.#qnan", "-1.#ind", "1.#ind"),
    *("#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!"),
    *("?", "??", "-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", ".", "..", "...", "*"),
)
_TRUE, _FALSE = ("true", "yes"), ("false", "no")


@dataclass(frozen=True)
class GapCodes:
    """What stands for a missing value, besides :data:`GAPS`.

    Attributes
    ----------
    texts : tuple of str
        In lower case.
    numbers : tuple of float
        In any notation, and in columns that are stored as numbers too.
    """

    texts: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()


NO_CODES = GapCodes()


def make_gap_codes(given: Iterable[str]) -> GapCodes:
    """Codes as they are given on the command line.

    Examples
    --------
    >>> make_gap_codes(["-999", "unknown"])
    GapCodes(texts=('-999', 'unknown'), numbers=(-999.0,))
    """
    texts = tuple(code.strip().lower() for code in given)
    return GapCodes(texts, tuple(number for text in texts for number in _as_number(text)))


def _as_number(text: str) -> list[float]:
    try:
        number = float(text)
    except ValueError:
        return []
    return [] if math.isnan(number) else [number]


@dataclass(frozen=True)
class PlainCells:
    """A column of text as far as it holds numbers that a program wrote.

    Attributes
    ----------
    values : Series of Float64
        Null where there is no such number.
    other : Series of Boolean, or None
        Which cells are neither numbers nor gaps; None if there are none.
    """

    values: pl.Series
    other: pl.Series | None


def read_plain(cells: pl.Series, codes: GapCodes) -> PlainCells:
    """Numbers and gaps of a column of text; cells that are both are gaps.

    Only what is not a number at first sight is looked at again, so that a large column of numbers
    costs one pass.

    Examples
    --------
    >>> import polars as pl
    >>> read_plain(pl.Series(["1.5", "NA", " 2 "]), GapCodes()).values.to_list()
    [1.5, None, 2.0]
    """
    import polars as pl

    values = cells.cast(pl.Float64, strict=False).fill_nan(None)
    places = (values.is_null() & cells.is_not_null()).arg_true()
    other = None
    if len(places):
        left = cells.gather(places).str.strip_chars()
        again = left.cast(pl.Float64, strict=False).fill_nan(None)
        values = values.scatter(places, again)
        odd = again.is_null() & ~left.str.to_lowercase().is_in([*GAPS, *codes.texts])
        if odd.any():
            other = pl.repeat(False, len(cells), eager=True).scatter(places, odd)
    return PlainCells(without_codes(values, codes), other)


def without_codes(values: pl.Series, codes: GapCodes) -> pl.Series:
    """Numbers, null where one of them stands for a gap."""
    import polars as pl

    if not codes.numbers:
        return values
    coded = values.is_in(pl.Series(codes.numbers, dtype=pl.Float64).cast(values.dtype))
    return values.set(coded.fill_null(False), None)


def read_flags(text: pl.Series) -> pl.Series | None:
    """1 and 0 for true and false, or for yes and no; None if a cell is none of these.

    Examples
    --------
    >>> import polars as pl
    >>> read_flags(pl.Series(["TRUE", None, "False"])).to_list()
    [1.0, None, 0.0]
    >>> read_flags(pl.Series(["true", "no"]))
    """
    import polars as pl

    lower = text.str.to_lowercase()
    for true, false in zip(_TRUE, _FALSE, strict=True):
        if lower.is_in([true, false]).all():
            return (lower == true).cast(pl.Float64)
    return None
