"""A look at every column before clustering: its type, how it varies, and what it looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.audit_rules import RULES, ColumnFacts, Finding
from bbclust.cli.input.duplicates import find_duplicates
from bbclust.cli.input.tables import InputTable

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

_SET_ASIDE = {rule.kind for rule in RULES if rule.set_aside}
_WHAT = {"identifier": "an identifier", "date": "dates", "label": "a class label"}
NOTED = 5  # doubtful columns of one kind that get a sentence each


@dataclass(frozen=True)
class ColumnAudit:
    """What was seen of a column.

    Attributes
    ----------
    column : str
    type : str
        In words: whole numbers, numbers, text, true or false, dates or times.
    n_rows, n_gaps, n_distinct : int
        Cells, those without a value, and different values.
    findings : tuple of Finding
        What it looks like, of the kinds of :data:`~bbclust.cli.input.audit_rules.RULES` and
        "duplicate"; empty for a plain measurement.
    part : str
        What became of it: "clustered", "categories" (coded, and clustered), "row names", "known
        classes" or "set aside".
    """

    column: str
    type: str
    n_rows: int
    n_gaps: int
    n_distinct: int
    findings: tuple[Finding, ...] = ()
    part: str = "clustered"

    @property
    def n_known(self) -> int:
        return self.n_rows - self.n_gaps

    @property
    def distinct(self) -> float:
        """Different values, as a share of the cells that are not gaps."""
        return self.n_distinct / self.n_known if self.n_known else 0.0

    @property
    def gaps(self) -> float:
        """Share of cells without a value."""
        return self.n_gaps / self.n_rows if self.n_rows else 0.0

    @property
    def to_set_aside(self) -> Finding | None:
        """Why the column is not clustered unless it is asked for."""
        sure = (one for one in self.findings if one.sure and one.kind in _SET_ASIDE)
        return next(sure, None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the summary."""
        return {
            "column": self.column,
            "type": self.type,
            "distinct": self.distinct,
            "gaps": self.gaps,
            "part": self.part,
            "looks_like": [
                {"kind": one.kind, "sure": one.sure, "reason": one.reason} for one in self.findings
            ],
        }


def audit_columns(table: InputTable, numbers: Mapping[str, pl.Series]) -> tuple[ColumnAudit, ...]:
    """Look at all columns of a table.

    Parameters
    ----------
    table : InputTable
    numbers : mapping from name to Series
        The columns that hold numbers, parsed; null or NaN where there is none.
    """
    audits = [_audit(_facts(table.frame[name], numbers.get(name))) for name in table.frame.columns]
    measured = [one.column for one in audits if one.column in numbers and not one.to_set_aside]
    doubles = find_duplicates({name: numbers[name] for name in measured})
    return tuple(
        replace(one, findings=(*one.findings, doubles[one.column]))
        if one.column in doubles
        else one
        for one in audits
    )


def audit_notes(audits: Sequence[ColumnAudit], clustered: Sequence[str]) -> list[str]:
    """A sentence for every clustered column that may not be a measurement."""
    doubts: dict[str, list[tuple[str, Finding]]] = {}
    chosen = set(clustered)
    for audit in audits:
        if audit.column in chosen:
            for finding in audit.findings:
                doubts.setdefault(finding.kind, []).append((audit.column, finding))
    notes = []
    for kind, found in doubts.items():
        notes += [_note(kind, column, finding) for column, finding in found[:NOTED]]
        if len(found) > NOTED:
            names = ", ".join(repr(column) for column, _ in found[NOTED : NOTED + 20])
            notes.append(f"The same holds for {len(found) - NOTED} more columns: {names}.")
    return notes


def _note(kind: str, column: str, finding: Finding) -> str:
    if kind == "sentinel":
        return f"Column {column!r} holds {finding.reason}."
    if kind == "duplicate":
        return (
            f"Column {column!r} is {finding.reason}, so it counts twice: leave one of them out "
            "with --exclude."
        )
    return (
        f"Column {column!r} was clustered and may be {_WHAT[kind]} ({finding.reason}): if it "
        "measures nothing, leave it out with --exclude."
    )


def _audit(facts: ColumnFacts) -> ColumnAudit:
    findings: list[Finding] = []
    for rule in RULES:
        if rule.set_aside and findings:
            continue  # one of identifier, date and label is enough
        finding = rule.find(facts) if facts.n_distinct > 1 else None
        if finding is not None:
            findings.append(finding)
    return ColumnAudit(
        facts.name,
        facts.type,
        facts.n_rows,
        facts.n_gaps,
        facts.n_distinct,
        tuple(findings),
    )


def _facts(column: pl.Series, numbers: pl.Series | None) -> ColumnFacts:
    import polars as pl

    cells = column.cast(pl.String) if column.dtype in (pl.String, pl.Categorical, pl.Enum) else None
    if numbers is not None:
        values = _known(numbers)
        whole = bool((values == values.round()).all())
        kind = "whole numbers" if whole else "numbers"
        n_distinct = int(pl.Series(values).n_unique())
        return ColumnFacts(
            column.name, kind, len(column), len(column) - len(values), n_distinct, values, cells
        )
    known = column.drop_nulls() if cells is None else _written(cells)
    n_distinct = 0 if known.dtype.is_nested() else int(known.n_unique())
    n_gaps = len(column) - len(known)
    return ColumnFacts(column.name, _type(column), len(column), n_gaps, n_distinct, None, cells)


def _known(numbers: pl.Series) -> npt.NDArray[Any]:
    import numpy as np
    import polars as pl

    values: npt.NDArray[Any] = numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    known: npt.NDArray[Any] = values[np.isfinite(values)]
    return known


def _written(cells: pl.Series) -> pl.Series:
    """Cells that are not gaps."""
    from bbclust.cli.input.cells import GAPS

    known = cells.drop_nulls()
    return known.filter(~known.str.strip_chars().str.to_lowercase().is_in(GAPS))


def _type(column: pl.Series) -> str:
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if column.dtype == pl.Boolean:
        return "true or false"
    return "dates or times" if column.dtype.is_temporal() else str(column.dtype)
