"""BBC keeps scikit-learn's promises: its own checks, pipelines, clones, frames, copies."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.priors import MixturePrior

IRIS = load_iris()

# test_bbc.py holds the statistical test that stands in for it.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a duplicate is one more row that random numbers are drawn for, so weight 2 and a "
        "duplicate agree in distribution and not in every bit (as for scikit-learn's KMeans)"
    )
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        BBC(),
        BBC(n_replicas=20),
        BBC(n_replicas=20, votes="all"),
        BBC(n_replicas=20, resampling="rubin"),
        BBC(n_replicas=20, resampling="efron"),
        BBC(n_replicas=20, weighting="resample"),
        BBC(n_replicas=20, n_draws=15),
        BBC(n_replicas=20, missing="draw"),
        BBC(n_replicas=20, trim=0.05),
        BBC(n_replicas="auto", mc_tol=0.1),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def model():
    return BBC(3, n_replicas=100, random_state=0).fit(IRIS.data)


def test_fit_returns_the_estimator():
    model = BBC(3, n_replicas=100, random_state=0)
    assert model.fit(IRIS.data) is model


def test_fit_predict_returns_the_labels(model):
    again = clone(model)
    labels = again.fit_predict(IRIS.data)
    np.testing.assert_array_equal(labels, again.labels_)
    np.testing.assert_array_equal(labels, model.labels_)


def test_fit_ignores_y(model):
    with_y = clone(model).fit(IRIS.data, IRIS.target[::-1])
    np.testing.assert_array_equal(with_y.memberships_, model.memberships_)


def test_fit_transform_equals_fit_then_transform(model):
    at_once = clone(model).fit_transform(IRIS.data)
    np.testing.assert_array_equal(at_once, model.transform(IRIS.data))


def test_transform_gives_the_memberships_of_predict_proba(model):
    np.testing.assert_array_equal(model.transform(IRIS.data), model.predict_proba(IRIS.data))


def test_parameters_survive_clone_and_set_params():
    prior = MixturePrior([1], [[0.0] * 4], [np.eye(4)])
    given = {
        "n_clusters": 2,
        "n_replicas": "auto",
        "prior": prior,
        "prior_scale": 2.5,
        "prior_weight": 0.25,
        "resampling": "efron",
        "n_draws": 40,
        "weighting": "resample",
        "votes": "all",
        "clusterer": "later",
        "n_init": 2,
        "max_iter": 17,
        "tol": 0.0,
        "missing": "draw",
        "trim": 0.1,
        "mc_tol": 0.5,
        "callbacks": [print],
        "n_jobs": 2,
        "random_state": 7,
        "verbose": 1,
    }
    model = BBC(**given)
    assert model.get_params() == given
    copied = clone(model).get_params()
    assert repr(copied.pop("prior")) == repr(prior)
    assert copied.items() <= given.items()
    assert BBC().set_params(**given).get_params() == given


def test_a_clone_is_unfitted_and_fits_alike(model):
    fresh = clone(model)
    assert not hasattr(fresh, "labels_")
    np.testing.assert_array_equal(fresh.fit(IRIS.data).memberships_, model.memberships_)


def test_a_clone_does_not_share_its_prior():
    prior = MixturePrior([1], [[0.0] * 4], [np.eye(4)])
    assert clone(BBC(prior=prior)).prior is not prior


def test_works_after_a_scaler():
    pipeline = make_pipeline(StandardScaler(), BBC(3, n_replicas=100, random_state=0))
    labels = pipeline.fit_predict(IRIS.data)
    scaled = StandardScaler().fit_transform(IRIS.data)
    alone = BBC(3, n_replicas=100, random_state=0).fit(scaled)
    np.testing.assert_array_equal(labels, alone.labels_)
    np.testing.assert_array_equal(pipeline.predict(IRIS.data), alone.predict(scaled))
    np.testing.assert_array_equal(pipeline.predict_proba(IRIS.data), alone.predict_proba(scaled))


def test_works_before_another_step():
    pipeline = make_pipeline(BBC(3, n_replicas=100, random_state=0), StandardScaler())
    assert pipeline.fit_transform(IRIS.data).shape == (150, 3)
    assert list(pipeline.get_feature_names_out()) == ["bbc0", "bbc1", "bbc2"]


def test_pipelines_pass_weights_on():
    weights = np.where(IRIS.target == 0, 3.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), BBC(3, n_replicas=100, random_state=0))
    pipeline.fit(IRIS.data, bbc__sample_weight=weights)
    scaled = StandardScaler().fit_transform(IRIS.data)
    alone = BBC(3, n_replicas=100, random_state=0).fit(scaled, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].memberships_, alone.memberships_)


def test_output_features_are_named_after_the_estimator(model):
    names = model.get_feature_names_out()
    assert list(names) == ["bbc0", "bbc1", "bbc2"]
    assert names.dtype == object


def test_transform_speaks_pandas(model):
    rows = pd.DataFrame(IRIS.data, columns=IRIS.feature_names, index=np.arange(150) + 1000)
    fitted = clone(model).set_output(transform="pandas").fit(rows)
    shares = fitted.transform(rows)
    assert isinstance(shares, pd.DataFrame)
    assert list(shares.columns) == ["bbc0", "bbc1", "bbc2"]
    assert list(shares.index) == list(rows.index)
    np.testing.assert_array_equal(shares.to_numpy(), model.transform(IRIS.data))


def test_transform_speaks_polars(model):
    rows = pl.DataFrame(IRIS.data, schema=list(IRIS.feature_names))
    fitted = clone(model).set_output(transform="polars").fit(rows)
    shares = fitted.transform(rows)
    assert isinstance(shares, pl.DataFrame)
    assert shares.columns == ["bbc0", "bbc1", "bbc2"]
    np.testing.assert_array_equal(shares.to_numpy(), model.transform(IRIS.data))


@pytest.mark.parametrize(
    "frame",
    [lambda X, names: pd.DataFrame(X, columns=names), pl.DataFrame],
    ids=["pandas", "polars"],
)
def test_column_names_are_kept_and_checked(frame):
    names = list(IRIS.feature_names)
    model = BBC(3, n_replicas=100, random_state=0).fit(frame(IRIS.data, names))
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(IRIS.data, names[::-1]))


def test_a_fit_without_names_forgets_those_of_an_earlier_fit():
    named = pd.DataFrame(IRIS.data, columns=IRIS.feature_names)
    model = BBC(3, n_replicas=100, random_state=0).fit(named).fit(IRIS.data)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_copies_predict_alike_and_can_be_continued(duplicate, weighted):
    weights = np.arange(150) % 4 if weighted else None
    model = BBC(3, n_replicas=100, random_state=0).fit(IRIS.data, sample_weight=weights)
    other = duplicate(model)
    np.testing.assert_array_equal(other.memberships_, model.memberships_)
    np.testing.assert_array_equal(other.membership_se_, model.membership_se_)
    np.testing.assert_array_equal(other.predict_proba(IRIS.data), model.predict_proba(IRIS.data))
    assert other.worst_pair_ == model.worst_pair_

    other.add_replicas(40)
    assert (other.n_replicas_, model.n_replicas_) == (140, 100)
    whole = clone(model).set_params(n_replicas=140).fit(IRIS.data, sample_weight=weights)
    np.testing.assert_array_equal(other.memberships_, whole.memberships_)
    np.testing.assert_array_equal(other.replica_centers_, whole.replica_centers_)


def test_a_second_fit_starts_afresh():
    model = BBC(3, n_replicas=100, random_state=0).fit(IRIS.data[:, :2])
    model.add_replicas(10).fit(IRIS.data)
    fresh = BBC(3, n_replicas=100, random_state=0).fit(IRIS.data)
    np.testing.assert_array_equal(model.memberships_, fresh.memberships_)
    assert model.n_replicas_ == 100
    assert model.n_features_in_ == 4


def test_fitting_changes_neither_the_data_nor_the_parameters():
    rows, weights = IRIS.data.copy(), np.arange(150) % 3 + 1.0
    model = BBC(3, n_replicas=100, random_state=0)
    before = model.get_params()
    model.fit(rows, sample_weight=weights)
    assert model.get_params() == before
    np.testing.assert_array_equal(rows, IRIS.data)
    np.testing.assert_array_equal(weights, np.arange(150) % 3 + 1.0)
