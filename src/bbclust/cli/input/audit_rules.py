"""What a column looks like, one rule for each kind: :data:`RULES` has them all.

Where a rule rests on chance, it is sure when rows in random order would look so less than once in a
million times. That needs ten rows for values that rise row by row: 2/10! is less than a millionth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.column_names import (
    Hint,
    range_of_date_part,
    says_date,
    says_identifier,
    says_label,
    says_year,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

ENOUGH_ROWS = 10  # 2/10! < 1e-6
CODES_AT_AN_END = 4  # such as 97, 98, 99
_OTHER_CODES = {-1, -7, -8, -9, 97, 98, 997, 998, 9997, 9998, 1e20, 1e30, -1e20, -1e30}
_OTHER_CODES |= {-32768, 32767, 65535, -2147483648, 2147483647}
SECOND_2000, SECOND_2040 = 946_684_800, 2_208_988_800  # Unix time
EVERY_DATE = (
    r"^\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T]\d.*)?$|^\d{1,2}([-/.])\d{1,2}[-/.]\d{2,4}( .*)?$"
)
EVERY_DATE += (
    r"|^\d{1,2}[ -]?[A-Za-z]{3,9}\.?[ ,-]*\d{2,4}( .*)?$|^[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)
EVERY_DATE += r"|^[A-Za-z]{3,9}[ -]\d{2,4}$|^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"


@dataclass(frozen=True)
class ColumnFacts:
    """A column as the rules see it.

    Attributes
    ----------
    name : str
    type : str
        In words: whole numbers, numbers, text, ...
    n_rows, n_gaps, n_distinct : int
    values : ndarray, or None
        Its numbers in the order of the rows, without gaps; None if it does not hold numbers.
    cells : Series, or None
        Its cells as they were written, if they are text.
    """

    name: str
    type: str
    n_rows: int
    n_gaps: int
    n_distinct: int
    values: npt.NDArray[Any] | None
    cells: pl.Series | None

    @property
    def n_known(self) -> int:
        return self.n_rows - self.n_gaps

    @property
    def whole(self) -> bool:
        return self.type == "whole numbers"

    @property
    def all_distinct(self) -> bool:
        return self.n_distinct == self.n_known

    @property
    def few(self) -> bool:
        return are_few(self.n_distinct, self.n_known)

    @cached_property
    def range(self) -> tuple[float, float]:
        assert self.values is not None
        return float(self.values.min()), float(self.values.max())

    @cached_property
    def steps(self) -> npt.NDArray[Any]:
        import numpy as np

        assert self.values is not None
        with np.errstate(over="ignore"):
            return np.diff(self.values)


def are_few(n_distinct: int, n: int) -> bool:
    """Whether a value has, on average, at least as many rows as there are values."""
    return n_distinct >= 2 and n_distinct**2 <= n


@dataclass(frozen=True)
class Finding:
    """What a column looks like, whether that is sure, and why."""

    kind: str
    sure: bool
    reason: str


@dataclass(frozen=True)
class Rule:
    """A kind of column, what to do about it, and how it is recognised."""

    kind: str
    set_aside: bool  # when it is sure; otherwise the column is used and a note says so
    find: Callable[[ColumnFacts], Finding | None]


def find_date(facts: ColumnFacts) -> Finding | None:
    """Dates as text or numbers, Unix times, years and parts of dates."""
    if facts.values is None:
        return _date_text(facts)
    hint = says_date(facts.name)
    digits = _written_date(facts)
    if digits is not None:
        return Finding("date", True, f"dates written as {digits}")
    if facts.whole and hint is Hint.YES:
        return Finding("date", True, "a date by its name")
    unix = _unix_unit(facts)
    if unix is not None:
        sure = hint is not Hint.NO or (facts.n_known >= ENOUGH_ROWS and _rises(facts))
        return Finding("date", sure, f"Unix times in {unix}")
    if hint is Hint.YES:
        return Finding("date", False, "a date by its name")
    return _year_or_part(facts)


def _date_text(facts: ColumnFacts) -> Finding | None:
    if facts.cells is None:
        return None
    some = facts.cells.drop_nulls().head(1000).str.strip_chars()
    some = some.filter(some != "")
    if len(some) and bool(some.str.contains(EVERY_DATE).all()):
        return Finding("date", True, "dates or times")
    return None


def _written_date(facts: ColumnFacts) -> str | None:
    """Whether all numbers are days as 20240131, or months as 202401, beyond chance.

    Of the numbers of eight digits one in a thousand is such a day, of those of six one in three
    hundred such a month: three different ones are no chance.
    """
    import numpy as np

    if not facts.whole or facts.n_distinct < 3:
        return None
    low, high = facts.range
    values = facts.values
    assert values is not None
    if low >= 19000101 and high <= 21001231:
        month, day = values // 100 % 100, values % 100
        if bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))):
            return "year, month and day"
    if low >= 190001 and high <= 210012 and high - low < 20000:
        month = values % 100
        if bool(np.all((month >= 1) & (month <= 12))) and facts.n_distinct >= 6:
            return "year and month"
    return None


def _unix_unit(facts: ColumnFacts) -> str | None:
    low, high = facts.range
    for unit, factor in (("seconds", 1), ("milliseconds", 1e3), ("microseconds", 1e6)):
        if SECOND_2000 * factor <= low and high <= SECOND_2040 * factor and low < high:
            return unit
    if low >= SECOND_2000 * 1e9 and high <= SECOND_2040 * 1e9 and low < high:
        return "nanoseconds"
    return None


def _year_or_part(facts: ColumnFacts) -> Finding | None:
    if not facts.whole:
        return None
    low, high = facts.range
    if (low >= 1900 and high <= 2050) or (says_year(facts.name) and low >= 1500 and high <= 2100):
        return Finding("date", False, "years")
    part = range_of_date_part(facts.name)
    if part is not None and part[0] <= low and high <= part[1]:
        return Finding("date", False, "a part of a date by its name")
    return None


def find_identifier(facts: ColumnFacts) -> Finding | None:
    """Numbers that name rows, people, things or places, and measure nothing."""
    if facts.values is None:
        if facts.cells is not None and facts.all_distinct and facts.n_known > 1:
            return Finding("identifier", True, "different in every row")
        return None
    if not facts.whole:
        return _evenly_spaced(facts)
    if facts.cells is not None and _zero_padded(facts.cells):
        return Finding("identifier", True, "codes with leading zeros")
    hint = says_identifier(facts.name)
    if hint is Hint.YES:
        return Finding("identifier", True, "an id by its name")
    return _sequence(facts, hint) or _many_digits(facts, hint)


def _zero_padded(cells: pl.Series) -> bool:
    return bool(cells.str.contains(r"^\s*0\d+\s*$").any())


def _sequence(facts: ColumnFacts, hint: Hint) -> Finding | None:
    """Whole numbers that count the rows, or are numbers from one to another in any order."""
    if not facts.all_distinct or facts.n_known < 3 or hint is Hint.PERHAPS:
        return None
    enough = facts.n_known >= ENOUGH_ROWS
    low, high = facts.range
    if bool((abs(facts.steps) == 1).all()) and _rises(facts):
        return Finding("identifier", enough, "numbers that count the rows") if enough else None
    # all different and without a hole: n!/n^n for draws from n numbers, < 1e-6 from 17 rows on
    if facts.n_known >= 17 and high - low + 1 == facts.n_known:
        return Finding("identifier", True, "every whole number of a range, each once")
    if enough and _rises(facts):
        return Finding("identifier", False, "whole numbers that rise from row to row")
    return None


def _many_digits(facts: ColumnFacts, hint: Hint) -> Finding | None:
    low, high = facts.range
    if hint is Hint.PERHAPS:
        return Finding("identifier", False, "perhaps numbers of things, by its name")
    if not (low > 0 and len(f"{low:.0f}") == len(f"{high:.0f}") >= 5):
        return None
    if facts.all_distinct and facts.n_known >= ENOUGH_ROWS:
        return Finding("identifier", False, "different whole numbers of the same length")
    if 2 * facts.n_distinct <= facts.n_known and _should_differ(facts):
        return Finding("identifier", False, "long whole numbers that come again and again")
    return None


def _should_differ(facts: ColumnFacts) -> bool:
    """Whether measurements of this range and rounding would nearly all differ.

    Spread over ten times as many places as there are rows, 95% of them would.
    """
    import numpy as np

    assert facts.values is not None
    low, high = facts.range
    if high > 2.0**53:  # not exact any more
        return False
    step = int(np.gcd.reduce((facts.values - low).astype(np.int64)))
    return high - low >= 10 * step * facts.n_known


def _evenly_spaced(facts: ColumnFacts) -> Finding | None:
    """Rows in equal steps: a time axis, or an index."""
    import numpy as np

    if facts.n_known < ENOUGH_ROWS or not _rises(facts):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(facts.steps.mean())
    if np.isfinite(mean) and bool(np.all(np.abs(facts.steps - mean) <= 1e-6 * abs(mean))):
        return Finding("identifier", False, "values that rise by the same step from row to row")
    return None


def _rises(facts: ColumnFacts) -> bool:
    """Whether values rise, or fall, from every row to the next."""
    assert facts.values is not None
    if len(facts.values) > 2 and (facts.values[1] > facts.values[0]) != (
        facts.values[2] > facts.values[1]
    ):
        return False  # most columns, at once
    return bool((facts.steps > 0).all()) or bool((facts.steps < 0).all())


def find_label(facts: ColumnFacts) -> Finding | None:
    """Known classes: what the rows were sorted into already."""
    hint = says_label(facts.name)
    if hint is Hint.NO or facts.all_distinct or facts.n_distinct < 2:
        return None
    if hint is Hint.YES and (facts.values is None or facts.whole):
        if 2 * facts.n_distinct <= facts.n_known:
            return Finding("label", True, "known classes by its name")
        return None
    if facts.values is not None and (hint is Hint.YES or (facts.whole and facts.few)):
        return Finding("label", False, "perhaps known classes, by its name")
    return None


def find_sentinel(facts: ColumnFacts) -> Finding | None:
    """Codes such as -999 farther from all other values than these are from each other."""
    import numpy as np

    if facts.values is None or facts.n_distinct < 3 or not any(map(_is_code, facts.range)):
        return None
    distinct = np.unique(facts.values)
    first = sum(1 for _ in takewhile(_is_code, distinct[:CODES_AT_AN_END]))
    last = len(distinct) - sum(
        1 for _ in takewhile(_is_code, distinct[: -CODES_AT_AN_END - 1 : -1])
    )
    if last - first < 2:
        return None
    low, high = float(distinct[first]), float(distinct[last - 1])
    codes = np.concatenate([distinct[:first], distinct[last:]])
    with np.errstate(over="ignore"):
        far = codes[(codes > high + (high - low)) | (codes < low - (high - low))]
    if not len(far):
        return None
    n = int(np.isin(facts.values, far).sum())
    listed = ", ".join(f"{code:.15g}" for code in far)
    return Finding(
        "sentinel",
        False,
        f"{listed} {'once' if n == 1 else f'{n:,} times'}, far outside the other values from "
        f"{low:.6g} to {high:.6g}: if that stands for missing values, say --na {far[0]:.15g}",
    )


def _is_code(value: float) -> bool:
    """Whether a number is one that people write for a missing value."""
    digits = f"{abs(value):.15g}".replace(".", "")
    repeated = len(digits) > 1 and len(set(digits)) == 1 and digits[0] in "789"
    return repeated or value in _OTHER_CODES


RULES = (
    Rule("date", True, find_date),
    Rule("identifier", True, find_identifier),
    Rule("label", True, find_label),
    Rule("sentinel", False, find_sentinel),
)
