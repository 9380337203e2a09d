"""Pictures of the page, drawn from results alone."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reproduction.files import PICTURES
from reproduction.studies import STUDIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_COLORS = 64  # a quarter of the bytes of full colour, and the eye sees no difference


def write_pictures(results: dict[str, Any], directory: Path) -> list[Path]:
    """One PNG file per picture, where the page in this directory looks for it; needs matplotlib."""
    style = _style()  # says what to install if it cannot draw
    import matplotlib as mpl

    written = []
    with mpl.rc_context(cast(Any, style)):
        for name, result in results["studies"].items():
            draw = STUDIES[name].draw
            for title, figure in (draw(result) if draw is not None else {}).items():
                path = directory / PICTURES / f"{title}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_png(figure))
                written.append(path)
    return written


def _style() -> dict[str, Any]:
    from bbclust.plots.palette import INK

    return {
        "font.size": 10.5,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }


def _png(figure: Figure) -> bytes:
    from PIL import Image  # matplotlib depends on it

    full, small = BytesIO(), BytesIO()
    figure.savefig(full, dpi=110)
    image = Image.open(full).convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True)
    return small.getvalue()
