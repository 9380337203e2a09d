"""SelectionCurvesDisplay: a measure of doubt over K, one line per prior scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import (
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    SymmetricalLogLocator,
)
from sklearn.exceptions import NotFittedError

from bbclust.plots.canvas import axes_or_new
from bbclust.plots.palette import INK, MARKERS, SERIES
from bbclust.selection.k_selector import KSelector
from bbclust.validation import check_choice

Array = npt.NDArray[np.float64]

MEASURES = {
    "max_pairwise_entropy": "max pairwise entropy, bits",
    "mean_entropy": "mean entropy, bits",
}
BAND_STANDARD_ERRORS = 2.0
BAND_ALPHA = 0.22


@dataclass(frozen=True)
class Curve:
    """A measure and its band over increasing K at one prior scale."""

    prior_scale: float
    n_clusters: npt.NDArray[np.int64]
    values: Array
    lower: Array
    upper: Array


class SelectionCurvesDisplay:
    """How a measure of doubt changes with K, as in Figures 3, 4, 6 and 7 of the paper.

    One line per prior scale s, in a band of two Monte-Carlo standard errors to each side. A full
    vertical line stands at the chosen K and a dashed one at every K tied with it. The selector
    chooses by its ``criterion``, over all s together, so the chosen K need not be the minimum of
    every line.

    Parameters
    ----------
    curves : mapping of arrays
        ``n_clusters``, ``prior_scale``, the measure and its ``_se``, as in ``KSelector.curves_``.
    measure : {"max_pairwise_entropy", "mean_entropy"}, default="max_pairwise_entropy"
        Which of the two is drawn.
    best_k : int
        The chosen K.
    tied_k : iterable of int, optional
        The K's tied with it; it may be among them.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        The figure, or subfigure, of the axes.
    lines_ : list of matplotlib Line2D
        One per prior scale, in the order of ``curves``.
    bands_ : list of matplotlib Collection
        One per prior scale.
    chosen_ : matplotlib Line2D
        The vertical line at the chosen K.
    ties_ : list of matplotlib Line2D
        The vertical lines at the tied K's.

    Examples
    --------
    >>> from bbclust import KSelector
    >>> from bbclust.datasets import make_paper_dataset
    >>> from bbclust.plots import SelectionCurvesDisplay
    >>> selector = KSelector(k_range=range(2, 6), refit=False, random_state=0)
    >>> selector = selector.fit(make_paper_dataset(1, random_state=0).data)
    >>> display = SelectionCurvesDisplay.from_estimator(selector, measure="mean_entropy")
    >>> [line.get_label() for line in display.lines_]
    ['s = 1', 's = 1.5', 's = 2.5']
    >>> display.figure_.savefig("curves.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        curves: Mapping[str, npt.NDArray[Any]],
        best_k: int,
        tied_k: Iterable[int] = (),
        measure: str = "max_pairwise_entropy",
    ) -> None:
        check_choice("measure", measure, tuple(MEASURES))
        self.curves = curves
        self.measure = measure
        self.best_k = best_k
        self.tied_k = tuple(tied_k)

    @classmethod
    def from_estimator(
        cls,
        selector: KSelector,
        *,
        measure: str = "max_pairwise_entropy",
        log: bool = True,
        ax: Axes | None = None,
    ) -> SelectionCurvesDisplay:
        """Draw the curves of a fitted selector.

        Parameters
        ----------
        selector : KSelector
            Fitted.
        measure : {"max_pairwise_entropy", "mean_entropy"}, default="max_pairwise_entropy"
            Which of the two is drawn.
        log, ax
            See :meth:`plot`.

        Returns
        -------
        display : SelectionCurvesDisplay
        """
        if not isinstance(selector, KSelector):
            raise TypeError(f"selector must be a fitted KSelector, got {selector!r}.")
        if not hasattr(selector, "curves_"):
            raise NotFittedError("This KSelector has no curves yet: call its fit(X) first.")
        display = cls(
            curves=selector.curves_,
            best_k=selector.best_k_,
            tied_k=selector.tied_k_,
            measure=measure,
        )
        return display.plot(ax, log=log)

    def plot(self, ax: Axes | None = None, *, log: bool = True) -> SelectionCurvesDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure of pyplot.
        log : bool, default=True
            Bits on a logarithmic axis. If a line or a band reaches zero, the axis is linear from
            zero to the decade of the smallest positive value, so that zeros are seen too.

        Returns
        -------
        self
        """
        ax = axes_or_new(ax)
        curves = split_curves(self.curves, self.measure)
        self.ax_: Axes = ax
        self.figure_: FigureBase = ax.figure
        self._mark_choice(ax)
        self._draw_curves(ax, curves)
        _scale_bits(ax, curves, log=log)
        ax.set(xlabel="number of clusters K", ylabel=MEASURES[self.measure])
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.legend(handles=self._legend_entries(), edgecolor="none", framealpha=0.85)
        return self

    def _mark_choice(self, ax: Axes) -> None:
        """Upright lines at the chosen K and at the K's tied with it, behind the curves."""
        others = [k for k in self.tied_k if k != self.best_k]
        style: dict[str, Any] = {"color": INK, "linewidth": 1.2, "zorder": 1}
        self.chosen_ = ax.axvline(self.best_k, label=f"chosen: K = {self.best_k}", **style)
        tied = f"tied: K = {', '.join(map(str, others))}"
        self.ties_ = [ax.axvline(k, label=tied, linestyle="--", **style) for k in others]

    def _draw_curves(self, ax: Axes, curves: list[Curve]) -> None:
        self.lines_: list[Line2D] = []
        self.bands_: list[Collection] = []
        for curve, color, marker in zip(curves, cycle(SERIES), cycle(MARKERS), strict=False):
            K = curve.n_clusters
            band = ax.fill_between(
                K, curve.lower, curve.upper, color=color, alpha=BAND_ALPHA, linewidth=0, zorder=2
            )
            (line,) = ax.plot(
                K,
                curve.values,
                label=f"s = {curve.prior_scale:g}",
                color=color,
                marker=marker,
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.7,
                linewidth=1.6,
                zorder=3,
            )
            self.bands_.append(band)
            self.lines_.append(line)

    def _legend_entries(self) -> list[Line2D | Patch]:
        """Lines by s, then what the bands and the upright lines are."""
        band = Patch(
            color=INK,
            alpha=BAND_ALPHA,
            linewidth=0,
            label=f"± {BAND_STANDARD_ERRORS:g} standard errors",
        )
        return [*self.lines_, band, self.chosen_, *self.ties_[:1]]


def split_curves(curves: Mapping[str, npt.NDArray[Any]], measure: str) -> list[Curve]:
    """One curve per prior scale, in the order in which the scales first appear."""
    scales = curves["prior_scale"]
    return [
        _curve_of(curves, measure, scale) for scale in dict.fromkeys(np.asarray(scales).tolist())
    ]


def _curve_of(curves: Mapping[str, npt.NDArray[Any]], measure: str, scale: float) -> Curve:
    mine = np.flatnonzero(np.asarray(curves["prior_scale"]) == scale)
    K, first = np.unique(np.asarray(curves["n_clusters"])[mine], return_index=True)
    values = np.asarray(curves[measure], dtype=np.float64)[mine][first]
    errors = np.asarray(curves[f"{measure}_se"], dtype=np.float64)[mine][first]
    return Curve(
        prior_scale=scale,
        n_clusters=K,
        values=values,
        lower=np.maximum(values - BAND_STANDARD_ERRORS * errors, 0.0),  # no entropy is negative
        upper=values + BAND_STANDARD_ERRORS * errors,
    )


def _scale_bits(ax: Axes, curves: list[Curve], *, log: bool) -> None:
    """Make the axis of bits logarithmic, as far as zeros allow; a linear one starts at zero."""
    values = np.concatenate([curve.values for curve in curves])
    lowest = min(float(curve.lower.min()) for curve in curves)
    top = max(float(curve.upper.max()) for curve in curves)
    if log and lowest > 0:
        ax.set_yscale("log")
        _label_decades(ax, LogLocator(subs=_labelled(lowest, top)))
    elif log and values.any():
        decade = 10.0 ** np.floor(np.log10(values[values > 0].min()))
        ax.set_yscale("symlog", linthresh=decade, linscale=0.4)
        subs = _labelled(decade, top)
        _label_decades(ax, SymmetricalLogLocator(base=10, linthresh=decade, subs=subs))
        ax.set_ylim(bottom=-decade / 4)  # room for whole markers at zero
    else:
        ax.set_yscale("linear")
        top = top if top > 0 else 1.0
        ax.set_ylim(-top / 30, top * 1.05)


def _labelled(low: float, high: float) -> tuple[float, ...]:
    """Which numbers of each decade have a label: the fewer decades, the more."""
    if high < 5 * low:
        return (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    return (1.0, 2.0, 5.0) if high < 500 * low else (1.0,)


def _label_decades(ax: Axes, locator: Locator) -> None:
    ax.yaxis.set_major_locator(locator)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
