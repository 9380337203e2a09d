"""How far a command is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

QUIET_SECONDS = 2.0  # between two lines of one step


class Progress:
    """Keeps the time of every step and shows nothing; what ``--quiet`` uses.

    Attributes
    ----------
    seconds : dict from step to float
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._step: str | None = None
        self._began = 0.0

    def begin(self, step: str) -> None:
        """Begin a step; the one before it ends."""
        self.end()
        self._step, self._began = step, time.monotonic()

    def update(self, done: int, total: int) -> None:
        """Say how much of the step is done."""

    def callback(self, then: str | None = None) -> Callable[[int, int], None]:
        """The method ``update`` as a function, which copies of an estimator share.

        Once all is done, the step ``then`` begins.
        """

        def callback(done: int, total: int) -> None:
            self.update(done, total)
            if then is not None and done == total:
                self.begin(then)

        return callback

    def end(self) -> None:
        """End the step."""
        if self._step is not None:
            self.seconds[self._step] = round(time.monotonic() - self._began, 3)
            self._step = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Lines(Progress):
    """A line when a step begins, and one for every tenth of a long one."""

    def begin(self, step: str) -> None:
        super().begin(step)
        self._tenths, self._said = 0, self._began
        _say(f"{step} ...")

    def update(self, done: int, total: int) -> None:
        tenths, now = 10 * done // total, time.monotonic()
        if tenths > self._tenths and done < total and now - self._said > QUIET_SECONDS:
            left = (now - self._began) * (total - done) / done
            _say(f"{self._step}: {done} of {total}, about {_duration(left)} left")
            self._tenths, self._said = tenths, now


class Bar(Progress):
    """A bar that moves, with the time left."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        self._rich: RichProgress = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=300,
        )

    def begin(self, step: str) -> None:
        super().begin(step)
        self._task = self._rich.add_task(step, total=None)

    def update(self, done: int, total: int) -> None:
        self._rich.update(self._task, completed=done, total=total)

    def end(self) -> None:
        if self._step is not None:
            self._rich.remove_task(self._task)
        super().end()

    def __enter__(self) -> Progress:
        self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()
        super().end()


def watch(*, quiet: bool) -> Progress:
    """The progress that suits where messages go."""
    if quiet:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()


def _say(line: str) -> None:
    print(f"bbclust: {line}", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """A time in round words.

    Examples
    --------
    >>> _duration(0.2), _duration(75), _duration(4000)
    ('1 s', '1 min 15 s', '1 h 7 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {round(whole % 3600 / 60)} min"
