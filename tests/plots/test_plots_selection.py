"""The display of the selection curves: what is drawn is what was fitted."""

import importlib
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset
from bbclust.plots import SelectionCurvesDisplay
from bbclust.plots.palette import SERIES

MEASURES = ("max_pairwise_entropy", "mean_entropy")
SCALES = (1, 1.5, 3)

pytestmark = pytest.mark.usefixtures("without_a_screen")


@pytest.fixture(scope="module")
def selector():
    X = make_paper_dataset(5, random_state=0).data
    quick = BBC(n_replicas=40, n_init=2)
    return KSelector(
        quick,
        k_range=range(2, 7),
        prior_scales=SCALES,
        null_reference=0,
        refit=False,
        random_state=0,
    ).fit(X)


def axes():
    return Figure().add_subplot()


def curves_of(values, errors=None):
    """Curves of a measure over K = 2, 3, ... at s = 1."""
    n = len(values)
    return {
        "n_clusters": np.arange(2, 2 + n),
        "prior_scale": np.ones(n),
        "mean_entropy": np.array(values),
        "mean_entropy_se": np.zeros(n) if errors is None else np.array(errors),
    }


def draw(values, errors=None, *, best_k=3, tied_k=(), log=True):
    display = SelectionCurvesDisplay(
        curves=curves_of(values, errors), best_k=best_k, tied_k=tied_k, measure="mean_entropy"
    )
    return display.plot(axes(), log=log)


def band_of(collection):
    """K, lower and upper end of a band, from the corners of its polygon."""
    corners = collection.get_paths()[0].vertices
    K = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == k, 1] for k in K]
    return K, np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# --- lines and bands ------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_one_line_and_one_band_per_scale_with_the_numbers_of_the_selector(selector, measure):
    display = SelectionCurvesDisplay.from_estimator(selector, measure=measure, ax=axes())
    curves = selector.curves_
    assert len(display.lines_) == len(display.bands_) == len(SCALES)
    for scale, line, band in zip(SCALES, display.lines_, display.bands_, strict=True):
        mine = curves["prior_scale"] == scale
        values, errors = curves[measure][mine], curves[f"{measure}_se"][mine]
        np.testing.assert_array_equal(line.get_xdata(), [2, 3, 4, 5, 6])
        np.testing.assert_array_equal(line.get_ydata(), values)
        K, lower, upper = band_of(band)
        np.testing.assert_array_equal(K, [2, 3, 4, 5, 6])
        np.testing.assert_allclose(lower, np.maximum(values - 2 * errors, 0))
        np.testing.assert_allclose(upper, values + 2 * errors)


def test_pairwise_entropy_is_the_default(selector):
    display = SelectionCurvesDisplay.from_estimator(selector, ax=axes())
    assert display.measure == "max_pairwise_entropy"


def test_bands_end_at_zero_bits():
    display = draw([0.3, 0.1, 0.2], [0.01, 0.2, 0.01])
    _, lower, upper = band_of(display.bands_[0])
    np.testing.assert_allclose(lower, [0.28, 0, 0.18])
    np.testing.assert_allclose(upper, [0.32, 0.5, 0.22])


def test_cells_may_come_in_any_order_and_twice(selector):
    def lines(curves):
        display = SelectionCurvesDisplay(curves=curves, best_k=5).plot(axes())
        return {line.get_label(): line.get_xydata().tolist() for line in display.lines_}

    shuffled = np.random.default_rng(0).permutation(np.tile(np.arange(15), 2))
    again = {name: column[shuffled] for name, column in selector.curves_.items()}
    assert lines(again) == lines(selector.curves_)


def test_every_scale_has_its_own_colour_and_marker_up_to_forty_two():
    n = 42
    curves = {
        "n_clusters": np.full(n, 2),
        "prior_scale": np.arange(1.0, n + 1),
        "mean_entropy": np.full(n, 0.5),
        "mean_entropy_se": np.zeros(n),
    }
    display = SelectionCurvesDisplay(curves=curves, best_k=2, measure="mean_entropy").plot(axes())
    assert len({(line.get_color(), line.get_marker()) for line in display.lines_}) == n
    assert to_hex(display.lines_[0].get_color()).upper() == SERIES[0]


# --- the choice -----------------------------------------------------------------------------------


def test_chosen_k_is_marked_and_named(selector):
    display = SelectionCurvesDisplay.from_estimator(selector, ax=axes())
    assert set(display.chosen_.get_xdata()) == {selector.best_k_}
    assert f"chosen: K = {selector.best_k_}" in legend_of(display)


def test_tied_k_are_marked_and_named():
    display = draw([0.3, 0.1, 0.11, 0.12], best_k=3, tied_k=(3, 4, 5))
    assert [set(tie.get_xdata()) for tie in display.ties_] == [{4}, {5}]
    assert display.chosen_.get_linestyle() != display.ties_[0].get_linestyle()
    assert legend_of(display)[-2:] == ["chosen: K = 3", "tied: K = 4, 5"]


def test_a_choice_without_ties_names_none():
    display = draw([0.3, 0.1, 0.2], best_k=3, tied_k=(3,))
    assert display.ties_ == []
    assert legend_of(display) == ["s = 1", "± 2 standard errors", "chosen: K = 3"]


def test_ties_come_from_the_selector(selector, monkeypatch):
    monkeypatch.setattr(selector, "tied_k_", (4, 5, 6))
    monkeypatch.setattr(selector, "best_k_", 5)
    display = SelectionCurvesDisplay.from_estimator(selector, ax=axes())
    assert [set(tie.get_xdata()) for tie in display.ties_] == [{4}, {6}]


# --- axes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("max_pairwise_entropy", "max pairwise entropy, bits"),
        ("mean_entropy", "mean entropy, bits"),
    ],
)
def test_axes_and_legend_say_what_is_drawn(selector, measure, name):
    display = SelectionCurvesDisplay.from_estimator(selector, measure=measure, ax=axes())
    assert display.ax_.get_xlabel() == "number of clusters K"
    assert display.ax_.get_ylabel() == name
    assert legend_of(display)[:3] == ["s = 1", "s = 1.5", "s = 3"]


def test_given_axes_are_used(selector):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    display = SelectionCurvesDisplay.from_estimator(selector, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.lines
    assert pyplot.get_fignums() == []


def test_without_axes_each_plot_makes_a_figure(selector):
    display = SelectionCurvesDisplay.from_estimator(selector)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    assert len(pyplot.get_fignums()) == 2


def test_positive_entropies_are_on_a_logarithmic_axis_unless_asked_otherwise():
    assert draw([0.3, 0.1, 0.2]).ax_.get_yscale() == "log"
    assert draw([0.3, 0.1, 0.2], log=False).ax_.get_yscale() == "linear"


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(
    "values", [[0.3, 0.0, 0.2], [3e-6, 0.0, 0.9], [0.0, 0.0, 0.0], [0.3, 0.29, 0.31], [0.0], [0.4]]
)
def test_every_point_lies_inside_the_axes_and_ticks_have_labels(values, log):
    display = draw(values, best_k=2, log=log)
    display.figure_.canvas.draw()
    bottom, top = display.ax_.get_ylim()
    assert bottom < min(values)
    assert top > max(values)
    ticks = [tick for tick in display.ax_.get_yticks() if bottom <= tick <= top]
    assert len(ticks) >= 2
    assert min(ticks) >= 0
    assert all(float(k).is_integer() for k in display.ax_.get_xticks())


def test_an_axis_with_zeros_is_logarithmic_above_the_smallest_decade():
    axis = draw([0.3, 0.0, 0.02]).ax_
    assert axis.get_yscale() == "symlog"
    assert axis.yaxis.get_transform().linthresh == pytest.approx(0.01)


# --- errors ---------------------------------------------------------------------------------------


def test_unfitted_selector_is_refused():
    with pytest.raises(NotFittedError, match=r"no curves yet: call its fit\(X\) first"):
        SelectionCurvesDisplay.from_estimator(KSelector())


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match="must be a fitted KSelector, got BBC"):
        SelectionCurvesDisplay.from_estimator(BBC())


def test_unknown_measure_is_refused(selector):
    with pytest.raises(ValueError, match="one of 'max_pairwise_entropy', 'mean_entropy', got 'x'"):
        SelectionCurvesDisplay.from_estimator(selector, measure="x")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "bbclust.plots")
    with pytest.raises(ImportError, match=r'pip install "bbclust\[plot\]"'):
        importlib.import_module("bbclust.plots")
