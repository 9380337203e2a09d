"""Files to tables: delimited text, Parquet, Arrow, NumPy, each also packed by gzip."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.delimited import DELIMITERS, Dialect, name_columns, read_delimited
from bbclust.cli.output.errors import CommandError, prefix_errors_with

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

STDIN = "-"

# What a file starts with decides what it is; its name only has to agree.
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ",
    b"\xd0\xcf\x11\xe0": "Excel",
}
_SUFFIXES = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".npy": "NPY",
    ".npz": "NPZ",
    ".xlsx": "Excel",
    ".xls": "Excel",
}
_GZIP = b"\x1f\x8b"


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
    decimal : str or None
        Decimal mark of text, if it was given.
    spare : tuple of str
        Columns that are used only when they are asked for by name.
    """

    name: str
    frame: pl.DataFrame
    description: str
    decimal: str | None = None
    spare: tuple[str, ...] = ()


def read_table(path: str, dialect: Dialect | None = None) -> InputTable:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    dialect : Dialect, optional
        How to read delimited text.
    """
    name = "Standard input" if path == STDIN else path
    with prefix_errors_with(name):
        data = _read_bytes(path)
        kind = _kind(data, path)
        if kind == "text":
            return _read_text(name, data, dialect or Dialect())
        return _READERS[kind](name, data)


def _read_bytes(path: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except FileNotFoundError:
        raise CommandError("There is no such file.") from None
    except IsADirectoryError:
        raise CommandError("This is a directory: give a file.") from None
    except OSError as error:
        raise CommandError(f"The file cannot be read ({error.strerror}).") from None
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise CommandError(f"The gzip file is damaged or cut off ({error}).") from None
    if not data:
        raise CommandError("The file is empty.")
    return data


def _kind(data: bytes, path: str) -> str:
    found = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "text")
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    named = _SUFFIXES.get(suffix)
    if found == "text" and named is not None:
        raise CommandError(f"This is not {_article(named)} file, though its name ends in {suffix}.")
    return found


def _read_text(name: str, data: bytes, dialect: Dialect) -> InputTable:
    cells = read_delimited(data, dialect)
    delimiter = DELIMITERS.get(cells.delimiter, repr(cells.delimiter))
    header = "with a header" if cells.header else "without a header"
    return InputTable(name, cells.frame, f"{delimiter}-separated {header}", dialect.decimal)


def _read_columnar(name: str, data: bytes, kind: str) -> InputTable:
    import polars as pl

    readers = {"Parquet": pl.read_parquet, "Arrow": pl.read_ipc, "Arrow stream": pl.read_ipc_stream}
    words = kind.removesuffix(" stream")
    try:
        return InputTable(name, readers[kind](io.BytesIO(data)), words)
    except (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise CommandError(f"The {words} file is damaged or cut off ({reason}).") from None


def _read_npy(name: str, data: bytes) -> InputTable:
    return InputTable(name, _frame(_load(data)), "NumPy array")


def _read_npz(name: str, data: bytes) -> InputTable:
    """The one table of the archive; its one-dimensional arrays are spare columns."""
    arrays = _load(data)
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if len(tables) > 1 and "X" in tables:
        tables = ["X"]
    if len(tables) != 1:
        held = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "nothing"
        raise CommandError(
            f"The archive must hold one two-dimensional array, or one called X, and holds {held}."
        )
    frame = _frame(arrays[tables[0]])
    spare = {
        key: array
        for key, array in arrays.items()
        if array.ndim == 1 and len(array) == len(frame) and key not in frame.columns
    }
    return InputTable(
        name,
        frame.with_columns(_series(key, array) for key, array in spare.items()),
        f"array {tables[0]} of a NumPy archive",
        spare=tuple(spare),
    )


def _load(data: bytes) -> Any:
    import numpy as np

    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        return {key: loaded[key] for key in loaded.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        if "allow_pickle" in str(error):
            raise CommandError(
                "The file holds Python objects, which could run code when opened: save numbers."
            ) from None
        if b"xl/workbook" in data:
            return _read_excel("", data)
        reason = str(error).splitlines()[0].rstrip(".")
        raise CommandError(f"The NumPy file is damaged or cut off ({reason}).") from None


def _frame(array: np.ndarray[Any, Any]) -> pl.DataFrame:
    """Columns of an array: its fields, or column_1, column_2, ..."""
    import polars as pl

    if array.dtype.names:
        return pl.DataFrame([_series(field, array[field]) for field in array.dtype.names])
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise CommandError(f"The array has shape {array.shape}: a table has two dimensions.")
    names = name_columns([""] * array.shape[1])
    return pl.DataFrame([_series(key, array[:, j]) for j, key in enumerate(names)])


def _series(name: str, values: np.ndarray[Any, Any]) -> pl.Series:
    import numpy as np
    import polars as pl

    if values.dtype.kind not in "biufUS":
        raise CommandError(f"The array holds {values.dtype} where numbers are needed.")
    if values.dtype == np.float16 or (values.dtype.itemsize > 8 and values.dtype.kind == "f"):
        values = values.astype(np.float64)
    if values.dtype.kind == "S":
        values = values.astype(np.str_)
    return pl.Series(name, np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="))))


def _read_excel(name: str, data: bytes) -> InputTable:
    raise CommandError("This is an Excel workbook: save the sheet as CSV and give that.")


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEN' else 'a'} {kind}"


_READERS: dict[str, Callable[[str, bytes], InputTable]] = {
    **{kind: partial(_read_columnar, kind=kind) for kind in ("Parquet", "Arrow", "Arrow stream")},
    "NPY": _read_npy,
    "NPZ": _read_npz,
    "Excel": _read_excel,
}
