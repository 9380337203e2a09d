"""The estimators keep scikit-learn's promises, and say which client they use."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from distributed import Client, get_client
from local_clusters import start_cluster
from same import assert_same_fit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import BBC, KSelector, load_model
from bbclust.dask import DaskBBC, DaskKSelector
from bbclust.datasets import load_iris

IRIS = load_iris().data

pytestmark = pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")


@pytest.mark.usefixtures("client")  # the current client
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        # a few tasks for each of hundreds of fits
        DaskBBC(n_replicas=20, block_size=10),
        DaskKSelector(
            DaskBBC(n_init=1, n_replicas=80, block_size=40),
            k_range=(2, 3),
            prior_scales=(1.0,),
            null_reference=0,
        ),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "as for the local twins"
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("mine", "local"), [(DaskBBC, BBC), (DaskKSelector, KSelector)])
def test_parameters_are_those_of_the_local_twin_and_of_the_cluster(mine, local):
    theirs = inspect.signature(local.__init__).parameters
    ours = inspect.signature(mine.__init__).parameters
    assert {name: ours[name] for name in theirs} == dict(theirs)
    assert set(ours) - set(theirs) <= {"client", "block_size", "performance_report"}
    assert all(ours[name].default is None for name in set(ours) - set(theirs))


@pytest.mark.parametrize("copied", [clone, lambda model: clone(make_pipeline(model))[0]])
def test_clones_share_the_client(copied, client):
    model = DaskBBC(4, client=client, block_size=7, prior_weight=0.25)
    twin = copied(model)
    assert twin is not model
    assert twin.client is client
    assert twin.get_params() == model.get_params()
    selector = copied(DaskKSelector(model, client=client))
    assert selector.client is client
    assert selector.estimator is not model
    assert selector.estimator.client is client


@pytest.mark.parametrize(
    "copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy]
)
def test_copies_leave_the_client_behind(copied, client):
    model = DaskBBC(3, n_replicas=20, random_state=0, client=client).fit(IRIS)
    twin = copied(model)
    assert model.client is client
    assert twin.client is None
    assert_same_fit(twin, model)
    np.testing.assert_array_equal(twin.predict(IRIS), model.predict(IRIS))
    selector = DaskKSelector(
        BBC(n_replicas=20), k_range=(2, 3), null_reference=0, random_state=0, client=client
    )
    again = copied(selector.fit(IRIS))
    assert again.client is None
    np.testing.assert_array_equal(again.predict_proba(IRIS), selector.predict_proba(IRIS))


def test_nothing_of_the_cluster_is_left_in_a_fitted_model(client):
    model = DaskBBC(3, n_replicas=20, random_state=0, client=client).fit(IRIS)
    assert set(vars(model)) - set(vars(BBC(3, n_replicas=20, random_state=0).fit(IRIS))) == {
        "client",
        "block_size",
        "performance_report",
    }


def test_a_saved_model_is_loaded_as_its_local_twin(client, tmp_path):
    model = DaskBBC(3, n_replicas=20, random_state=0, client=client).fit(IRIS)
    model.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    assert type(loaded) is BBC
    assert loaded.get_params() == BBC(3, n_replicas=20, random_state=0).get_params()
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), model.predict_proba(IRIS))


def test_estimators_work_in_a_pipeline(client):
    mine = make_pipeline(StandardScaler(), DaskBBC(3, n_replicas=20, random_state=0, client=client))
    local = make_pipeline(StandardScaler(), BBC(3, n_replicas=20, random_state=0))
    np.testing.assert_array_equal(mine.fit_predict(IRIS), local.fit_predict(IRIS))


# --- which client ---------------------------------------------------------------------------------


def test_the_current_client_is_used(client, cluster):
    before = cluster.scheduler.transition_counter
    DaskBBC(3, n_replicas=20, random_state=0).fit(IRIS)
    assert cluster.scheduler.transition_counter > before


def test_the_client_given_comes_before_the_current_one(client):
    with start_cluster(1) as other, Client(other, set_as_default=False) as given:
        assert get_client() is client
        DaskBBC(3, n_replicas=20, random_state=0, client=given).fit(IRIS)
        assert "replicas" in other.scheduler.task_prefixes
        assert get_client() is client


def test_without_a_client_a_cluster_of_its_own_comes_and_goes():
    local = BBC(3, n_replicas=20, random_state=0).fit(IRIS)
    assert_same_fit(DaskBBC(3, n_replicas=20, random_state=0).fit(IRIS), local)
    with pytest.raises(ValueError, match="No global client found"):
        get_client()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"client": "tcp://127.0.0.1:8786"}, r"must be a distributed.Client, got 'tcp:.*Client\("),
        ({"performance_report": 3}, "performance_report must be the path"),
        ({"block_size": 0}, "block_size must be at least 1"),
        ({"n_replicas": 0}, "n_replicas must be at least 1"),
    ],
)
def test_impossible_parameters_are_refused_before_a_cluster_starts(parameters, message):
    with pytest.raises((TypeError, ValueError), match=message):
        DaskBBC(**parameters).fit(IRIS)
    with pytest.raises(ValueError, match="No global client found"):
        get_client()


def test_a_performance_report_is_written(client, tmp_path):
    path = tmp_path / "report.html"
    DaskBBC(3, n_replicas=20, random_state=0, client=client, performance_report=path).fit(IRIS)
    page = path.read_text()
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "replicas" in page


@pytest.mark.parametrize(
    "estimator", [DaskBBC(missing="draw"), DaskKSelector(BBC(n_init=2, missing="draw"))], ids=repr
)
def test_drawing_missing_values_is_refused_in_a_sentence(estimator):
    with pytest.raises(ValueError, match="missing='draw' is not for Dask: fit BBC or KSelector"):
        estimator.fit(IRIS)
