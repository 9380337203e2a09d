"""Words, normals and gammas of the engine."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from bbclust._native import engine
from bbclust.stages.random_streams import Stage, root_seed, stream_generator, stream_key

FALSE_ALARM = 1e-6


def engine_words(n, seed, stage, start, replica):
    words = np.empty(n, dtype=np.uint64)
    engine.random_words(seed, stage, start, replica, words)
    return words


@given(
    seed=st.integers(0, 2**64 - 1),
    stage=st.integers(1, 255),
    start=st.integers(0, 2**16 - 1),
    replica=st.integers(0, 2**40 - 1),
    n=st.integers(1, 300),  # from 64 on, many at once where the processor can
)
@settings(max_examples=200, deadline=None)
def test_words_equal_numpys_philox(seed, stage, start, replica, n):
    mine = engine_words(n, seed, stage, start, replica)
    assert (mine == oracle.words(seed, stage, n, start, replica)).all()


def test_python_streams_have_the_same_keys():
    words = stream_generator(7, Stage.PRIOR, replica=5).bit_generator.random_raw(9)
    assert (words == engine_words(9, 7, Stage.PRIOR, 0, 5)).all()
    assert stream_key(7, Stage.SEEDING, 3, 5).tolist() == [7, (5 << 56) + (3 << 40) + 5]


def test_streams_of_different_places_differ():
    places = [(1, 1, 0, 0), (2, 1, 0, 0), (1, 2, 0, 0), (1, 1, 1, 0), (1, 1, 0, 1)]
    words = [tuple(engine_words(4, *place)) for place in places]
    assert len(set(words)) == len(places)


def test_normals_are_quantiles_of_the_words():
    normals = np.empty(200_003)
    engine.standard_normals(3, Stage.NORMALS, 0, 1, normals)
    expected = oracle.normals(oracle.words(3, Stage.NORMALS, len(normals), 0, 1))
    np.testing.assert_allclose(normals, expected, rtol=1e-14, atol=1e-15)
    assert np.abs(normals).max() > 4  # the tails were reached


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 1.5, 2.0, 40.0])
def test_gammas_equal_the_oracle(shape):
    values = np.empty(517)
    engine.standard_gammas(11, Stage.WEIGHTS, 2, shape, values)
    expected = oracle.gammas(11, np.full(len(values), shape), replica=2)
    np.testing.assert_allclose(values, expected, rtol=1e-11)


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 2.0, 9.5])
def test_gammas_have_their_distribution(shape):
    values = np.empty(100_000)
    engine.standard_gammas(root_seed(None), Stage.WEIGHTS, 0, shape, values)
    assert stats.kstest(values, stats.gamma(shape).cdf).pvalue > FALSE_ALARM


def test_root_seed_is_repeatable_and_fills_its_range():
    assert root_seed(5) == root_seed(5) != root_seed(6)
    assert root_seed(np.random.RandomState(5)) == root_seed(5)
    assert max(root_seed(s) for s in range(50)) > 2**61


def test_normals_in_single_precision_are_quantiles_of_the_halves():
    normals = np.empty(400_003, dtype=np.float32)
    engine.standard_normals(3, Stage.NORMALS, 0, 1, normals)
    halves = oracle.halves(oracle.words(3, Stage.NORMALS, (len(normals) + 1) // 2, 0, 1))
    expected = ndtri(halves[: len(normals)])
    np.testing.assert_allclose(normals, expected, rtol=1e-6)
    assert np.abs(normals).max() > 4  # the tails were reached
