"""Colours of the page, by day and by night; those of the clusters are those of every picture."""

from __future__ import annotations

from bbclust.plots.palette import BLUE, SERIES, SKY, VERMILLION

LIGHT = {
    "page": "#FFFFFF",
    "panel": "#F6F7F8",
    "ink": "#1D2127",
    "muted": "#59616D",
    "line": "#D8DCE1",
    "accent": BLUE,
    "doubt": VERMILLION,
}
DARK = {
    "page": "#14171C",
    "panel": "#1D2229",
    "ink": "#E7E9EC",
    "muted": "#A4ACB8",
    "line": "#39414C",
    "accent": SKY,
    "doubt": "#F08A3C",
}

# What the guidelines for accessible web content ask of graphical objects.
LEAST_CONTRAST = 3.0


def cluster_colors(background: str) -> list[str]:
    """The colours of the clusters, lighter where one could not be seen on a dark background."""
    if luminance(background) > 0.5:
        return list(SERIES)
    return [visible_on(background, color) for color in SERIES]


def visible_on(background: str, color: str) -> str:
    """The colour, mixed with as little white as it needs to stand out.

    Examples
    --------
    >>> from bbclust.report.theme import visible_on
    >>> visible_on("#000000", "#FF0000"), visible_on("#000000", "#00002D")
    ('#FF0000', '#595976')
    """
    for white in range(0, 101, 5):
        mixed = mix(color, "#FFFFFF", white / 100)
        if contrast(mixed, background) >= LEAST_CONTRAST:
            return mixed
    return "#FFFFFF"


def mix(color: str, other: str, share: float) -> str:
    """A colour with a share of another one in it."""
    channels = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round((1 - share) * a + share * b):02X}" for a, b in channels)


def contrast(one: str, other: str) -> float:
    """Ratio of their luminances, from 1 (none) to 21 (black on white)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: str) -> float:
    """Relative luminance of an sRGB colour, from 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(color))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]
