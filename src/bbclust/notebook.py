"""How fitted estimators show themselves in a notebook: plain HTML and SVG, nothing to install.

The pieces are functions from plain data to HTML, and :class:`ShownInNotebooks` puts what an
estimator has to say before scikit-learn's diagram of its parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

CHOSEN = "#c2410c"
LINES = ("#0072b2", "#6b7280")
# Size of a curve, and its margins: left, right, top, bottom.
WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 38


class ShownInNotebooks:
    """An estimator that shows what it found, once it is fitted, before scikit-learn's diagram.

    Inherit before ``BaseEstimator``, and write ``_findings_html``.
    """

    def _findings_html(self) -> str:
        """What was found; empty before ``fit``."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return self._findings_html() + diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._findings_html() + bundle["text/html"]
        return bundle


def card(*parts: str) -> str:
    """Parts one below the other, in a frame."""
    return (
        '<div class="bbclust" style="border-left:3px solid '
        f'{LINES[0]};padding:2px 12px;margin:6px 0;max-width:52em">{"".join(parts)}</div>'
    )


def answer(text: str) -> str:
    """A paragraph that is read first."""
    return f'<p style="font-weight:600;margin:4px 0">{escape(text)}</p>'


def sentences(text: str) -> str:
    """A paragraph; nothing if there is nothing to say."""
    return f'<p style="margin:4px 0">{escape(text)}</p>' if text else ""


def table(head: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> str:
    """A small table; nothing if it has no rows."""
    if not rows:
        return ""
    cell = "padding:1px 10px 1px 0;text-align:left;font-weight:{}"
    names = "".join(f'<th style="{cell.format(600)}">{escape(name)}</th>' for name in head)
    lines = "".join(
        "<tr>"
        + "".join(f'<td style="{cell.format(400)}">{escape(str(value))}</td>' for value in row)
        + "</tr>"
        for row in rows
    )
    title = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>'
    return f'<table style="margin:6px 0">{title}<tr>{names}</tr>{lines}</table>'


def curve(
    k_values: Sequence[int], measures: Mapping[str, Sequence[float]], chosen: int, caption: str
) -> str:
    """Measures over the number of clusters as SVG with a caption, the chosen number marked."""
    top = max((value for values in measures.values() for value in values), default=0.0) or 1.0
    span = max(k_values[-1] - k_values[0], 1)

    def x(k: float) -> float:
        return LEFT + (k - k_values[0]) / span * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    def text(at_x: float, at_y: float, words: str, anchor: str = "middle") -> str:
        return (
            f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor">{escape(words)}</text>'
        )

    drawn = [
        f'<line x1="{LEFT}" y1="{y(0):.1f}" x2="{WIDTH - RIGHT}" y2="{y(0):.1f}" '
        'stroke="currentColor"/>',
        text(LEFT - 6, y(top) + 4, f"{top:.2g}", "end"),
        text(LEFT - 6, y(0) + 4, "0", "end"),
    ]
    if k_values[0] <= chosen <= k_values[-1]:
        drawn.append(
            f'<line x1="{x(chosen):.1f}" y1="{TOP}" x2="{x(chosen):.1f}" y2="{y(0):.1f}" '
            f'stroke="{CHOSEN}" stroke-width="2" stroke-dasharray="4 3"/>'
        )
    step = math.ceil(len(k_values) / 15)
    drawn += [text(x(k), y(0) + 15, str(k)) for k in k_values[::step]]
    for color, (name, values) in zip(LINES, measures.items(), strict=False):
        points = " ".join(f"{x(k):.1f},{y(v):.1f}" for k, v in zip(k_values, values, strict=True))
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2">'
            f"<title>{escape(name)}</title></polyline>"
        )
    left = float(LEFT)
    for color, name in zip(LINES, measures, strict=False):
        drawn.append(
            f'<line x1="{left:.0f}" y1="{HEIGHT - 8}" x2="{left + 16:.0f}" y2="{HEIGHT - 8}" '
            f'stroke="{color}" stroke-width="2"/>'
        )
        drawn.append(text(left + 20, HEIGHT - 4, name, "start"))
        left += 40 + 6.2 * len(name)
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{escape(caption)}" '
        f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width:100%">'
        f"{''.join(drawn)}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )
