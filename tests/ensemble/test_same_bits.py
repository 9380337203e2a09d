"""One seed, one result: whatever the threads, blocks, order, resume points and processes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from bbclust import BBC
from bbclust._native import ISAS, engine
from bbclust.datasets import load_iris
from bbclust.ensemble import run as ensemble
from bbclust.ensemble.job import join
from bbclust.ensemble.run import run_block

IRIS = load_iris().data
N_REPLICAS = 37

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
)


class SampledPrior:
    """A prior that the engine does not know: it is sampled in Python."""

    def prepare(self, X, reference, scale):
        self.centers = reference.centers
        return self

    def sample(self, n, generator):
        near = self.centers[generator.integers(len(self.centers), size=n)]
        return near + generator.standard_normal(near.shape)


VARIANTS = {
    "default": {},
    "votes of all": {"votes": "all"},
    "few draws": {"n_draws": 20},
    "many draws": {"n_draws": 700},
    "rubin": {"resampling": "rubin"},
    "efron": {"resampling": "efron"},
    "resample": {"weighting": "resample"},
    "rubin, resample": {"resampling": "rubin", "weighting": "resample"},
    "wide prior": {"prior_scale": 100.0, "prior_weight": 0.9},
    "no prior": {"prior_weight": 0.0},
    "prior sampled in Python": {"prior": SampledPrior()},
    "ten clusters": {"n_clusters": 10},
}
variants = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def fit(X, *, sample_weight=None, **parameters):
    parameters = {"n_clusters": 3, "n_replicas": N_REPLICAS, "random_state": 0, **parameters}
    return BBC(**parameters).fit(X, sample_weight=sample_weight)


def arrays_of(model):
    """Everything that random numbers decide."""
    arrays = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    assert {"memberships_", "replica_centers_", "alignment_margin_"} <= arrays.keys()
    return arrays | {
        "evaluation_labels": model._state.record.replicas.evaluation_labels,
        "inertia": model._state.record.replicas.inertia,
        "entropies": np.array([model.mean_entropy_, model.max_pairwise_entropy_]),
        "errors": np.array([model.mean_entropy_se_, model.max_pair_doubt_se_]),
    }


def assert_same_bits(first, second):
    first, second = arrays_of(first), arrays_of(second)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        assert values.shape == second[name].shape, name
        assert values.tobytes() == second[name].tobytes(), name


@variants
@dtypes
def test_same_bits_for_any_number_of_threads(variant, dtype):
    X = IRIS.astype(dtype)
    one = fit(X, n_jobs=1, **variant)
    for n_jobs in (2, 5):
        assert_same_bits(fit(X, n_jobs=n_jobs, **variant), one)


@variants
@dtypes
def test_same_bits_for_any_size_of_blocks(variant, dtype, monkeypatch):
    X = IRIS.astype(dtype)
    at_once = fit(X, **variant)
    for size in (1, 2, 10):
        monkeypatch.setattr(ensemble, "block_size", lambda *_, size=size: size)
        assert_same_bits(fit(X, n_jobs=2, **variant), at_once)


def test_votes_of_more_replicas_than_a_byte_can_count(monkeypatch):
    # with Rubin's bootstrap every row has a vote of every replica
    whole = fit(IRIS, n_replicas=1000, resampling="rubin")
    assert (whole.n_votes_ == 1000).all()
    monkeypatch.setattr(ensemble, "block_size", lambda job, n_jobs: 100)
    assert_same_bits(whole, fit(IRIS, n_replicas=1000, resampling="rubin", n_jobs=2))


@pytest.mark.parametrize("variant", ["default", "votes of all", "rubin", "efron"])
def test_same_bits_with_weights(variant, monkeypatch):
    parameters = VARIANTS[variant] | {"sample_weight": np.arange(150) % 5}
    one = fit(IRIS, **parameters)
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 4)
    assert_same_bits(fit(IRIS, n_jobs=5, **parameters), one)


@pytest.mark.parametrize("votes", ["drawn", "all"])
def test_same_bits_in_memory_that_other_blocks_have_used(votes, monkeypatch):
    """Buffers of so many rows are kept from one block to the next."""
    X = np.random.default_rng(0).normal(size=(30_000, 8))
    parameters = {"n_clusters": 4, "n_replicas": 6, "n_init": 1, "votes": votes}
    one = fit(X, **parameters)
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 2)
    assert_same_bits(fit(X, n_jobs=2, **parameters), one)


@pytest.mark.parametrize("votes", ["drawn", "all"])
@dtypes
def test_same_bits_when_only_a_sample_of_the_rows_is_evaluated(votes, dtype, monkeypatch):
    X = np.random.default_rng(0).normal(size=(6000, 3)).astype(dtype)
    parameters = {"n_clusters": 4, "n_replicas": 8, "n_init": 1, "votes": votes}
    one = fit(X, **parameters)
    assert one._state.record.replicas.evaluation_labels.shape == (8, 4096)
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 3)
    assert_same_bits(fit(X, n_jobs=2, **parameters), one)


@variants
@dtypes
def test_adding_replicas_equals_a_larger_fit(variant, dtype):
    X = IRIS.astype(dtype)
    grown = fit(X, n_replicas=10, **variant).add_replicas(26).add_replicas(1)
    assert grown.n_replicas_ == N_REPLICAS
    assert_same_bits(grown, fit(X, **variant))


def test_adding_replicas_ignores_parameters_set_since_the_fit():
    grown = fit(IRIS, n_replicas=10).set_params(votes="all", prior_scale=9.0, random_state=5)
    assert_same_bits(grown.add_replicas(27), fit(IRIS))


@pytest.mark.parametrize("variant", ["default", "votes of all", "rubin"])
def test_stopping_by_itself_equals_asking_for_as_many_replicas(variant):
    stopped = fit(IRIS, mc_tol=0.006, **(VARIANTS[variant] | {"n_replicas": "auto"}))
    assert 100 < stopped.n_replicas_ < 5000
    asked = fit(IRIS, **(VARIANTS[variant] | {"n_replicas": stopped.n_replicas_}))
    assert_same_bits(stopped, asked)


@variants
def test_blocks_may_run_in_any_order(variant):
    model = fit(IRIS, **variant)
    run = model._state.record.job
    blocks = [range(30, 37), range(11, 30), range(0, 1), range(1, 11)]
    parts = {block: run_block(run, block) for block in blocks}
    joined = join([parts[block] for block in sorted(blocks, key=lambda block: block.start)])
    for name in ("votes", "centers", "occupied", "margin", "inertia", "n_iter"):
        expected = getattr(model._state.record.replicas, name)
        assert getattr(joined, name).tobytes() == expected.tobytes(), name
    assert (
        joined.evaluation_labels.tobytes()
        == model._state.record.replicas.evaluation_labels.tobytes()
    )


@dtypes
def test_prediction_has_the_same_bits_for_any_number_of_threads(dtype):
    X = np.random.default_rng(0).normal(size=(5000, 4)).astype(dtype)
    model = fit(IRIS.astype(dtype))
    one = model.predict_proba(X)
    for n_jobs in (2, 5):
        assert model.set_params(n_jobs=n_jobs).predict_proba(X).tobytes() == one.tobytes()


def test_rows_are_predicted_alone_as_among_others():
    model = fit(IRIS)
    together = model.predict_proba(IRIS)
    for row in (0, 70, 149):
        assert model.predict_proba(IRIS[row : row + 1]).tobytes() == together[row].tobytes()


def test_a_number_repeats_the_fit_and_another_number_changes_it():
    assert_same_bits(fit(IRIS, random_state=5), fit(IRIS, random_state=5))
    other = fit(IRIS, random_state=6)
    assert (other.replica_centers_ != fit(IRIS, random_state=5).replica_centers_).any()


def test_without_a_number_fits_differ():
    first, second = fit(IRIS, random_state=None), fit(IRIS, random_state=None)
    assert (first.replica_centers_ != second.replica_centers_).any()


def test_a_random_state_instance_is_drawn_from():
    state = np.random.RandomState(5)
    first, second = fit(IRIS, random_state=state), fit(IRIS, random_state=state)
    assert (first.replica_centers_ != second.replica_centers_).any()
    again = np.random.RandomState(5)
    assert_same_bits(first, fit(IRIS, random_state=again))
    assert_same_bits(second, fit(IRIS, random_state=again))
    assert_same_bits(first, fit(IRIS, random_state=5))


def test_fitting_leaves_numpys_global_state_alone():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    fit(IRIS)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


# --- other instruction sets and processes ----------------------------------------------------

SCRIPT = """
import sys
import warnings

import numpy as np

from bbclust import BBC
from bbclust._native import engine
from bbclust.datasets import load_iris

warnings.simplefilter("ignore")
assert engine.ISA == sys.argv[1], engine.ISA
iris = load_iris().data
apart = np.random.default_rng(0).normal(size=(120, 5)) + 12 * np.eye(5)[np.arange(120) % 4]
out = {}
for name, X, parameters in [
    ("iris", iris, {}),
    ("all", iris, {"votes": "all", "n_draws": 60}),
    ("rubin", iris, {"resampling": "rubin"}),
    ("resample", iris, {"weighting": "resample"}),
    ("apart", apart, {"n_clusters": 4}),
    ("narrow", apart.astype(np.float32), {"n_clusters": 4}),
]:
    model = BBC(**{"n_clusters": 3, "n_replicas": 60, "random_state": 0, **parameters}).fit(X)
    out[name + "_memberships"] = model.memberships_
    out[name + "_centers"] = model.replica_centers_
    out[name + "_margin"] = model.alignment_margin_
    out[name + "_entropy"] = np.array([model.mean_entropy_, model.mean_entropy_se_])
np.savez(sys.argv[2], **out)
"""
AVAILABLE = ISAS[: ISAS.index(engine.best_isa()) + 1]


def run_python(*arguments, isa):
    environment = {**os.environ, "BBCLUST_ISA": isa}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def fit_in_fresh_process(isa, path):
    done = run_python("-c", SCRIPT, isa, str(path), isa=isa)
    assert done.returncode == 0, done.stderr
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def by_isa(tmp_path_factory):
    folder = tmp_path_factory.mktemp("isa")
    return {isa: fit_in_fresh_process(isa, folder / f"{isa}.npz") for isa in AVAILABLE}


@pytest.mark.parametrize("isa", AVAILABLE)
def test_same_bits_in_another_process(isa, by_isa, tmp_path):
    again = fit_in_fresh_process(isa, tmp_path / "again.npz")
    assert again.keys() == by_isa[isa].keys()
    for name, values in by_isa[isa].items():
        assert again[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("isa", AVAILABLE[1:])
def test_instruction_sets_agree_to_rounding(isa, by_isa):
    """Labels change only where a point is as near to two centres as a rounding.

    Deviations of draws from the prior are rounded to single precision.
    """
    mine, portable = by_isa[isa], by_isa["portable"]
    for name in ("iris", "all", "rubin", "resample", "apart"):
        rounding = 1e-9 if name == "rubin" else 1e-6  # which has no prior
        np.testing.assert_allclose(
            mine[f"{name}_centers"],
            portable[f"{name}_centers"],
            rtol=rounding,
            atol=rounding,
            err_msg=name,
        )
        np.testing.assert_array_equal(
            mine[f"{name}_memberships"], portable[f"{name}_memberships"], err_msg=name
        )
        np.testing.assert_allclose(
            mine[f"{name}_entropy"], portable[f"{name}_entropy"], rtol=1e-9, err_msg=name
        )
    # In float32 only clusters far apart are safe from such ties.
    np.testing.assert_allclose(mine["narrow_centers"], portable["narrow_centers"], atol=1e-4)
    np.testing.assert_array_equal(mine["narrow_memberships"], portable["narrow_memberships"])


def test_the_widest_instruction_set_is_the_default():
    done = run_python("-c", "from bbclust._native import engine; print(engine.ISA)", isa="")
    assert done.stdout.strip() == AVAILABLE[-1]


def test_an_unknown_instruction_set_is_refused():
    done = run_python("-c", "from bbclust import BBC", isa="sse9")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: BBCLUST_ISA='sse9' cannot be used")
    assert "portable" in last
