"""Sheets of Excel workbooks to tables, by the packages of the extra ``excel``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.delimited import SAMPLED_ROWS, Dialect, name_columns
from bbclust.cli.input.formats import Content
from bbclust.cli.input.header import detect_header, holds_numbers
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

NO_EXCEL = "Excel files need the package {}: pip install 'bbclust[excel]', or {}."


def read_excel(data: bytes, dialect: Dialect) -> Content:
    """The table of a sheet: the one asked for, or the only one that holds a table."""
    try:
        import fastexcel
    except ModuleNotFoundError:
        raise CommandError(NO_EXCEL.format("fastexcel", "save the sheet as CSV")) from None
    # It writes to the log what we find out for ourselves: columns without any value.
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    try:
        workbook = fastexcel.read_excel(data)
        return _read_sheet(workbook, _choose(workbook, dialect), dialect)
    except fastexcel.FastExcelError as error:
        if "assword" in str(error) or "EncryptedPackage".encode("utf-16-le") in data:
            raise CommandError(
                "The workbook is locked by a password: save it without one, or save the sheet as "
                "CSV."
            ) from None
        reason = (str(error).splitlines() or ["no reason is known"])[0].rstrip(".")
        raise CommandError(f"The Excel workbook is damaged or cannot be read ({reason}).") from None


def _choose(workbook: Any, dialect: Dialect) -> str:
    """The name of the sheet to read."""
    names: list[str] = workbook.sheet_names
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
    frame = _typed(workbook, sheet, first + header)
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


def _typed(workbook: Any, sheet: str, skip: int) -> pl.DataFrame:
    """A sheet without its first rows, with types; numbers among text keep all their digits."""
    import polars as pl

    rows = {"header_row": None, "skip_rows": skip}
    frame: pl.DataFrame = workbook.load_sheet(sheet, schema_sample_rows=None, **rows).to_polars()
    frame = frame.with_columns(_whole(column) for column in frame.iter_columns())
    mixed = [j for j, dtype in enumerate(frame.dtypes) if dtype == pl.String]
    if not mixed:
        return frame
    numbers = workbook.load_sheet(sheet, dtypes=dict.fromkeys(mixed, "float"), **rows).to_polars()
    exact = []
    for j in mixed:
        text, number = frame.to_series(j), numbers.to_series(j)
        rounded = text.cast(pl.Float64, strict=False) != number
        exact.append(number.cast(pl.String).zip_with(rounded.fill_null(False), text))
    return frame.with_columns(exact)


def _whole(column: pl.Series) -> pl.Series:
    """Numbers without decimals as whole numbers: Excel stores no others, and ids are written so."""
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return column
    is_whole = (column == column.floor()) & (column.abs() < 2**53)
    return column.cast(pl.Int64) if is_whole.all() else column
