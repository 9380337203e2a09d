"""A model is fitted, grown, saved, loaded, copied, changed and interrupted, in any order.

What must hold is said by a table of four things: the data and parameters of the last fit that
succeeded, how many replicas it has by now, and whether it still has its rows. A fresh fit of these
has the same bits.
"""

import copy
import pickle
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from random_tables import THOROUGH, arrays_of
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bbclust import BBC, load_model
from bbclust.ensemble import run as ensemble

TABLES = {
    name: np.random.default_rng(seed).normal(size=(n, 2)).astype(dtype)
    for name, (seed, n, dtype) in {
        "small": (0, 9, np.float64),
        "narrow": (1, 12, np.float32),
        "other": (2, 15, np.float64),
    }.items()
}
WEIGHTS = {name: np.arange(len(X)) % 3 for name, X in TABLES.items()}
PARAMETERS = {
    "n_clusters": st.integers(1, 3),
    "n_replicas": st.integers(1, 5),
    "votes": st.sampled_from(["drawn", "all"]),
    "resampling": st.sampled_from(["proper", "rubin", "efron"]),
    "prior_weight": st.sampled_from([0.0, 0.5]),
    "random_state": st.integers(0, 3),
    "n_jobs": st.sampled_from([None, 2]),
}
START = {"n_clusters": 2, "n_replicas": 3, "n_init": 1, "random_state": 0}


@cache
def fresh_fit(table, weighted, parameters, n_replicas):
    """What a model of these must be: never touched since, of as many replicas."""
    model = BBC(**dict(parameters)).set_params(n_replicas=n_replicas, n_jobs=None)
    return model.fit(TABLES[table], sample_weight=WEIGHTS[table] if weighted else None)


class Life(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "model.bbc"
        self.model = BBC(**START)
        self.fitted = None  # (table, weighted, parameters, replicas) of the last fit
        self.has_rows = False
        self.saved = None  # (fitted, parameters) of the file
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(ensemble, "block_size", lambda *_: 1)  # blocks to be interrupted at

    def teardown(self):
        self.patch.undo()
        self.folder.cleanup()

    def expected(self):
        return fresh_fit(*self.fitted)

    def parameters(self):
        return tuple(sorted(self.model.get_params().items()))

    # --- what may happen --------------------------------------------------------------------------

    @rule(name=st.sampled_from(sorted(TABLES)), weighted=st.booleans())
    def fit(self, name, weighted):
        weights = WEIGHTS[name] if weighted else None
        assert self.model.fit(TABLES[name], sample_weight=weights) is self.model
        self.fitted = (name, weighted, self.parameters(), self.model.n_replicas)
        self.has_rows = True

    @rule(count=st.integers(1, 3))
    @precondition(lambda self: self.has_rows)
    def add_replicas(self, count):
        self.model.add_replicas(count)
        *of_fit, n_replicas = self.fitted
        self.fitted = (*of_fit, n_replicas + count)

    @rule(data=st.data(), name=st.sampled_from(sorted(PARAMETERS)))
    def set_params(self, data, name):
        value = data.draw(PARAMETERS[name])
        self.model.set_params(**{name: value})
        assert self.model.get_params()[name] == value

    @rule()
    @precondition(lambda self: self.fitted is not None)
    def save(self):
        self.model.save(self.file)
        self.saved = (self.fitted, self.model.get_params())

    @rule()
    @precondition(lambda self: self.saved is not None)
    def load(self):
        self.model = load_model(self.file)
        self.fitted, parameters = self.saved
        assert self.model.get_params() == parameters
        self.has_rows = False

    @rule(how=st.sampled_from([copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]))
    def duplicate(self, how):
        self.model = how(self.model)

    @rule()
    def clone(self):
        parameters = self.model.get_params()
        self.model = clone(self.model)
        assert self.model.get_params() == parameters
        self.fitted, self.has_rows = None, False

    # --- what may fail, and leaves everything as it was -------------------------------------------

    def assert_untouched(self, before):
        assert vars(self.model).keys() == before.keys()
        assert all(vars(self.model)[name] is value for name, value in before.items())

    @rule(name=st.sampled_from(sorted(TABLES)), block=st.integers(1, 5))
    def interrupted_fit(self, name, block):
        self.interrupt(block, lambda: self.model.fit(TABLES[name]), self.model.n_replicas)

    @rule(block=st.integers(1, 5))
    @precondition(lambda self: self.has_rows)
    def interrupted_addition(self, block):
        self.interrupt(block, lambda: self.model.add_replicas(5), 5)

    def interrupt(self, block, work, n_blocks):
        heard = []

        def press_ctrl_c(done, total):
            heard.append(done)
            if len(heard) == min(block, n_blocks):
                raise KeyboardInterrupt

        self.model.set_params(callbacks=press_ctrl_c)
        before = dict(vars(self.model))
        with pytest.raises(KeyboardInterrupt):
            work()
        self.assert_untouched(before)
        self.model.set_params(callbacks=None)

    @rule(fault=st.sampled_from(["NaN", "text", "too few rows", "K", "weights", "replicas"]))
    def failed_call(self, fault):
        X = np.ones((2, 2)) if fault == "too few rows" else np.arange(12.0).reshape(6, 2)
        X[1] += 1
        weights = None
        n_clusters = self.model.n_clusters
        if fault == "NaN":
            X[0, 0] = np.nan
        if fault == "text":
            X = [["a", "b"], ["c", "d"]]
        if fault == "weights":
            weights = -np.ones(6)
        if fault in ("K", "too few rows"):
            self.model.set_params(n_clusters=0 if fault == "K" else 4)
        before = dict(vars(self.model))
        call = partial(self.model.fit, X, sample_weight=weights)
        if fault == "replicas":
            call = partial(self.model.add_replicas, 0)
        with pytest.raises((ValueError, TypeError, NotFittedError, AttributeError)):
            call()
        self.assert_untouched(before)
        self.model.set_params(n_clusters=n_clusters)

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def predicts_as_a_fresh_fit_does(self):
        if self.fitted is None:
            with pytest.raises(NotFittedError):
                self.model.predict(TABLES["other"])
            return
        expected = self.expected()
        for X in TABLES.values():
            assert self.model.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()
            np.testing.assert_array_equal(self.model.predict(X), expected.predict(X))
        assert self.model.n_replicas_ == expected.n_replicas_
        assert self.model.mean_entropy_ == expected.mean_entropy_

    @invariant()
    def publishes_what_a_fresh_fit_does(self):
        if self.has_rows:
            assert arrays_of(self.model) == arrays_of(self.expected())
        elif self.fitted is not None:
            with pytest.raises(AttributeError, match="a model loaded from a file does not hold"):
                self.model.add_replicas(1)


Life.TestCase.settings = settings(
    max_examples=60 if THOROUGH else 12, stateful_step_count=40 if THOROUGH else 15
)
TestLife = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
)(Life.TestCase)
