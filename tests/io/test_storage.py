"""Models in files: what comes back, what does not, and that older files stay readable."""

import json
import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans

import bbclust
from bbclust import BBC, load_model
from bbclust.datasets import load_iris
from bbclust.io.model_file import Unstored
from bbclust.io.whole_file import write_whole
from bbclust.priors import (
    GaussianMixture,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    SamplerPrior,
    StudentMixturePrior,
)

IRIS = load_iris().data
NEW_ROWS = np.random.default_rng(3).normal(IRIS.mean(axis=0), 2 * IRIS.std(axis=0), size=(500, 4))
GOLDEN = Path(__file__).parents[1] / "golden"

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
    "ignore:.*rows have no vote:UserWarning",
    "ignore:.* failed on .* replicas:UserWarning",
    "ignore:Cluster 3 is new:UserWarning",
)


class SampledPrior:
    """A prior that the engine does not know."""

    def prepare(self, X, reference, scale):
        self.centers = reference.centers
        return self

    def sample(self, n, generator):
        near = self.centers[generator.integers(len(self.centers), size=n)]
        return near + generator.standard_normal(near.shape)


def fit(X=IRIS, **parameters):
    return BBC(**{"n_clusters": 3, "n_replicas": 60, "random_state": 0, **parameters}).fit(X)


class SometimesFails(AgglomerativeClustering):
    """A clusterer that cannot predict, so that centres vote, and that fails on some replicas."""

    def fit_predict(self, X, y=None):
        if len(X) == 150 and X[0, 0] > 6:
            raise RuntimeError("not this one")
        return super().fit_predict(X)


@pytest.fixture(scope="module")
def model():
    return fit()


def saved(model, folder, **options):
    path = folder / "model.bbc"
    model.save(path, **options)
    return path


ROWS_FEW = IRIS[:12]
VARIANTS = {
    "default": (IRIS, {}),
    "float32": (IRIS.astype(np.float32), {}),
    "one cluster": (IRIS, {"n_clusters": 1}),
    "one replica": (IRIS, {"n_replicas": 1, "votes": "all"}),
    "centres that abstain": (ROWS_FEW, {"n_clusters": 11}),
    "far from zero": (IRIS + 1e9, {}),
    "no prior": (IRIS, {"resampling": "rubin"}),
    "expert's prior": (IRIS, {"prior": MixturePrior([1], [[5, 3, 4, 1]], [np.eye(4)])}),
    "prior of points": (np.random.default_rng(0).normal(size=(20, 30)), {}),
    "Student's prior": (IRIS, {"prior": StudentMixturePrior(df=3)}),
    "an earlier model as prior": (IRIS, {"n_clusters": 4, "prior": ModelPrior(fit())}),
    "another clusterer": (IRIS, {"clusterer": SometimesFails(), "n_replicas": 20}),
    "stops by itself": (IRIS, {"n_replicas": "auto", "mc_tol": 0.05}),
    "numbers of NumPy": (IRIS, {"n_clusters": np.int64(3), "prior_scale": np.float32(1.5)}),
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_what_was_saved_comes_back_to_the_bit(variant, tmp_path):
    X, parameters = variant
    model = fit(X, **parameters)
    loaded = load_model(saved(model, tmp_path))
    rows = np.vstack([X, X.mean(axis=0) + 3 * (X - X.mean(axis=0))]).astype(X.dtype)
    assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    assert (loaded.predict(rows, 0.8) == model.predict(rows, 0.8)).all()
    assert loaded.transform(rows).tobytes() == model.transform(rows).tobytes()
    assert (loaded.get_feature_names_out() == model.get_feature_names_out()).all()
    by_row = {"labels_", "memberships_", "entropy_", "n_votes_", "reference_labels_", "trimmed_"}
    elsewhere = {"prior_", "mc_trace_"}
    for name, value in vars(model).items():
        if name.endswith("_") and name not in by_row | elsewhere:
            np.testing.assert_array_equal(getattr(loaded, name), value, err_msg=name)
            assert type(getattr(loaded, name)) is type(value), name
    objects = ("prior", "clusterer")
    given = {k: v for k, v in model.get_params(deep=False).items() if k not in objects}
    assert {k: v for k, v in loaded.get_params().items() if k not in objects} == given


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "prior of points",
        "centres that abstain",
        "expert's prior",
        "Student's prior",
        "an earlier model as prior",
    ],
)
def test_mixtures_come_back(name, tmp_path):
    X, parameters = VARIANTS[name]
    model = fit(X, **parameters)
    prior = load_model(saved(model, tmp_path)).prior_
    assert type(prior) is type(model.prior_)
    assert prior.describe() == model.prior_.describe()
    assert prior.weights.tobytes() == model.prior_.weights.tobytes()
    assert prior.means.tobytes() == model.prior_.means.tobytes()
    assert len(prior.factors) == len(model.prior_.factors)
    for mine, theirs in zip(prior.factors, model.prior_.factors, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    generator = np.random.default_rng
    assert (prior.sample(50, generator(1)) == model.prior_.sample(50, generator(1))).all()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_saving_a_loaded_model_writes_the_same_bytes(variant, precision, tmp_path):
    X, parameters = variant
    first = saved(fit(X, **parameters), tmp_path, precision=precision)
    load_model(first).save(tmp_path / "again.bbc", precision=precision)
    assert (tmp_path / "again.bbc").read_bytes() == first.read_bytes()


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_float32_halves_the_file_and_keeps_seven_digits_of_the_spread(shift, tmp_path):
    model = fit(IRIS + shift, n_replicas=500)
    size = saved(model, tmp_path).stat().st_size
    path = saved(model, tmp_path, precision="float32")
    assert path.stat().st_size < 0.7 * size
    loaded = load_model(path)
    assert loaded.replica_centers_.dtype == np.float64
    scale = np.abs(model.replica_centers_ - model.replica_centers_.mean()).max()
    difference = np.abs(loaded.replica_centers_ - model.replica_centers_).max()
    assert difference < 1e-7 * scale + 1e-15 * shift
    agree = loaded.predict_proba(IRIS + shift) == model.predict_proba(IRIS + shift)
    assert agree.mean() > 0.99


def test_files_hold_no_row_and_stay_small(tmp_path):
    generator = np.random.default_rng(0)
    few = generator.normal(size=(300, 3)) + 9 * (np.arange(300) % 3)[:, None]
    many = np.vstack([few] * 100)
    sizes = [saved(fit(X, votes="all", n_draws=300), tmp_path).stat().st_size for X in (few, many)]
    assert sizes[1] < 1.1 * sizes[0]
    assert sizes[0] < 60 * 3 * 3 * 8 + 6_000


def test_column_names_come_back_and_are_checked(tmp_path):
    names = ["é", "b" * 300, "", "\N{GREEK SMALL LETTER BETA}"]
    model = fit(pd.DataFrame(IRIS, columns=names))
    loaded = load_model(saved(model, tmp_path))
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == names
    loaded.predict(pd.DataFrame(IRIS, columns=names))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(pd.DataFrame(IRIS, columns=names[::-1]))
    with pytest.raises(ValueError, match="3 features"):
        load_model(saved(fit(), tmp_path)).predict(IRIS[:, :3])


@pytest.mark.parametrize(
    "name",
    [
        *("labels_", "memberships_", "entropy_", "n_votes_", "membership_se_"),
        *("reference_labels_", "trimmed_"),
    ],
)
def test_results_by_row_are_not_in_the_file(name, model, tmp_path):
    loaded = load_model(saved(model, tmp_path))
    with pytest.raises(AttributeError, match=rf"^{name} needs the rows .* from a file .*\.$"):
        getattr(loaded, name)
    assert not hasattr(loaded, name)
    assert hasattr(model, name)
    assert not hasattr(BBC(), name)


def test_a_loaded_model_cannot_go_on(model, tmp_path):
    loaded = load_model(saved(model, tmp_path))
    with pytest.raises(AttributeError, match="add_replicas needs the rows"):
        loaded.add_replicas(5)


def test_a_loaded_model_can_be_fitted_again(model, tmp_path):
    loaded = load_model(saved(model, tmp_path)).fit(IRIS)
    assert loaded.memberships_.tobytes() == model.memberships_.tobytes()
    assert (loaded.prior_.means == model.prior_.means).all()
    saved(loaded, tmp_path)


def test_a_clone_of_a_loaded_model_is_unfitted_and_fits_alike(model, tmp_path):
    loaded = clone(load_model(saved(model, tmp_path)))
    assert not hasattr(loaded, "replica_centers_")
    assert loaded.fit(IRIS).memberships_.tobytes() == model.memberships_.tobytes()


def test_priors_that_are_no_mixture_are_left_out_and_named(tmp_path):
    model = fit(prior=SampledPrior())
    path = saved(model, tmp_path)
    loaded = load_model(path)
    assert loaded.predict_proba(NEW_ROWS).tobytes() == model.predict_proba(NEW_ROWS).tobytes()
    with pytest.raises(AttributeError, match=r"prior_ of this model was a SampledPrior"):
        _ = loaded.prior_
    assert not hasattr(loaded, "prior_")
    load_saved = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == load_saved
    with pytest.raises(TypeError, match="SampledPrior, not stored in the model file"):
        loaded.fit(IRIS)
    again = loaded.set_params(prior=SampledPrior()).fit(IRIS)
    assert again.memberships_.tobytes() == model.memberships_.tobytes()
    again.set_params(prior=None).fit(IRIS).save(path)
    assert (load_model(path).prior_.means == again.prior_.means).all()


@pytest.mark.parametrize(
    "prior",
    [KernelPrior(), SamplerPrior(stats.multivariate_normal(IRIS.mean(axis=0)))],
    ids=["rows of the data", "code"],
)
def test_priors_that_hold_rows_or_code_are_left_out(prior, tmp_path):
    model = fit(prior=prior)
    loaded = load_model(saved(model, tmp_path))
    with pytest.raises(
        AttributeError, match="which its file does not hold: prepare that prior again"
    ):
        _ = loaded.prior_
    with pytest.raises(ValueError, match="no prior to carry over: prior_ of this model was a"):
        ModelPrior(loaded)


def test_a_mixture_that_draws_in_its_own_way_is_left_out(model, tmp_path):
    class Shifted(GaussianMixture):
        def sample(self, n, generator):
            return super().sample(n, generator) + 1

    class ShiftedPrior:
        def prepare(self, X, reference, scale):
            return Shifted(np.ones(1), X[:1].astype(float), (np.eye(4),))

    loaded = load_model(saved(fit(prior=ShiftedPrior()), tmp_path))
    with pytest.raises(AttributeError, match="prior_ of this model was a Shifted"):
        _ = loaded.prior_


def test_a_loaded_model_is_a_prior_like_the_one_that_was_saved(model, tmp_path):
    loaded = load_model(saved(model, tmp_path))
    first, second = (fit(IRIS + 0.1, prior=ModelPrior(one)) for one in (model, loaded))
    assert first.memberships_.tobytes() == second.memberships_.tobytes()
    assert first.prior_.matched == second.prior_.matched == {0: 0, 1: 1, 2: 2}


def test_failed_replicas_have_no_vote_in_a_loaded_model(tmp_path):
    X, parameters = VARIANTS["another clusterer"]
    model = fit(X, **parameters)
    assert 0 < model.n_failed_ < 20
    loaded = load_model(saved(model, tmp_path))
    assert loaded.n_failed_ == model.n_failed_
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(TypeError, match="SometimesFails, not stored in the model file"):
        loaded.fit(X)


def test_parameters_that_are_objects_are_left_out_and_named(tmp_path):
    model = fit(random_state=np.random.RandomState(3), callbacks=lambda done, total: None)
    loaded = load_model(saved(model, tmp_path))
    assert isinstance(loaded.random_state, Unstored)
    assert "RandomState" in repr(loaded.random_state)
    assert loaded.callbacks is None
    with pytest.raises(ValueError, match="RandomState, not stored in the model file"):
        loaded.fit(IRIS)


def test_clusterers_that_vote_themselves_are_refused(tmp_path):
    model = fit(clusterer=KMeans(n_init=1), n_replicas=10)
    with pytest.raises(ValueError, match="holds centres only"):
        model.save(tmp_path / "model.bbc")
    assert os.listdir(tmp_path) == []


def test_voters_that_are_not_centres_are_refused(model, tmp_path):
    class OtherVoters:
        def vote(self, X, *, n_jobs=1):
            raise AssertionError

        def labels(self, X):
            raise AssertionError

    other = clone(model)
    vars(other).update(vars(model))
    other._state = replace(model._state, predictors=OtherVoters())
    with pytest.raises(ValueError, match="holds centres only"):
        other.save(tmp_path / "model.bbc")
    assert os.listdir(tmp_path) == []


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    class Mine(BBC):
        pass

    model = Mine(3, n_replicas=60, random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match="Mine is a class of yours, which load_model does not"):
        model.save(tmp_path / "model.bbc")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        BBC().save(tmp_path / "model.bbc")


def test_an_unknown_precision_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="precision must be one of 'float64', 'float32'"):
        model.save(tmp_path / "model.bbc", precision="float16")


# --- written whole or not at all ----------------------------------------------------------------


def test_a_file_is_replaced_whole_and_nothing_else_is_left(model, tmp_path):
    path = tmp_path / "model.bbc"
    path.write_text("something else")
    model.save(str(path))
    assert load_model(path).n_replicas_ == 60
    assert os.listdir(tmp_path) == ["model.bbc"]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_what_fails_halfway_leaves_the_earlier_file(broken, model, tmp_path, monkeypatch):
    path = saved(model, tmp_path)
    before = path.read_bytes()

    def full_disk(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, full_disk)
    with pytest.raises(OSError, match=r"model.bbc cannot be written \(No space left on device\)"):
        fit(n_replicas=70).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.bbc"]


def test_ctrl_c_while_writing_leaves_the_earlier_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"before")

    def press_ctrl_c(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_does_not_exist_is_named(model, tmp_path):
    path = tmp_path / "nowhere" / "model.bbc"
    with pytest.raises(FileNotFoundError, match=f"{re.escape(str(path))} cannot be written"):
        model.save(path)


@pytest.mark.skipif(os.name != "posix", reason="needs Unix permissions and links")
def test_files_have_ordinary_permissions_and_links_stay_links(model, tmp_path):
    path = saved(model, tmp_path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    link = tmp_path / "link.bbc"
    link.symlink_to(path)
    fit(n_replicas=70).save(link)
    assert link.is_symlink()
    assert load_model(path).n_replicas_ == 70


# --- what is written along ------------------------------------------------------------------------


def test_metadata_come_back_and_stay_until_the_model_is_fitted_again(model, tmp_path):
    metadata = {"unit": "cm", "centre": [5.8, 3.1], "nested": {"é": None, "n": 3}}
    loaded = load_model(saved(model, tmp_path, metadata=metadata))
    assert loaded.metadata_ == metadata
    assert load_model(saved(loaded, tmp_path)).metadata_ == metadata
    assert load_model(saved(loaded, tmp_path, metadata={"a": 1})).metadata_ == {"a": 1}
    assert load_model(saved(loaded.fit(IRIS), tmp_path)).metadata_ == {}
    assert load_model(saved(model, tmp_path)).metadata_ == {}


@pytest.mark.parametrize("value", [float("nan"), np.arange(3), b"bytes", (1, 2), {1: 2}])
def test_metadata_that_json_cannot_hold_are_refused(model, tmp_path, value):
    with pytest.raises(ValueError, match=r"metadata .*: give a dict of words, numbers, lists"):
        model.save(tmp_path / "model.bbc", metadata={"value": value})
    assert list(tmp_path.iterdir()) == []


# --- files of earlier versions ------------------------------------------------------------------


def test_files_of_schema_1_can_be_read():
    expected = json.loads((GOLDEN / "model_schema_1.json").read_text())
    model = load_model(GOLDEN / "model_schema_1.bbc")
    assert type(model) is BBC
    assert model.feature_names_in_.tolist() == expected["feature_names"]
    assert model.n_features_in_ == 4
    assert model.n_replicas_ == 40
    parameters = model.get_params()
    assert {name: parameters[name] for name in expected["parameters"]} == expected["parameters"]
    rows = pd.DataFrame(expected["rows"], columns=expected["feature_names"])
    assert (model.predict_proba(rows) == np.array(expected["votes"]) / 40).all()
    assert model.mean_entropy_ == expected["mean_entropy"]
    assert model.pairwise_entropy_.tolist() == expected["pairwise_entropy"]
    assert list(model.worst_pair_) == expected["worst_pair"]
    assert model.cluster_shares_.tolist() == expected["cluster_shares"]
    np.testing.assert_allclose(model.centers_interval(0.9), expected["centers_interval"])
    assert model.prior_.means.tolist() == expected["prior_means"]
    np.testing.assert_allclose(model.prior_.covariances, expected["prior_covariances"])


def test_the_file_names_the_version_that_wrote_it(model, tmp_path):
    with np.load(saved(model, tmp_path), allow_pickle=False) as members:
        header = json.loads(bytes(members["header.json"]))
        np.testing.assert_array_equal(members["replica_centers_"], model.replica_centers_)
    assert header["header"]["bbclust_version"] == bbclust.__version__
    assert header["schema"] == 1
