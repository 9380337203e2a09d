"""What --k and --prior-scales mean."""

from __future__ import annotations

import re

from bbclust.cli.output.errors import CommandError

AUTO = "auto"


def parse_k(text: str) -> tuple[int, ...] | str:
    """The numbers of clusters to choose from, both ends included, or "auto".

    Examples
    --------
    >>> parse_k("2:5,8"), parse_k("3")
    ((2, 3, 4, 5, 8), (3,))
    """
    if text.strip() == AUTO:
        return AUTO
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?::\s*(\d{1,6})\s*)?", part)
        if match is None:
            raise CommandError(f"--k {text!r} is not understood: give 2:10, 2,4,6, 3 or auto.")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise CommandError(f"--k {text!r} goes from {first} down to {last}: swap them.")
        numbers.update(range(first, last + 1))
    chosen = tuple(sorted(numbers))
    if chosen[0] < 1 or (len(chosen) > 1 and chosen[0] < 2):
        raise CommandError(
            f"--k {text!r} starts at {chosen[0]}: start at 2 to choose (K = 1 is tested apart)."
        )
    return chosen


def parse_scales(text: str) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise CommandError(
            f"--prior-scales {text!r} is not understood: give numbers such as 1,1.5,2.5."
        ) from None
