"""Draw the pictures of the documentation: ``make picture``.

Those of README.md are drawn here; those of plots.md by the code on that page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from PIL import Image

from bbclust import BBC, KSelector
from bbclust.datasets import Dataset, load_iris, make_paper_dataset
from bbclust.plots import SelectionCurvesDisplay
from bbclust.plots.palette import INK, MARKERS, SERIES, faded

IMAGES = Path(__file__).parent / "images"
PAGE = Path(__file__).parent / "plots.md"

N_CLUSTERS = 3
COLORS, SHAPES = SERIES[:N_CLUSTERS], MARKERS[:N_CLUSTERS]  # by cluster, in order of size
MARKER_SIZE = 6.5

PAPER_SCALES = (1, 1.5, 3, 4.5, 6)

STYLE = {
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_flowers(axes: Axes, iris: Dataset, model: BBC) -> None:
    """Flowers coloured by cluster; the fill fades as the entropy grows."""
    sepal, petal = iris.data[:, 0], iris.data[:, 2]
    by_entropy = np.argsort(model.entropy_, kind="stable")  # the disputed on top
    for cluster, (color, marker) in enumerate(zip(COLORS, SHAPES, strict=True)):
        mine = by_entropy[model.labels_[by_entropy] == cluster]
        axes.scatter(
            petal[mine],
            sepal[mine],
            s=MARKER_SIZE**2,
            c=faded(color, model.entropy_[mine]),
            marker=marker,
            edgecolors=color,
            linewidths=1.3,
        )
    axes.set(xlabel="petal length, cm", ylabel="sepal length, cm")
    axes.set_title("Iris in three clusters: which one, and how sure?")
    axes.legend(handles=legend_entries(), loc="upper left", frameon=False)


def legend_entries() -> list[Line2D]:
    """Clusters, then what the fill means."""

    def entry(label: str, marker: str, edge: str, fill: object) -> Line2D:
        return Line2D(
            [],
            [],
            ls="none",
            label=label,
            marker=marker,
            ms=MARKER_SIZE,
            mec=edge,
            mfc=fill,
            mew=1.3,
        )

    clusters = [
        entry(f"cluster {cluster}", marker, color, color)
        for cluster, (color, marker) in enumerate(zip(COLORS, SHAPES, strict=True))
    ]
    meanings = {
        0.0: "filled: all votes agree",
        0.5: "pale: 0.5 bits of doubt",
        1.0: "hollow: 1 bit, a coin toss",
    }
    fills = [
        entry(meaning, "o", INK, faded(INK, np.array([bits]))[0])
        for bits, meaning in meanings.items()
    ]
    return clusters + fills


def draw_votes(axes: Axes, model: BBC, rows: np.ndarray) -> None:
    """Share of the votes of each cluster, one column per flower."""
    bottom = np.zeros(len(rows))
    for cluster in range(N_CLUSTERS):
        share = model.memberships_[rows, cluster]
        axes.bar(range(len(rows)), share, bottom=bottom, color=COLORS[cluster], width=0.84)
        bottom += share
    axes.set(ylabel="share of votes", ylim=(0, 1), yticks=(0, 0.5, 1), xticks=())
    axes.margins(x=0.01)
    agreed = int((model.entropy_ == 0).sum())
    axes.set_title(f"All votes agree on {agreed} flowers. The other {len(rows)}:")


def draw_entropy(axes: Axes, model: BBC, rows: np.ndarray) -> None:
    """Entropy of the same flowers."""
    axes.bar(range(len(rows)), model.entropy_[rows], color=INK, width=0.84)
    axes.set(ylabel="entropy, bits", ylim=(0, 1), yticks=(0, 0.5, 1), xticks=())
    axes.set_xlabel("each column is one flower")
    axes.margins(x=0.01)


def draw_iris() -> Figure:
    """Iris in three clusters: the flowers, and the votes on those that are disputed."""
    iris = load_iris()
    model = BBC(N_CLUSTERS, n_replicas=1000, random_state=0).fit(iris.data)
    disputed = np.flatnonzero(model.entropy_ > 0)
    disputed = disputed[np.argsort(-model.memberships_[disputed, 0], kind="stable")]
    figure = Figure(figsize=(10.4, 4.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1), height_ratios=(1.5, 1))
    draw_flowers(figure.add_subplot(grid[:, 0]), iris, model)
    draw_votes(figure.add_subplot(grid[0, 1]), model, disputed)
    draw_entropy(figure.add_subplot(grid[1, 1]), model, disputed)
    figure.align_ylabels()
    return figure


def draw_selection() -> Figure:
    """Both measures over K on data set 5 of the paper, with the paper's five prior scales."""
    X = make_paper_dataset(5, random_state=0).data
    selector = KSelector(
        k_range=range(2, 9), prior_scales=PAPER_SCALES, refit=False, random_state=0
    ).fit(X)
    figure = Figure(figsize=(10.4, 4.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, wspace=0.06)
    left, right = figure.subplots(1, 2, sharey=True)
    SelectionCurvesDisplay.from_estimator(selector, measure="mean_entropy", ax=left)
    SelectionCurvesDisplay.from_estimator(selector, measure="max_pairwise_entropy", ax=right)
    left.set_title("Data set 5: how divided are the votes?")
    right.set_title("And between the worst pair of clusters?")
    left.get_legend().set(loc="lower left", frame_on=False)
    right.get_legend().remove()
    return figure


def run_page(text: str) -> Iterator[tuple[str, FigureBase]]:
    """Run the Python code of a page; for each picture in it, its path and the figure to show.

    The figure is the ``figure`` that the code before the picture made.
    """
    names: dict[str, FigureBase] = {}
    for code, picture in re.findall(r"```python\n(.*?)```|^!\[.*?\]\((.*?)\)$", text, re.S | re.M):
        if code:
            exec(code, names)
        else:
            yield picture, names["figure"]


def write(figure: FigureBase, path: Path, dpi: int = 140) -> None:
    """Save a picture with 256 colours: under half the bytes, and the eye sees no difference."""
    full = BytesIO()
    figure.savefig(full, dpi=dpi)
    Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def main() -> None:
    """Write every picture."""
    pyplot.switch_backend("Agg")
    IMAGES.mkdir(exist_ok=True)
    pictures = {"iris": draw_iris, "selection": draw_selection}
    with mpl.rc_context(STYLE):
        for name, draw in pictures.items():
            write(draw(), IMAGES / f"{name}.png")
        for picture, figure in run_page(PAGE.read_text(encoding="utf-8")):
            write(figure, PAGE.parent / picture, dpi=110)


if __name__ == "__main__":
    main()
