"""How far a selection is: finished cells out of those of all its grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FIRST_GRID = "choosing K"


class GridProgress:
    """Counts the cells of several grids as one piece of work.

    Parameters
    ----------
    callbacks : sequence of callables
        Called as ``callback(done, total)`` after every cell. Grids to come count as large as the
        first, so the total changes when they are not.
    n_more : int
        Grids besides the first.
    verbose : bool
        Whether to print the progress of each grid.

    Examples
    --------
    >>> progress = GridProgress([print], n_more=2)
    >>> first = progress.begin(FIRST_GRID, n_cells=2)
    >>> first(1, 2)
    1 6
    >>> first(2, 2)
    2 6
    >>> progress.begin("half-sample", n_cells=1)(1, 1)
    3 5
    """

    def __init__(
        self,
        callbacks: Sequence[Callable[[int, int], None]],
        n_more: int,
        *,
        verbose: bool = False,
    ) -> None:
        self._callbacks = callbacks
        self._n_more = n_more
        self._verbose = verbose
        self._size_of_first = 0
        self._done = 0

    def begin(self, title: str, n_cells: int) -> Callable[[int, int], None]:
        """Begin a grid; the first may come in several parts."""
        if title == FIRST_GRID:
            self._size_of_first += n_cells
        else:
            self._n_more -= 1
        before = self._done
        total = before + n_cells + self._n_more * self._size_of_first

        def report(done: int, of_grid: int) -> None:
            self._done = before + done
            if self._verbose:
                print(f"KSelector, {title}: {done} of {of_grid}", flush=True)
            for callback in self._callbacks:
                callback(self._done, total)

        return report
