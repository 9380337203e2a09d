"""JSON to tables: one object a line, or a list of objects."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.delimited import to_utf8
from bbclust.cli.input.formats import Content
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

_ONE_A_LINE = "a table is one object a line, or a list of objects"


def read_json_lines(data: bytes, encoding: str | None) -> Content:
    """A table of an object a line; names that a line lacks are gaps."""
    import polars as pl

    data = to_utf8(data, encoding)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OSError):
        frame = _from_objects(_parse_lines(data))  # finds the line, or columns of several types
    return Content(_checked(frame), "JSON lines")


def read_json(data: bytes, encoding: str | None) -> Content:
    """A table of a list of objects."""
    try:
        objects = json.loads(to_utf8(data, encoding))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"The file is not JSON ({_reason(error)}).") from None
    if not (isinstance(objects, list) and all(isinstance(one, dict) for one in objects)):
        raise CommandError(
            f"The file is JSON and no table: {_ONE_A_LINE}, so write it as one of these or as CSV."
        )
    return Content(_checked(_from_objects(objects)), "JSON list")


def _parse_lines(data: bytes) -> list[dict[str, Any]]:
    objects = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(f"Line {number} is not JSON ({_reason(error)}).") from None
        if not isinstance(parsed, dict):
            raise CommandError(f"Line {number} is not a JSON object: {_ONE_A_LINE}.")
        objects.append(parsed)
    return objects


def _from_objects(objects: list[dict[str, Any]]) -> pl.DataFrame:
    """Columns of numbers, of true and false, or of text; others as text that is no number."""
    import polars as pl

    names = list(dict.fromkeys(name for one in objects for name in one))
    return pl.DataFrame({name: _column([one.get(name) for one in objects]) for name in names})


def _column(values: list[Any]) -> pl.Series:
    import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    if kinds <= {int, float}:
        return pl.Series([None if value is None else float(value) for value in values])
    return pl.Series([v if isinstance(v, str) or v is None else json.dumps(v) for v in values])


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise CommandError("The objects of the file are empty: there is no column.")
    return frame


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
