"""A prior in one file: copy it, and change what F0 is. Its own tests are below it."""

from dataclasses import dataclass

import numpy as np
import pytest

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris


@dataclass(frozen=True)
class UniformBoxPrior:
    """F0 is uniform on the box that holds the rows, ``margin`` times as wide."""

    margin: float = 1.0

    def prepare(self, X, reference, scale):
        """Called once in a fit: the rows, their reference partition, and prior_scale."""
        low, high = X.min(axis=0), X.max(axis=0)
        middle, reach = (low + high) / 2, self.margin * np.sqrt(scale) * (high - low) / 2
        return PreparedBox(middle - reach, middle + reach)


@dataclass(frozen=True)
class PreparedBox:
    """What replicas draw from, and what ``model.prior_`` is."""

    low: np.ndarray
    high: np.ndarray

    def sample(self, n, generator):
        """``n`` rows of F0, by the generator alone: a replica depends on nothing else."""
        return generator.uniform(self.low, self.high, size=(n, len(self.low)))

    def describe(self):
        """One sentence for people; may be left out."""
        return f"Uniform on a box in {len(self.low)} dimensions"


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def test_draws_are_in_the_box(iris):
    prior = BBC(3, prior=UniformBoxPrior(), random_state=0).fit(iris).prior_
    drawn = prior.sample(1000, np.random.default_rng(0))
    assert (drawn >= iris.min(axis=0)).all()
    assert (drawn <= iris.max(axis=0)).all()
    assert "4 dimensions" in prior.describe()


def test_the_same_bits_for_any_number_of_threads(iris):
    models = [
        BBC(3, prior=UniformBoxPrior(), n_replicas=60, n_jobs=n_jobs, random_state=0).fit(iris)
        for n_jobs in (1, 2)
    ]
    assert models[0].memberships_.tobytes() == models[1].memberships_.tobytes()


def test_a_vague_prior_raises_the_doubt(iris):
    """Half of every replica is noise: it cannot be surer than one that knows where clusters are."""
    vague = BBC(3, prior=UniformBoxPrior(), random_state=0).fit(iris)
    assert vague.mean_entropy_ > BBC(3, random_state=0).fit(iris).mean_entropy_


def test_k_can_be_chosen_with_it(iris):
    template = BBC(prior=UniformBoxPrior(), votes="all", n_replicas=40)
    selector = KSelector(template, k_range=(2, 3), null_reference=0, random_state=0).fit(iris)
    assert selector.best_k_ in (2, 3)
