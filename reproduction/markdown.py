"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reproduction.spread import wilson


def table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """A table; ``align`` has an "l" or "r" per column, by default "lrrr...".

    Examples
    --------
    >>> print(table(["K", "value"], [["2", "0.1"]]))
    | K | value |
    |:--|--:|
    | 2 | 0.1 |
    """
    rules = {"l": ":--", "r": "--:"}
    sides = align or "l" + "r" * (len(header) - 1)
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + "|".join(rules[side] for side in sides) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float, digits: int = 3) -> str:
    """With so many digits after the point, and no minus before zero.

    Examples
    --------
    >>> number(0.12345), number(-0.0001)
    ('0.123', '0.000')
    """
    shown = f"{value:.{digits}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


def with_spread(mean: float, sd: float, digits: int = 3) -> str:
    """Mean and standard deviation.

    Examples
    --------
    >>> with_spread(0.123, 0.04)
    '0.123 ± 0.040'
    """
    return f"{number(mean, digits)} ± {number(sd, digits)}"


def percent(share: float) -> str:
    """A share, without calling something none or all that is not.

    Examples
    --------
    >>> percent(0.5), percent(0.001), percent(1.0)
    ('50%', '<1%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"


def at_least(share: float) -> str:
    """A lower bound of several shares.

    Examples
    --------
    >>> at_least(1.0), at_least(0.9)
    ('all', 'at least 90% of the')
    """
    return "all" if share == 1 else f"at least {percent(share)} of the"


def rate(hits: int, n: int) -> str:
    """A share with its 95% interval.

    Examples
    --------
    >>> rate(8, 10)
    '80% (49–94)'
    """  # noqa: RUF002
    low, high = wilson(hits, n)
    return f"{percent(hits / n)} ({100 * low:.0f}–{100 * high:.0f})"  # noqa: RUF001


def joined(items: Sequence[object]) -> str:
    """A list in words.

    Examples
    --------
    >>> joined([1, 2, 3]), joined([1])
    ('1, 2 and 3', '1')
    """
    words = [str(item) for item in items]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "none"


def counted(n: int, what: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "draw"), counted(300, "draw")
    ('1 draw', '300 draws')
    """
    return f"{n:,} {what}" + "s" * (n != 1)
