"""What every display promises: its axes, its errors, legible for all sizes of data."""

import warnings
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from bbclust import BBC, BagClust1, KSelector, load_model, plots
from bbclust.plots.palette import SERIES

pytestmark = pytest.mark.usefixtures("without_a_screen")

OF_ROWS = ("DataMapDisplay", "EntropyMapDisplay", "PriorAndDataDisplay")
OF_MODELS = (
    "AlignmentMarginsDisplay",
    "EntropyHistogramDisplay",
    "MembershipBarsDisplay",
    "MembershipEdgesDisplay",
    "MembershipSimplexDisplay",
    "PairwiseHeatmapDisplay",
)
EVERY = OF_ROWS + OF_MODELS


@cache
def data(n_clusters, d, n=None):
    """Blobs near each other, so that some rows are in doubt."""
    generator = np.random.default_rng(5)
    n = 10 * n_clusters + 40 if n is None else n
    centers = 2.5 * generator.normal(size=(n_clusters, d))
    return centers[np.arange(n) % n_clusters] + generator.normal(size=(n, d))


@cache
def model(n_clusters, d, n=None):
    return BBC(n_clusters, n_replicas=80, n_init=2, random_state=0).fit(data(n_clusters, d, n))


def draw(name, fitted, X, **options):
    display = getattr(plots, name)
    if name in OF_ROWS:
        return display.from_estimator(fitted, X, **options)
    return display.from_estimator(fitted, **options)


def draw_iris_like(name, **options):
    return draw(name, model(3, 4), data(3, 4), **options)


def visible_texts(figure):
    """Every text that is drawn, with its box in pixels."""
    figure.draw_without_rendering()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not (low - slack <= tick.get_loc() <= high + slack and ax.axison):
                    hidden |= {tick.label1, tick.label2}
            if not ax.axison:
                hidden |= {axis.label, axis.offsetText}
    return [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]


def assert_legible(figure):
    """No text reaches over another or out of the figure."""
    texts = visible_texts(figure)
    for (one, a), (other, b) in combinations(texts, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        up = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(across, up) < 1, f"{one!r} and {other!r} overlap"
    for text, box in texts:
        room = (box.x0, box.y0, figure.bbox.x1 - box.x1, figure.bbox.y1 - box.y1)
        assert min(room) > -1, f"{text!r} leaves the figure"


# --- axes -----------------------------------------------------------------------------------------


def test_every_display_is_tested_here():
    displays = {name for name in plots.__all__ if name.endswith("Display")}
    assert displays == {*EVERY, "SelectionCurvesDisplay"}


@pytest.mark.parametrize("name", EVERY)
def test_given_axes_are_used(name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    display = draw_iris_like(name, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.has_data()
    assert right.has_data()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", EVERY)
def test_without_axes_each_plot_makes_a_figure(name):
    display = draw_iris_like(name)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    assert len(pyplot.get_fignums()) == 2


@pytest.mark.parametrize("name", EVERY)
def test_axes_have_a_title_in_words(name):
    title = draw_iris_like(name).ax_.get_title(loc="left")
    assert title[0].isupper() or title[0].isdigit()
    assert "_" not in title


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_selectors_are_drawn_as_their_best_estimator(name):
    X = data(3, 4)
    selector = KSelector(
        BBC(n_replicas=80, n_init=1), k_range=(3,), null_reference=0, random_state=0
    ).fit(X)
    from_selector = draw(name, selector, X)
    from_model = draw(name, selector.best_estimator_, X)
    for attribute, value in vars(from_model).items():
        if not attribute.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(from_selector, attribute), value)


@pytest.mark.parametrize("name", EVERY)
def test_unfitted_models_are_refused(name):
    X = data(3, 4)
    with pytest.raises(NotFittedError, match=r"This BBC is not fitted yet: call its fit\(X\)"):
        draw(name, BBC(), X)
    with pytest.raises(NotFittedError, match=r"This KSelector is not fitted yet: call its fit"):
        draw(name, KSelector(), X)


@pytest.mark.parametrize("name", EVERY)
def test_other_things_are_refused(name):
    X = data(3, 4)
    with pytest.raises(TypeError, match="must be a fitted BBC or KSelector, got 'iris'"):
        draw(name, "iris", X)
    with pytest.raises(TypeError, match="must be a fitted BBC or KSelector, got <class"):
        draw(name, BBC, X)
    with pytest.raises(AttributeError, match="This KMeans cannot be drawn: 'KMeans' object has no"):
        draw(name, KMeans(2, n_init=1).fit(X), X)


@pytest.fixture
def loaded(tmp_path):
    model(3, 4).save(tmp_path / "model.bbc")
    return load_model(tmp_path / "model.bbc")


@pytest.mark.parametrize("name", ["PairwiseHeatmapDisplay", "AlignmentMarginsDisplay"])
def test_models_from_a_file_are_drawn_without_their_rows(name, loaded):
    assert draw(name, loaded, None).ax_.has_data()


@pytest.mark.parametrize("name", [*OF_ROWS, "MembershipBarsDisplay", "EntropyHistogramDisplay"])
def test_models_from_a_file_say_that_they_have_no_rows(name, loaded):
    with pytest.raises(AttributeError, match=r"This BBC cannot be drawn: .* loaded from a file"):
        draw(name, loaded, data(3, 4))


def test_other_bagged_models_are_drawn():
    X = data(3, 4)
    bagged = BagClust1(3, n_replicas=80, random_state=0).fit(X)
    for name in set(EVERY) - {"PriorAndDataDisplay"}:
        assert draw(name, bagged, X).ax_.has_data()
    with pytest.raises(ValueError, match="used no prior"):
        draw("PriorAndDataDisplay", bagged, X)


def test_selectors_without_a_model_are_refused():
    X = data(3, 4)
    selector = KSelector(
        BBC(n_replicas=40), k_range=(2,), null_reference=0, refit=False, random_state=0
    ).fit(X)
    with pytest.raises(AttributeError, match="refit=False and has no model to draw: set refit=Tr"):
        draw("MembershipBarsDisplay", selector, X)


# --- colours --------------------------------------------------------------------------------------


def test_a_cluster_has_the_same_colour_in_every_display():
    def of(artist):
        return [to_hex(color).upper() for color in artist.get_facecolor()]

    for n_clusters in (3, 7):
        fitted, X = model(n_clusters, 2), data(n_clusters, 2)
        expected = list(SERIES[:n_clusters])
        rows = draw("DataMapDisplay", fitted, X).scatters_
        assert [to_hex(s.get_edgecolor()[0]).upper() for s in rows] == expected
        prior = draw("PriorAndDataDisplay", fitted, X).scatters_
        assert [to_hex(s.get_edgecolor()[0]).upper() for s in prior] == expected
        simplex = draw("MembershipSimplexDisplay", fitted, X).scatters_
        assert [of(s)[0] for s in simplex] == expected
        bars = draw("MembershipBarsDisplay", fitted, X).bars_
        assert [of(b)[0] for b in bars] == expected
        for name in ("PairwiseHeatmapDisplay", "MembershipEdgesDisplay"):
            assert [line.get_color() for line in draw(name, fitted, X).ax_.lines] == expected


# --- legible --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("n_clusters", [1, 2, 3, 7, 15])
def test_legible_for_any_number_of_clusters(name, n_clusters):
    assert_legible(draw(name, model(n_clusters, 2), data(n_clusters, 2)).figure_)


@pytest.mark.parametrize("n_clusters", [9, 20])
def test_numbers_fit_into_the_cells_of_a_matrix(n_clusters):
    heat = plots.PairwiseHeatmapDisplay(pairwise_entropy=np.full((n_clusters, n_clusters), 0.888))
    assert_legible(heat.plot().figure_)


def test_counts_fit_into_the_panels_of_a_matrix():
    shares = np.full((10_000, 10), 0.1)
    assert_legible(plots.MembershipEdgesDisplay(memberships=shares).plot().figure_)


def test_a_legend_of_many_clusters_stays_in_the_figure():
    assert_legible(draw("DataMapDisplay", model(35, 2), data(35, 2)).figure_)
    assert_legible(draw("MembershipBarsDisplay", model(35, 2), data(35, 2)).figure_)


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("d", [1, 4, 50])
def test_legible_for_any_number_of_columns(name, d):
    assert_legible(draw(name, model(3, d), data(3, d)).figure_)


@pytest.mark.parametrize(("scale", "shift"), [(1e7, 0.0), (1.0, 1e7)])
def test_legible_for_large_numbers(scale, shift):
    X = scale * data(3, 4) + shift
    fitted = BBC(3, n_replicas=80, n_init=2, random_state=0).fit(X)
    assert_legible(draw("DataMapDisplay", fitted, X).figure_)
    assert_legible(draw("DataMapDisplay", fitted, X, columns=(0, 1)).figure_)


@pytest.mark.parametrize("name", EVERY)
def test_legible_on_half_a_page(name):
    figure = Figure(figsize=(5.4, 4.2), layout="constrained")
    assert_legible(draw_iris_like(name, ax=figure.add_subplot()).figure_)


@pytest.mark.parametrize("name", EVERY)
def test_two_rows_can_be_drawn(name):
    assert_legible(draw(name, model(2, 3, 2), data(2, 3, 2)).figure_)


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_constant_column_can_be_drawn(name):
    X = data(3, 2).copy()
    X[:, 1] = 5
    fitted = BBC(3, n_replicas=80, n_init=2, random_state=0).fit(X)
    display = draw(name, fitted, X)
    assert_legible(display.figure_)
    low, high = display.ax_.get_ylim()
    assert low < 5 < high


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_that_are_all_alike_can_be_drawn(name):
    X = np.full((9, 3), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # too few votes
        fitted = BBC(1, n_replicas=20, random_state=0).fit(X)
    assert_legible(draw(name, fitted, X).figure_)


@pytest.mark.parametrize("name", OF_ROWS + OF_MODELS[2:5])
def test_a_sample_of_many_rows_is_legible(name):
    X = data(3, 2, 30_000)
    display = draw(name, model(3, 2, 30_000), X)
    assert "of 30,000 rows" in display.ax_.get_title(loc="left") or "Edges" in name
    assert_legible(display.figure_)
