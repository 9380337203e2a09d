"""The edge of what numbers can hold: a right result, or one sentence that refuses."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bbclust import BBC, BagClust1, BagClust2, FuzzyCMeans, KSelector, load_model
from bbclust.datasets import make_paper_dataset
from bbclust.ensemble.assembly import count_fillable_clusters
from bbclust.priors import KernelPrior, MixturePrior, StudentMixturePrior
from bbclust.stages.table import count_rows_apart, make_table

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
    "ignore:.*pairs of rows were drawn together by none:UserWarning",
)


def separated_groups(n=60, K=3, apart=20.0, seed=0):
    """K groups in the plane, on a grid of 2^-10 so that shifts by whole numbers round nothing."""
    labels = np.arange(n) % K
    rows = np.random.default_rng(seed).normal(size=(n, 2)) + apart * np.c_[labels, labels**2]
    return np.round(rows * 1024) / 1024, labels


GROUPS, TRUTH = separated_groups()
OVERLAPPING = make_paper_dataset(1, random_state=0).data


def bbc(K=3, **parameters):
    return BBC(K, **{"n_replicas": 50, "random_state": 0, **parameters})


def selector(k_range=(2, 3, 4), **parameters):
    return KSelector(
        BBC(n_replicas=50, n_init=1), k_range=k_range, prior_scales=(1.0,),
        **{"null_reference": 0, "random_state": 0, **parameters},
    )  # fmt: skip


def assert_same_partition(labels, truth):
    assert adjusted_rand_score(labels, truth) == 1.0


def ask_everything(model, X):
    """Every question to a fitted model; NaN only where the documentation has it."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and name != "cluster_rows_":
            assert np.isfinite(value).all(), name
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-12)
    found = model._state.occupied.sum(axis=0)
    intervals = model.centers_interval()
    unknown = (found < 39) | (model.cluster_rows_ <= 1)  # 2 / (1 - 0.95) - 1, and single rows
    assert np.isnan(intervals[unknown]).all()
    assert (intervals[~unknown, :, 0] <= intervals[~unknown, :, 1]).all()
    regions = model.centers_region()
    assert np.isfinite(regions.covariances).all()
    assert (np.isfinite(regions.radii) | (model.cluster_rows_ <= X.shape[1] + 1)).all()
    distances = model.center_distances()
    assert np.isfinite(distances.distance).all()
    stability = model.cluster_stability()
    sizes = np.bincount(model.labels_, minlength=len(found))
    assert (np.isfinite(stability.jaccard) | (sizes == 0)).all()
    posterior = model.partition_posterior()
    assert np.isfinite([posterior.expected_vi, posterior.radius]).all()
    importance = model.variable_importance()
    assert np.isfinite(importance.bits).all()
    belonging = model.component_probabilities()
    np.testing.assert_allclose(belonging.sum(axis=1), 1, atol=1e-9)
    together = model.comembership([[0, 0], [0, len(X) - 1]])
    assert together[0] == 1
    assert 0 <= together[1] <= 1
    if model.prior_ is not None:
        assert "NaN" not in str(model.prior_conflict()).replace("nan", "")
        assert not np.isnan(model.prior_.logpdf(X)).any()


# --- scales ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-480, 490], ids=lambda power: f"2^{power}")
def test_whole_tables_of_any_scale_give_the_same_bits(power):
    """From 3e-145 to 3e147. Powers of two round nothing."""
    X, factor = OVERLAPPING, 2.0**power
    plain, scaled = bbc().fit(X), bbc().fit(X * factor)
    assert scaled.memberships_.tobytes() == plain.memberships_.tobytes()
    assert scaled.labels_.tobytes() == plain.labels_.tobytes()
    assert scaled.predict_proba(X * factor).tobytes() == plain.predict_proba(X).tobytes()
    assert (scaled.replica_centers_ == plain.replica_centers_ * factor).all()
    assert (scaled.cluster_stability().jaccard == plain.cluster_stability().jaccard).all()
    np.testing.assert_allclose(
        scaled.component_probabilities(), plain.component_probabilities(), atol=1e-6
    )
    np.testing.assert_allclose(
        scaled.centers_interval(), plain.centers_interval() * factor, rtol=1e-9
    )
    assert scaled.prior_conflict().conflict == plain.prior_conflict().conflict
    for make in (BagClust1, FuzzyCMeans):
        small, large = (make(3, random_state=0).fit(X * by).memberships_ for by in (1, factor))
        assert small.tobytes() == large.tobytes()
    small, large = (BagClust2(3, n_replicas=50, random_state=0).fit(X * by) for by in (1, factor))
    assert small.dissimilarity_.tobytes() == large.dissimilarity_.tobytes()
    assert selector().fit(X * factor).best_k_ == selector().fit(X).best_k_


ALL = [bbc(), BagClust1(3), BagClust2(3), FuzzyCMeans(3), selector()]


@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize(("scale", "word"), [(1e-150, "vanish"), (1e155, "overflow")])
def test_whole_tables_beyond_the_range_of_squares_are_refused(estimator, scale, word):
    with pytest.raises(ValueError, match=f"squares {word}( in)? float64: rescale the columns"):
        estimator.fit(OVERLAPPING * scale)


@pytest.mark.parametrize("scales", [(1e-150, 1e150), (1.0, 1e150), (1e-150, 1.0)])
def test_columns_far_smaller_than_others_say_nothing(scales):
    X = GROUPS * scales
    alone = bbc(prior_weight=0.0, tol=0.0).fit(X[:, 1:])
    model = bbc(prior_weight=0.0, tol=0.0).fit(X)
    assert_same_partition(model.reference_labels_, TRUTH)
    assert model.memberships_.tobytes() == alone.memberships_.tobytes()
    ask_everything(bbc().fit(X), X)
    assert_same_partition(FuzzyCMeans(3, random_state=0).fit(X).labels_, TRUTH)
    assert selector().fit(X).best_k_ == 3


def test_an_offset_of_1e12_changes_nothing_of_whole_numbers():
    """Rows are a multiple of 2^-10, of which 1e12 plus a thousand holds all digits."""
    plain, shifted = bbc().fit(GROUPS), bbc().fit(GROUPS + 1e12)
    assert_same_partition(shifted.labels_, TRUTH)
    np.testing.assert_array_equal(shifted.memberships_, plain.memberships_)
    np.testing.assert_allclose(shifted.replica_centers_ - 1e12, plain.replica_centers_, atol=1e-3)
    ask_everything(shifted, GROUPS + 1e12)
    assert selector().fit(GROUPS + 1e12).best_k_ == 3
    assert_same_partition(FuzzyCMeans(3, random_state=0).fit(GROUPS + 1e12).labels_, TRUTH)


def test_an_offset_that_leaves_no_digit_is_refused():
    with pytest.raises(ValueError, match="n_clusters=3 is more than the 1 distinct rows"):
        bbc().fit((GROUPS + 1e12).astype(np.float32))


# --- rows that are close --------------------------------------------------------------------------

CLOSE = np.repeat(np.array([1.0, 1.0001, 5.0]), 20)[:, None]


@pytest.mark.parametrize("make", [bbc, BagClust1, BagClust2, FuzzyCMeans])
def test_rows_that_float32_tells_apart_are_told_apart(make, tmp_path):
    """Squared distances in single precision are wrong by 1e-6 here, and 1e-8 is asked for."""
    X = CLOSE.astype(np.float32)
    model = make(3).set_params(random_state=0).fit(X)
    assert_same_partition(model.labels_, np.repeat([0, 1, 2], 20))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if make is bbc:
        assert model.mean_entropy_ == 0
        model.save(tmp_path / "close.bbc")
        loaded = load_model(tmp_path / "close.bbc")
        assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_rows_that_centring_would_round_away_stay_distinct():
    """Four less than zero, numbers of single precision are 4.8e-7 apart."""
    X = np.repeat(np.array([0.0, -2e-7, 12.0]), 10)[:, None].astype(np.float32)
    model = bbc().fit(X)
    assert_same_partition(model.labels_, np.repeat([0, 1, 2], 10))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert selector((2, 3)).fit(X).impossible_k_ == ()
    with pytest.raises(ValueError, match="more than the 2 distinct rows of X, to a rounding"):
        bbc().fit(np.array([[1e-17], [12.0], [0.0]]))


def test_a_model_of_float64_judges_rows_of_float32_as_float64():
    model = bbc().fit(CLOSE)
    narrow = CLOSE.astype(np.float32)
    np.testing.assert_array_equal(model.predict(narrow), model.labels_)
    wide = model.predict_proba(narrow.astype(np.float64))
    assert model.predict_proba(narrow).tobytes() == wide.tobytes()
    for few, many in zip(
        model.replica_labels(narrow), model.replica_labels(narrow.astype(float)), strict=True
    ):
        np.testing.assert_array_equal(few, many)


def test_k_is_chosen_among_rows_that_float32_tells_apart():
    assert selector((2, 3)).fit(CLOSE.astype(np.float32)).best_k_ == 3


def test_other_tables_of_float32_stay_as_they_are():
    model = bbc().fit(OVERLAPPING.astype(np.float32))
    assert model._state.record.job.table.rows.dtype == np.float32


# Three groups 10 apart, and rows of a group 1e-9 apart: the square of that is 1e-20 of the others.
TIGHT = 10 * TRUTH[:, None] + 1e-9 * np.random.default_rng(0).normal(size=(60, 1))


def test_rows_too_close_for_squares_of_double_precision_are_refused():
    with pytest.raises(ValueError, match="groups of rows that squared distances can tell apart"):
        bbc(6).fit(TIGHT)


def test_k_is_chosen_among_those_that_squares_can_tell_apart():
    with pytest.warns(UserWarning, match="cannot be tried: X has . groups of rows that squared"):
        chosen = selector(range(2, 8), n_resamples=2).fit(TIGHT)
    assert chosen.best_k_ == 3
    assert chosen.impossible_k_[-1] == 7
    automatic = selector("auto").fit(TIGHT)
    assert automatic.best_k_ == 3
    with pytest.raises(
        ValueError, match=r"X has . groups of rows .* no K of the range is possible"
    ):
        selector((7,)).fit(TIGHT)


def test_rows_far_apart_are_counted_without_asking_k_means():
    assert count_rows_apart(GROUPS, 20) == 20
    assert count_rows_apart(TIGHT, 20) == 3
    assert count_rows_apart(CLOSE.astype(np.float32), 3) == 2
    assert count_rows_apart(np.zeros((4, 2)), 3) == 1
    settings = bbc()._settings()
    assert count_fillable_clusters(settings, make_table(GROUPS), [2, 9], 0) >= 9
    assert count_fillable_clusters(settings, make_table(CLOSE), [2, 3], 0) == 3
    assert 3 <= count_fillable_clusters(settings, make_table(TIGHT), [2, 3, 40], 0) < 40


# --- degenerate tables ----------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
DEGENERATE = {
    "ties": (RANDOM.integers(0, 3, size=(60, 2)).astype(float), 3),
    "two distinct rows": (np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0), 2),
    "two rows": (np.array([[0.0, 0.0], [1.0, 1.0]]), 2),
    "collinear columns": (np.c_[GROUPS, GROUPS.sum(axis=1)], 3),
    "a constant column": (np.c_[GROUPS, np.full(60, 7.3)], 3),
    "more columns than rows": (RANDOM.normal(size=(20, 40)), 2),
    "a cluster for every row": (RANDOM.normal(size=(12, 2)), 12),
}


@pytest.mark.parametrize(("X", "K"), DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_tables_answer_every_question(X, K):
    ask_everything(bbc(K).fit(X), X)
    assert np.isfinite(FuzzyCMeans(K, random_state=0).fit(X).memberships_).all()
    silhouettes = BagClust2(K, n_replicas=50, random_state=0).fit(X).silhouette_
    assert np.isfinite(silhouettes).all()
    if len(X) > K:
        chosen = selector(range(2, max(3, min(K, 4))), null_reference=19).fit(X)
        assert 1 <= chosen.best_k_ <= 4


def test_ten_thousand_duplicates_are_one_cluster():
    X = np.repeat([[0.0, 0.0], [3.0, 1.0], [5.0, 5.0]], [10_000, 5, 5], axis=0)
    model = bbc().fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], [10_000, 5, 5]))
    assert model.mean_entropy_ == 0
    assert model.comembership([[0, 9_999], [0, 10_000]]).tolist() == [1, 0]
    assert selector((2, 3)).fit(X).best_k_ == 3


def test_fifty_rows_of_a_thousand_columns():
    labels = np.arange(50) % 2
    X = np.random.default_rng(0).normal(size=(50, 1000)) + labels[:, None]
    model = bbc(2).fit(X)
    assert_same_partition(model.labels_, labels)
    assert np.isfinite(model.centers_interval()).all()
    assert np.isfinite(model.prior_.logpdf(X)).all()


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-1074, -1000, 1000], ids=lambda power: f"2^{power}")
def test_only_ratios_of_weights_matter_to_the_bit(power):
    """Subnormal ones too; the ratios 1, 2 and 4 are exact in all of them."""
    weights = 2.0 ** (np.arange(60) % 3)
    plain = bbc().fit(GROUPS, sample_weight=weights)
    other = bbc().fit(GROUPS, sample_weight=weights * 2.0**power)
    assert other.memberships_.tobytes() == plain.memberships_.tobytes()
    assert other.reference_centers_.tobytes() == plain.reference_centers_.tobytes()


@pytest.mark.parametrize(
    "weights",
    [10.0 ** np.linspace(-300, 300, 60), np.r_[np.full(40, 1e300), np.full(20, 1e-300)]],
    ids=["all sizes", "two sizes"],
)
def test_weights_that_vanish_beside_others_are_zero(weights):
    """Relative to the largest, numbers below 1e-323 are zero: such rows take no part."""
    vanish = weights / weights.max() == 0
    model = bbc().fit(GROUPS, sample_weight=weights)
    known = model.fit_weights()
    np.testing.assert_array_equal(known == 0, vanish)
    assert known[~vanish].mean() == pytest.approx(1)
    as_zero = bbc().fit(GROUPS, sample_weight=np.where(vanish, 0.0, weights))
    assert model.memberships_.tobytes() == as_zero.memberships_.tobytes()
    ask_everything(model, GROUPS)
    shares = FuzzyCMeans(3, random_state=0).fit(GROUPS, sample_weight=weights).memberships_
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert selector((2, 3)).fit(GROUPS, sample_weight=weights).best_k_ in (2, 3)


@pytest.mark.parametrize("estimator", [bbc(), FuzzyCMeans(3), selector()])
def test_a_weight_beside_which_all_others_vanish_is_refused(estimator):
    weights = np.r_[1e300, np.full(59, 1e-300)]
    with pytest.raises(ValueError, match="all others vanish beside it: at least two rows"):
        estimator.fit(GROUPS, sample_weight=weights)


# --- priors ---------------------------------------------------------------------------------------

TWO, OF_TWO = separated_groups(K=2)
MEANS = np.array([TWO[k == OF_TWO].mean(axis=0) for k in (0, 1)])
EYE = np.eye(2)


@pytest.mark.parametrize("mean", [1e300, 1e151, -1e300])
@pytest.mark.parametrize("kind", [MixturePrior, lambda *of: StudentMixturePrior(4, *of)])
def test_means_of_a_prior_whose_squares_overflow_are_refused(kind, mean):
    with pytest.raises(ValueError, match=r"means of the prior are as large as .* too large"):
        kind([1, 1], [[0, 0], [mean, 0]], [EYE, EYE])


@pytest.mark.parametrize("mean", [1e20, 1e100, 1e149])
def test_a_prior_far_from_the_data_is_a_conflict(mean):
    prior = MixturePrior([1, 1], [[0, 0], [mean, mean]], [EYE, EYE])
    model = bbc(2, prior=prior).fit(TWO)
    assert model.prior_conflict().conflict
    ask_everything(model, TWO)


def test_a_prior_too_far_for_single_precision_is_refused():
    prior = MixturePrior([1, 1], [[0, 0], [1e20, 0]], [EYE, EYE])
    with pytest.raises(ValueError, match="squares overflow float32: give it in the units"):
        bbc(2, prior=prior).fit(TWO.astype(np.float32))


COVARIANCES = {
    "huge": 1e200 * EYE,
    "tiny": 1e-200 * EYE,
    "subnormal": 1e-320 * EYE,
    "zero": 0 * EYE,
    "near-singular": np.array([[1, 1 - 1e-15], [1 - 1e-15, 1]]),
    "long and thin": np.diag([1e-300, 1e100]),
}


@pytest.mark.parametrize("covariance", COVARIANCES.values(), ids=COVARIANCES)
@pytest.mark.parametrize("kind", [MixturePrior, lambda *of: StudentMixturePrior(4, *of)])
def test_any_covariance_that_can_be_computed_with_answers_every_question(kind, covariance):
    model = bbc(2, prior=kind([1, 1], MEANS, [covariance, covariance])).fit(TWO)
    ask_everything(model, TWO)
    if np.abs(covariance).max() <= 1:
        assert_same_partition(model.labels_, OF_TWO)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-320])
@pytest.mark.parametrize("prior", [None, StudentMixturePrior(3), KernelPrior()])
def test_any_scale_of_an_elicited_prior_answers_every_question(prior, scale):
    ask_everything(bbc(2, prior=prior, prior_scale=scale).fit(TWO), TWO)


@pytest.mark.parametrize("bandwidth", [1e-320, 1e-200, 1e100])
def test_any_bandwidth_answers_every_question(bandwidth):
    ask_everything(bbc(2, prior=KernelPrior(bandwidth)).fit(TWO), TWO)


def test_what_a_prior_cannot_compute_with_is_refused():
    with pytest.raises(ValueError, match="smallest vanish beside the largest: leave these"):
        MixturePrior([1e300, 1e-300], MEANS, [EYE, EYE])
    with pytest.raises(ValueError, match=r"df must be at least 0\.11, got 0\.001"):
        StudentMixturePrior(0.001)
    with pytest.raises(ValueError, match="squares overflow float64: give it in the units"):
        bbc(2, prior=KernelPrior(1e200)).fit(TWO)
    with pytest.raises(ValueError, match="covariances of the prior are as large as"):
        MixturePrior([1, 1], MEANS, [1e301 * EYE, EYE])


def test_a_student_of_the_least_degrees_of_freedom_can_be_drawn():
    draws = StudentMixturePrior(0.11, [1], [[0.0, 0.0]], [EYE]).prepare(TWO, None, 1.0)
    assert np.isfinite(draws.sample(100_000, np.random.default_rng(0))).all()
