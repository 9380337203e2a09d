"""A prior of one's own: what it says of itself is all that has to be written."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from bbclust import BBC, KSelector, load_model
from bbclust.datasets import load_iris
from bbclust.io.archive import ArchiveError
from bbclust.priors import (
    ElicitedPrior,
    GaussianMixture,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    PlainData,
    SamplerPrior,
    StudentMixturePrior,
    storage,
    stored_as,
)
from bbclust.priors.contract import needs_rows, prepare_scales
from bbclust.priors.storage import is_storable, restore_prior
from bbclust.stages.kmeans import cluster_reference
from bbclust.stages.table import make_table

IRIS = load_iris().data
REFERENCE = cluster_reference(make_table(IRIS), 3, seed=0)


@stored_as("tests.Cubes")
class Cubes:
    """F0 is uniform on cubes around the reference centres, before and after it is prepared."""

    needs_rows = False

    def __init__(self, edge=1.0, centers=None):
        self.edge, self.centers = edge, centers

    def prepare(self, X, reference, scale):
        return Cubes(self.edge * float(np.sqrt(scale)), reference.centers)

    def sample(self, n, generator):
        near = self.centers[generator.integers(len(self.centers), size=n)]
        return near + self.edge * generator.uniform(-0.5, 0.5, size=near.shape)

    def to_plain_data(self):
        return PlainData({"centers": self.centers}, {"edge": self.edge})

    @classmethod
    def from_plain_data(cls, data, n_features):
        edge = data.details["edge"]
        if not (type(edge) is float and 0 < edge < np.inf):
            raise ValueError(f"its cubes have edges of {edge!r}")
        return cls(edge, data.array("centers", "<f8", (None, n_features)))


def fit(prior):
    return BBC(3, prior=prior, n_replicas=60, votes="all", random_state=0).fit(IRIS)


def save_and_load(model, path):
    model.save(path)
    return load_model(path)


def test_one_new_class_is_fitted_selected_saved_and_loaded(tmp_path):
    model = fit(Cubes())
    loaded = save_and_load(model, tmp_path / "model.bbc")
    assert type(loaded.prior_) is Cubes
    assert loaded.prior_.edge == model.prior_.edge == 1.0
    draws = (one.prior_.sample(9, np.random.default_rng(0)) for one in (model, loaded))
    assert_equal(*draws)
    assert loaded.predict_proba(IRIS).tobytes() == model.predict_proba(IRIS).tobytes()
    loaded.save(tmp_path / "again.bbc")
    assert (tmp_path / "again.bbc").read_bytes() == (tmp_path / "model.bbc").read_bytes()
    template = BBC(prior=Cubes(), n_replicas=60, n_init=1)
    selector = KSelector(
        template, k_range=(2, 3), prior_scales=(1, 2), null_reference=0, random_state=0
    ).fit(IRIS)
    chosen = save_and_load(selector.best_estimator_, tmp_path / "chosen.bbc")
    assert chosen.prior_.centers.shape == (selector.best_k_, 4)
    assert not needs_rows(Cubes())


# --- whether it needs rows -----------------------------------------------------------------------


def test_priors_of_this_package_say_whether_they_need_rows():
    stated = ([1], [[0.0]], [[[1.0]]])
    by_moments = [
        ElicitedPrior(),
        MixturePrior(*stated),
        StudentMixturePrior(),
        SamplerPrior(lambda n, generator: np.zeros((n, 1))),
        ModelPrior(fit(None)),
    ]
    assert not any(map(needs_rows, by_moments))
    assert needs_rows(KernelPrior())


def test_rows_are_needed_unless_the_very_class_says_otherwise():
    class SaysNothing:
        def prepare(self, X, reference, scale):
            return self

    class ReadsMore(ElicitedPrior):
        def prepare(self, X, reference, scale):
            return super().prepare(np.sqrt(X), reference, scale)

    class SaysSo(ReadsMore):
        needs_rows = False

    assert needs_rows(SaysNothing())
    assert needs_rows(ReadsMore())
    assert not needs_rows(SaysSo())


# --- several scales ------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["empirical", "tied"])
def test_scales_prepared_together_are_those_prepared_alone(covariance):
    class Counted(ElicitedPrior):
        n_calls = 0

        def prepare(self, X, reference, scale):
            self.n_calls += 1
            return super().prepare(X, reference, scale)

    prior, scales = Counted(covariance), (1.0, 1.5, 2.5)
    together = prepare_scales(prior, IRIS, REFERENCE, scales, 4)
    assert prior.n_calls == 1
    for one, scale in zip(together, scales, strict=True):
        alone = prior.prepare(IRIS, REFERENCE, scale)
        assert_equal(one.weights, alone.weights)
        assert_equal(one.means, alone.means)
        assert_equal(one.factor_rows, alone.factor_rows)


def test_other_priors_are_prepared_at_every_scale():
    prepared = prepare_scales(Cubes(), IRIS, REFERENCE, (1.0, 4.0), 4)
    assert [one.edge for one in prepared] == [1.0, 2.0]


def test_every_scale_is_checked():
    flat = MixturePrior([1], [[0.0]], [[[1.0]]])
    with pytest.raises(ValueError, match="prior has 1 features and X has 4"):
        prepare_scales(flat, IRIS, REFERENCE, (1.0, 2.0), 4)


# --- how it is stored ----------------------------------------------------------------------------


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match=r"'GaussianMixture' is stored by bbclust\.priors"):
        stored_as("GaussianMixture")(Cubes)
    assert stored_as("tests.Cubes")(Cubes) is Cubes
    assert is_storable(GaussianMixture(np.ones(1), np.zeros((1, 1)), (np.zeros((0, 1)),)))


def test_subclasses_are_not_stored_in_their_parents_name():
    class Tilted(Cubes):
        pass

    assert is_storable(Cubes())
    assert not is_storable(Tilted())


CENTERS = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("arrays", "details", "words"),
    [
        ({"centers": CENTERS}, {"edge": -1.0}, "its cubes have edges of -1.0"),
        ({"centers": CENTERS}, {}, "its prior is not complete"),
        ({}, {"edge": 1.0}, "its prior is not complete"),
        (
            {"centers": CENTERS[:, :2]},
            {"edge": 1.0},
            r"an array has shape \(2, 2\), not \(None, 3\)",
        ),
        ({"centers": CENTERS.astype(int)}, {"edge": 1.0}, "an array is of int64, not <f8"),
        ({"centers": np.array(1.0)}, {"edge": 1.0}, r"an array has shape \(\), not"),
        ({"centers": CENTERS + np.inf}, {"edge": 1.0}, "its prior is not finite"),
        ({"centers": None}, {"edge": 1.0}, r"its prior cannot be restored \(AttributeError\)"),
        ({"centers": CENTERS, "more": CENTERS}, {"edge": 1.0}, "an array that no model has"),
    ],
)
def test_what_a_class_did_not_write_is_refused(arrays, details, words):
    with pytest.raises(ValueError, match=words):
        restore_prior("tests.Cubes", PlainData(arrays, details), 3)


def test_a_file_with_a_prior_that_is_not_known_says_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "model.bbc"
    fit(Cubes()).save(path)
    monkeypatch.delitem(storage._KINDS, "tests.Cubes")
    words = r"cannot be read .* 'tests\.Cubes', which is not known here: import the module .*\.$"
    with pytest.raises(ArchiveError, match=words):
        load_model(path)
