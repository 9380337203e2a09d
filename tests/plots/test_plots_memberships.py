"""Displays of memberships, entropies and margins: hand-made numbers, and what is drawn of them."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bbclust import BBC, entropy, pairwise_entropy
from bbclust.datasets import load_iris
from bbclust.plots import (
    AlignmentMarginsDisplay,
    EntropyHistogramDisplay,
    MembershipBarsDisplay,
    MembershipEdgesDisplay,
    MembershipSimplexDisplay,
    PairwiseHeatmapDisplay,
)
from bbclust.plots.membership_simplex import corner_of_clusters, regular_corners
from bbclust.plots.palette import SERIES

K_VALUES = (1, 2, 3, 4, 7, 15)


def axes():
    return Figure(layout="constrained").add_subplot()


def some_memberships(n, n_clusters, seed=0):
    """Every cluster's corner first, then rows between two or more clusters."""
    generator = np.random.default_rng(seed)
    u = generator.dirichlet(np.full(n_clusters, 0.3), size=n)
    u[:n_clusters] = np.eye(n_clusters)
    u[u < 0.05] = 0
    return u / u.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def iris():
    return BBC(3, n_replicas=100, random_state=0).fit(load_iris().data)


# --- simplex --------------------------------------------------------------------------------------


def simplex(memberships, **options):
    return MembershipSimplexDisplay(memberships=np.array(memberships), **options).plot(axes())


@pytest.mark.parametrize("n_clusters", K_VALUES)
def test_rows_with_all_votes_for_a_cluster_lie_on_its_corner(n_clusters):
    display = simplex(np.eye(n_clusters))
    for k, scatter in enumerate(display.scatters_):
        np.testing.assert_allclose(scatter.get_offsets(), display.corners_[[k]], atol=1e-12)


@pytest.mark.parametrize("n_clusters", K_VALUES[1:])
def test_rows_lie_at_the_mean_of_the_corners(n_clusters):
    u = some_memberships(50, n_clusters)
    display = simplex(u)
    drawn = np.concatenate([scatter.get_offsets() for scatter in display.scatters_])
    expected = (u[:, :, None] * display.corners_).sum(axis=1)
    order = np.argsort(u.argmax(axis=1), kind="stable")  # drawn cluster by cluster
    np.testing.assert_allclose(drawn, expected[order], atol=1e-12)


@pytest.mark.parametrize("n_clusters", K_VALUES[2:])
def test_corners_are_those_of_a_regular_polygon(n_clusters):
    corners = regular_corners(n_clusters)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 2 * np.sin(np.pi / n_clusters))
    np.testing.assert_allclose(corners[0], [0, 1])
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1)


def test_two_clusters_make_a_line():
    display = simplex([[1, 0], [0.5, 0.5], [0.25, 0.75], [0, 1]])
    drawn = np.concatenate([scatter.get_offsets() for scatter in display.scatters_])
    np.testing.assert_allclose(drawn, [[-1, 0], [0, 0], [0.5, 0], [1, 0]])


def test_clusters_that_share_votes_are_neighbours():
    # A chain 0 - 2 - 3 - 1 - 4: each row is shared by two links.
    chain = [0, 2, 3, 1, 4]
    u = np.zeros((4, 5))
    for row, (k, m) in enumerate(pairwise(chain)):
        u[row, [k, m]] = 0.5
    corners = corner_of_clusters(u)
    steps = np.abs(np.diff(corners[chain]))
    assert np.minimum(steps, 5 - steps).tolist() == [1, 1, 1, 1]
    assert corners[0] == 0
    assert sorted(corners) == list(range(5))


def test_corners_count_the_rows_on_them():
    display = simplex([[1, 0, 0], [1, 0, 0], [0.6, 0.4, 0], [0, 0, 1]])
    assert [label.get_text() for label in display.corner_labels_] == [
        "cluster 0\n2 certain",
        "cluster 1\n0 certain",
        "cluster 2\n1 certain",
    ]


# --- edges ----------------------------------------------------------------------------------------


def edges(memberships, **options):
    return MembershipEdgesDisplay(memberships=np.array(memberships), **options).plot(axes())


def test_each_pair_has_the_rows_with_votes_for_both():
    u = some_memberships(80, 5)
    display = edges(u)
    for pair in combinations(range(5), 2):
        both = (u[:, pair] > 0).all(axis=1)
        assert display.numbers_[pair].get_text() == f"{both.sum():,}"
        assert (pair in display.panels_) == both.any()


def test_panels_show_how_the_votes_are_shared():
    # Rows at 0.1 (twice), 0.5 and 0.95 of the way from cluster 0 to cluster 2.
    display = edges(
        [[0.9, 0, 0.1], [0.45, 0.5, 0.05], [0.25, 0.5, 0.25], [0.05, 0, 0.95], [0, 1, 0]]
    )
    bars = display.panels_[0, 2].get_paths()
    heights = np.array([np.ptp(bar.vertices[:, 1]) for bar in bars])
    np.testing.assert_allclose(heights / heights.max(), [0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0.5])
    left = np.array([bar.vertices[:, 0].min() for bar in bars])
    assert (np.diff(left) > 0).all()
    assert left[0] > -0.5
    assert left[-1] < 0.5
    centre = np.concatenate([bar.vertices[:, 1] for bar in bars])
    assert 1.5 < centre.min() < centre.max() < 2.5


def test_each_side_of_a_panel_has_the_colour_of_its_cluster():
    display = edges([[0.5, 0, 0.5]], colors=(4, 0, 9))
    colors = [to_hex(color).upper() for color in display.panels_[0, 2].get_facecolor()]
    assert colors == [SERIES[4]] * 5 + [SERIES[9]] * 5


def test_one_cluster_has_no_panels():
    display = edges(np.ones((4, 1)))
    assert display.panels_ == display.numbers_ == {}
    assert display.ax_.get_title(loc="left") == "One cluster: no pairs to share votes"


# --- heat map -------------------------------------------------------------------------------------


def heatmap(matrix, **options):
    return PairwiseHeatmapDisplay(pairwise_entropy=np.array(matrix), **options).plot(axes())


def test_heatmap_has_the_numbers_of_the_model(iris):
    display = PairwiseHeatmapDisplay.from_estimator(iris, ax=axes())
    drawn = display.image_.get_array().filled(np.nan)
    below = np.tri(3, k=-1, dtype=bool)
    np.testing.assert_array_equal(drawn[below], iris.pairwise_entropy_[below])
    assert np.isnan(drawn[~below]).all()
    for (k, m), number in display.numbers_.items():
        assert number.get_position() == (k, m)
    worst = display.numbers_[iris.worst_pair_]
    assert worst.get_text() == f"{iris.max_pairwise_entropy_:.3f}"


def test_the_worst_pair_is_framed_and_named(iris):
    display = PairwiseHeatmapDisplay.from_estimator(iris, ax=axes())
    k, m = iris.worst_pair_
    assert display.worst_.get_xy() == (k - 0.5, m - 0.5)
    title = f"Clusters {k} and {m} are told apart worst: {iris.max_pairwise_entropy_:.3f} bits"
    assert display.ax_.get_title(loc="left") == title


def test_without_doubt_no_pair_is_worst():
    display = heatmap(np.zeros((2, 2)))
    assert display.worst_ is None
    assert display.numbers_[0, 1].get_text() == "0"
    assert display.ax_.get_title(loc="left") == "No row has votes for two clusters"
    assert heatmap([[0.0]]).ax_.get_title(loc="left") == "One cluster: no pairs to tell apart"


def test_tiny_doubts_are_not_called_zero():
    display = heatmap([[0, 1e-5, 0.0123], [1e-5, 0, 0.2], [0.0123, 0.2, 0]])
    numbers = {pair: number.get_text() for pair, number in display.numbers_.items()}
    assert numbers == {(0, 1): "~0", (0, 2): "0.012", (1, 2): "0.200"}


def test_more_clusters_than_can_be_read_have_no_numbers():
    assert heatmap(np.full((21, 21), 0.1)).numbers_ == {}
    assert len(heatmap(np.full((20, 20), 0.1)).numbers_) == 190


def test_clusters_have_their_signs_on_the_diagonal():
    for draw in (heatmap, edges):
        display = draw(np.eye(3), colors=(2, 5, 1))
        signs = [(line.get_xdata()[0], line.get_color()) for line in display.ax_.lines]
        assert signs == [(0, SERIES[2]), (1, SERIES[5]), (2, SERIES[1])]


# --- bars -----------------------------------------------------------------------------------------


def bars_by_row(display):
    """From the polygons: for each drawn row, its spans (bottom, top) by cluster."""
    spans = [{} for _ in display.rows_]
    for k, bars in enumerate(display.bars_):
        for path in bars.get_paths():
            x, y = path.vertices[:4].T
            spans[int(x.min())][k] = (y.min(), y.max())
    return spans


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_bars_are_as_high_as_the_memberships_and_fill_the_column(n_clusters):
    u = some_memberships(40, n_clusters)
    display = MembershipBarsDisplay(memberships=u).plot(axes())
    for row, spans in zip(display.rows_, bars_by_row(display), strict=True):
        for k in range(n_clusters):
            bottom, top = spans.get(k, (0, 0))
            assert top - bottom == pytest.approx(u[row, k])
        ends = sorted(spans.values())
        assert ends[0][0] == 0
        assert ends[-1][1] == pytest.approx(1)
        for (_, top), (bottom, _) in pairwise(ends):
            assert top == pytest.approx(bottom)


def test_rows_are_sorted_by_cluster_and_certainty():
    u = np.array([[0.4, 0.6], [0.9, 0.1], [0.1, 0.9], [0.6, 0.4], [1.0, 0.0]])
    assert MembershipBarsDisplay(memberships=u).plot(axes()).rows_.tolist() == [4, 1, 3, 2, 0]


def test_a_rows_own_cluster_is_at_the_bottom():
    u = some_memberships(40, 4)
    display = MembershipBarsDisplay(memberships=u).plot(axes())
    for row, spans in zip(display.rows_, bars_by_row(display), strict=True):
        assert spans[u[row].argmax()][0] == 0


def test_of_many_rows_evenly_spaced_ones_are_drawn():
    u = np.tile([[1.0, 0.0], [0.3, 0.7]], (10_000, 1))
    display = MembershipBarsDisplay(memberships=u).plot(axes())
    assert len(set(display.rows_.tolist())) == 5_000
    assert (display.rows_ % 2).mean() == pytest.approx(0.5, abs=1e-3)
    assert "5,000 of 20,000 rows: evenly spaced" in display.ax_.get_title(loc="left")


# --- histograms -----------------------------------------------------------------------------------


def counts(display):
    return np.array([bar.get_height() for bar in display.bars_])


def test_entropies_above_zero_are_counted_in_bars(iris):
    display = EntropyHistogramDisplay.from_estimator(iris, ax=axes())
    in_doubt = iris.entropy_[iris.entropy_ > 0]
    assert counts(display).sum() == len(in_doubt)
    bar = display.bars_[12]
    low, high = bar.get_x(), bar.get_x() + bar.get_width()
    assert bar.get_height() == ((in_doubt >= low) & (in_doubt < high)).sum()
    assert set(display.mean_.get_xdata()) == {iris.mean_entropy_}


@pytest.mark.parametrize(
    ("bits", "title"),
    [
        ([0.0, 0.5, 0.0], "All votes agree on 2 of 3 rows"),
        ([0.0, 0.0], "All votes agree on all 2 rows"),
        ([0.1, 0.2], "The votes are divided on all 2 rows"),
    ],
)
def test_rows_without_doubt_are_counted_in_the_title(bits, title):
    display = EntropyHistogramDisplay(entropy=np.array(bits)).plot(axes())
    assert display.ax_.get_title(loc="left") == title
    assert set(display.mean_.get_xdata()) == {np.mean(bits)}


def test_every_entropy_is_on_the_axis():
    display = EntropyHistogramDisplay(entropy=np.array([0.1, 2.5])).plot(axes())
    assert counts(display).sum() == 2
    assert display.ax_.get_xlim()[1] > 2.5


def test_margins_are_counted_in_bars(iris):
    display = AlignmentMarginsDisplay.from_estimator(iris, ax=axes())
    assert counts(display).sum() == iris.n_replicas_
    assert set(display.median_.get_xdata()) == {np.median(iris.alignment_margin_)}
    lowest = f"100 replicas, the least clear one at {iris.alignment_margin_.min():.2f}"
    assert display.ax_.get_title(loc="left").endswith(lowest)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_margins_that_are_all_alike_are_on_the_axis(margin):
    display = AlignmentMarginsDisplay(margins=np.full(7, margin)).plot(axes())
    assert counts(display).sum() == 7
    low, high = display.ax_.get_xlim()
    assert low < margin < high


# --- the same numbers -----------------------------------------------------------------------------


def test_displays_can_be_made_from_predictions_for_other_rows(iris):
    u = iris.predict_proba(load_iris().data[::7])
    assert len(MembershipBarsDisplay(memberships=u).plot(axes()).rows_) == 22
    heat = PairwiseHeatmapDisplay(pairwise_entropy=pairwise_entropy(u)).plot(axes())
    assert heat.worst_ is not None
    EntropyHistogramDisplay(entropy=entropy(u)).plot(axes())
