"""Shares in words, for terminals, reports and figures."""

from __future__ import annotations

MOST_DIGITS = 2  # after the point
ROUNDING = 1e-12  # by which a sum of shares may miss 0 or 1


def percent(share: float) -> str:
    """A share from 0 to 1 in whole percent; as 0% or 100% only if it is exactly that.

    Where whole percent would say that none or all are meant, as many digits follow as tell the
    difference, two at most.

    Examples
    --------
    >>> from bbclust.percentages import percent
    >>> percent(0.5), percent(1.0), percent(19_913 / 20_000), percent(1 / 1_000), percent(1e-9)
    ('50%', '100%', '99.6%', '0.1%', 'under 0.01%')
    """
    if min(abs(share), abs(1 - share)) <= ROUNDING:
        return f"{share:.0%}"
    for digits in range(MOST_DIGITS + 1):
        text = f"{share:.{digits}%}"
        if float(text.rstrip("%")) not in (0.0, 100.0):
            return text
    least = 10.0 ** -(MOST_DIGITS + 2)
    return f"under {least:.{MOST_DIGITS}%}" if share < 0.5 else f"over {1 - least:.{MOST_DIGITS}%}"
