"""Sheets of Excel workbooks to tables, by the packages of the extra ``excel``."""

from __future__ import annotations

import logging
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.archives import LARGEST, unpacked_parts
from bbclust.cli.input.cells import GapCodes, read_plain
from bbclust.cli.input.delimited import SAMPLED_ROWS, Dialect, name_columns
from bbclust.cli.input.formats import Content
from bbclust.cli.input.header import detect_header, holds_numbers
from bbclust.cli.input.panics import first_line, panics_as_sentences
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

_CELL = 32  # bytes of a cell in memory
# The places of cells, such as r="AB12", and of rows without a cell.
_COLUMNS = re.compile(rb"""\sr\s*=\s*["']([A-Z]{1,3})[0-9]""")
_ROWS = re.compile(rb"""\sr\s*=\s*["'][A-Z]{0,3}([0-9]{1,7})["']""")
_REFERENCE_BYTES = 40  # what a place may be cut off in, at the end of a part

NO_EXCEL = "Excel files need the package {}: pip install 'bbclust[excel]', or {}."


def read_excel(data: bytes, dialect: Dialect) -> Content:
    """The table of a sheet: the one asked for, or the only one that holds a table."""
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise CommandError(NO_EXCEL.format("fastexcel", "save the sheet as CSV")) from None
    # They write to the log what we find out for ourselves, such as columns without any value.
    for name in ("fastexcel", "calamine"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    try:
        with panics_as_sentences("Excel workbook"):
            workbook = fastexcel.read_excel(data)
            return _read_sheet(workbook, _choose(workbook, dialect), dialect)
    except fastexcel.FastExcelError as error:
        raise CommandError(
            f"The Excel workbook is damaged or cannot be read ({first_line(error)})."
        ) from None


def check_extent(archive: zipfile.ZipFile) -> None:
    """Refuse a workbook that is too large for memory, or has a cell so far away that it would be.

    Who reads a sheet makes room for all cells between the first and the last.
    """
    sheets: dict[str, _Extent] = {}
    for name, part in unpacked_parts(archive):
        if name.startswith("xl/worksheets/"):
            sheets.setdefault(name, _Extent()).look_at(part)
    for extent in sheets.values():
        if extent.n_rows * extent.n_columns * _CELL > LARGEST:
            raise CommandError(
                f"One sheet of the workbook reaches to row {extent.n_rows:,} and column "
                f"{extent.n_columns:,}, which is too much for memory: delete cells far from the "
                "table, or save the sheet as CSV."
            )


@dataclass
class _Extent:
    """How far the cells of a sheet reach, found part by part."""

    n_rows: int = 0
    n_columns: int = 0
    _end: bytes = b""

    def look_at(self, part: bytes) -> None:
        """Look at the next part of the file of a sheet."""
        text = self._end + part
        self._end = text[-_REFERENCE_BYTES:]
        for letters in set(_COLUMNS.findall(text)):
            self.n_columns = max(self.n_columns, _column_number(letters))
        self.n_rows = max([self.n_rows, *map(int, _ROWS.findall(text))])


def _column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _choose(workbook: Any, dialect: Dialect) -> str:
    """The name of the sheet to read."""
    names: list[str] = workbook.sheet_names
    if not names:
        raise CommandError("The workbook has no sheet with cells.")
    listed = ", ".join(map(repr, names))
    asked = dialect.sheet
    if asked is not None:
        if asked in names:
            return asked
        if asked.isdecimal() and 1 <= int(asked) <= len(names):
            return names[int(asked) - 1]
        raise CommandError(f"--sheet: there is no sheet {asked!r}; the workbook has {listed}.")
    if len(names) == 1:
        return names[0]
    sampled = SAMPLED_ROWS + 1
    tables = [name for name in names if _is_table(_cells(workbook, name, sampled), dialect)]
    if len(tables) != 1:
        found = ", ".join(map(repr, tables))
        which = f"tables in its sheets {found}" if tables else f"no table in its sheets {listed}"
        raise CommandError(f"The workbook has {which}: name one, for example --sheet {names[0]!r}.")
    return tables[0]


def _is_table(cells: pl.DataFrame, dialect: Dialect) -> bool:
    """Whether there are numbers below one another."""
    return len(cells) > 1 and any(
        holds_numbers(column.slice(1), dialect.notation()) for column in cells.iter_columns()
    )


def _read_sheet(workbook: Any, sheet: str, dialect: Dialect) -> Content:
    """The sheet with the types of its cells; rows and unnamed columns without a cell are left out.

    Numbers and dates come as such. Columns with text in them are text.
    """
    import polars as pl

    cells = _cells(workbook, sheet)
    filled = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
    if len(filled) == 0:
        raise CommandError(f"Sheet {sheet!r} of the workbook is empty.")
    first = int(filled[0])
    header = dialect.header
    if header is None:
        header = detect_header(cells.slice(first, SAMPLED_ROWS + 1), dialect.notation())
    names = [name or "" for name in cells.row(first)] if header else [""] * cells.width
    frame = _typed(workbook, sheet, first + header, dialect.notation().codes)
    frame = frame.rename(dict(zip(frame.columns, name_columns(names), strict=True)))
    empty = [
        column.name
        for column, name in zip(frame.iter_columns(), names, strict=True)
        if not name.strip() and column.null_count() == len(column)
    ]
    frame = frame.drop(empty).filter(pl.any_horizontal(pl.all().is_not_null()))
    words = "with a header" if header else "without a header"
    return Content(frame, f"sheet {sheet!r} of an Excel workbook {words}")


def _cells(workbook: Any, sheet: str, n_rows: int | None = None) -> pl.DataFrame:
    """All cells as text, which rounds numbers."""
    frame: pl.DataFrame = workbook.load_sheet(
        sheet, header_row=None, skip_rows=0, dtypes="string", n_rows=n_rows
    ).to_polars()
    return frame


def _typed(workbook: Any, sheet: str, skip: int, codes: GapCodes) -> pl.DataFrame:
    """A sheet without its first rows, with types.

    Columns that hold text besides numbers come as text. They are numbers if this text only stands
    for gaps; else they stay text, in which numbers keep all their digits.
    """
    import polars as pl

    rows = {"header_row": None, "skip_rows": skip, "schema_sample_rows": None}
    frame: pl.DataFrame = workbook.load_sheet(sheet, **rows).to_polars()
    mixed = [j for j, dtype in enumerate(frame.dtypes) if dtype == pl.String]
    if mixed:
        as_numbers = dict.fromkeys(mixed, "float")
        numbers = workbook.load_sheet(sheet, dtypes=as_numbers, **rows).to_polars()
        frame = frame.with_columns(
            number
            if read_plain(text, codes).other is None and _is_mixed(workbook, sheet, j, rows)
            else _exact(text, number)
            for j, text, number in ((j, frame.to_series(j), numbers.to_series(j)) for j in mixed)
        )
    return frame.with_columns(_whole(column) for column in frame.iter_columns())


def _is_mixed(workbook: Any, sheet: str, column: int, rows: dict[str, Any]) -> bool:
    """Whether a column that came as text has cells of another type."""
    import fastexcel

    try:
        workbook.load_sheet(sheet, use_columns=[column], dtype_coercion="strict", **rows)
    except fastexcel.UnsupportedColumnTypeCombinationError:
        return True
    return False


def _exact(text: pl.Series, number: pl.Series) -> pl.Series:
    """Text, with all digits of numbers that were rounded to be text."""
    import polars as pl

    if number.dtype == pl.String:  # not one cell of the column is a number
        return text
    rounded = text.cast(pl.Float64, strict=False) != number
    return number.cast(pl.String).zip_with(rounded.fill_null(False), text)


def _whole(column: pl.Series) -> pl.Series:
    """Numbers without decimals as whole numbers: Excel stores no others, and ids are written so."""
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return column
    is_whole = (column == column.floor()) & (column.abs() < 2**53)
    return column.cast(pl.Int64) if is_whole.all() else column
