"""Numbers as people write them: decimal marks, thousands, currencies, percent and units.

A cell such as ``1,234`` has two readings. Its column settles which one holds if another cell of it
can be read in one way only; else the other columns of the file do; else it is a question, and the
sentence names the option that answers it. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bbclust.cli.input.cells import (
    NO_CODES,
    GapCodes,
    PlainCells,
    read_flags,
    read_plain,
    without_codes,
)
from bbclust.cli.input.units import PREFIX, SUFFIX, in_words, unit_called

if TYPE_CHECKING:
    import polars as pl

MARKS = (".", ",")
_NAMES = {".": "points", ",": "commas", "'": "apostrophes", " ": "blanks"}

_MINUS = "[\N{MINUS SIGN}\N{EN DASH}\N{SMALL HYPHEN-MINUS}\N{FULLWIDTH HYPHEN-MINUS}]"
_APOSTROPHE = "[\N{RIGHT SINGLE QUOTATION MARK}\N{MODIFIER LETTER APOSTROPHE}\N{ACUTE ACCENT}`]"
_BRACKETS = rf"^({PREFIX})? ?\((.*)\) ?({SUFFIX})?$"
_BARE = r"^[+-]?[0-9.,' ]*[0-9][.,]?$"
_START = rf"^(?:[(+-]|{_MINUS}|{PREFIX}| )*[0-9.,]"
_LONGEST = 60  # bytes
# Sign, currency, sign, digits and marks, exponent, unit, sign. A word that is no unit that we know
# may follow after a blank: it counts as one if every cell has it.
_NUMBER = (
    rf"^(?P<sign>[+-]?) ?(?P<before>{PREFIX})? ?(?P<inner>[+-]?)"
    r"(?P<body>[0-9](?:[0-9.,' ]*[0-9])?[.,]?|[.,][0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?"
    rf"(?: ?(?P<after>{SUFFIX})| (?P<word>\p{{L}}+))?(?P<trailing> ?-)?$"
)


def _shape(decimal: str) -> str:
    """A regular expression for the digits of a number with a decimal mark, thousands set off."""
    other = MARKS[decimal == "."]
    groups = "|".join(rf"(?:{mark}[0-9]{{3}})+" for mark in (rf"\{other}", " ", "'"))
    lakhs = r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}" if decimal == "." else ""
    mark = rf"\{decimal}"
    return rf"^(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{groups}){lakhs})(?:{mark}[0-9]*)?|{mark}[0-9]+)$"


_SHAPES = {mark: _shape(mark) for mark in MARKS}
# With an exponent a program wrote it: without thousands.
_UNGROUPED = {mark: rf"^(?:[0-9]+(?:\{mark}[0-9]*)?|\{mark}[0-9]+)$" for mark in MARKS}


@dataclass(frozen=True)
class Numbers:
    """A column of cells as numbers.

    Attributes
    ----------
    values : Series of Float64, or of Float32 where that is stored
        Null where the cell is a gap or not a number.
    n_gaps, n_bad : int
        Cells of each kind.
    first_bad : int or None
        The first row whose cell is neither a number nor a gap.
    are_flags : bool
        Whether these are 1 and 0 for true and false.
    unit : str
        What stood beside every number; empty if nothing did.
    way, example : str
        How the numbers were written, if not plainly, and one of them.
    problem : str or None
        Why the column must not be used as it is: a sentence with the way out.
    """

    values: pl.Series
    n_gaps: int
    n_bad: int = 0
    first_bad: int | None = None
    are_flags: bool = False
    unit: str = ""
    way: str = ""
    example: str = ""
    problem: str | None = None

    @property
    def n_numbers(self) -> int:
        return len(self.values) - self.n_gaps - self.n_bad


@dataclass(frozen=True)
class Notation:
    """What is known of the numbers of a file.

    Attributes
    ----------
    decimal : {".", ","} or None
        The decimal mark, if it was given.
    codes : GapCodes
        What stands for missing values besides the usual words.
    commas : bool
        Whether commas separate fields: who writes so has points for decimals.
    """

    decimal: str | None = None
    codes: GapCodes = NO_CODES
    commas: bool = False


PLAIN = Notation()


@dataclass(frozen=True)
class Reading:
    """A column of text, and what its cells say of the decimal mark.

    Attributes
    ----------
    cells : Series of String
    plain : PlainCells
    codes : GapCodes
    """

    cells: pl.Series
    plain: PlainCells
    codes: GapCodes

    @cached_property
    def text(self) -> pl.Series:
        """The cells without blanks around them, null where there is a gap."""
        known = self.plain.values.is_not_null()
        if self.plain.other is not None:
            known = known | self.plain.other
        return self.cells.str.strip_chars().set(~known, None)

    @cached_property
    def flags(self) -> pl.Series | None:
        if self.plain.other is None or self.plain.values.null_count() < len(self.cells):
            return None
        return read_flags(self.text)

    @cached_property
    def parts(self) -> pl.DataFrame:
        return _dissect(self.text)

    @cached_property
    def settled(self) -> frozenset[str]:
        """The decimal marks that some cell needs."""
        if self.flags is not None:
            return frozenset()
        if self.plain.other is None:
            return frozenset(".") if self._has_decimal_points() else frozenset()
        if self._is_text:
            return frozenset()
        fits = self._fits
        return frozenset(
            mark for mark, other in (MARKS, MARKS[::-1]) if (fits[mark] & ~fits[other]).any()
        )

    @property
    def evidence(self) -> frozenset[str]:
        """What the column says of the rest of the file: nothing unless it is numbers throughout."""
        if self.plain.other is None:
            return self.settled
        filled = self.text.is_not_null()
        return frozenset(m for m in self.settled if not (filled & ~self._fits[m]).any())

    @cached_property
    def has_points(self) -> bool:
        return bool(self.cells.str.contains(".", literal=True).any())

    @cached_property
    def doubtful(self) -> pl.Series:
        """Cells with two readings: those with a mark that both notations allow."""
        body = self.parts["body"]
        both = self._fits["."] & self._fits[","] & body.str.contains("[.,]")
        return self.text.filter(both.fill_null(False))

    @property
    def may_be_thousands(self) -> bool:
        """Whether points look like thousands: cells without one are all below 1000, and some are.

        A program that writes three decimals writes them everywhere, and one that leaves out zeros
        at the end leaves other numbers of decimals.
        """
        body = self.parts["body"]
        short = body.filter(~body.str.contains("[.,]")).drop_nulls().str.len_chars()
        return len(short) > 0 and bool((short <= 3).all())

    def numbers(self, mark: str) -> Numbers:
        """The numbers under a decimal mark."""
        if self.flags is not None:
            return Numbers(self.flags, self.flags.null_count(), are_flags=True)
        if self.plain.other is None and mark == ".":
            return Numbers(self.plain.values, self.plain.values.null_count())
        if self._is_text:
            bad = (self.text.is_not_null() & ~self._fits["."] & ~self._fits[","]).arg_true()
            return Numbers(self.plain.values, self.text.null_count(), len(bad), int(bad[0]))
        values = self._values(mark)
        bad = (values.is_null() & self.text.is_not_null()).arg_true()
        first = int(bad[0]) if len(bad) else None
        values = without_codes(values, self.codes)
        found = Numbers(values, values.null_count() - len(bad), len(bad), first)
        unit, problem = self._unit()
        if found.n_bad or problem:
            return replace(found, problem=problem)
        way, example = self._way(mark, unit, values)
        return replace(found, unit=unit, way=way, example=example)

    @cached_property
    def _is_text(self) -> bool:
        """Whether more cells are words than numbers in any notation."""
        n_cells = len(self.text) - self.text.null_count()
        return bool(2 * (self._fits["."] | self._fits[","]).sum() < n_cells)

    def _has_decimal_points(self) -> bool:
        """Whether some cell of plain numbers has a point that cannot set off thousands."""
        # Gaps may have points, too. The first cells tell nearly always.
        cells, known = self.cells, self.plain.values.is_not_null()
        if _cannot_be_thousands(cells.head(100).filter(known.head(100))):
            return True
        return self.has_points and _cannot_be_thousands(cells.filter(known))

    @cached_property
    def _fits(self) -> dict[str, pl.Series]:
        """For each decimal mark the cells that are numbers with it."""
        body, has_exponent = self.parts["body"], self.parts["exponent"] != ""
        fits = {}
        for mark in MARKS:
            grouped = body.str.contains(_SHAPES[mark])
            ungrouped = body.str.contains(_UNGROUPED[mark])
            fits[mark] = ((grouped & ~has_exponent) | ungrouped).fill_null(False) | self._endless
        return fits

    @cached_property
    def _endless(self) -> pl.Series:
        """Cells such as "inf", which have no digits; and "1e999"."""
        return self.plain.values.is_infinite().fill_null(False)

    def _values(self, mark: str) -> pl.Series:
        import polars as pl

        other = MARKS[mark == "."]
        body = self.parts["body"].str.replace_all(rf"[\{other}' ]", "")
        if mark == ",":
            body = body.str.replace(",", ".", literal=True)
        written = self.parts["sign"] + body + self.parts["exponent"]
        values = written.cast(pl.Float64, strict=False).set(~self._fits[mark], None)
        return values.zip_with(~self._endless, self.plain.values).alias(self.cells.name)

    def _unit(self) -> tuple[str, str | None]:
        """The unit of the column, or the sentence that it has several."""
        parts = self.parts.filter(self.parts["body"].is_not_null())
        units = parts["unit"].unique(maintain_order=True).to_list()
        if len(units) < 2:
            return "".join(units), None
        texts = self.text.filter(self.parts["body"].is_not_null())
        first, second = (str(texts.filter(parts["unit"] == unit)[0]) for unit in units[:2])
        return "", (
            f"Column {self.cells.name!r} holds {first!r} and {second!r}, which are not written in "
            "one unit: write all of its numbers in the same unit or without one, or leave the "
            "column out."
        )

    def _way(self, mark: str, unit: str, values: pl.Series) -> tuple[str, str]:
        """How the numbers are written, and an example; nothing if a program may have done so."""
        body = self.parts["body"].fill_null("")
        other = MARKS[mark == "."]
        seen = {
            "decimal commas": body.str.contains(",[0-9]*$") & (mark == ","),
            **{
                f"{_NAMES[group]} between thousands": body.str.contains(f"[0-9][{group}][0-9]{{3}}")
                for group in (other, " ", "'")
            },
            in_words(unit): (body != "") & (unit != ""),
            "brackets or a minus behind for what is below zero": (
                self.parts["is_bracketed"].fill_null(False)
            ),
        }
        seen = {way: cells & values.is_not_null() for way, cells in seen.items()}
        ways = [way for way, cells in seen.items() if cells.any()]
        if not ways:
            return "", ""
        row = max(int(seen[way].arg_true()[0]) for way in ways)
        return _and(ways), f"{str(self.text[row])!r} is {values[row]:.15g}"


def read_column(cells: pl.Series, codes: GapCodes) -> Reading:
    """Cells of text, to be read as numbers."""
    return Reading(cells, read_plain(cells, codes), codes)


def decide(reading: Reading, others: Iterable[Reading], notation: Notation) -> Numbers:
    """The numbers of a column; what it leaves open, the other columns of the file settle.

    Parameters
    ----------
    reading : Reading
        The column.
    others : iterable of Reading
        All columns of text of the file; only looked at when they are needed.
    notation : Notation

    Examples
    --------
    >>> import polars as pl
    >>> price = read_column(pl.Series("price", ["90.196", "1.234"]), GapCodes())
    >>> share = read_column(pl.Series("share", ["0,5", "2,25"]), GapCodes())
    >>> decide(price, [price, share], Notation()).values.to_list()
    [90196.0, 1234.0]
    """
    if notation.decimal is not None:
        return reading.numbers(notation.decimal)
    settled = reading.settled
    if len(settled) == 1:
        return reading.numbers(*settled)
    if len(settled) == 2:  # the cells of the rarer mark are bad ones
        return min((reading.numbers(mark) for mark in MARKS), key=lambda one: one.n_bad)
    if reading.flags is not None or not _has_marks(reading):
        return reading.numbers(".")
    settled = frozenset(mark for other in others for mark in other.evidence)
    if len(settled) == 1:
        return reading.numbers(*settled)
    has_commas = reading.doubtful.str.contains(",", literal=True).any()
    if notation.commas and not (settled or has_commas or reading.may_be_thousands):
        return reading.numbers(".")
    return replace(reading.numbers("."), problem=_question(reading))


def _has_marks(reading: Reading) -> bool:
    """Whether a column without a settled mark has cells with two readings."""
    return (reading.plain.other is not None or reading.has_points) and len(reading.doubtful) > 0


def _cannot_be_thousands(cells: pl.Series) -> bool:
    """Whether the point of some cell cannot set off thousands."""
    pointed = cells.filter(cells.str.contains(".", literal=True).fill_null(False))
    return (
        not pointed.str.strip_chars().str.contains(r"^[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$").all()
    )


def _question(reading: Reading) -> str:
    cell = str(reading.doubtful[0])
    what = "comma" if "," in cell else "point"
    thousands, decimals = (".", ",") if what == "comma" else (",", ".")
    return (
        f"Column {reading.cells.name!r} holds cells such as {cell!r}, in which the {what} may set "
        f"off thousands or decimals: say --decimal {decimals} for decimals, or --decimal "
        f"{thousands} for thousands."
    )


def _dissect(text: pl.Series) -> pl.DataFrame:
    """The parts of numbers: sign, body, exponent, unit, and whether the sign is an accountant's.

    Without a body where a cell is no number in any notation. Cells of digits and marks alone, which
    are most, are taken apart without the large regular expression.
    """
    import polars as pl

    cell = pl.col("cell")
    frame = pl.DataFrame({"cell": text}).with_columns(
        is_bare=cell.str.contains(_BARE).fill_null(False),
        may_be=(cell.str.contains(_START) & (cell.str.len_bytes() <= _LONGEST)).fill_null(False),
    )
    parts = frame.select(
        body=pl.when("is_bare").then(cell.str.strip_chars_start("+-")),
        sign=pl.when(cell.str.starts_with("-")).then(pl.lit("-")).otherwise(pl.lit("")),
        exponent=pl.lit(""),
        unit=pl.lit(""),
        is_bracketed=pl.lit(False),
    )
    places = (frame["may_be"] & ~frame["is_bare"]).arg_true()
    if len(places):
        others = _dissect_slowly(text.gather(places))
        parts = parts.with_columns(
            parts[name].scatter(places, others[name]) for name in parts.columns
        )
    return _with_known_units(parts)


def _dissect_slowly(text: pl.Series) -> pl.DataFrame:
    """The same for cells with anything else in them."""
    import polars as pl

    cell = pl.col("cell")
    tidy = (
        cell.str.replace_all(_MINUS, "-")
        .str.replace_all(_APOSTROPHE, "'")
        .str.replace_all(r"\s+", " ")
        .str.replace(_BRACKETS, "-${1}${2}${3}")
    )
    frame = (
        pl.DataFrame({"cell": text})
        .with_columns(tidy.str.extract_groups(_NUMBER).alias("part"))
        .unnest("part")
    )
    sign = pl.concat_str(
        pl.col(name).fill_null("").str.strip_chars() for name in ("sign", "inner", "trailing")
    )
    has_two_units = pl.col("before").is_not_null() & pl.coalesce("after", "word").is_not_null()
    return frame.select(
        body=pl.when(sign.str.len_bytes() < 2, ~has_two_units).then("body"),
        sign=sign,
        exponent=pl.col("exponent").fill_null(""),
        unit=pl.coalesce("before", "after", "word").fill_null(""),
        is_bracketed=pl.col("trailing").is_not_null() | cell.str.contains("(", literal=True),
    )


def _with_known_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Units by one name each; a word that is none counts only if all cells have it."""
    body = frame["body"]
    words = frame["unit"].filter(body.is_not_null()).unique().to_list()
    known = {word: unit_called(word) for word in words if word}
    foreign = [word for word, unit in known.items() if unit is None]
    if foreign and len(words) > 1:
        frame = frame.with_columns(body=body.set(frame["unit"].is_in(foreign), None))
    names = {word: unit or word for word, unit in known.items()}
    return frame.with_columns(unit=frame["unit"].replace(names)) if names else frame


def _and(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
