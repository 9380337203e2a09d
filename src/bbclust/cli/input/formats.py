"""What a file is, by its first bytes and its name, and what to do with one that is not read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl


class Content(NamedTuple):
    """What a file holds, and how it was read; see :class:`~bbclust.cli.input.tables.InputTable`."""

    frame: pl.DataFrame
    description: str
    spare: tuple[str, ...] = ()
    commas: bool = False


# What a file starts with decides what it is; its name only has to agree.
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
SUFFIXES = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".npy": "NPY",
    ".npz": "NPZ",
    ".zip": "zip",
    ".xlsx": "Excel",
    ".xlsm": "Excel",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON",
}
TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
_PACKED = (".gz", ".zip")

_FROM_R = "in R write.csv(table, 'table.csv', row.names = FALSE), and give that"
_FROM_PYTHON = "in Python write it by to_parquet or to_csv of pandas, and give that"


@dataclass(frozen=True)
class Unread:
    """A format that is known and not read.

    Attributes
    ----------
    name : str
        With its article.
    remedy : str
        The way out.
    magic : regular expression of the first bytes, or None
    suffixes : tuple of str
        For what has no telling first bytes.
    """

    name: str
    remedy: str
    magic: bytes | None = None
    suffixes: tuple[str, ...] = ()


_UNREAD = (
    Unread(
        "a document with a password",
        "save it without one, as .xlsx or CSV",
        rb"(?s)\xd0\xcf\x11\xe0.*" + "EncryptedPackage".encode("utf-16-le"),
    ),
    # What reads it ends the whole program when such a file is damaged.
    Unread(
        "a workbook of the old format .xls",
        "save it as .xlsx or CSV",
        rb"\xd0\xcf\x11\xe0",
        (".xls",),
    ),
    Unread(
        "a SAS file",
        "in SAS run PROC EXPORT with DBMS=CSV, or read it by pandas.read_sas and write CSV",
        rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB",
        (".sas7bdat", ".xpt"),
    ),
    Unread(
        "a Stata file",
        "in Stata write 'export delimited', or read it by pandas.read_stata and write CSV",
        rb"<stata_dta>",
        (".dta",),
    ),
    Unread(
        "an SPSS file",
        "in SPSS save it as CSV, or read it by pandas.read_spss and write CSV",
        rb"\$FL[23]",
        (".sav", ".zsav", ".por"),
    ),
    Unread("an HDF5 file", _FROM_PYTHON, rb"\x89HDF\r\n", (".h5", ".hdf5", ".hdf")),
    Unread(
        "an SQLite database",
        "write a table of it as CSV (sqlite3 -header -csv FILE 'select * from TABLE')",
        rb"SQLite format 3\0",
        (".sqlite", ".sqlite3"),
    ),
    Unread("a PDF document", "copy its table into a spreadsheet and save that as CSV", rb"%PDF-"),
    Unread(
        "an HTML page",
        "save its table as CSV, or download the table itself if this was meant to be one",
        rb"(?i)\s*(?:<!doctype html|<html)",
    ),
    Unread("an XML document", "convert its table to CSV", rb"\s*<\?xml"),
    Unread(
        "a file of R objects",
        _FROM_R,
        rb"(?:RDX[23]\n)?X\n\0\0\0[23]",
        (".rds", ".rdata", ".rda"),
    ),
    Unread(
        "a Python pickle, which could run code when opened",
        _FROM_PYTHON,
        rb"\x80[\x02-\x05]",
        (".pkl", ".pickle", ".joblib"),
    ),
    Unread(
        "a MATLAB file", "in MATLAB write it by writetable or writematrix as CSV", rb"MATLAB 5\.0"
    ),
    Unread("an ORC file", _FROM_PYTHON, rb"ORC[\0-\x1f\x80-\xff]"),
    Unread("an Avro file", _FROM_PYTHON, rb"Obj\x01"),
    Unread("packed by bzip2", "unpack it, or pack it by gzip", rb"BZh[1-9]1AY&SY"),
    Unread("packed by xz", "unpack it, or pack it by gzip", rb"\xfd7zXZ\0"),
    Unread("packed by Zstandard", "unpack it, or pack it by gzip", rb"\x28\xb5\x2f\xfd"),
    Unread("packed by 7-Zip", "unpack it, or pack it by gzip or zip", rb"7z\xbc\xaf\x27\x1c"),
    Unread("a RAR archive", "unpack it, or pack it by gzip or zip", rb"Rar!\x1a\x07"),
    Unread("a picture", "give the numbers themselves", rb"\x89PNG|\xff\xd8\xff|GIF8"),
    Unread("an MS Access database", "export the table as CSV", None, (".mdb", ".accdb")),
)


def recognise(data: bytes, name: str) -> str:
    """The format of a file; refuses one that is known and not read, by its name and a remedy.

    Parameters
    ----------
    data : bytes
        Not empty.
    name : str
        What the file is called.
    """
    suffix = suffix_of(name)
    found = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    if found is None:
        _refuse_unread(data, suffix)
        found = "text" if suffix in TEXT_SUFFIXES else _kind_of_text(data)
    named = SUFFIXES.get(suffix)
    text_kinds = ("text", "JSON lines", "JSON")
    if found in text_kinds and named is not None and named not in text_kinds:
        raise CommandError(f"This is not {_article(named)} file, though its name ends in {suffix}.")
    if found == "text" and named is not None:
        raise CommandError(
            f"This is not {_article(named)} file, though its name ends in {suffix}: it does not "
            "begin with an object ({...}) or with a list of objects ([{...}, ...])."
        )
    return found


def _refuse_unread(data: bytes, suffix: str) -> None:
    for one in _UNREAD:
        if (one.magic is not None and re.match(one.magic, data)) or suffix in one.suffixes:
            raise CommandError(f"This is {one.name}, which is not read: {one.remedy}.")


def _kind_of_text(data: bytes) -> str:
    """JSON if the text begins so, else delimited."""
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if re.match(rb"\[\s*\{", start):
        return "JSON"
    if not start.startswith(b"{"):
        return "text"
    line = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    try:
        return "JSON lines" if isinstance(json.loads(line), dict) else "text"
    except (ValueError, RecursionError):
        return "JSON" if re.match(rb"\{\s*(?:\"|\}|$)", start) else "text"


def suffix_of(name: str) -> str:
    """The end of a name that says what the file is, in lower case, packed or not.

    Examples
    --------
    >>> suffix_of("folder/Table.CSV.gz"), suffix_of("table")
    ('.csv', '')
    """
    path = PurePath(name)
    if path.suffix.lower() in _PACKED and path.with_suffix("").suffix:
        path = path.with_suffix("")
    return path.suffix.lower()


def stem_of(name: str) -> str:
    """The name of a file without its folder and without what says how it is stored.

    Examples
    --------
    >>> stem_of("a/table.csv.zip"), stem_of("book.xlsx"), stem_of("v1.2.csv"), stem_of(".hidden")
    ('table', 'book', 'v1.2', '.hidden')
    """
    path = PurePath(PurePath(name).name)
    known = (*SUFFIXES, *TEXT_SUFFIXES)
    if path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
        return path.stem if path.suffix.lower() in known else path.name
    return path.stem


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEN' else 'a'} {kind}"
