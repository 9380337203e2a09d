"""Ctrl-C, or any signal handler that raises, ends a fit soon and leaves a clean model."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bbclust import BBC
from bbclust.ensemble import predictors as predictors
from bbclust.ensemble import run as ensemble
from bbclust.priors.covariances import weighted_gram
from bbclust.stages.alignment import align
from bbclust.stages.entropies import mean_pairwise_entropy
from bbclust.stages.kmeans import lloyd
from bbclust.validation import all_or_nothing

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="needs signals of Unix timers"
)

SOON = 5.0  # seconds; a second is promised
LARGE = np.random.default_rng(0).normal(size=(200_000, 16)).astype(np.float32)
LABELS = np.arange(len(LARGE)) % 20
SMALL = np.random.default_rng(1).normal(size=(60, 16))


def long_fit(**parameters):
    """A model whose fit of LARGE takes hours."""
    return BBC(20, **{"n_replicas": 100_000, "random_state": 0, **parameters})


@contextmanager
def ends_soon(after, n_threads=1):
    """Work that is interrupted after so many seconds, without much more of it.

    Counted is what this process computes, of all threads: how long that takes is up to whoever else
    uses the machine. What never ends is noticed by whoever waits for it.
    """
    started = time.process_time()
    yield
    assert time.process_time() - started < n_threads * (after + SOON)


@contextmanager
def ctrl_c_from_another_thread(after):
    """SIGINT to this process, as a terminal sends it, once the main thread is at work."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def assert_clean(model):
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted <= {"n_features_in_", "feature_names_in_"}
    with pytest.raises(NotFittedError):
        model.predict(LARGE[:2])


def assert_can_be_fitted(model):
    model.set_params(n_clusters=3, n_replicas=100).fit(SMALL)
    fresh = BBC(3, n_replicas=100, random_state=0).fit(SMALL)
    np.testing.assert_array_equal(model.memberships_, fresh.memberships_)


@pytest.fixture
def _one_block(monkeypatch):
    """All replicas in one call of the engine, so that nothing but the engine can be interrupted."""
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 10**6)


@pytest.mark.measures
@pytest.mark.usefixtures("_one_block")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("stage", ["reference", "replicas"])
def test_ctrl_c_ends_a_fit_soon(stage, n_jobs):
    # The reference of 200,000 rows takes a minute; given labels lead to the replicas at once.
    labels = LABELS if stage == "replicas" else None
    model = long_fit(n_jobs=n_jobs, n_replicas=50)
    with ends_soon(0.5, n_jobs), pytest.raises(KeyboardInterrupt), ctrl_c_from_another_thread(0.5):
        model.fit(LARGE, reference_labels=labels)
    assert_clean(model)
    assert_can_be_fitted(model)


@pytest.mark.measures
@pytest.mark.usefixtures("_one_block")
def test_what_a_signal_handler_raises_comes_out_of_fit():
    class OutOfTimeError(Exception):
        pass

    def handler(number, frame):
        raise OutOfTimeError("half a second")

    model = long_fit(n_replicas=50, n_jobs=2)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with ends_soon(0.5, 2), pytest.raises(OutOfTimeError, match="half a second"):
            model.fit(LARGE, reference_labels=LABELS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_clean(model)


@pytest.mark.measures
@pytest.mark.usefixtures("_one_block")
def test_a_signal_handler_that_does_not_raise_leaves_the_fit_alone():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        disturbed = BBC(3, n_replicas=10_000, random_state=0).fit(SMALL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls
    alone = BBC(3, n_replicas=10_000, random_state=0).fit(SMALL)
    np.testing.assert_array_equal(disturbed.memberships_, alone.memberships_)
    np.testing.assert_array_equal(disturbed.replica_centers_, alone.replica_centers_)


@pytest.mark.measures
def test_interrupted_additions_leave_the_model_as_it_was():
    heard = threading.Event()
    model = BBC(3, n_replicas=100, random_state=0).fit(SMALL)
    before = model.memberships_
    model.set_params(callbacks=lambda done, total: heard.set())

    def press_ctrl_c():
        heard.wait(timeout=60)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press_ctrl_c, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.add_replicas(2**31 - 1)
    thread.join()
    assert model.n_replicas_ == 100
    assert model.memberships_ is before
    model.set_params(callbacks=None).add_replicas(20)
    whole = BBC(3, n_replicas=120, random_state=0).fit(SMALL)
    np.testing.assert_array_equal(model.memberships_, whole.memberships_)


def test_an_interrupt_while_results_are_published_leaves_none(monkeypatch):
    """Votes by centres are the last long step: on rows that no replica drew, or of weight zero."""

    def press_ctrl_c(*arguments, **keywords):
        raise KeyboardInterrupt

    model = BBC(3, n_replicas=100, random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr(predictors.CenterPredictors, "vote", press_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            model.fit(SMALL, sample_weight=np.arange(60) % 3)
    assert_clean(model)
    assert_can_be_fitted(model)


def test_an_interrupt_while_additions_are_published_leaves_the_model_as_it_was(monkeypatch):
    def press_ctrl_c(*arguments, **keywords):
        raise KeyboardInterrupt

    weights = np.arange(60) % 3
    model = BBC(3, n_replicas=200, random_state=0).fit(SMALL, sample_weight=weights)
    with monkeypatch.context() as patch:
        patch.setattr(predictors.CenterPredictors, "vote", press_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            model.add_replicas(50)
    model.add_replicas(20)
    whole = BBC(3, n_replicas=220, random_state=0).fit(SMALL, sample_weight=weights)
    assert model.n_replicas_ == 220
    np.testing.assert_array_equal(model.memberships_, whole.memberships_)


def test_a_second_ctrl_c_while_the_model_is_put_back_loses_no_parameter():
    """Raised at every line of what puts it back, one after the other."""
    code = all_or_nothing.__wrapped__.__code__
    for line in range(20):
        model = BBC(3, n_replicas=100, random_state=0)
        seen = []

        def press(frame, event, argument, line=line, seen=seen):
            if event == "line":
                seen.append(frame.f_lineno)
                if len(seen) == line + 1:
                    raise KeyboardInterrupt
            return press

        def trace(frame, event, argument, press=press):
            return press if frame.f_code is code else None

        before = sys.gettrace()
        with suppress(KeyboardInterrupt):
            sys.settrace(trace)
            try:
                with all_or_nothing(model):
                    raise KeyboardInterrupt
            finally:
                sys.settrace(before)
        assert model.get_params()["n_clusters"] == 3
    assert 3 < len(seen) < 20


def long_lloyd():
    lloyd(LARGE, np.ones(len(LARGE)), LARGE[:3000].astype(float))


def long_alignment():
    numbers = np.arange(4000)
    align(np.outer(numbers, numbers), np.zeros((4000, 4000)))  # paths as long as they get


def long_entropies():
    mean_pairwise_entropy(np.full((20_000, 1000), 0.001))


def long_gram():
    rows = np.random.default_rng(0).normal(size=(20_000, 1500))
    weighted_gram(rows, np.ones(len(rows)))


@pytest.mark.measures
@pytest.mark.parametrize("work", [long_lloyd, long_alignment, long_entropies, long_gram])
def test_ctrl_c_ends_a_kernel_soon(work):
    with ends_soon(1.0), pytest.raises(KeyboardInterrupt), ctrl_c_from_another_thread(1.0):
        work()


SCRIPT = """
import numpy as np

from bbclust import BBC

X = np.random.default_rng(0).normal(size=(200_000, 16))
model = BBC(20, n_replicas=100_000, n_jobs=2, random_state=0)
try:
    print("ready", flush=True)
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "labels_"), flush=True)
model.set_params(n_replicas=2, votes="all").fit(X[:100])
print("fitted", model.n_replicas_, flush=True)
"""


@pytest.mark.measures
def test_ctrl_c_in_a_program_of_its_own():
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            program.send_signal(signal.SIGINT)
            output, _ = program.communicate(timeout=600)
        finally:
            program.kill()
    assert output == "interrupted False\nfitted 2\n"
    assert program.returncode == 0
