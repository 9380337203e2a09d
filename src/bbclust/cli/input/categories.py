"""Text categories as columns of 0 and 1, one for each category, that weigh like one column.

The indicators of a category column with shares p_1, ..., p_C have the total variance

    G = p_1 (1 - p_1) + ... + p_C (1 - p_C),

and each becomes (indicator - p_c) / sqrt(G): together they have variance 1, as one standardised
column has. Two rows of different categories are then 2/G apart in squared distance, whichever these
are. A gap, and a category that the model does not know, is 0 in all of them: 1/G from every
category, nearer than two categories are to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.scaling import Scaling

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

SHOWN = 3


@dataclass(frozen=True)
class CategoryCoding:
    """A column of text, and its categories in the order of their indicators."""

    column: str
    categories: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the indicators are called."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def indicators(self, column: pl.Series) -> dict[str, pl.Series]:
        """Columns of 0 and 1, by name."""
        import polars as pl

        cells = known_cells(column)
        return {
            name: (cells == category).fill_null(False).cast(pl.Float32).alias(name)
            for name, category in zip(self.names, self.categories, strict=True)
        }

    def unknown(self, column: pl.Series) -> str | None:
        """A sentence about rows whose category is none of these."""
        cells = known_cells(column).drop_nulls()
        others = cells.filter(~cells.is_in(self.categories))
        if not len(others):
            return None
        names = others.unique(maintain_order=True)
        shown = ", ".join(repr(name[:40]) for name in names.head(SHOWN))
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return (
            f"{len(others):,} row{'s have' if len(others) > 1 else ' has'} a category in column "
            f"{self.column!r} that the model does not know ({shown}{more}): it counts as none of "
            "those that it knows."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for files."""
        return {"column": self.column, "categories": list(self.categories)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CategoryCoding:
        return cls(str(stored["column"]), tuple(str(one) for one in stored["categories"]))


def code_categories(column: pl.Series) -> CategoryCoding:
    """A coding of all categories of a column, in the order of their names."""
    return CategoryCoding(column.name, tuple(sorted(known_cells(column).drop_nulls().unique())))


def known_cells(column: pl.Series, codes: Sequence[str] = ()) -> pl.Series:
    """Cells as text without surrounding blanks; null where there is a gap or one of the codes."""
    import polars as pl

    from bbclust.cli.input.cells import GAPS

    cells = column.cast(pl.String).str.strip_chars()
    gap = cells.str.to_lowercase().is_in([*GAPS, *codes]).fill_null(True)
    return cells.set(gap, None)


def weigh_categories(
    scaling: Scaling, X: npt.NDArray[Any], codings: Sequence[CategoryCoding]
) -> Scaling:
    """The scaling in which the indicators of every coding have, together, variance 1."""
    import numpy as np

    center, scale = list(scaling.center), list(scaling.scale)
    place = {name: j for j, name in enumerate(scaling.columns)}
    for coding in codings:
        columns = [place[name] for name in coding.names]
        shares = X[:, columns].astype(np.float64).mean(axis=0)
        total = float((shares * (1 - shares)).sum())
        for j, share in zip(columns, shares, strict=True):
            center[j], scale[j] = float(share), total**0.5 or 1.0
    return replace(scaling, center=tuple(center), scale=tuple(scale))


def in_words(codings: Sequence[CategoryCoding]) -> str:
    """What was done to the categories, for people; empty if there are none."""
    if not codings:
        return ""
    listed = ", ".join(f"{one.column} ({len(one.categories)})" for one in codings[:10])
    more = f" and {len(codings) - 10} more" if len(codings) > 10 else ""
    return (
        f"; categories of {listed}{more} as columns of 0 and 1, which together weigh like one "
        "column of variance 1"
    )
