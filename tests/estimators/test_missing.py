"""BBC(missing="draw"): rows with missing values, from fit to predict and to a file and back."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.cluster import KMeans
from sklearn.utils import get_tags

import bbclust.ensemble.engine_kmeans as engine_kmeans
from bbclust import BBC, BagClust1, KSelector, load_model
from bbclust.datasets import load_iris
from bbclust.ensemble.run import run_block
from bbclust.priors import ElicitedPrior, KernelPrior, MixturePrior, ModelPrior, StudentMixturePrior

IRIS = load_iris().data

pytestmark = pytest.mark.filterwarnings("ignore:Half of the rows|.*drawn by none:UserWarning")


def with_holes(X, share=0.3, seed=0):
    generator = np.random.default_rng(seed)
    missing = generator.random(X.shape) < share
    missing[np.arange(len(X)), generator.integers(0, X.shape[1], len(X))] = False
    return np.where(missing, np.nan, X).astype(X.dtype)


def fit(X, *, sample_weight=None, **parameters):
    settings = {"n_replicas": 60, "random_state": 4, "missing": "draw", **parameters}
    return BBC(3, **settings).fit(X, sample_weight=sample_weight)


def assert_same(one, other):
    assert_equal(one.memberships_, other.memberships_)
    assert_equal(one.replica_centers_, other.replica_centers_)
    assert_equal(one.alignment_margin_, other.alignment_margin_)
    assert one.mean_entropy_ == other.mean_entropy_
    assert one.max_pair_doubt_se_ == other.max_pair_doubt_se_


VARIANTS = [
    {},
    {"votes": "all"},
    {"n_draws": 40},
    {"resampling": "rubin"},
    {"resampling": "efron"},
    {"weighting": "resample"},
    {"prior": KernelPrior()},
]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)


@every_variant
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_complete_tables_have_the_bits_of_before(variant, dtype):
    X = IRIS.astype(dtype)
    assert_same(fit(X, **variant), fit(X, missing="error", **variant))


@every_variant
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_for_threads_blocks_and_added_replicas(variant, dtype, monkeypatch):
    X = with_holes(IRIS.astype(dtype))
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    one = fit(X, sample_weight=weights, **variant)
    assert np.isfinite(one.memberships_).all()
    assert_same(one, fit(X, sample_weight=weights, n_jobs=2, **variant))
    assert_same(one, fit(X, sample_weight=weights, **variant | {"n_replicas": 25}).add_replicas(35))
    monkeypatch.setattr(engine_kmeans, "_BLOCK_WORK", 1.0)
    assert_same(one, fit(X, sample_weight=weights, **variant))


def test_blocks_may_run_in_any_order():
    job = fit(with_holes(IRIS), votes="all")._state.record.job
    whole = run_block(job, range(6))
    last, first = run_block(job, range(3, 6)), run_block(job, range(3))
    assert_equal(first.votes + last.votes, whole.votes)
    assert_equal(np.concatenate([first.evaluation_labels, last.evaluation_labels]),
                 whole.evaluation_labels)  # fmt: skip


def test_a_row_has_the_same_values_whether_it_is_drawn_or_voted_on():
    """With every row drawn by every replica, votes on drawn rows are those of the centres."""
    X = with_holes(IRIS)
    drawn = fit(X, resampling="rubin", votes="drawn")
    voted = fit(X, resampling="rubin", votes="all")
    # a row of weight near zero may be given to the centre it was nearest to an iteration ago
    assert np.mean(drawn.memberships_ == voted.memberships_) > 0.97


def test_doubt_grows_with_what_is_not_known():
    """Clusters that only the first column tells apart: without it nothing is known of a row."""
    generator = np.random.default_rng(0)
    truth = np.arange(200) % 2
    X = np.column_stack([10.0 * truth, np.zeros(200)]) + generator.normal(size=(200, 2))
    X[:20, 0] = np.nan
    X[20:40, 1] = np.nan
    model = BBC(2, n_replicas=400, missing="draw", random_state=0).fit(X)
    assert model.entropy_[:20].min() > 0.6
    assert model.entropy_[20:].max() < 0.05
    shares = model.predict_proba(X[:20])
    assert_allclose(shares, 0.5, atol=0.2)


def test_a_missing_value_that_others_determine_leaves_no_doubt():
    generator = np.random.default_rng(0)
    truth = np.arange(200) % 2
    first = 10.0 * truth + generator.normal(size=200)
    X = np.column_stack([first, first + 0.01 * generator.normal(size=200)])
    X[:20, 0] = np.nan
    model = BBC(2, n_replicas=100, missing="draw", random_state=0).fit(X)
    assert model.entropy_.max() == 0.0


def test_missing_values_do_not_shrink_the_prior():
    """Values filled by means would take a third off the variance of each column."""
    generator = np.random.default_rng(0)
    X = np.repeat([[0.0, 0, 0], [30.0, 30, 30]], 1500, axis=0) + generator.normal(size=(3000, 3))
    X = with_holes(X, 0.4)
    model = BBC(2, n_replicas=5, missing="draw", votes="all", random_state=0).fit(X)
    deviations = np.array([np.sqrt(np.diag(c)) for c in model.prior_.covariances])
    assert_allclose(deviations, 1.0, atol=0.1)


@pytest.mark.parametrize(
    "prior",
    [
        ElicitedPrior("tied"),
        ElicitedPrior("shrunk"),
        StudentMixturePrior(),
        KernelPrior(),
        MixturePrior([1.0], [[6.0, 3.0, 4.0, 1.0]], [np.eye(4)]),
        ModelPrior(BBC(3, n_replicas=10, votes="all", random_state=0).fit(IRIS)),
    ],
    ids=repr,
)
def test_every_prior_takes_incomplete_rows(prior):
    model = fit(with_holes(IRIS), prior=prior)
    assert np.isfinite(model.replica_centers_).all()


def test_answers_of_a_model_with_missing_values():
    X = with_holes(IRIS)
    model = fit(X, votes="all")
    assert model.was_fitted_to(X)
    assert not model.was_fitted_to(IRIS)
    assert np.isfinite(model.variable_importance().bits).all()
    assert np.isfinite(model.variable_importance(X[:80]).bits).all()
    assert isinstance(model.prior_conflict().conflict, bool)
    assert np.isfinite(model.comembership([[0, 1], [0, 149]])).all()
    assert_equal(len(list(model.replica_labels(X))), 60)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_predicted_alone_as_among_others(dtype):
    X = with_holes(IRIS.astype(dtype))
    model = fit(X)
    together = model.predict_proba(X)
    assert_equal(model.predict_proba(X), together)
    assert_equal(model.predict_proba(X[::-1])[::-1], together)
    assert_equal(np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(20)]),
                 together[:20])  # fmt: skip
    votes = np.array(list(model.replica_labels(X)))
    assert_equal((votes[:, :, None] == np.arange(3)).mean(axis=0), together)
    assert_equal(model.set_params(n_jobs=2).predict_proba(X), together)


def test_complete_training_rows_still_let_incomplete_ones_be_predicted():
    X = with_holes(IRIS)
    model = fit(IRIS)
    assert np.mean(model.predict(X) == model.predict(IRIS)) > 0.85


def test_a_model_file_predicts_incomplete_rows(tmp_path):
    X = with_holes(IRIS)
    model = fit(X)
    model.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    assert_equal(loaded.predict_proba(X), model.predict_proba(X))
    loaded.save(tmp_path / "again.bbc")
    assert_equal(load_model(tmp_path / "again.bbc").predict_proba(X), model.predict_proba(X))
    assert loaded.missing == "draw"


def test_rows_of_the_same_values_need_not_be_together():
    """Two rows without the column that tells the clusters apart: half of the time by chance."""
    generator = np.random.default_rng(0)
    X = np.column_stack([10.0 * (np.arange(200) % 2), np.zeros(200)])
    X += generator.normal(size=X.shape)
    X[:2] = np.nan, 0.3
    model = BBC(2, n_replicas=400, missing="draw", random_state=0).fit(X)
    assert 0.2 < model.comembership([[0, 1]])[0] < 0.8
    assert_equal(model.predict_proba(X[:1]), model.predict_proba(X[1:2]))


def test_reference_labels_may_be_given():
    X = with_holes(IRIS)
    labels = np.repeat([0, 1, 2], 50)
    model = BBC(3, n_replicas=20, missing="draw", votes="all", random_state=0)
    model.fit(X, reference_labels=labels)
    assert_allclose(model.reference_centers_, [IRIS[labels == k].mean(axis=0) for k in range(3)],
                    atol=0.3)  # fmt: skip


def test_rows_of_weight_zero_may_be_incomplete():
    X = with_holes(IRIS)
    weights = np.ones(len(X))
    weights[::7] = 0
    model = fit(X, sample_weight=weights)
    assert_equal(model.memberships_[::7], model.predict_proba(X[::7]))


def test_tags_say_whether_missing_values_are_taken():
    assert get_tags(BBC(missing="draw")).input_tags.allow_nan
    assert not get_tags(BBC()).input_tags.allow_nan
    assert get_tags(KSelector(BBC(missing="draw"))).input_tags.allow_nan
    assert not get_tags(KSelector()).input_tags.allow_nan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((np.s_[3, :], np.nan), "Row 3 of X has no value at all.*drop such rows"),
        ((np.s_[:, 2], np.nan), r"no value at all in column 2.*leave that column out"),
        ((np.s_[5, 1], np.inf), r"X holds infinity \(inf\) in row 5, column 1"),
    ],
)
@pytest.mark.parametrize("make", [BBC, lambda k, **p: KSelector(BBC(k, **p))])
def test_what_cannot_be_completed_is_refused(change, message, make):
    X = IRIS.copy()
    where, value = change
    X[where] = value
    with pytest.raises(ValueError, match=message):
        make(3, missing="draw").fit(X)


def test_a_column_without_a_value_in_rows_that_count_is_refused_by_its_name():
    X = pd.DataFrame(IRIS, columns=list("abcd"))
    X.loc[10:, "c"] = np.nan
    with pytest.raises(ValueError, match="in column 'c' of the rows that count"):
        BBC(3, missing="draw").fit(X, sample_weight=np.arange(150) >= 10)


def test_a_row_without_a_value_cannot_be_predicted():
    model = fit(with_holes(IRIS))
    with pytest.raises(ValueError, match="Row 1 of X has no value at all"):
        model.predict(np.array([[1.0, np.nan, 2.0, 3.0], [np.nan] * 4]))


def test_models_that_refuse_missing_values_refuse_them_in_predict():
    model = BBC(3, n_replicas=20, votes="all", random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match="X holds NaN"):
        model.predict(with_holes(IRIS))
    with pytest.raises(ValueError, match="X holds NaN"):
        BagClust1(3).fit(with_holes(IRIS))


def test_other_clusterers_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="missing='draw' is for k-means, and clusterer is KMeans"):
        BBC(3, clusterer=KMeans(), missing="draw").fit(IRIS)


def test_an_unknown_word_is_refused():
    with pytest.raises(ValueError, match="missing must be one of 'error', 'draw'"):
        BBC(3, missing="drop").fit(IRIS)
