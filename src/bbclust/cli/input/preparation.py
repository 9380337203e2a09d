"""From a file and options to the rows that are clustered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.audit import ColumnAudit
from bbclust.cli.input.categories import CategoryCoding, in_words, known_cells, weigh_categories
from bbclust.cli.input.columns import Columns, Wanted, choose_columns, is_plain
from bbclust.cli.input.delimited import Dialect
from bbclust.cli.input.formats import stem_of
from bbclust.cli.input.models import OpenedModel
from bbclust.cli.input.rows import Rows, check_size, take_rows
from bbclust.cli.input.scaling import Scaling, measure_scaling
from bbclust.cli.input.tables import STDIN, InputTable, read_table
from bbclust.cli.input.training import TrainingTable, column_ranges
from bbclust.cli.output.errors import CommandError, prefix_errors_with

if TYPE_CHECKING:
    import numpy.typing as npt

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "blank": " "}


@dataclass(frozen=True)
class Source:
    """What is to be clustered: a file, how to read it, and what of it to take."""

    file: str
    dialect: Dialect
    wanted: Wanted
    missing: str
    with_columns: bool = False  # whether the assignments carry the columns of the file


@dataclass(frozen=True)
class Prepared:
    """Rows ready to be clustered.

    Attributes
    ----------
    source : str
        What the file is called.
    description : str
        How it was read.
    id, truth : str or None
        The columns that name the rows and that hold known classes.
    set_aside : dict from column to reason
    codings : tuple of CategoryCoding
        Categories that were coded.
    audit : tuple of ColumnAudit
    notes : tuple of str
        How numbers were read, what to doubt about the columns, and how much is missing.
    rows : Rows
    scaling : Scaling
    X : ndarray of shape (n, d)
        The scaled rows.
    """

    source: str
    description: str
    id: str | None
    truth: str | None
    set_aside: dict[str, str]
    codings: tuple[CategoryCoding, ...]
    audit: tuple[ColumnAudit, ...]
    notes: tuple[str, ...]
    rows: Rows
    scaling: Scaling
    X: npt.NDArray[Any]

    def as_training(self, fingerprint: str) -> TrainingTable:
        """What a model of these rows keeps of them."""
        return TrainingTable(
            self.id,
            self.truth,
            tuple(self.set_aside),
            len(self.X),
            **column_ranges(self.rows.X),
            fingerprint=fingerprint,
        )

    def details(self) -> dict[str, Any]:
        """What :func:`bbclust.report.gather` is told besides the estimator and X."""
        import numpy as np
        import polars as pl

        rows = self.rows
        kept = pl.Series(rows.kept)
        return {
            "columns": rows.columns,
            "original": None if self.X is rows.X else rows.X,
            "scaling": self.scaling.in_words() + in_words(self.codings),
            "ids": None if rows.ids is None else rows.ids.filter(kept).to_numpy(),
            "id_name": self.id or "id",
            "truth": None if rows.truth is None else rows.truth.filter(kept).to_numpy(),
            "truth_name": self.truth or "class",
            "source": Path(self.source).name,  # readers need not know whose folder it was in
            "row_numbers": np.flatnonzero(rows.kept) if rows.n_dropped else None,
            "first_row": 1,  # people count from 1
            "dropped_rows": rows.n_dropped,
            "set_aside": self.set_aside,
            "audit": [one.to_dict() for one in self.audit],
        }


def make_dialect(
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    na: Sequence[str] = (),
) -> Dialect:
    """How to read a file, from the options."""
    if delimiter is not None:
        delimiter = _DELIMITERS.get(delimiter, delimiter)
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise CommandError(
                f"--delimiter must be one character, or tab, got {delimiter!r}: for example ';'."
            )
    if decimal not in (None, ".", ","):
        raise CommandError(f"--decimal must be . or , and not {decimal!r}.")
    return Dialect(delimiter, header, decimal, encoding, sheet, tuple(na))


def prepare(source: Source, scale: str) -> Prepared:
    """Read a file, choose its columns, drop its gaps, scale its columns."""
    table = read_table(source.file, source.dialect)
    with prefix_errors_with(table.name):
        prepared = prepare_table(table, source.wanted, source.missing, scale)
        return _carrying(table, prepared) if source.with_columns else prepared


def prepare_table(table: InputTable, wanted: Wanted, missing: str, scale: str) -> Prepared:
    """The same for a table in memory."""
    check_size(table)
    columns = choose_columns(table, wanted)
    rows = take_rows(table, columns, missing)
    scaling = measure_scaling(rows.X, rows.columns, scale)
    scaling = weigh_categories(scaling, rows.X, columns.codings)
    return _prepared(table, columns, rows, scaling)


def prepare_for(source: Source, model: OpenedModel) -> Prepared:
    """Rows for a model: its columns, matched by name, scaled as its own rows were."""
    table = read_table(source.file, source.dialect)
    with prefix_errors_with(table.name):
        prepared = _prepare_for(table, source, model)
        return _carrying(table, prepared) if source.with_columns else prepared


def _prepare_for(table: InputTable, source: Source, model: OpenedModel) -> Prepared:
    check_size(table, at_least=1)
    scaling = model.scaling
    coded = {name: one.column for one in model.codings for name in one.names}
    needed = tuple(dict.fromkeys(coded.get(name, name) for name in scaling.columns))
    missing = [name for name in needed if name not in table.frame.columns]
    if missing:
        raise CommandError(
            f"The model needs a column {missing[0]!r}, which the file does not have: "
            f"its columns are {', '.join(map(repr, table.frame.columns[:8]))}."
        )
    columns = choose_columns(
        table,
        Wanted(
            columns=needed,
            id=_id_for(table, source.wanted, model),
            detect_id=source.wanted.detect_id,
            not_id=() if model.training is None else model.training.other_columns,
            truth=source.wanted.truth,
            constant=True,
        ),
        model.codings,
    )
    for name in scaling.columns:
        if name not in columns.features:
            raise CommandError(
                f"The model needs the column {name!r}, which holds no numbers "
                f"({columns.set_aside[name]})."
            )
    ordered = Columns(
        {name: columns.features[name] for name in scaling.columns},
        columns.id,
        columns.truth,
        dict.fromkeys(columns.set_aside, "not used by the model"),
        model.codings,
        columns.audit,
        tuple(filter(None, (_unknown(table, one) for one in model.codings))),
    )
    return _prepared(table, ordered, take_rows(table, ordered, source.missing, at_least=1), scaling)


def _unknown(table: InputTable, coding: CategoryCoding) -> str | None:
    return coding.unknown(known_cells(table.frame[coding.column], table.notation.codes.texts))


def _id_for(table: InputTable, wanted: Wanted, model: OpenedModel) -> str | None:
    """The column that was named, or else the one that named the rows of the fit."""
    known = None if model.training is None else model.training.id
    if wanted.id is not None or not wanted.detect_id or known not in table.frame.columns:
        return wanted.id
    features = (*model.scaling.columns, *(one.column for one in model.codings))
    return None if known in (*features, wanted.truth) else known


def _carrying(table: InputTable, prepared: Prepared) -> Prepared:
    """With all columns of the file, for the assignments; refuses what CSV cannot hold."""
    for name in table.frame.columns:
        if not is_plain(table.frame[name]):
            raise CommandError(
                f"Column {name!r} holds {table.frame[name].dtype}, which CSV cannot hold: leave "
                "--with-columns out."
            )
    return replace(prepared, rows=replace(prepared.rows, original=table.frame))


def _prepared(table: InputTable, columns: Columns, rows: Rows, scaling: Scaling) -> Prepared:
    return Prepared(
        table.name,
        table.description,
        columns.id,
        columns.truth,
        columns.set_aside,
        columns.codings,
        columns.audit,
        (
            *table.notes(filter(table.frame.columns.__contains__, columns.features)),
            *columns.notes,
            *rows.notes(),
        ),
        rows,
        scaling,
        scaling.apply(rows.X),
    )


def default_out(file: str, suffix: str) -> Path:
    """Where results go by default: beside you, under the name of the file."""
    if file == STDIN:
        return Path(f"stdin{suffix}")
    return Path(f"{stem_of(file)}{suffix}")
