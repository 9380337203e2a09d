"""How precise a fit became, who may watch it, and what stops it early."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bbclust import BBC, BagClust1, KSelector, load_model
from bbclust.datasets import load_iris
from bbclust.ensemble import run as ensemble
from bbclust.estimators.sklearn_callbacks import N_STEPS
from bbclust.stages.monte_carlo import membership_se

IRIS = load_iris().data

pytestmark = pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")
watching = pytest.mark.skipif(
    not hasattr(BBC(), "set_callbacks"), reason="needs the callbacks of scikit-learn 1.9"
)


@pytest.fixture
def _blocks_of_ten(monkeypatch):
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 10)


# --- the trace ------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", ["drawn", "all"])
def test_the_trace_has_the_errors_of_fits_with_as_many_replicas(votes):
    model = BBC(3, n_replicas="auto", votes=votes, mc_tol=0.006, random_state=0).fit(IRIS)
    trace = model.mc_trace_
    assert set(trace) == {"n_replicas", "mean_entropy_se", "max_membership_se"}
    assert trace["n_replicas"].tolist() == list(range(100, model.n_replicas_ + 1, 100))
    assert len(trace["n_replicas"]) > 2
    for n, error, largest in zip(*trace.values(), strict=True):
        whole = BBC(3, n_replicas=int(n), votes=votes, random_state=0).fit(IRIS)
        assert error == whole.mean_entropy_se_
        assert largest == whole.membership_se_.max()
        precise = error <= 0.006 and largest <= 5 * 0.006
        assert precise == (n == model.n_replicas_)


def test_a_fixed_number_has_one_entry_and_additions_have_one_more():
    model = BBC(3, n_replicas=100, random_state=0).fit(IRIS)
    first = {name: values.copy() for name, values in model.mc_trace_.items()}
    assert first["n_replicas"].tolist() == [100]
    assert first["mean_entropy_se"].tolist() == [model.mean_entropy_se_]
    model.add_replicas(50)
    assert model.mc_trace_["n_replicas"].tolist() == [100, 150]
    assert model.mc_trace_["mean_entropy_se"][0] == first["mean_entropy_se"][0]
    assert model.mc_trace_["mean_entropy_se"][1] == model.mean_entropy_se_
    assert model.mc_trace_["max_membership_se"][1] == membership_se(model._state.record.votes).max()
    model.fit(IRIS)
    assert model.mc_trace_["n_replicas"].tolist() == [100]


def test_one_replica_has_no_error_yet():
    trace = BBC(3, n_replicas=1, votes="all", random_state=0).fit(IRIS).mc_trace_
    assert np.isnan(trace["mean_entropy_se"]).tolist() == [True]


def test_rows_that_none_drew_do_not_count_for_the_largest_error():
    with pytest.warns(UserWarning, match="drawn by none"):
        model = BBC(3, n_replicas=2, random_state=0).fit(IRIS)
    drawn = model._state.record.replicas.votes.any(axis=1)
    assert not drawn.all()
    largest = membership_se(model._state.record.replicas.votes[drawn]).max()
    assert model.mc_trace_["max_membership_se"].tolist() == [largest]


def test_many_rows_are_looked_at_some_at_a_time(monkeypatch):
    whole = BBC(3, n_replicas=100, random_state=0).fit(IRIS).mc_trace_
    monkeypatch.setattr("bbclust.stages.monte_carlo._ROWS_AT_ONCE", 7)
    parts = BBC(3, n_replicas=100, random_state=0).fit(IRIS).mc_trace_
    assert parts["max_membership_se"].tolist() == whole["max_membership_se"].tolist()


def test_model_files_leave_the_trace_out(tmp_path):
    BBC(3, n_replicas=100, random_state=0).fit(IRIS).save(tmp_path / "model.bbc")
    with pytest.raises(AttributeError, match="mc_trace_ needs the rows"):
        _ = load_model(tmp_path / "model.bbc").mc_trace_


# --- callbacks of scikit-learn --------------------------------------------------------------------


class Recorder:
    """A callback that writes down what it hears, and may ask to stop or fail."""

    def __init__(self, stop_after=None, fail_after=None):
        self.heard = []
        self.stop_after, self.fail_after = stop_after, fail_after

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.heard.append(("begin", context.task_name, context.task_id))
        if context.parent is None:
            self.X = X

    def on_fit_task_end(self, estimator, context):
        self.heard.append(("end", context.task_name, context.task_id))
        ended = sum(1 for entry in self.heard if entry[0] == "end")
        if ended == self.fail_after:
            raise RuntimeError("enough")
        return ended == self.stop_after

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def steps(self):
        return [entry for entry in self.heard if entry[1] in ("replicas", "cells")]


def steps_of(name, n):
    return [(event, name, i) for i in range(n) for event in ("begin", "end")]


@watching
@pytest.mark.usefixtures("_blocks_of_ten")
@pytest.mark.parametrize("estimator", [BBC, BagClust1])
def test_watchers_hear_of_the_hundredths_of_all_blocks_but_the_last(estimator):
    recorder = Recorder()
    model = estimator(3, n_replicas=130, random_state=0).set_callbacks(recorder)
    model.fit(IRIS)
    assert recorder.heard[:2] == ["setup", ("begin", "fit", 0)]
    assert recorder.heard[-2:] == [("end", "fit", 0), "teardown"]
    assert recorder.steps() == steps_of("replicas", N_STEPS * 120 // 130 + 1)
    assert recorder.X is IRIS
    alone = estimator(3, n_replicas=130, random_state=0).fit(IRIS)
    assert model.memberships_.tobytes() == alone.memberships_.tobytes()
    assert not any("callback" in name for name in vars(alone) if name != "callbacks")


@watching
def test_watchers_of_an_open_number_hear_the_end():
    recorder = Recorder()
    model = BBC(3, n_replicas="auto", random_state=0).set_callbacks(recorder).fit(IRIS)
    done = N_STEPS * model.n_replicas_ // 5000
    assert recorder.steps() == steps_of("replicas", done + 1)
    assert recorder.heard[-2:] == [("end", "fit", 0), "teardown"]


@watching
def test_watchers_of_a_selection_hear_of_its_cells():
    recorder = Recorder()
    selector = KSelector(
        BBC(n_replicas=50, n_init=1), k_range=(2, 3), prior_scales=(1,), n_resamples=1,
        null_reference=0, refit=False, random_state=0,
    )  # fmt: skip
    selector.set_callbacks(recorder).fit(IRIS)
    # Two cells and two of a half-sample; comparisons for two K's, the rule and the pairs.
    assert recorder.steps() == steps_of("cells", N_STEPS * 7 // 8 + 1)
    assert recorder.heard[-2:] == [("end", "fit", 0), "teardown"]


@watching
@pytest.mark.usefixtures("_blocks_of_ten")
@pytest.mark.parametrize("n_replicas", [200, "auto"])
def test_a_watcher_can_stop_a_fit_and_the_replicas_so_far_count(n_replicas):
    share = 40 if n_replicas == 200 else 3  # hundredths of 200 or of 5,000
    model = BBC(3, n_replicas=n_replicas, mc_tol=1e-9, random_state=0)
    model.set_callbacks(Recorder(stop_after=share)).fit(IRIS)
    total = 200 if n_replicas == 200 else 5000
    assert model.n_replicas_ == share * total // 100
    whole = BBC(3, n_replicas=model.n_replicas_, random_state=0).fit(IRIS)
    assert model.memberships_.tobytes() == whole.memberships_.tobytes()
    assert model.mc_trace_["n_replicas"][-1] == model.n_replicas_


@watching
@pytest.mark.usefixtures("_blocks_of_ten")
@pytest.mark.parametrize("fails", ["callback", "data", "first hook"])
def test_watchers_are_torn_down_and_the_model_is_clean_after_a_failure(fails):
    recorder = Recorder(fail_after=20 if fails == "callback" else None)
    if fails == "first hook":
        recorder.on_fit_task_begin = None
    model = BBC(3, n_replicas=200, random_state=0).set_callbacks(recorder)
    before = dict(vars(model))
    X = IRIS if fails != "data" else np.full((9, 2), np.nan)
    with pytest.raises((RuntimeError, ValueError, TypeError)):
        model.fit(X)
    assert recorder.heard[-1] == "teardown"
    assert vars(model) == before


@watching
def test_clones_and_pipelines_keep_their_watchers():
    recorder = Recorder()
    model = BBC(3, n_replicas=100, random_state=0).set_callbacks(recorder)
    clone(model).fit(IRIS)
    assert recorder.steps() == steps_of("replicas", 1)
    recorder.heard.clear()
    make_pipeline(StandardScaler(), model).fit(IRIS)
    assert recorder.steps() == steps_of("replicas", 1)


@watching
def test_something_else_is_refused_by_scikit_learn():
    with pytest.raises(TypeError, match="callbacks must be instances"):
        BBC().set_callbacks(print)


@watching
@pytest.mark.parametrize("n_replicas", [150, "auto"])
def test_scikit_learns_progress_bar_runs(n_replicas, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    model = BBC(3, n_replicas=n_replicas, random_state=0).set_callbacks(ProgressBar())
    model.fit(IRIS)
    assert "BBC - fit" in capsys.readouterr().out
    selector = KSelector(
        BBC(n_replicas=50, n_init=1),
        k_range=(2, 3),
        prior_scales=(1,),
        null_reference=0,
        random_state=0,
    )
    selector.set_callbacks(ProgressBar()).fit(IRIS)
    printed = capsys.readouterr().out
    assert "KSelector - fit" in printed
    assert "100%" in printed


def test_older_scikit_learn_has_plain_callbacks_only():
    program = """
import sys

import sklearn.datasets  # scikit-learn itself needs it here
import sklearn.mixture

sys.modules["sklearn.callback"] = None  # as if it did not exist
from bbclust import BBC, KSelector
from bbclust.datasets import load_iris

heard = []
model = BBC(3, callbacks=lambda *call: heard.append(call), random_state=0).fit(load_iris().data)
selector = KSelector(k_range=(2,), prior_scales=(1,), random_state=0).fit(load_iris().data)
print(hasattr(model, "set_callbacks"), heard, selector.best_k_)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "False [(200, 200)] 2\n", done.stderr
