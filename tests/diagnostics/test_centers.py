"""Where clusters lie and how far apart they are, with how sure that is."""

import numpy as np
import pytest
from scipy import stats

from bbclust import BBC, load_model
from bbclust.datasets import load_iris
from bbclust.diagnostics.center_posterior import (
    center_intervals,
    center_regions,
    distances_between,
    posterior_centers,
    quantiles,
    replicas_needed,
    small_sample_factor,
)
from bbclust.priors import MixturePrior
from bbclust.stages.bootstrap import Resampling

IRIS = load_iris().data
CORNERS = np.array([[0.0, 0.0], [60.0, 0.0]])


def blobs(generator, n_each):
    """Two clusters far apart."""
    return np.repeat(CORNERS, n_each, axis=0) + generator.normal(size=(2 * n_each, 2))


def fit(X, **parameters):
    settings = {"n_clusters": 2, "n_replicas": 200, "votes": "all", "n_init": 0, "random_state": 0}
    return BBC(**{**settings, **parameters}).fit(X)


# --- the spread of replicas and that of the posterior ---------------------------------------------

SCHEMES = {
    "proper, m = n": Resampling(40, 0.0),
    "proper, few draws": Resampling(15, 0.0),
    "proper, many draws": Resampling(300, 0.0),
    "proper with a prior": Resampling(40, 0.5),
    "resample": Resampling(40, 0.0, weighting="resample"),
    "rubin": Resampling(40, 0.0, kind="rubin"),
    "rubin, resample": Resampling(40, 0.0, kind="rubin", weighting="resample"),
    "efron": Resampling(40, 0.0, kind="efron"),
    "efron, few draws": Resampling(15, 0.0, kind="efron"),
}


def test_the_ratio_by_hand():
    assert SCHEMES["proper, m = n"].variance_ratio(40) == pytest.approx(2)
    assert SCHEMES["proper with a prior"].variance_ratio(40) == pytest.approx(1 + 80 / 40)
    assert SCHEMES["rubin"].variance_ratio(40) == 1
    assert SCHEMES["efron"].variance_ratio(40) == 1
    assert Resampling(10**9, 0.3).variance_ratio(40) == pytest.approx(1, abs=1e-6)
    # weights 2 / (n + 1), then n draws: 2 / 41 (1 - 1 / 40) + 1 / 40, times 41
    ratio = SCHEMES["resample"].variance_ratio(40)
    assert ratio == pytest.approx(2 * (1 - 1 / 40) + 41 / 40)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_the_mean_of_replicas_varies_by_the_ratio(scheme, seed):
    """At K = 1 the centre is a mean: 10,000 replicas give its variance to 1.4%; 10% is 7 errors.

    Under the posterior it is the variance of the mixture of data and F0, which have the same one
    here (s = 1), over n + k + 1.
    """
    X = np.random.default_rng(seed).normal(size=(40, 1))
    model = BBC(
        1,
        n_replicas=10_000,
        resampling=scheme.kind,
        weighting=scheme.weighting,
        prior_weight=scheme.prior_weight,
        n_draws=None if scheme.kind == "rubin" else scheme.n_draws,
        votes="all",
        random_state=seed,
    ).fit(X)
    posterior = X.var() / (40 + 40 * (scheme.prior_weight > 0) + (scheme.kind != "efron"))
    found = model.replica_centers_.var() / posterior
    assert model.variance_ratio_ == scheme.variance_ratio(40)
    assert found == pytest.approx(model.variance_ratio_, rel=0.1)
    draws = posterior_centers(
        model.replica_centers_, np.ones((10_000, 1), dtype=bool), model.variance_ratio_
    )
    assert draws.var() == pytest.approx(posterior, rel=0.1)
    assert draws.mean() == pytest.approx(model.replica_centers_.mean())


COVERAGE = {
    "few draws, next to no prior": {"prior_weight": 0.001, "n_draws": 60},
    "elicited prior": {},
    "heavy and wide elicited prior": {"prior_weight": 0.9, "prior_scale": 2.0},
    "rubin": {"resampling": "rubin"},
    "resample": {"prior_weight": 0.3, "weighting": "resample"},
}


@pytest.mark.parametrize("scheme", COVERAGE.values(), ids=COVERAGE)
def test_intervals_and_regions_cover_the_true_centres_as_often_as_they_say(scheme):
    """300 data sets, 4 coordinates and 2 centres each; two clusters of 20 rows.

    Coverage may be 93 to 97%, and the bounds are beyond that by a chance of 1e-6. If the rows were
    counted twice it would be 81% at a prior weight of 0.5; without the ratio of replicas 99%.
    """
    generator = np.random.default_rng()
    covered, inside = [], []
    for _ in range(300):
        model = fit(blobs(generator, 20), n_replicas=160, random_state=0, **scheme)
        lower, upper = np.moveaxis(model.centers_interval(0.95), -1, 0)
        order = np.argsort(model.cluster_centers_[:, 0])
        covered.append((lower[order] <= CORNERS) & (upper[order] >= CORNERS))
        regions = model.centers_region(0.95)
        for k, center in zip(order, CORNERS, strict=True):
            away = regions.centers[k] - center
            length = np.sqrt(away @ np.linalg.solve(regions.covariances[k], away))
            inside.append(length <= regions.radii[k])
    for found, n in ((covered, 1200), (inside, 600)):
        low, high = stats.binom.ppf(5e-7, n, 0.93), stats.binom.isf(5e-7, n, 0.97)
        assert low <= np.sum(found) <= high
        assert low > 0.86 * n


def test_intervals_with_a_prior_of_ones_own_are_those_of_the_posterior():
    """Half the rows' worth of a prior that is right: narrower than by the rows alone."""
    X = blobs(np.random.default_rng(0), 100)
    expert = MixturePrior([0.5, 0.5], CORNERS, [np.eye(2)] * 2)
    own, elicited = fit(X, prior=expert), fit(X)
    assert own.center_variance_ratio_ == own.variance_ratio_ == elicited.variance_ratio_
    assert elicited.center_variance_ratio_ == pytest.approx(elicited.variance_ratio_ / 2)
    assert np.isnan(own.cluster_rows_).all()
    assert elicited.cluster_rows_.tolist() == [100, 100]
    widths = [np.diff(model.centers_interval()).mean() for model in (own, elicited)]
    assert widths[0] < 0.85 * widths[1]


def test_weights_leave_fewer_rows():
    """Half of the rows with weight 3, half with 1: as many as 0.8 of them (Kish)."""
    X = blobs(np.random.default_rng(0), 50)
    weights = np.tile([1.0, 3.0], 50)
    model = BBC(2, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.cluster_rows_, 40)
    assert model.center_variance_ratio_ == pytest.approx(model.variance_ratio_ / 2 * 0.8)


def test_the_factor_of_small_samples_by_hand():
    """In one dimension Student's quantile beside the normal one, and the divisors."""
    student, normal = stats.t.ppf(0.975, 9), stats.norm.ppf(0.975)
    assert small_sample_factor(0.95, 10, 1) == pytest.approx(student / normal * np.sqrt(11 / 9))
    assert small_sample_factor(0.95, 10**9, 3) == pytest.approx(1, abs=1e-6)
    assert np.isnan(small_sample_factor(0.95, 3, 3))


# --- quantiles ----------------------------------------------------------------------------------


def test_quantiles_are_order_statistics():
    """Of 39 draws, the smallest and the largest are the ends of 95%."""
    draws = np.random.default_rng(0).normal(size=39)
    assert quantiles(draws, (0.025, 0.975)).tolist() == [draws.min(), draws.max()]
    assert replicas_needed(0.95) == 39
    assert replicas_needed(0.9) == 19
    assert replicas_needed(0.5) == 3
    assert replicas_needed(0.95, tails=1) == 19
    assert replicas_needed(0.001) == 2


def test_intervals_hold_their_level_on_average_also_for_few_draws():
    """Mean content of 20,000 intervals from 39 draws: 95% to 0.025 points; 0.2 is 8 errors.

    Plain sample quantiles would give 92.6%.
    """
    draws = np.random.default_rng().normal(size=(39, 20_000))
    lower, upper = quantiles(draws, (0.025, 0.975))
    content = stats.norm.cdf(upper) - stats.norm.cdf(lower)
    assert content.mean() == pytest.approx(0.95, abs=0.002)


def test_intervals_are_nested_and_hold_the_mean():
    model = fit(IRIS)
    centers = model.cluster_centers_
    narrow, wide = model.centers_interval(0.5), model.centers_interval(0.95)
    assert (wide[..., 0] < narrow[..., 0]).all()
    assert (wide[..., 1] > narrow[..., 1]).all()
    assert (narrow[..., 0] < centers).all()
    assert (narrow[..., 1] > centers).all()


# --- hand-made draws ----------------------------------------------------------------------------


def draws_of(*clusters):
    """(B, K, d) from one list of points per cluster."""
    return np.stack([np.asarray(points, dtype=float) for points in clusters], axis=1)


def test_deviations_are_divided_by_the_root_of_the_ratio():
    centers = draws_of([[0, 0], [4, 8], [8, 4]])
    drawn = posterior_centers(centers, np.ones((3, 1), dtype=bool), 4.0)
    np.testing.assert_allclose(drawn[:, 0], [[2, 2], [4, 6], [6, 4]])


def test_unoccupied_centres_take_no_part():
    centers = draws_of([[0], [4], [1e6]], [[1], [1], [1]])
    occupied = np.array([[True, True], [True, True], [False, True]])
    drawn = posterior_centers(centers, occupied, 1.0)
    assert drawn[:2, 0, 0].tolist() == [0, 4]
    assert np.isnan(drawn[2, 0, 0])
    assert drawn[:, 1, 0].tolist() == [1, 1, 1]
    assert center_intervals(drawn, 0.3)[0, 0] == pytest.approx([0.2, 3.8])
    between = distances_between(drawn, 0.3)
    assert between.distance[0, 1] == 2
    assert center_regions(drawn, 0.5).centers.tolist() == [[2], [1]]


def test_a_cluster_that_no_replica_found_has_no_interval():
    centers = draws_of([[0], [4], [8]], [[1], [1], [1]])
    occupied = np.array([[True, False]] * 3)
    drawn = posterior_centers(centers, occupied, 2.0)
    assert np.isnan(center_intervals(drawn, 0.5)[1]).all()
    assert np.isfinite(center_intervals(drawn, 0.5)[0]).all()
    assert np.isnan(center_regions(drawn, 0.5).radii).tolist() == [False, True]
    between = distances_between(drawn, 0.5)
    assert np.isnan(between.distance).tolist() == [[False, True], [True, False]]


def test_too_few_draws_of_a_cluster_have_no_interval():
    generator = np.random.default_rng(0)
    occupied = np.ones((50, 2), dtype=bool)
    occupied[38:, 1] = False
    drawn = posterior_centers(generator.normal(size=(50, 2, 3)), occupied, 1.0)
    intervals = center_intervals(drawn, 0.95)
    assert np.isfinite(intervals[0]).all()
    assert np.isnan(intervals[1]).all()
    occupied[38, 1] = True
    drawn = posterior_centers(generator.normal(size=(50, 2, 3)), occupied, 1.0)
    assert np.isfinite(center_intervals(drawn, 0.95)).all()


def test_distances_by_hand():
    drawn = draws_of([[0, 0], [0, 0], [0, 0]], [[3, 4], [6, 8], [5, 12]])
    between = distances_between(drawn, 0.5)
    assert between.distance.tolist() == [[0, 10], [10, 0]]
    assert between.lower.tolist() == [[0, 5], [5, 0]]
    assert between.upper.tolist() == [[0, 13], [13, 0]]


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_regions_hold_their_share_of_the_replicas(level):
    generator = np.random.default_rng(0)
    mixing = np.array([[1.0, 2.0], [0.0, 0.1]])
    drawn = (generator.normal(size=(999, 1, 2)) @ mixing) + 7
    regions = center_regions(drawn, level)
    np.testing.assert_allclose(regions.covariances[0], np.cov(drawn[:, 0].T))
    deviations = drawn[:, 0] - regions.centers[0]
    inverse = np.linalg.inv(regions.covariances[0])
    inside = np.einsum("bi,ij,bj->b", deviations, inverse, deviations) <= regions.radii[0] ** 2
    assert inside.sum() == pytest.approx(level * 1000, abs=1)
    # Gaussian draws: the radius is near the root of a chi-square quantile
    assert regions.radii[0] == pytest.approx(np.sqrt(stats.chi2.ppf(level, 2)), rel=0.1)


def test_regions_of_flat_clusters():
    """A column that never changes has no spread to be measured in."""
    generator = np.random.default_rng(0)
    drawn = np.concatenate([generator.normal(size=(99, 1, 2)), np.full((99, 1, 1), 3.0)], axis=2)
    flat, full = center_regions(drawn, 0.9), center_regions(drawn[:, :, :2], 0.9)
    assert flat.radii[0] == pytest.approx(full.radii[0])
    point = center_regions(np.full((99, 1, 2), 3.0), 0.9)
    assert point.radii.tolist() == [0]
    assert (point.covariances == 0).all()


# --- fitted models ------------------------------------------------------------------------------


def results(model):
    regions, distances = model.centers_region(), model.center_distances()
    return {
        "interval": model.centers_interval(),
        "centers": regions.centers,
        "covariances": regions.covariances,
        "radii": regions.radii,
        "distance": distances.distance,
        "lower": distances.lower,
        "upper": distances.upper,
    }


def test_shift_and_scale_move_intervals_along():
    X = np.random.default_rng(5).normal(size=(90, 3)) + 9 * np.eye(3)[np.arange(90) % 3]
    plain = results(fit(X, n_clusters=3))
    shift = np.array([100.0, -7.0, 0.5])
    moved = results(fit(4 * X + shift, n_clusters=3))
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(moved["interval"], 4 * plain["interval"] + shift[:, None], **close)
    np.testing.assert_allclose(moved["centers"], 4 * plain["centers"] + shift, **close)
    np.testing.assert_allclose(moved["covariances"], 16 * plain["covariances"], **close)
    np.testing.assert_allclose(moved["radii"], plain["radii"], rtol=1e-6)
    for name in ("distance", "lower", "upper"):
        np.testing.assert_allclose(moved[name], 4 * plain[name], **close)


def test_one_cluster():
    found = results(fit(IRIS, n_clusters=1))
    assert found["interval"].shape == (1, 4, 2)
    assert found["distance"].tolist() == [[0]]
    mean = IRIS.mean(axis=0)
    assert (found["interval"][0, :, 0] < mean).all()
    assert (found["interval"][0, :, 1] > mean).all()


def test_centres_that_abstain_leave_the_others_alone():
    X = np.repeat(np.arange(5.0)[:, None] ** 2, 2, axis=0)
    model = fit(X, n_clusters=5, n_draws=6, n_replicas=300)
    assert model.n_abstentions_ > 300
    intervals = model.centers_interval(0.8)
    occupied = model._state.record.replicas.occupied
    for k in range(5):
        mine = model.replica_centers_[occupied[:, k], k, 0]
        assert intervals[k, 0, 0] >= mine.min() - 1e-9
        assert intervals[k, 0, 1] <= mine.max() + 1e-9


@pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")
@pytest.mark.parametrize("parameters", [{}, {"resampling": "rubin"}, {"n_draws": 50}], ids=str)
def test_loaded_models_say_the_same(parameters, tmp_path):
    model = BBC(3, n_replicas=100, random_state=0, **parameters).fit(IRIS)
    model.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    for name, values in results(model).items():
        assert results(loaded)[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("question", ["centers_interval", "centers_region", "center_distances"])
def test_levels_are_checked(question):
    model = fit(IRIS, n_replicas=30)
    ask = getattr(model, question)
    for level in (0, 1, -0.5, 95, float("nan")):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            ask(level)
    with pytest.raises(TypeError, match="level must be a number"):
        ask("high")
    with pytest.raises(ValueError, match=r"level=0.99 needs at least (199|99) replicas .* are 30"):
        ask(0.99)
    ask(0.9)
    with pytest.raises(ValueError, match="not fitted"):
        getattr(BBC(), question)()


def test_clusterers_of_scikit_learn_have_intervals_too():
    from sklearn.cluster import KMeans

    generator = np.random.default_rng(0)
    X = blobs(generator, 30)
    model = fit(X, clusterer=KMeans(n_init=1), n_replicas=40)
    intervals = model.centers_interval(0.9)
    native = fit(X, n_replicas=40).centers_interval(0.9)
    np.testing.assert_allclose(np.sort(intervals, axis=0), np.sort(native, axis=0), atol=1e-6)
