"""Delimited text to a table of cells: encoding, delimiter and header, detected or given.

Every cell stays the text it was; what it means is decided column by column in
:mod:`bbclust.cli.input.columns`. polars parses; where it meets a row it cannot place, the standard
library's parser finds out which.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbclust.cli.input.cells import make_gap_codes
from bbclust.cli.input.header import detect_header
from bbclust.cli.input.notation import Notation
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma", " ": "blank"}
SAMPLED_ROWS = 100
_SAMPLED_BYTES = 1 << 18
_CHUNK = 1 << 24

_BYTE_ORDER_MARKS = {  # the longer ones first: that of UTF-32 starts like that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Dialect:
    """How a file is to be read; None means that it is detected."""

    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    na: tuple[str, ...] = ()

    def notation(self, *, commas: bool = False) -> Notation:
        """What is known of its numbers; ``commas`` if they separate fields."""
        return Notation(self.decimal, make_gap_codes(self.na), commas)


@dataclass(frozen=True)
class Cells:
    """A table of text.

    Attributes
    ----------
    frame : DataFrame of String columns
    delimiter : str
    header : bool
        Whether the first line named the columns.
    """

    frame: pl.DataFrame
    delimiter: str
    header: bool


def read_delimited(data: bytes, dialect: Dialect) -> Cells:
    """Delimited text as a table of cells."""
    data = _strip_blank_ends(to_utf8(data, dialect.encoding))
    if not data:
        raise CommandError("The file is empty.")
    delimiter = dialect.delimiter or detect_delimiter(_sample(data))
    rows = _split(data, delimiter)
    header = dialect.header
    if header is None:
        header = detect_header(rows.head(SAMPLED_ROWS + 1), dialect.notation())
    if header:
        names = [name or "" for name in rows.row(0)]
        rows = rows.slice(1)
    else:
        names = [""] * rows.width
    return Cells(
        rows.rename(dict(zip(rows.columns, name_columns(names), strict=True))), delimiter, header
    )


def to_utf8(data: bytes, encoding: str | None) -> bytes:
    """Text of any encoding as UTF-8 without a byte order mark; refuses what is not text."""
    if encoding is None:
        encoding = next(
            (name for mark, name in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8"
        )
    if encoding == "utf-8" and b"\0" in data[:_CHUNK]:
        raise CommandError(
            f"The file holds binary data (a zero byte at position {data.index(0)}): give a CSV, "
            "TSV, JSON lines, Excel, Parquet, Arrow, NPY or NPZ file."
        )
    try:
        " ".encode(encoding)  # some codecs are not for text
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
            for _ in _decoded(data, encoding):
                pass
            return data.removeprefix(codecs.BOM_UTF8)
        return b"".join(part.encode("utf-8") for part in _decoded(data, encoding))
    except LookupError:
        raise CommandError(
            f"There is no encoding {encoding!r}: --encoding takes names such as utf-8, latin-1 or "
            "cp1252."
        ) from None
    except UnicodeError as error:
        raise CommandError(f"The file is not {encoding} text ({error}).") from None


def _decoded(data: bytes, encoding: str) -> Iterator[str]:
    """Text in parts, so that a large file is not held twice."""
    decoder = codecs.getincrementaldecoder(encoding)()
    start = 0
    try:
        for start in range(0, len(data), _CHUNK):
            pending = len(decoder.getstate()[0])
            yield decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
    except UnicodeDecodeError as error:
        position = start - pending + error.start
        line = data.count(b"\n", 0, position) + 1
        raise CommandError(
            f"Byte {data[position]:#04x} at position {position}, in line {line}, is not "
            f"{encoding.removesuffix('-sig').upper()} text: save the file as UTF-8, or name its "
            "encoding, for example --encoding latin-1."
        ) from None


def _strip_blank_ends(data: bytes) -> bytes:
    """Without blank lines at both ends; line ends of old Macs as everybody else's."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data.strip(b"\r\n")


def _sample(data: bytes) -> list[str]:
    """The first lines."""
    text = data[:_SAMPLED_BYTES].decode("utf-8", errors="ignore")
    lines = text.splitlines(keepends=True)
    if len(data) > _SAMPLED_BYTES and len(lines) > 1:
        lines.pop()  # cut off in the middle
    return lines


def detect_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that splits the first rows most evenly.

    The first of tab, semicolon, bar, comma and blank that splits all of them into the same number
    of fields, two or more; else the one for which most rows agree. (The semicolon comes before the
    comma, which may be a decimal mark.)

    Examples
    --------
    >>> detect_delimiter(["a;b", "1,5;2,5"])
    ';'
    """
    agreements = {}
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _rows(lines, delimiter) if row]
        width, count = Counter(widths).most_common(1)[0] if widths else (1, 0)
        agreements[delimiter] = count / len(widths) if width > 1 else 0.0
    agreements[" "] = float(agreements[" "] == 1)  # blanks within text are common
    best = max(agreements, key=lambda delimiter: agreements[delimiter])
    return best if agreements[best] else ","


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter)
    for _ in range(SAMPLED_ROWS):
        try:
            yield next(reader)
        except (StopIteration, csv.Error):
            return


def name_columns(names: Sequence[str]) -> list[str]:
    """Names without blanks around them, all different; column_3 where there is none.

    Examples
    --------
    >>> name_columns(["x", "", "x "])
    ['x', 'column_2', 'x (2)']
    """
    given: dict[str, None] = {}
    counts: dict[str, int] = {}  # a stranger may give ten thousand columns the same name
    for number, name in enumerate(names, start=1):
        base = " ".join(name.split()) or f"column_{number}"
        unique = base
        while unique in given:
            counts[base] = counts.get(base, 1) + 1
            unique = f"{base} ({counts[base]})"
        given[unique] = None
    return list(given)


def _split(data: bytes, delimiter: str) -> pl.DataFrame:
    """Rows and columns of text, null where a cell is empty; blank lines are left out."""
    import polars as pl

    try:
        frame = pl.read_csv(data, separator=delimiter, has_header=False, infer_schema_length=0)
    except pl.exceptions.PolarsError:
        return _split_slowly(data, delimiter)
    if frame.width > 1 and frame.to_series(-1).null_count() == 0:
        return frame
    # polars fills short rows, and takes a blank line for a row of empty cells.
    filled = [bool(row) for row in _even_rows(data, delimiter)]
    if len(filled) != len(frame):
        return _split_slowly(data, delimiter)
    return frame if all(filled) else frame.filter(pl.Series(filled))


def _split_slowly(data: bytes, delimiter: str) -> pl.DataFrame:
    """The same by the standard library's parser, which takes a quote inside a cell as it is."""
    import polars as pl

    rows = [[cell or None for cell in row] for row in _even_rows(data, delimiter) if row]
    names = [f"column_{j}" for j in range(1, len(rows[0]) + 1)]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _even_rows(data: bytes, delimiter: str) -> Iterator[list[str]]:
    """All rows, blank ones as empty lists; refuses one that is shorter or longer than the first."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    width, line = 0, 1
    try:
        for row in reader:
            width = width or len(row)
            if width > 1 and len(row) == 1 and not row[0].strip():
                row = []
            if row and len(row) != width:
                raise CommandError(
                    f"Line {line} has {len(row)} field{'s'[: len(row) != 1]} and the first line "
                    f"has {width} (separated by {_name(delimiter)}): correct it, or say "
                    "--delimiter if they are separated by something else."
                )
            yield row
            line = reader.line_num + 1
    except csv.Error as error:
        raise CommandError(f"Line {line} cannot be read: {error}.") from None


def _name(delimiter: str) -> str:
    return f"{DELIMITERS[delimiter]}s" if delimiter in DELIMITERS else repr(delimiter)
