"""What a cell of text means: a number, a gap, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

# Compared in lower case.
GAPS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?")

_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"


@dataclass(frozen=True)
class Numbers:
    """A column of cells as numbers.

    Attributes
    ----------
    values : Series of Float64
        Null where the cell is a gap or not a number.
    n_gaps, n_bad : int
        Cells of each kind.
    first_bad : int or None
        The first row whose cell is neither a number nor a gap.
    """

    values: pl.Series
    n_gaps: int
    n_bad: int
    first_bad: int | None

    @property
    def n_numbers(self) -> int:
        return len(self.values) - self.n_gaps - self.n_bad


def parse_numbers(cells: pl.Series, decimal: str | None = None) -> Numbers:
    """Cells of text as numbers.

    Parameters
    ----------
    cells : Series of String
    decimal : {".", ","}, optional
        The decimal mark. By default the one with which more cells are numbers.

    Examples
    --------
    >>> import polars as pl
    >>> parse_numbers(pl.Series(["1,5", "NA", " 2 "])).values.to_list()
    [1.5, None, 2.0]
    """
    text = _without_gaps(cells)
    if decimal == ",":
        return _count(text, _with_decimal_comma(text))
    plain = _count(text, text)
    if decimal == "." or not plain.n_bad:
        return plain
    if _may_be_thousands(text):
        raise CommandError(
            f"Column {cells.name!r} holds cells such as {_first_with_comma(text)!r}, in which the "
            "comma may set off thousands or decimals: say --decimal , for decimals, or remove "
            "the commas."
        )
    with_comma = _count(text, _with_decimal_comma(text))
    return with_comma if with_comma.n_bad < plain.n_bad else plain


def are_numbers(cells: pl.Series, decimal: str | None = None) -> bool:
    """Whether cells are numbers and gaps, and not gaps alone, with either decimal mark."""
    marks = (".", ",") if decimal is None else (decimal,)
    parsed = [parse_numbers(cells, mark) for mark in marks]
    return any(one.n_bad == 0 and one.n_numbers > 0 for one in parsed)


def _without_gaps(cells: pl.Series) -> pl.Series:
    """Cells without surrounding blanks, null where there is a gap."""
    import polars as pl

    text = cells.str.strip_chars()
    gap = text.str.to_lowercase().is_in(GAPS)
    return pl.select(pl.when(gap).then(None).otherwise(text)).to_series().alias(cells.name)


def _with_decimal_comma(text: pl.Series) -> pl.Series:
    """Numbers with a comma, written with a point; those with a point are no numbers then."""
    import polars as pl

    written = text.str.replace(",", ".", literal=True)
    return pl.select(
        pl.when(text.str.contains(".", literal=True)).then(None).otherwise(written)
    ).to_series()


def _may_be_thousands(text: pl.Series) -> bool:
    """Whether every cell with a comma, and at least one, could be written with thousands."""
    n_commas = int(text.str.contains(",", literal=True).sum())
    return 0 < n_commas == int(text.str.contains(_THOUSANDS).sum())


def _first_with_comma(text: pl.Series) -> str:
    return str(text.filter(text.str.contains(",", literal=True))[0])


def _count(text: pl.Series, written: pl.Series) -> Numbers:
    import polars as pl

    values = written.cast(pl.Float64, strict=False).alias(text.name)
    bad = (values.is_null() & text.is_not_null()).arg_true()
    return Numbers(values, text.null_count(), len(bad), int(bad[0]) if len(bad) else None)
