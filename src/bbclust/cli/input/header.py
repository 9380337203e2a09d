"""Whether the first row of a table names its columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bbclust.cli.input.notation import MARKS, Notation, Numbers, read_column
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

_YEARS = (1500, 2199)
# Of numbers with one decimal a tenth are whole: none among this many cells is no chance (4%).
_ENOUGH_CELLS = 30


@dataclass(frozen=True)
class _Number:
    """A number in the first row above a column of numbers.

    Attributes
    ----------
    value : float
    is_word : bool
        Whether it is written like a name: digits alone.
    cells : Series of Float64
        The numbers below, null where there is a gap.
    """

    value: float
    is_word: bool
    cells: pl.Series

    @property
    def column(self) -> pl.Series:
        return self.cells.drop_nulls()

    @property
    def is_year(self) -> bool:
        return self.is_word and _YEARS[0] <= self.value <= _YEARS[1]

    @property
    def is_above_years(self) -> bool:
        """Whether at least half of the numbers below could be years."""
        below = self.column
        years = below.is_between(*_YEARS) & (below == below.floor())
        return bool(2 * years.sum() >= len(below))

    @property
    def is_above_decimals(self) -> bool:
        """Whether it is a whole number and none below it is."""
        return self.is_word and not bool((self.column == self.column.floor()).any())

    @property
    def is_far(self) -> bool:
        """Whether it lies farther from all numbers below than these lie from each other."""
        low, high = float(self.column.min()), float(self.column.max())  # type: ignore[arg-type]
        distance = max(low - self.value, self.value - high)
        return distance > high - low > 0

    @property
    def is_unlike(self) -> bool:
        return self.is_above_decimals or self.is_far


def detect_header(rows: pl.DataFrame, notation: Notation) -> bool:
    """Whether the first row names the columns.

    It does if it has no number above a column of numbers. If it has some, they can be names as
    well: years, or numbers at equal distances such as 0, 1, 2, which are not like the numbers below
    them. Else it does not if it has a number above every column of numbers; in between it cannot be
    told.

    Parameters
    ----------
    rows : DataFrame of String columns
        The first rows.
    notation : Notation
    """
    above: list[_Number | None] = []
    for column in rows.iter_columns():
        below = numbers_of(column.slice(1), notation)
        if below is not None:
            above.append(_number_above(column.head(1), below, notation))
    numbers = [number for number in above if number is not None]
    if not numbers or _is_saved_index(rows, numbers):
        return True
    told = _are_names(numbers, beside_text=_has_text(rows.head(1), notation))
    if told is None or (len(numbers) < len(above) and not told):
        some = len(numbers) < len(above)
        raise CommandError(
            "Whether the first line names the columns cannot be told, since it has numbers above "
            f"{'some columns of numbers and text above others' if some else 'columns of numbers'}"
            f"{'' if some else ', which may be names or values'}: say --header or --no-header."
        )
    return told


def holds_numbers(cells: pl.Series, notation: Notation) -> bool:
    """Whether cells are numbers and gaps, and not gaps alone, in some notation."""
    return numbers_of(cells, notation) is not None


def numbers_of(cells: pl.Series, notation: Notation) -> Numbers | None:
    """Cells as numbers in some notation; None if one of them is none, or all are gaps."""
    reading = read_column(cells, notation.codes)
    for mark in MARKS if notation.decimal is None else (notation.decimal,):
        numbers = reading.numbers(mark)
        if numbers.n_bad == 0 and numbers.n_numbers > 0 and not numbers.are_flags:
            return numbers
    return None


def _number_above(first: pl.Series, below: Numbers, notation: Notation) -> _Number | None:
    """The number in the first row; one in another unit, such as 50%, is a word."""
    if first[0] is None:  # known at once, which counts where there are thousands of columns
        return None
    number = numbers_of(first, notation)
    if number is None or number.unit != below.unit:
        return None
    written = str(first[0]).strip()
    return _Number(float(number.values[0]), written.isdecimal(), below.values)


def _has_text(first: pl.DataFrame, notation: Notation) -> bool:
    return any(
        column[0] is not None and not holds_numbers(column, notation)
        for column in first.iter_columns()
    )


def _is_saved_index(rows: pl.DataFrame, numbers: list[_Number]) -> bool:
    """Whether the columns are called 0, 1, 2, ... beside an index without a name that counts rows.

    So pandas writes a table without names.
    """
    first = rows.to_series(0)
    return (
        first[0] is None
        and [number.value for number in numbers] == list(range(rows.width - 1))
        and first.slice(1).to_list() == [str(row) for row in range(len(rows) - 1)]
    )


def _are_names(numbers: list[_Number], *, beside_text: bool) -> bool | None:
    """Whether numbers in the first row name their columns; None if it cannot be told."""
    values = [number.value for number in numbers]
    if len(set(values)) < len(values) or not all(number.is_word for number in numbers):
        return False
    steps = {after - before for before, after in pairwise(values)}
    is_even = len(steps) == 1 and min(steps) > 0
    is_far = all(number.is_far for number in numbers)
    unlike = all(number.is_unlike for number in numbers)
    if all(number.is_year and not number.is_above_years for number in numbers):
        if unlike and (len(numbers) > 1 or beside_text):
            return True
        if is_even and (len(numbers) > 2 or steps == {1.0}):
            return True
        return None if unlike or len(numbers) > 1 else False
    if steps == {1.0} and all(number.is_year for number in numbers) and not _any_in_turn(numbers):
        return None  # one year after the other above other numbers of that size
    if is_far and len(numbers) > 1:
        return True if is_even and len(numbers) > 2 else None
    if unlike and is_even and len(numbers) > 2 and steps == {1.0} and values[0] in (0, 1):
        n_cells = sum(len(number.column) for number in numbers)
        return True if n_cells >= _ENOUGH_CELLS else None
    return False


def _any_in_turn(numbers: list[_Number]) -> bool:
    """Whether some row below has one number after the other as well, as pairs of years do."""
    import polars as pl

    in_turn = pl.repeat(True, len(numbers[0].cells), eager=True)
    for before, after in pairwise(numbers):
        in_turn = in_turn & (after.cells - before.cells == 1).fill_null(False)
    return bool(in_turn.any())
