"""The files that hold what was found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.excel import NO_EXCEL
from bbclust.cli.input.rows import Rows
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from bbclust.report import Analysis
    from bbclust.selection.k_selector import KSelector

NO_REPORT = (
    "No report was written, because bokeh or jinja2 is missing: pip install 'bbclust[report]'."
)


def assignments(
    rows: Rows,
    labels: npt.NDArray[Any],
    memberships: npt.NDArray[Any],
    entropy: npt.NDArray[Any],
    n_votes: npt.NDArray[Any] | int,
) -> pl.DataFrame:
    """One row for every row of the file, in its order; empty where a row was dropped."""
    import numpy as np
    import polars as pl

    from bbclust.io.assignment_columns import assignment_columns, name_beside

    ids = np.arange(1, len(rows.kept) + 1) if rows.ids is None else rows.ids.alias("id")
    columns = assignment_columns(ids, labels, memberships, entropy, n_votes)
    if rows.n_dropped:
        place = pl.Series(np.where(rows.kept, np.cumsum(rows.kept) - 1, -1))
        place = place.set(place < 0, None)
        for name in columns.keys() - {"id"}:
            columns[name] = pl.Series(np.ascontiguousarray(columns[name])).gather(place)
    found = pl.DataFrame(columns)
    if rows.original is None:
        return found
    names = rows.original.columns
    renamed = dict(zip(names, name_beside(found.columns, names), strict=True))
    return pl.concat([found, rows.original.rename(renamed)], how="horizontal")


def assignments_of(analysis: Analysis, rows: Rows) -> pl.DataFrame:
    """The assignments that an analysis found."""
    model = analysis.model
    n_votes = model.n_votes_ if analysis.is_training else len(model.replica_centers_)
    return assignments(rows, analysis.labels, analysis.memberships, analysis.entropy, n_votes)


def selection_table(selector: KSelector) -> pl.DataFrame:
    """One row for every K and s: both measures, and what the choice among K's made of them."""
    import polars as pl

    curves = dict(selector.curves_)
    pairs = curves.pop("worst_pair")
    k_values = [int(k) for k in curves["n_clusters"]]
    return pl.DataFrame(
        {
            **curves,
            "worst_pair_first": pairs[:, 0],
            "worst_pair_second": pairs[:, 1],
            "n_draws": [selector.n_draws_] * len(k_values),
            "score": [selector.scores_[k] for k in k_values],
            "mc_confidence": [selector.mc_confidence_[k] for k in k_values],
            "confidence": [
                None if selector.confidence_ is None else selector.confidence_[k] for k in k_values
            ],
            "chosen": [k == selector.best_k_ for k in k_values],
        },
        schema_overrides={"confidence": pl.Float64},
    )


def write_json(path: Path, plain: Any) -> None:
    """Plain data as JSON."""
    path.write_text(to_json(plain) + "\n", encoding="utf-8")


def to_json(plain: Any) -> str:
    """Plain data as text, in ASCII: any program can read it anywhere."""
    return json.dumps(plain, indent=1, allow_nan=False, default=str)


def write_table(path: Path, frame: pl.DataFrame) -> None:
    """A table in the format that its name asks for, see :func:`check_table_name`."""
    import polars as pl

    try:
        _WRITERS[path.suffix.lower()](frame, path)
    except (OSError, pl.exceptions.PolarsError) as error:
        code = re.search(r"os error (\d+)", str(error))  # polars keeps it in its words
        if code is None:
            raise
        number = int(code[1])
        raise OSError(number, os.strerror(number), str(path)) from None


def check_table_name(path: Path) -> None:
    """Refuse a name that asks for a format which is not written, before any work is done."""
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise CommandError(
            f"--out: {path.name!r} ends in {path.suffix}, which is not written: end it in "
            f"{', '.join(sorted(_WRITERS.keys() - {''}))}."
        )
    if suffix == ".xlsx" and find_spec("xlsxwriter") is None:
        raise CommandError(NO_EXCEL.format("xlsxwriter", "end the name of --out in .csv"))


def _write_excel(frame: pl.DataFrame, path: Path) -> None:
    """One sheet; names of rows stay text, whatever they begin with."""
    import datetime

    import xlsxwriter

    if len(frame) >= _EXCEL_ROWS:
        raise CommandError(
            f"An Excel sheet has {_EXCEL_ROWS:,} lines and the table has {len(frame):,} rows: end "
            "the name of --out in .csv or .parquet."
        )
    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(path, as_text) as workbook:
        # The same table gives the same bytes.
        workbook.set_properties({"created": datetime.datetime(1980, 1, 1)})
        frame.write_excel(workbook, "bbclust", float_precision=6, autofit=True)


_EXCEL_ROWS = 2**20
_WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "": lambda frame, path: frame.write_csv(path),
    ".csv": lambda frame, path: frame.write_csv(path),
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".xlsx": _write_excel,
}


def can_report() -> bool:
    """Whether the packages of the extra ``report`` are there."""
    return all(find_spec(name) is not None for name in ("bokeh", "jinja2"))
