"""Which clusters lie beside which, and the rows around two of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Pair = tuple[int, int]


class Neighbours:
    """Which clusters lie beside which, by the two nearest centres of every row.

    Of a table of which some rows are left out, ``numbers`` are those of the rows given.
    """

    def __init__(
        self, rows: Array, centers: Array, numbers: npt.NDArray[np.int64] | None = None
    ) -> None:
        self._numbers = numbers
        origin = centers.mean(axis=0)  # far from zero, products lose the differences
        self._rows = rows = rows - origin
        self._centers = centers = centers - origin
        squares = np.einsum("kj,kj->k", centers, centers)
        self._distances = squares - 2 * np.einsum("ij,kj->ik", rows, centers)  # less |x|^2
        two = np.argpartition(self._distances, 1, axis=1)[:, :2]
        order = np.take_along_axis(self._distances, two, axis=1).argsort(axis=1, kind="stable")
        nearest = np.take_along_axis(two, order, axis=1)
        k = len(centers)
        codes = nearest[:, 0] * k + nearest[:, 1]
        self._counts = np.bincount(codes, minlength=k * k).reshape(k, k)

    def pairs(self) -> list[Pair]:
        """Clusters of which each is second nearest to some rows of the other."""
        both = np.argwhere(np.triu((self._counts > 0) & (self._counts.T > 0), 1))
        return [(int(first), int(second)) for first, second in both]

    def rows_around(self, pair: Pair) -> npt.NDArray[np.int64]:
        """Rows nearer to the middle of two centres than to any third one: a convex region."""
        middle = self._centers[list(pair)].mean(axis=0)
        to_middle = np.einsum("j,j->", middle, middle) - 2 * np.einsum(
            "ij,j->i", self._rows, middle
        )
        others = np.delete(self._distances, pair, axis=1)
        around = np.flatnonzero((to_middle[:, None] < others).all(axis=1))
        return around if self._numbers is None else self._numbers[around]
