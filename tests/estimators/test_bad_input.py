"""Bad input is refused in one sentence that names the value, and nothing is fitted."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import NotFittedError

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.priors import MixturePrior

X = load_iris().data


class SampledPrior:
    """A prior whose draws are whatever it was given."""

    def __init__(self, sample):
        self.sample = sample

    def __repr__(self):
        return "SampledPrior()"

    def prepare(self, X, reference, scale):
        return self


class PriorOfNothing:
    def __repr__(self):
        return "PriorOfNothing()"

    def prepare(self, X, reference, scale):
        return None


def with_value(value, row=7, column=2, dtype=np.float64):
    rows = X.astype(dtype)
    rows[row, column] = value
    return rows


def assert_refuses(call, error, *words):
    """The call raises `error` with one sentence that holds all of `words`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as raised:
            call()
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert len(sentence) < 300
    for word in words:
        assert word in sentence


def assert_unfitted(model):
    bookkeeping = {"n_features_in_", "feature_names_in_"}
    fitted = {name for name in vars(model) if name.endswith("_")} - bookkeeping
    assert fitted == set()


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_clusters": 0}, ValueError, ["n_clusters", "at least 1", "got 0"]),
        ({"n_clusters": -2}, ValueError, ["n_clusters", "at least 1", "got -2"]),
        ({"n_clusters": 2.5}, TypeError, ["n_clusters", "whole number", "2.5"]),
        ({"n_clusters": 3.0}, TypeError, ["n_clusters", "whole number", "3.0"]),
        ({"n_clusters": "3"}, TypeError, ["n_clusters", "whole number", "'3'"]),
        ({"n_clusters": None}, TypeError, ["n_clusters", "whole number", "None"]),
        ({"n_clusters": True}, TypeError, ["n_clusters", "whole number", "True"]),
        ({"n_clusters": 150}, ValueError, ["n_clusters=150", "149 distinct rows"]),
        ({"n_clusters": 10**6}, ValueError, ["n_clusters", "1000000"]),
        ({"n_replicas": 0}, ValueError, ["n_replicas", "at least 1", "got 0"]),
        ({"n_replicas": -1}, ValueError, ["n_replicas", "at least 1", "got -1"]),
        ({"n_replicas": 1.5}, TypeError, ["n_replicas", "whole number", "1.5"]),
        ({"n_replicas": "many"}, TypeError, ["n_replicas", "'many'"]),
        ({"prior_weight": 1}, ValueError, ["prior_weight", "below 1", "got 1"]),
        ({"prior_weight": -0.1}, ValueError, ["prior_weight", "at least 0", "-0.1"]),
        ({"prior_weight": 1.5}, ValueError, ["prior_weight", "below 1", "1.5"]),
        ({"prior_weight": np.nan}, ValueError, ["prior_weight", "nan"]),
        ({"prior_weight": "half"}, TypeError, ["prior_weight", "number", "'half'"]),
        ({"prior_scale": 0}, ValueError, ["prior_scale", "greater than 0", "got 0"]),
        ({"prior_scale": -1.0}, ValueError, ["prior_scale", "greater than 0", "-1.0"]),
        ({"prior_scale": np.nan}, ValueError, ["prior_scale", "nan"]),
        ({"prior_scale": np.inf}, ValueError, ["prior_scale", "inf"]),
        ({"prior_scale": None}, TypeError, ["prior_scale", "number", "None"]),
        ({"resampling": "jackknife"}, ValueError, ["resampling", "'jackknife'", "'rubin'"]),
        ({"resampling": None}, ValueError, ["resampling", "None", "'proper'"]),
        ({"weighting": "weight"}, ValueError, ["weighting", "'weight'", "'resample'"]),
        ({"votes": "some"}, ValueError, ["votes", "'some'", "'drawn'"]),
        ({"n_draws": 2}, ValueError, ["n_draws", "at least 3", "got 2"]),
        ({"n_draws": 0}, ValueError, ["n_draws", "at least 3", "got 0"]),
        ({"n_draws": 10.5}, TypeError, ["n_draws", "whole number", "10.5"]),
        ({"n_draws": 50, "resampling": "rubin"}, ValueError, ["rubin", "n_draws=50"]),
        ({"clusterer": "kmeans"}, TypeError, ["clusterer", "fit_predict", "'kmeans'"]),
        ({"clusterer": KMeans}, TypeError, ["clusterer", "the class KMeans", "KMeans(...)"]),
        (
            {"clusterer": AgglomerativeClustering(), "votes": "all"},
            ValueError,
            ["votes='all'", "AgglomerativeClustering", "votes='drawn'"],
        ),
        ({"n_init": -1}, ValueError, ["n_init", "at least 0", "got -1"]),
        ({"n_init": 0.5}, TypeError, ["n_init", "whole number", "0.5"]),
        ({"max_iter": 0}, ValueError, ["max_iter", "at least 1", "got 0"]),
        ({"tol": -1.0}, ValueError, ["tol", "at least 0", "-1.0"]),
        ({"tol": np.nan}, ValueError, ["tol", "nan"]),
        ({"mc_tol": 0}, ValueError, ["mc_tol", "greater than 0", "got 0"]),
        ({"n_jobs": 0}, ValueError, ["n_jobs"]),
        ({"n_jobs": 2.5}, TypeError, ["n_jobs", "2.5"]),
        ({"callbacks": 5}, TypeError, ["callbacks", "5"]),
        ({"random_state": "lucky"}, ValueError, ["'lucky'"]),
        ({"prior": "gauss"}, TypeError, ["prior", "prepare", "'gauss'"]),
        ({"prior": PriorOfNothing()}, TypeError, ["None", "sample"]),
        (
            {"prior": MixturePrior([1], [[0.0, 0.0]], [np.eye(2)])},
            ValueError,
            ["prior has 2 features", "X has 4"],
        ),
        (
            {"prior": SampledPrior(lambda n, generator: np.zeros((n, 3)))},
            ValueError,
            ["4 features", "3)"],
        ),
        (
            {"prior": SampledPrior(lambda n, generator: np.full((n, 4), np.nan))},
            ValueError,
            ["prior", "NaN"],
        ),
        (
            {"prior": SampledPrior(lambda n, generator: np.full((n, 4), np.inf))},
            ValueError,
            ["prior", "inf"],
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_parameters_are_refused(parameters, error, words):
    model = BBC(**{"n_replicas": 10, **parameters})
    assert_refuses(lambda: model.fit(X), error, *words)
    assert_unfitted(model)


@pytest.mark.parametrize(
    "parameters",
    [{"callbacks": 5}, {"callbacks": ["print"]}, {"n_jobs": 2.5}, {"random_state": "lucky"}],
    ids=str,
)
def test_bad_parameters_are_refused_before_any_replica_runs(parameters, monkeypatch):
    def run_block(*arguments, **keywords):
        pytest.fail("replicas were run")

    monkeypatch.setattr("bbclust.ensemble.run.run_block", run_block)
    with pytest.raises((TypeError, ValueError)):
        BBC(n_replicas=10, **parameters).fit(X)


BAD_TABLES = {
    "NaN": (with_value(np.nan), ["NaN", "row 7", "column 2"]),
    "infinity": (with_value(np.inf), ["inf", "row 7", "column 2"]),
    "minus infinity": (with_value(-np.inf), ["inf", "row 7", "column 2"]),
    "float32 NaN": (with_value(np.nan, dtype=np.float32), ["NaN", "row 7", "column 2"]),
    "Fortran NaN": (np.asfortranarray(with_value(np.nan)), ["NaN", "row 7", "column 2"]),
    "pandas NaN": (pd.DataFrame(with_value(np.nan), columns=list("abcd")), ["NaN", "row 7", "'c'"]),
    "pandas NA": (
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]}),
        ["NaN", "row 1", "'a'"],
    ),
    "polars inf": (pl.DataFrame(with_value(np.inf), schema=list("abcd")), ["inf", "row 7", "'c'"]),
    "polars null": (pl.DataFrame({"a": [1, 2, None], "b": [1, 2, 3]}), ["NaN", "row 2", "'a'"]),
    "pyarrow null": (pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), ["NaN", "row 2", "'a'"]),
    "no rows": (np.empty((0, 3)), ["0 sample"]),
    "no rows, pandas": (pd.DataFrame({"a": np.empty(0)}), ["0 sample"]),
    "no columns": (np.empty((5, 0)), ["0 feature"]),
    "one row": (X[:1], ["1 sample"]),
    "text": (np.array([["a", "b"], ["c", "d"]]), ["text", "'a'"]),
    "object text": (np.array([[1, "b"], [2, "d"]], dtype=object), ["text", "'b'"]),
    "list text": ([[1, "b"], [2, "d"]], ["text", "'b'"]),
    "pandas text": (pd.DataFrame({"a": [1, 2, 3], "name": list("xyz")}), ["'name'"]),
    "pandas object": (
        pd.DataFrame({"a": [1, 2, 3], "name": pd.Series(list("xyz"), dtype=object)}),
        ["'name'"],
    ),
    "pandas category": (
        pd.DataFrame({"a": [1, 2, 3], "kind": pd.Categorical(list("xyz"))}),
        ["'kind'"],
    ),
    "pandas dates": (
        pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
        ["'when'"],
    ),
    "polars text": (pl.DataFrame({"a": [1, 2, 3], "name": list("xyz")}), ["'name'"]),
    "pyarrow text": (pa.table({"a": [1, 2, 3], "name": list("xyz")}), ["'name'"]),
    "three dimensions": (X[None], ["dim 3"]),
    "overflow of squares": (1e200 * X, ["overflow", "e+200", "rescale"]),
    "overflow of sums": (1e307 * X, ["overflow", "rescale"]),
    "float32 overflow": ((1e30 * X).astype(np.float32), ["overflow float32", "e+30", "rescale"]),
    "underflow of squares": (1e-200 * X, ["rescale"]),
    "float32 underflow": ((1e-30 * X).astype(np.float32), ["rescale"]),
}


@pytest.mark.parametrize(("rows", "words"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused(rows, words):
    model = BBC(2, n_replicas=10)
    assert_refuses(lambda: model.fit(rows), ValueError, *words)
    assert_unfitted(model)


def test_sparse_matrices_are_refused():
    model = BBC(2, n_replicas=10)
    assert_refuses(lambda: model.fit(sparse.csr_array(X)), TypeError, "Sparse", "toarray")
    assert_unfitted(model)


@pytest.mark.parametrize("rows", [X[:, 0], [1.0, 2.0, 3.0], [], 5.0], ids=str)
def test_tables_of_one_dimension_are_refused(rows):
    model = BBC(2, n_replicas=10)
    with pytest.raises(ValueError, match="Expected 2D array"):  # scikit-learn's own
        model.fit(rows)
    assert_unfitted(model)


@pytest.mark.parametrize(
    ("rows", "distinct"),
    [
        (np.ones((20, 2)), 1),
        (np.repeat(X[:2], 10, axis=0), 2),
        (np.array([[0.0], [-0.0], [0.0], [-0.0]]), 1),
        (np.c_[np.repeat([1.0, 2.0], 500), np.tile([3.0, 3.0], 500)].astype(np.float32), 2),
    ],
    ids=["all rows alike", "two rows", "signed zeros", "float32"],
)
def test_more_clusters_than_distinct_rows_are_refused(rows, distinct):
    model = BBC(3, n_replicas=10)
    words = ["n_clusters=3", f"{distinct} distinct rows"]
    assert_refuses(lambda: model.fit(rows), ValueError, *words)
    assert_unfitted(model)


def test_rows_of_weight_zero_are_not_counted_as_distinct():
    model = BBC(3, n_replicas=10)
    weights = np.r_[1.0, 1.0, np.zeros(148)]
    words = ["n_clusters=3", "2 distinct rows"]
    assert_refuses(lambda: model.fit(X, sample_weight=weights), ValueError, *words)
    assert_unfitted(model)


def weights_with(value):
    weights = np.ones(150)
    weights[7] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (weights_with(-0.5), ["sample_weight", "negative", "-0.5"]),
        (weights_with(np.nan), ["sample_weight", "NaN"]),
        (weights_with(np.inf), ["sample_weight", "inf"]),
        (np.zeros(150), ["sample_weight", "zero"]),
        (0.0, ["sample_weight", "zero"]),
        (np.eye(150)[0], ["sample_weight", "positive for 1 row", "two"]),
        (np.ones(149), ["sample_weight", "149", "150"]),
        (np.ones((150, 1)), ["sample_weight", "1D", "2D"]),
        (["heavy"] * 150, ["'heavy'"]),
    ],
    ids=["negative", "nan", "inf", "all zero", "zero", "one positive", "short", "2D", "text"],
)
def test_bad_weights_are_refused(weights, words):
    model = BBC(n_replicas=10)
    assert_refuses(lambda: model.fit(X, sample_weight=weights), ValueError, *words)
    assert_unfitted(model)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.arange(149) % 3, ["reference_labels", "(150,)", "(149,)"]),
        (np.zeros((150, 3)), ["reference_labels", "(150,)", "(150, 3)"]),
        (np.arange(150) % 2, ["reference_labels", "2 clusters", "n_clusters is 3"]),
        (np.arange(150) % 4, ["reference_labels", "4 clusters", "n_clusters is 3"]),
    ],
    ids=["short", "2D", "too few clusters", "too many clusters"],
)
def test_bad_reference_labels_are_refused(labels, words):
    model = BBC(3, n_replicas=10)
    assert_refuses(lambda: model.fit(X, reference_labels=labels), ValueError, *words)
    assert_unfitted(model)


def test_reference_labels_of_rows_of_weight_zero_do_not_count_as_clusters():
    labels = np.where(np.arange(150) < 50, 2, np.arange(150) % 2)
    weights = np.where(labels == 2, 0.0, 1.0)
    model = BBC(3, n_replicas=10)
    assert_refuses(
        lambda: model.fit(X, sample_weight=weights, reference_labels=labels),
        ValueError,
        "reference_labels",
        "2 clusters",
    )
    assert_unfitted(model)


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: model.transform(X),
        lambda model: model.add_replicas(10),
        lambda model: model.membership_se_,
    ],
    ids=["predict", "predict_proba", "transform", "add_replicas", "membership_se_"],
)
def test_an_unfitted_model_says_so(use):
    assert_refuses(lambda: use(BBC()), NotFittedError, "not fitted", "fit")


@pytest.mark.parametrize(
    ("n_clusters", "rows", "weights"),
    [(3, with_value(np.nan), None), (150, X, None), (3, X, np.zeros(150))],
    ids=["NaN", "too many clusters", "weights all zero"],
)
def test_a_model_whose_fit_failed_says_it_is_not_fitted(n_clusters, rows, weights):
    model = BBC(n_clusters, n_replicas=10)
    with pytest.raises(ValueError, match=r"NaN|distinct|weight"):
        model.fit(rows, sample_weight=weights)
    assert_refuses(lambda: model.predict(X), NotFittedError, "not fitted")


@pytest.fixture(scope="module")
def model():
    return BBC(3, n_replicas=100, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("confidence", "error", "word"),
    [
        (-0.1, ValueError, "-0.1"),
        (1.1, ValueError, "1.1"),
        (np.nan, ValueError, "nan"),
        ("high", TypeError, "'high'"),
    ],
)
def test_confidence_outside_zero_and_one_is_refused(model, confidence, error, word):
    call = lambda: model.predict(X, min_confidence=confidence)  # noqa: E731
    assert_refuses(call, error, "min_confidence", word)


def test_rows_of_another_width_are_not_predicted(model):
    assert_refuses(lambda: model.predict(X[:, :3]), ValueError, "3 features", "4 features")
    assert_refuses(lambda: model.transform(np.c_[X, X]), ValueError, "8 features", "4 features")


def test_rows_with_gaps_are_not_predicted(model):
    words = ["NaN", "row 7", "column 2"]
    assert_refuses(lambda: model.predict(with_value(np.nan)), ValueError, *words)


@pytest.mark.parametrize(
    ("count", "error"), [(0, ValueError), (-5, ValueError), (2.5, TypeError), ("auto", TypeError)]
)
def test_a_bad_number_of_further_replicas_is_refused(model, count, error):
    before = model.memberships_
    assert_refuses(lambda: model.add_replicas(count), error, "n_replicas", str(count))
    assert model.n_replicas_ == 100
    assert model.memberships_ is before


@pytest.mark.parametrize("width", [1, 4])
def test_a_failed_refit_leaves_the_earlier_model_whole(width):
    model = BBC(3, n_replicas=100, random_state=0).fit(X[:, :width])
    before = model.predict_proba(X[:, :width])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((20, 6), np.nan))
    np.testing.assert_array_equal(model.predict_proba(X[:, :width]), before)
    assert_refuses(lambda: model.predict(np.zeros((2, 6))), ValueError, "6 features")


EYE = [np.eye(2)]


@pytest.mark.parametrize(
    ("weights", "means", "covariances", "words"),
    [
        ([1], [0, 0], EYE, ["means", "(2,)"]),
        ([1, 2], [[0, 0]], EYE, ["weights", "(2,)"]),
        ([1], [[0, 0]], np.eye(2), ["covariances", "(1, 2, 2)", "got (2, 2)"]),
        ([1], [[0, 0]], [np.eye(3)], ["covariances", "(1, 2, 2)", "got (1, 3, 3)"]),
        ([np.nan], [[0, 0]], EYE, ["weights", "NaN"]),
        ([1], [[0, np.inf]], EYE, ["means", "inf"]),
        ([1], [[0, 0]], [np.full((2, 2), np.nan)], ["covariances", "NaN"]),
        ([0], [[0, 0]], EYE, ["weights", "positive", "got 0"]),
        ([2, -1], [[0, 0], [1, 1]], EYE * 2, ["weights", "positive", "got -1"]),
        ([1], [[0, 0]], [[[1, 2], [0, 1]]], ["Covariance 0", "symmetric"]),
        ([1, 1], [[0, 0], [1, 1]], [np.eye(2), [[1, 2], [2, 1]]], ["Covariance 1", "-1"]),
        ([1], [[0]], [[[-4]]], ["Covariance 0", "-4"]),
        ([], np.empty((0, 2)), np.empty((0, 2, 2)), ["component"]),
        ([1], np.empty((1, 0)), np.empty((1, 0, 0)), ["feature"]),
        ([1e308, 1e308], [[0, 0], [1, 1]], EYE * 2, ["weights", "overflow"]),
    ],
    ids=[
        "flat means",
        "too many weights",
        "one matrix",
        "other dimension",
        "NaN weight",
        "infinite mean",
        "NaN covariance",
        "weight zero",
        "negative weight",
        "asymmetric",
        "indefinite",
        "negative variance",
        "no components",
        "no features",
        "overflowing weights",
    ],
)
def test_bad_mixtures_are_refused(weights, means, covariances, words):
    assert_refuses(lambda: MixturePrior(weights, means, covariances), ValueError, *words)
