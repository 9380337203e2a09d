"""JSON to tables: one object a line, or a list of objects."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.cells import GapCodes, read_plain
from bbclust.cli.input.delimited import Dialect, to_utf8
from bbclust.cli.input.formats import Content
from bbclust.cli.input.panics import first_line, panics_as_sentences
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import polars as pl

_ONE_A_LINE = "a table is one object a line, or a list of objects"


def read_json_lines(data: bytes, dialect: Dialect) -> Content:
    """A table of an object a line; names that a line lacks are gaps."""
    import polars as pl

    data = to_utf8(data, dialect.encoding)
    codes = dialect.notation().codes
    try:
        with panics_as_sentences("JSON file"):
            frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        is_done = not any(_may_be_mixed(column, codes) for column in frame.iter_columns())
    except (pl.exceptions.PolarsError, CommandError, ValueError, OSError):
        is_done = False
    if not is_done:
        frame = _from_objects(_parse_lines(data), codes)
    return Content(_checked(frame), "JSON lines")


def read_json(data: bytes, dialect: Dialect) -> Content:
    """A table of a list of objects."""
    try:
        objects = json.loads(to_utf8(data, dialect.encoding))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"The file is not JSON ({first_line(error)}).") from None
    if not (isinstance(objects, list) and all(isinstance(one, dict) for one in objects)):
        raise CommandError(
            f"The file is JSON and no table: {_ONE_A_LINE}, so write it as one of these or as CSV."
        )
    frame = _from_objects(objects, dialect.notation().codes)
    return Content(_checked(frame), "JSON list")


def _parse_lines(data: bytes) -> list[dict[str, Any]]:
    objects = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(f"Line {number} is not JSON ({first_line(error)}).") from None
        if not isinstance(parsed, dict):
            raise CommandError(f"Line {number} is not a JSON object: {_ONE_A_LINE}.")
        objects.append(parsed)
    return objects


def _may_be_mixed(column: pl.Series, codes: GapCodes) -> bool:
    """Whether a column that came as text may have held numbers that were no text."""
    import polars as pl

    return column.dtype == pl.String and bool(read_plain(column, codes).values.is_not_null().any())


def _from_objects(objects: list[dict[str, Any]], codes: GapCodes) -> pl.DataFrame:
    """Columns of numbers, of true and false, or of text; others as text that is no number."""
    import polars as pl

    names = list(dict.fromkeys(name for one in objects for name in one))
    columns = ([one.get(name) for one in objects] for name in names)
    return pl.DataFrame(dict(zip(names, (_column(one, codes) for one in columns), strict=True)))


def _column(values: list[Any], codes: GapCodes) -> pl.Series:
    """A column; words that stand for gaps among numbers are gaps."""
    import polars as pl

    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    texts = pl.Series([value for value in values if isinstance(value, str)], dtype=pl.String)
    plain = read_plain(texts, codes)
    only_gaps = plain.other is None and plain.values.null_count() == len(texts)
    if kinds <= {int, float} or (kinds <= {int, float, str} and len(kinds) > 1 and only_gaps):
        return pl.Series([_float(v) if isinstance(v, int | float) else None for v in values])
    return pl.Series([v if isinstance(v, str) or v is None else json.dumps(v) for v in values])


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:  # hundreds of digits
        return math.inf if number > 0 else -math.inf


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    if frame.width == 0:
        raise CommandError("The objects of the file are empty: there is no column.")
    return frame
