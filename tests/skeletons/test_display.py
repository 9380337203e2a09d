"""A display in one file: copy it, and change what is drawn. Its own tests are below it."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris
from bbclust.plots.canvas import axes_or_new, set_title
from bbclust.plots.models import fitted_model
from bbclust.plots.palette import SERIES


class ClusterSharesDisplay:
    """A bar for each cluster, as high as its share of the rows.

    Parameters
    ----------
    shares : ndarray of shape (K,)
        Share of each cluster.
    """

    def __init__(self, *, shares: np.ndarray) -> None:
        self.shares = shares

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> "ClusterSharesDisplay":
        """Draw the shares of a fitted BBC or KSelector."""
        model = fitted_model(model, "cluster_shares_")
        return cls(shares=model.cluster_shares_).plot(ax)

    def plot(self, ax: Axes | None = None) -> "ClusterSharesDisplay":
        """Draw on the given axes, or on new ones."""
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        clusters = range(len(self.shares))
        self.bars_ = ax.bar(clusters, self.shares, color=[SERIES[k] for k in clusters])
        ax.set(xlabel="cluster", ylabel="share of the rows", xticks=list(clusters))
        set_title(ax, f"{len(self.shares)} clusters")
        return self


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def test_bars_are_as_high_as_the_shares(iris):
    model = BBC(3, random_state=0).fit(iris)
    display = ClusterSharesDisplay.from_estimator(model, ax=Figure().subplots())
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, model.cluster_shares_)
    assert display.figure_ is display.ax_.figure


def test_a_selector_is_drawn_by_its_best_estimator(iris):
    selector = KSelector(k_range=(2, 3), null_reference=0, random_state=0).fit(iris)
    display = ClusterSharesDisplay.from_estimator(selector, ax=Figure().subplots())
    assert len(display.bars_) == selector.best_k_


def test_what_is_not_fitted_is_refused_in_a_sentence():
    with pytest.raises(Exception, match="not fitted yet"):
        ClusterSharesDisplay.from_estimator(BBC(3))
