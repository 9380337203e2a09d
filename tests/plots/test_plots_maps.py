"""Displays of the rows in two dimensions: where, in which colour, and what is around them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from scipy.stats import chi2, f

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.plots import DataMapDisplay, EntropyMapDisplay, PriorAndDataDisplay
from bbclust.plots.ellipses import ellipse_of_distribution, ellipse_of_points
from bbclust.plots.palette import SERIES
from bbclust.plots.projection import choose_projection, choose_rows
from bbclust.priors import StudentMixturePrior

MAPS = (DataMapDisplay, EntropyMapDisplay, PriorAndDataDisplay)
IRIS = load_iris().data
NAMES = list(load_iris().feature_names)


def axes():
    return Figure(layout="constrained").add_subplot()


def fit(X, n_clusters=3, **parameters):
    return BBC(n_clusters, **{"n_replicas": 100, "random_state": 0, **parameters}).fit(X)


@pytest.fixture(scope="module")
def iris():
    return fit(IRIS)


def positions(display):
    """Where the rows are, sorted."""
    scatters = getattr(display, "scatters_", None) or [display.scatter_]
    return np.sort(np.concatenate([scatter.get_offsets() for scatter in scatters]), axis=0)


def holds(patch, points):
    """Which points lie in an ellipse, as it is drawn."""
    path = patch.get_path().transformed(patch.get_patch_transform())
    return path.contains_points(points, radius=1e-9)


# --- where rows lie -------------------------------------------------------------------------------


@pytest.mark.parametrize("display", MAPS)
def test_two_columns_are_drawn_as_they_are(display):
    X = make_paper_dataset(1, random_state=0).data
    shown = display.from_estimator(fit(X), X, ax=axes())
    np.testing.assert_array_equal(positions(shown), np.sort(X, axis=0))
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("column 0", "column 1")


@pytest.mark.parametrize("display", MAPS)
def test_given_columns_are_drawn_as_they_are(iris, display):
    shown = display.from_estimator(iris, IRIS, columns=(2, -4), ax=axes())
    np.testing.assert_array_equal(positions(shown), np.sort(IRIS[:, [2, 0]], axis=0))
    assert shown.axis_labels == ("column 2", "column 0")


@pytest.mark.parametrize("display", MAPS)
def test_more_columns_are_drawn_as_principal_components(iris, display):
    shown = display.from_estimator(iris, IRIS, ax=axes())
    centred = IRIS - IRIS.mean(axis=0)
    scatter = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    drawn = positions(shown)
    np.testing.assert_allclose((drawn**2).sum(axis=0), scatter[:2])
    first, second = scatter[:2] / scatter.sum()
    assert shown.ax_.get_xlabel() == f"principal component 1 ({first:.0%} of variance)"
    assert shown.ax_.get_ylabel() == f"principal component 2 ({second:.0%} of variance)"


def test_centres_are_projected_like_rows(iris):
    projection = choose_projection(IRIS, None, None)
    np.testing.assert_allclose(
        projection.apply(IRIS.mean(axis=0)), projection.apply(IRIS).mean(axis=0), atol=1e-12
    )
    display = DataMapDisplay.from_estimator(iris, IRIS, ax=axes())
    expected = projection.apply(iris.replica_centers_)
    np.testing.assert_allclose(display.replica_centers, expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("select", [False, True])
def test_columns_of_data_frames_are_called_and_named_by_name(frame, select):
    X = frame(dict(zip(NAMES, IRIS.T, strict=True)))
    quick = BBC(n_replicas=80, n_init=1)
    selector = KSelector(quick, k_range=(3,), null_reference=0, random_state=0)
    model = selector.fit(X) if select else fit(X)
    display = DataMapDisplay.from_estimator(
        model, X, columns=("petal length", "sepal width"), ax=axes()
    )
    assert display.ax_.get_xlabel() == "petal length"
    assert display.ax_.get_ylabel() == "sepal width"
    np.testing.assert_array_equal(positions(display), np.sort(IRIS[:, [2, 1]], axis=0))


@pytest.mark.parametrize("display", MAPS)
def test_a_single_column_is_spread_upwards(display):
    X = np.concatenate([IRIS[:, [2]], [[3.3]]])
    shown = display.from_estimator(fit(X), X, ax=axes())
    drawn = positions(shown)
    np.testing.assert_array_equal(drawn[:, 0], np.sort(X[:, 0]))
    assert np.diff(drawn[:, 1]).max() < 0.05  # evenly
    assert -1 <= drawn[0, 1] < -0.95
    assert 0.95 < drawn[-1, 1] <= 1
    assert len(shown.ax_.get_yticks()) == 0


def test_centres_of_a_single_column_are_strokes_in_the_middle():
    X = IRIS[:, [2]]
    display = DataMapDisplay.from_estimator(fit(X), X, ax=axes())
    assert [ellipse.height for ellipse in display.ellipses_] == [0, 0, 0]
    assert [ellipse.center[1] for ellipse in display.ellipses_] == [0, 0, 0]
    assert all(ellipse.width > 0 for ellipse in display.ellipses_)


def test_components_without_variance_show_no_roundings():
    line = np.outer(np.arange(20.0), [1.0, 2.0, 2.0]) + 0.1
    placed = choose_projection(line, None, None).place(line)
    np.testing.assert_allclose(np.abs(np.diff(placed[:, 0])), 3.0)
    assert (placed[:, 1] == 0).all()
    alike = np.full((5, 3), 0.1)
    projection = choose_projection(alike, None, None)
    assert (projection.place(alike) == 0).all()
    assert projection.axis_labels[0] == "principal component 1 (0% of variance)"


def test_unknown_columns_are_refused(iris):
    named = fit(pd.DataFrame(IRIS, columns=NAMES))
    frame = pd.DataFrame(IRIS, columns=NAMES)
    with pytest.raises(ValueError, match="There is no column 'stem': X has 'sepal length', "):
        DataMapDisplay.from_estimator(named, frame, columns=("stem", "sepal width"))
    with pytest.raises(ValueError, match="There is no column 4: X has columns 0 to 3"):
        DataMapDisplay.from_estimator(iris, IRIS, columns=(0, 4))
    with pytest.raises(ValueError, match="fitted on columns without names: give a number from 0"):
        DataMapDisplay.from_estimator(iris, IRIS, columns=("stem", 0))
    for columns in ("ab", (0,), (0, 1, 2)):
        with pytest.raises(ValueError, match="columns must be two names or indices"):
            DataMapDisplay.from_estimator(iris, IRIS, columns=columns)


@pytest.mark.parametrize("display", MAPS)
def test_other_rows_than_those_of_fit_are_refused(iris, display):
    with pytest.raises(ValueError, match="X has 10 rows and the model was fitted on 150: pass"):
        display.from_estimator(iris, IRIS[:10])


# --- which rows -----------------------------------------------------------------------------------


def test_all_rows_are_drawn_when_there_is_room():
    np.testing.assert_array_equal(choose_rows(np.ones(7), 7), np.arange(7))


def test_of_many_rows_the_least_certain_are_kept():
    entropy = np.random.default_rng(0).uniform(0.01, 1, 1000)
    rows = choose_rows(entropy, 100)
    assert len(rows) == len(set(rows.tolist())) == 100
    assert set(np.argsort(-entropy)[:50]) <= set(rows.tolist())
    assert (np.diff(rows) > 0).all()


def test_rows_without_doubt_are_a_sample_of_all():
    entropy = np.zeros(10_000)
    entropy[:3] = 1
    rows = choose_rows(entropy, 1_000)
    assert rows[:3].tolist() == [0, 1, 2]
    # The mean of 997 of 9,997 rows, of standard error 2,886 sqrt(0.9 / 997) = 87.
    assert abs(rows[3:].mean() - 5_001) < 5 * 87


@pytest.mark.parametrize("display", MAPS)
def test_a_sample_says_so(iris, display):
    shown = display.from_estimator(iris, IRIS, max_points=60, ax=axes())
    assert len(positions(shown)) == 60
    assert "60 of 150 rows" in shown.ax_.get_title(loc="left")
    shown = display.from_estimator(iris, IRIS, max_points=150, ax=axes())
    assert "of 150 rows" not in shown.ax_.get_title(loc="left")


def test_max_points_is_checked(iris):
    with pytest.raises(ValueError, match="max_points must be at least 1, got 0"):
        DataMapDisplay.from_estimator(iris, IRIS, max_points=0)


# --- colours --------------------------------------------------------------------------------------


def draw_three(uncertainty, n_clusters=2, colors=None):
    """Rows of cluster 0 at 0, 1, 2 on a line."""
    return DataMapDisplay(
        points=np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]),
        labels=np.zeros(3, dtype=int),
        uncertainty=np.array(uncertainty),
        replica_centers=np.zeros((5, n_clusters, 2)),
        axis_labels=("a", "b"),
        colors=colors,
    ).plot(axes())


def test_fill_fades_with_uncertainty_and_the_edge_stays():
    scatter = draw_three([0.0, 0.5, 1.0]).scatters_[0]
    own, fills = np.array(to_rgb(SERIES[0])), scatter.get_facecolor()[:, :3]
    np.testing.assert_allclose(fills[0], own)
    np.testing.assert_allclose(fills[1], own / 4 + 3 / 4)
    np.testing.assert_allclose(fills[2], 1.0)
    assert {to_hex(edge).upper() for edge in scatter.get_edgecolor()} == {SERIES[0]}


def test_the_least_certain_rows_are_on_top():
    scatter = draw_three([0.9, 0.0, 0.5]).scatters_[0]
    assert scatter.get_offsets()[:, 0].tolist() == [1, 2, 0]


def test_uncertainty_is_entropy_as_a_share_of_the_most_possible(iris):
    display = DataMapDisplay.from_estimator(iris, IRIS, ax=axes())
    np.testing.assert_allclose(display.uncertainty, iris.entropy_ / np.log2(3))


def test_rows_have_the_colours_of_their_clusters(iris):
    for kind in (DataMapDisplay, PriorAndDataDisplay):
        display = kind.from_estimator(iris, IRIS, colors=(3, 0, 7), ax=axes())
        for k, index in enumerate((3, 0, 7)):
            scatter = display.scatters_[k]
            assert to_hex(scatter.get_edgecolor()[0]).upper() == SERIES[index]
            assert len(scatter.get_offsets()) == (iris.labels_ == k).sum()


def test_legend_names_clusters_fill_and_ellipses():
    def legend(n_clusters):
        display = draw_three([0.0, 0.0, 0.0], n_clusters)
        return [text.get_text() for text in display.legend_.get_texts()]

    assert legend(1) == ["cluster 0", "95% of centres"]
    assert legend(2)[2:] == ["0 bits: all votes agree", "1 bit: a coin toss", "95% of centres"]
    assert legend(4)[4:-1] == [
        "0 bits: all votes agree",
        "1 bit: a coin toss",
        "2 bits: a pure guess",
    ]


def test_legend_can_be_left_out(iris):
    display = DataMapDisplay.from_estimator(iris, IRIS, legend=False, ax=axes())
    assert display.legend_ is None
    assert display.ax_.get_legend() is None


def test_entropy_map_has_the_entropy_of_each_row(iris):
    display = EntropyMapDisplay.from_estimator(iris, IRIS, columns=(0, 2), ax=axes())
    order = np.argsort(iris.entropy_, kind="stable")
    np.testing.assert_array_equal(display.scatter_.get_array(), iris.entropy_[order])
    np.testing.assert_array_equal(display.scatter_.get_offsets(), IRIS[order][:, [0, 2]])


@pytest.mark.parametrize(("largest", "top"), [(0.0, 1.0), (0.3, 1.0), (1.4, 1.4)])
def test_a_coin_toss_is_always_on_the_scale(largest, top):
    display = EntropyMapDisplay(
        points=np.zeros((2, 2)), entropy=np.array([0.0, largest]), axis_labels=("a", "b")
    ).plot(axes())
    assert display.scatter_.get_clim() == (0.0, top)


# --- ellipses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ellipses_hold_their_share_of_the_replica_centres(iris, level):
    display = DataMapDisplay.from_estimator(iris, IRIS, level=level, ax=axes())
    for k, ellipse in enumerate(display.ellipses_):
        to_circle = ellipse.get_patch_transform().inverted()
        radius = np.hypot(*to_circle.transform(display.replica_centers[:, k]).T)
        assert (radius <= 1 + 1e-9).sum() == np.ceil(level * iris.n_replicas_)


def test_ellipse_of_normal_points_is_that_of_their_distribution(seed):
    n, covariance = 20_000, np.array([[4.0, 1.0], [1.0, 1.0]])
    points = np.random.default_rng(seed).multivariate_normal([3, -1], covariance, size=n)
    ellipse = ellipse_of_points(points, 0.95)
    truth = ellipse_of_distribution(np.array([3.0, -1.0]), covariance, 0.95)
    # Standard errors are about 1% for half axes and 0.01 for the centre: five of them.
    np.testing.assert_allclose(ellipse.half_axes, truth.half_axes, rtol=0.08)
    np.testing.assert_allclose(ellipse.center, truth.center, atol=0.1)


def test_ellipse_of_a_gaussian_has_the_radius_of_chi_squared():
    ellipse = ellipse_of_distribution(np.zeros(2), np.diag([1.0, 9.0]), 0.95)
    np.testing.assert_allclose(ellipse.half_axes, np.sqrt(chi2.ppf(0.95, 2)) * np.array([3, 1]))
    np.testing.assert_allclose(np.abs(ellipse.directions), [[0, 1], [1, 0]])
    flat = ellipse_of_distribution(np.zeros(2), np.diag([4.0, 0.0]), 0.95)
    np.testing.assert_allclose(flat.half_axes, [2 * 1.959964, 0], rtol=1e-6)


def test_ellipse_of_a_student_distribution_holds_its_share(seed):
    generator = np.random.default_rng(seed)
    n, df = 20_000, 3
    stretch = np.sqrt(df / generator.chisquare(df, size=n))
    points = stretch[:, None] * generator.normal(size=(n, 2)) * [2, 1]
    ellipse = ellipse_of_distribution(np.zeros(2), np.diag([4.0, 1.0]), 0.95, df)
    inside = (((points / ellipse.half_axes) ** 2).sum(axis=1) < 1).mean()
    assert abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n)


def test_ellipses_turn_with_the_points():
    points = np.array([[-2.0, -2.0], [2.0, 2.0], [0.5, -0.5], [-0.5, 0.5]])
    patch = ellipse_of_points(points, 0.99).patch()
    assert patch.angle % 180 == pytest.approx(45)
    assert patch.width > patch.height


def test_a_few_strays_do_not_stretch_an_ellipse():
    points = np.random.default_rng(0).normal(size=(100, 2))
    before = ellipse_of_points(points, 0.95).half_axes
    points[:4] = [50, 50]
    assert (ellipse_of_points(points, 0.95).half_axes < 1.5 * before).all()


def test_points_that_are_alike_make_an_ellipse_of_no_size():
    alike = np.full((9, 2), 0.25)
    assert ellipse_of_points(alike, 0.95).half_axes.tolist() == [0, 0]
    alike[0] = 5  # still more than half are alike
    assert ellipse_of_points(alike, 0.5).half_axes.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("level", "error", "sentence"),
    [
        (0, ValueError, "must lie between 0 and 1, got 0: it is a probability such as 0.95."),
        (1, ValueError, "must lie between 0 and 1, got 1: it is a probability such as 0.95."),
        (95, ValueError, "must lie between 0 and 1, got 95: it is a probability such as 0.95."),
        (True, TypeError, "must be a number between 0 and 1 such as 0.95, got True."),
        ("95%", TypeError, "must be a number between 0 and 1 such as 0.95, got '95%'."),
    ],
)
@pytest.mark.parametrize("display", [DataMapDisplay, PriorAndDataDisplay])
def test_levels_are_shares(iris, display, level, error, sentence):
    with pytest.raises(error, match=f"^level {re.escape(sentence)}$"):
        display.from_estimator(iris, IRIS, level=level)


# --- the prior ------------------------------------------------------------------------------------


def test_prior_has_an_ellipse_for_each_gaussian(iris):
    display = PriorAndDataDisplay.from_estimator(iris, IRIS, columns=(0, 2), ax=axes())
    for j, ellipse in enumerate(display.ellipses_):
        np.testing.assert_allclose(ellipse.center, iris.prior_.means[j, [0, 2]])
        covariance = iris.prior_.covariances[j][np.ix_([0, 2], [0, 2])]
        area = np.pi * chi2.ppf(0.95, 2) * np.sqrt(np.linalg.det(covariance))
        assert np.pi * ellipse.width * ellipse.height / 4 == pytest.approx(area)


def test_draws_of_the_prior_fall_into_its_ellipses(iris):
    display = PriorAndDataDisplay.from_estimator(iris, IRIS, ax=axes())
    draws = np.asarray(display.draws_.get_offsets())
    assert len(draws) == 200
    inside = np.any([holds(ellipse, draws) for ellipse in display.ellipses_], axis=0)
    assert inside.mean() > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 200)


def test_student_priors_have_larger_ellipses_and_stray_draws_are_counted():
    gaussian = PriorAndDataDisplay.from_estimator(fit(IRIS), IRIS, ax=axes())
    student = fit(IRIS, prior=StudentMixturePrior(df=1))
    display = PriorAndDataDisplay.from_estimator(student, IRIS, ax=axes())
    for wide, narrow in zip(display.ellipses_, gaussian.ellipses_, strict=True):
        ratio = np.sqrt(2 * f.ppf(0.95, 2, 1) / chi2.ppf(0.95, 2))
        assert wide.width == pytest.approx(ratio * narrow.width)
    n_outside = len(display.draws) - len(display.draws_.get_offsets())
    assert n_outside > 0
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert f"draws of the prior, {n_outside} outside" in texts
    assert "draws of the prior" in [text.get_text() for text in gaussian.legend_.get_texts()]


class UniformPrior:
    def prepare(self, X, reference, scale):
        return self

    def sample(self, n, generator):
        return generator.uniform(4, 8, size=(n, 4))


def test_other_priors_are_drawn_without_ellipses():
    model = fit(IRIS, prior=UniformPrior())
    display = PriorAndDataDisplay.from_estimator(model, IRIS, columns=(0, 1), ax=axes())
    draws = np.asarray(display.draws_.get_offsets())
    assert draws.min() > 4
    assert draws.max() < 8
    assert display.ellipses_ == []
    assert "95% of a component" not in [text.get_text() for text in display.legend_.get_texts()]


def test_a_model_without_a_prior_is_refused():
    with pytest.raises(ValueError, match="used no prior: fit it with resampling='proper'"):
        PriorAndDataDisplay.from_estimator(fit(IRIS, resampling="efron"), IRIS)


def test_rows_with_missing_values_are_shown_at_the_centres_of_their_clusters():
    X = IRIS.copy()
    X[::5, 1] = np.nan
    model = BBC(3, n_replicas=50, votes="all", missing="draw", random_state=0).fit(X)
    display = DataMapDisplay.from_estimator(model, X, columns=[0, 1], ax=axes())
    expected = (model.memberships_ @ model.cluster_centers_)[::5, 1]
    assert np.isfinite(display.points).all()
    np.testing.assert_allclose(display.points[::5, 1], expected)
