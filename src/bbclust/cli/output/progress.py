"""How far a command is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import TaskID

QUIET_SECONDS = 2.0  # between two lines of one step
BAR, SHORT_BAR = 20, 8  # wide; the latter on less than 80 columns, where words need the room


class Progress:
    """Shows nothing; what ``--quiet`` uses."""

    def begin(self, step: str) -> None:
        """Begin a step; the one before it ends."""

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

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Stop showing; what took how long is told here only, since results have no times."""


class Lines(Progress):
    """A line when a step begins, one for every tenth of a long one, and one at the end."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def begin(self, step: str) -> None:
        self._step, self._began = step, time.monotonic()
        self._tenths, self._said = 0, self._began
        _say(f"{step} ...")

    def update(self, done: int, total: int) -> None:
        tenths, now = 10 * done // total, time.monotonic()
        if tenths > self._tenths and done < total and now - self._said > QUIET_SECONDS:
            left = (now - self._began) * (total - done) / done
            _say(f"{self._step}: {done} of {total}, about {_duration(left)} left")
            self._tenths, self._said = tenths, now

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure is None:
            _say(f"done in {_duration(time.monotonic() - self._started)}")


class Bar(Progress):
    """A bar that moves, with the time left; at the end a line."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            ProgressColumn,
            SpinnerColumn,
            Task,
            TextColumn,
        )
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        class State(ProgressColumn):
            def render(self, task: Task) -> Text:
                total = None if task.total is None else int(task.total)
                state = _state(int(task.completed), total, task.elapsed, task.time_remaining)
                return Text(state, no_wrap=True)

        console = Console(stderr=True)
        self._started = time.monotonic()
        self._task: TaskID | None = None
        self._rich: RichProgress = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=BAR if console.width >= 80 else SHORT_BAR),
            State(),
            console=console,
            transient=True,
            speed_estimate_period=300,
        )

    def begin(self, step: str) -> None:
        if self._task is not None:
            self._rich.remove_task(self._task)
        self._task = self._rich.add_task(step, total=None)
        self._rich.refresh()  # a step is named however short it is

    def update(self, done: int, total: int) -> None:
        if self._task is not None:
            self._rich.update(self._task, completed=done, total=total)

    def __enter__(self) -> Progress:
        self._rich.start()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._rich.stop()
        if failure is None:
            _say(f"done in {_duration(time.monotonic() - self._started)}")


def watch(*, quiet: bool) -> Progress:
    """The progress that suits where messages go."""
    if quiet:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()


def _say(line: str) -> None:
    print(f"bbclust: {line}", file=sys.stderr, flush=True)


def _state(done: int, total: int | None, elapsed: float | None, left: float | None) -> str:
    """How far a step is, with one time: what is left, or what has passed if that is not known.

    Examples
    --------
    >>> _state(0, None, 3.2, None), _state(0, 9, 3.2, None), _state(2, 9, 3.2, 11.2)
    ('3 s', '0 of 9, 3 s', '2 of 9, about 11 s left')
    >>> _state(9, 9, 14.4, 0.0)
    '9 of 9, 14 s'
    """
    parts = [] if total is None else [f"{done} of {total}"]
    if left is not None and done != total:
        parts.append(f"about {_duration(left)} left")
    elif elapsed is not None:
        parts.append(_duration(elapsed))
    return ", ".join(parts)


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
