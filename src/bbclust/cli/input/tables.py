"""Files to tables: text, JSON, Excel, Parquet, Arrow, NumPy, each also packed by gzip or zip."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bbclust.cli.input.archives import check_sizes, gunzip, only_table, open_zip, refuse_document
from bbclust.cli.input.arrays import read_npy, read_npz
from bbclust.cli.input.cells import without_codes
from bbclust.cli.input.delimited import DELIMITERS, Dialect, read_delimited
from bbclust.cli.input.excel import check_extent, read_excel
from bbclust.cli.input.formats import Content, recognise
from bbclust.cli.input.json_tables import read_json, read_json_lines
from bbclust.cli.input.notation import PLAIN, Notation, Numbers, Reading, decide, read_column
from bbclust.cli.input.panics import first_line, panics_as_sentences
from bbclust.cli.output.errors import CommandError, prefix_errors_with

if TYPE_CHECKING:
    import polars as pl

STDIN = "-"
_GZIP = b"\x1f\x8b"
_NAMES_LISTED = 3


@dataclass(frozen=True)
class InputTable:
    """The table of a file.

    Attributes
    ----------
    name : str
        What to call the file.
    frame : DataFrame
        All rows and columns; text files have columns of text only.
    description : str
        How the file was read.
    notation : Notation
        What is known of the numbers of its text.
    spare : tuple of str
        Columns that are used only when they are asked for by name.
    """

    name: str
    frame: pl.DataFrame
    description: str
    notation: Notation = PLAIN
    spare: tuple[str, ...] = ()
    _readings: dict[str, Reading] = field(default_factory=dict, init=False, repr=False)
    _numbers: dict[str, Numbers] = field(default_factory=dict, init=False, repr=False)

    def numbers(self, name: str) -> Numbers:
        """A column of text or numbers as numbers, with gaps where codes stand for them.

        What one column of text leaves open, the others settle (:mod:`bbclust.cli.input.notation`).
        """
        if name not in self._numbers:
            self._numbers[name] = self._read_numbers(name)
        return self._numbers[name]

    def _read_numbers(self, name: str) -> Numbers:
        import polars as pl

        column = self.frame[name]
        if is_text(column):
            others = (self._reading(each.name) for each in self.frame if is_text(each))
            return decide(self._reading(name), others, self.notation)
        if column.dtype not in (pl.Float32, pl.Float64):
            column = column.cast(pl.Float64)
        values = without_codes(column, self.notation.codes)
        return Numbers(values, values.null_count())

    def _reading(self, name: str) -> Reading:
        import polars as pl

        if name not in self._readings:
            cells = self.frame[name]
            if cells.dtype != pl.String:
                cells = cells.cast(pl.String)
            self._readings[name] = read_column(cells, self.notation.codes)
        return self._readings[name]

    def notes(self, names: Iterable[str]) -> list[str]:
        """How numbers of these columns were written, if not plainly: a sentence for each way."""
        ways: dict[str, list[str]] = {}
        for name in names:
            if self.numbers(name).way:
                ways.setdefault(self.numbers(name).way, []).append(name)
        return [
            f"{_listed(columns)} written with {way}: {self.numbers(columns[0]).example}."
            for way, columns in ways.items()
        ]


def is_text(column: pl.Series) -> bool:
    """Whether a column holds text, stored in one way or another."""
    import polars as pl

    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def read_table(path: str, dialect: Dialect | None = None) -> InputTable:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    dialect : Dialect, optional
        How to read it.
    """
    name = "Standard input" if path == STDIN else path
    dialect = dialect or Dialect()
    with prefix_errors_with(name):
        try:
            content = _read(_read_bytes(path), path, dialect)
        except UnicodeEncodeError as error:  # JSON and NumPy can hold such halves
            half = error.object[error.start : error.end]
            raise CommandError(
                f"The file holds half of a character ({half!a}), which is no text: correct it, or "
                "leave its column out."
            ) from None
        if dialect.sheet is not None and "Excel" not in content.description:
            raise CommandError(
                f"--sheet is for Excel workbooks, and this file is {content.description}: leave "
                "it out."
            )
        notation = dialect.notation(commas=content.commas)
        return InputTable(name, content.frame, content.description, notation, content.spare)


def _read_bytes(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except FileNotFoundError:
        raise CommandError("There is no such file.") from None
    except IsADirectoryError:
        raise CommandError("This is a directory: give a file.") from None
    except OSError as error:
        raise CommandError(f"The file cannot be read ({error.strerror}).") from None


def _read(data: bytes, name: str, dialect: Dialect, *, is_member: bool = False) -> Content:
    """The table in these bytes; ``is_member`` if they come out of a zip archive."""
    if data.startswith(_GZIP):
        data = gunzip(data)
    if not data:
        raise CommandError("The file is empty.")
    kind = recognise(data, name)
    if kind == "zip":
        return _read_zip(data, dialect, is_member=is_member)
    if kind == "NPY":
        return read_npy(data)
    if kind == "JSON lines":
        return read_json_lines(data, dialect)
    if kind == "JSON":
        return read_json(data, dialect)
    if kind == "text":
        return _read_text(data, dialect)
    return _read_columnar(data, kind)


def _read_zip(data: bytes, dialect: Dialect, *, is_member: bool) -> Content:
    """A workbook, arrays, or the one table of an archive: all of these are zip archives."""
    archive = open_zip(data)
    names = set(archive.namelist())
    if "xl/workbook.xml" in names:
        check_extent(archive)
        return read_excel(data, dialect)
    if names and all(name.endswith(".npy") for name in names):
        check_sizes(archive)
        return read_npz(data)
    refuse_document(archive)
    if is_member:
        raise CommandError("The zip archive holds another one: unpack it, and give the table.")
    member = only_table(archive)
    with prefix_errors_with(member.name):
        content = _read(member.data, member.name, dialect, is_member=True)
    return content._replace(description=f"{content.description}, in {member.name!r}")


def _read_text(data: bytes, dialect: Dialect) -> Content:
    cells = read_delimited(data, dialect)
    delimiter = DELIMITERS.get(cells.delimiter, repr(cells.delimiter))
    header = "with a header" if cells.header else "without a header"
    commas = cells.delimiter == "," and cells.frame.width > 1
    return Content(cells.frame, f"{delimiter}-separated {header}", commas=commas)


def _read_columnar(data: bytes, kind: str) -> Content:
    import polars as pl

    readers = {"Parquet": pl.read_parquet, "Arrow": pl.read_ipc, "Arrow stream": pl.read_ipc_stream}
    words = kind.removesuffix(" stream")
    try:
        with panics_as_sentences(f"{words} file"):
            return Content(readers[kind](io.BytesIO(data)), words)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise CommandError(
            f"The {words} file is damaged or cut off ({first_line(error)})."
        ) from None


def _listed(columns: Sequence[str]) -> str:
    """Names as the subject of a sentence."""
    if len(columns) == 1:
        return f"Column {columns[0]!r} is"
    shown = ", ".join(map(repr, columns[:_NAMES_LISTED]))
    more = len(columns) - _NAMES_LISTED
    return f"Columns {shown}{f' and {more} more' if more > 0 else ''} are"
