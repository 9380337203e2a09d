"""How far a selection is: finished cells out of those of all its grids, and other steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FIRST_GRID = "choosing K"


class GridProgress:
    """Counts the cells of several grids, and steps that were announced, as one piece of work.

    Parameters
    ----------
    callbacks : sequence of callables
        Called as ``callback(done, total)`` after every cell and step. Grids to come count as large
        as the first, so the total changes when they are not.
    n_more : int
        Grids besides the first.
    verbose : bool
        Whether to print the progress of each grid.

    Examples
    --------
    >>> progress = GridProgress([print], n_more=2)
    >>> progress.expect(1)
    >>> first = progress.begin(FIRST_GRID, n_cells=2)
    >>> first(1, 2)
    1 7
    >>> first(2, 2)
    2 7
    >>> progress.step("comparing with clouds")
    3 7
    >>> progress.begin("half-sample", n_cells=1)(1, 1)
    4 6
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
        self._n_expected = 0
        self._n_steps = 0

    def expect(self, n_steps: int) -> None:
        """Announce steps besides the cells of grids."""
        self._n_expected += n_steps

    def step(self, title: str) -> None:
        """One of the steps is done."""
        self._n_steps += 1
        self._report(title, self._n_steps, self._n_expected, self._done + 1, self._to_come())

    def begin(self, title: str, n_cells: int) -> Callable[[int, int], None]:
        """Begin a grid; the first may come in several parts."""
        if title == FIRST_GRID:
            self._size_of_first += n_cells
        else:
            self._n_more -= 1
        before = self._done

        def report(done: int, of_grid: int) -> None:
            left = n_cells - done
            self._report(title, done, of_grid, before + done, left + self._to_come())

        return report

    def _to_come(self) -> int:
        return self._n_expected - self._n_steps + self._n_more * self._size_of_first

    def _report(self, title: str, done: int, of: int, all_done: int, left: int) -> None:
        self._done = all_done
        if self._verbose:
            print(f"KSelector, {title}: {done} of {of}", flush=True)
        for callback in self._callbacks:
            callback(all_done, all_done + left)
