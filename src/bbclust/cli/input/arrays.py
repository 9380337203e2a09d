"""NumPy arrays and archives of them to tables."""

from __future__ import annotations

import io
import zipfile
import zlib
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.delimited import name_columns
from bbclust.cli.input.formats import Content
from bbclust.cli.input.panics import first_line
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


def read_npy(data: bytes) -> Content:
    """An array of numbers or records."""
    return Content(_frame(_load(data)), "NumPy array")


def read_npz(data: bytes) -> Content:
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
    return Content(
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
        arrays = {key: loaded[key] for key in loaded.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is no array")
        return arrays
    except MemoryError:
        raise CommandError(
            "The NumPy file is damaged, or holds more numbers than the memory of this machine."
        ) from None
    except (
        *(ValueError, OSError, EOFError, KeyError, OverflowError, TypeError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, TokenError),
    ) as error:
        if "allow_pickle" in str(error):
            raise CommandError(
                "The file holds Python objects, which could run code when opened: save numbers."
            ) from None
        raise CommandError(f"The NumPy file is damaged or cut off ({first_line(error)}).") from None


def _frame(array: np.ndarray[Any, Any]) -> pl.DataFrame:
    """Columns of an array: its fields, or column_1, column_2, ..."""
    import polars as pl

    if array.size == 0 or array.dtype.itemsize == 0:  # of such, any number of columns costs nothing
        raise CommandError(f"The array has shape {array.shape} and holds nothing.")
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

    if values.dtype.kind not in "biufUS" or values.ndim != 1:  # a field may be an array itself
        held = values.dtype if values.ndim == 1 else "arrays"
        raise CommandError(f"The array holds {held} where numbers are needed.")
    if values.dtype == np.float16 or (values.dtype.itemsize > 8 and values.dtype.kind == "f"):
        values = values.astype(np.float64)
    if values.dtype.kind == "S":
        values = values.astype(np.str_)
    return pl.Series(name, np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="))))
