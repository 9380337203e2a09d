"""Two clusters beside two halves of one cloud: neighbours, doubts, and p-values."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import stdtr

from bbclust import BBC
from bbclust.selection import splits as module
from bbclust.selection.grid import GridJob, GridSettings, GridUnderWay, find_reference
from bbclust.selection.splits import (
    MAX_ROWS,
    N_REPLICAS,
    Neighbours,
    PairTest,
    Splits,
    doubt_of_pieces,
    pair_verdict,
)
from bbclust.stages.table import make_table

SCALE = 1.5


def blobs(n_clusters, n_each, separation, seed=0, d=2):
    """Round clusters along the first axis."""
    rows = np.random.default_rng(seed).normal(size=(n_clusters * n_each, d))
    rows[:, 0] += separation * np.repeat(np.arange(n_clusters), n_each)
    return rows


def settings_of(n_draws):
    return GridSettings(BBC(n_init=2)._settings(), N_REPLICAS, n_draws)


def look_at(X, k=2, *, seed=0, n_clouds=19, n_jobs=1, weights=None, n_draws=None):
    """Doubts of a table and the partition of it."""
    table = make_table(X, weights)
    settings = settings_of(n_draws or len(X))
    partition = find_reference(GridJob(table, (k,), (SCALE,), settings, seed), k)
    return Splits(table, settings, SCALE, seed, n_clouds, n_jobs), partition


def pair_of(X, k=2, **options):
    """The one pair of two clusters."""
    (pair,) = all_pairs(X, k, **options)
    return pair


def all_pairs(X, k, **options):
    splits, partition = look_at(X, k, **options)
    return splits.test_pairs(partition)


def halves(X, seed=0):
    return doubt_of_pieces(GridJob(make_table(X), (2,), (SCALE,), settings_of(len(X)), seed))


# --- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize(("n", "d", "k"), [(300, 1, 2), (300, 2, 5), (200, 7, 12)])
def test_neighbours_are_those_of_all_distances(n, d, k, offset):
    generator = np.random.default_rng(n + d + k)
    rows, centers = (3 * generator.normal(size=(size, d)) + offset for size in (n, k))
    distances = ((rows[:, None] - centers) ** 2).sum(axis=2)
    two = set(map(tuple, distances.argsort(axis=1)[:, :2].tolist()))
    found = Neighbours(rows, centers)
    assert found.pairs() == sorted((a, b) for a, b in two if a < b and (b, a) in two)
    for pair in found.pairs():
        middle = centers[list(pair)].mean(axis=0)
        to_middle = ((rows - middle) ** 2).sum(axis=1)
        others = [k_ for k_ in range(k) if k_ not in pair]
        around = (to_middle[:, None] < distances[:, others]).all(axis=1)
        assert found.rows_around(pair).tolist() == np.flatnonzero(around).tolist()


def test_clusters_on_a_line_have_their_neighbours_beside_them():
    splits, partition = look_at(blobs(4, 30, 9.0), 4)
    order = partition.centers[:, 0].argsort()
    beside = {tuple(sorted(pair)) for pair in pairwise(order.tolist())}
    assert set(splits.neighbours(partition).pairs()) == beside


# --- doubts of halves -----------------------------------------------------------------------------


def test_halves_of_one_cloud_leave_doubt_and_far_blobs_none(seed):
    """Five round clouds: of 60 measured, the least doubt was 0.15 bits; here the middle of five."""
    generator = np.random.default_rng(seed)
    one = [halves(generator.normal(size=(200, 2)), seed) for _ in range(5)]
    assert np.median(one) > 0.1
    two = halves(blobs(2, 100, 40.0, seed), seed)
    assert two == module.entropy_floor(N_REPLICAS, 200) < 0.001


def test_doubt_of_halves_is_the_median_of_the_clusters():
    splits, partition = look_at(blobs(3, 60, 30.0), 3)
    doubt = splits.doubt_of_halves(partition)
    each = splits._of_clusters[3]
    assert each.shape == (3,)
    assert doubt == np.median(each)
    assert (each > 0.05).all()


@pytest.mark.parametrize(("n", "is_enough"), [(2, False), (12, True)])
def test_a_cluster_of_few_rows_has_no_halves(n, is_enough):
    X = blobs(2, 40, 30.0)
    few = np.random.default_rng(1).normal(size=(n, 2), loc=[0.0, 500.0])
    splits, partition = look_at(np.vstack([X, few]), 3)
    assert np.isfinite(splits.doubt_of_halves(partition)) == is_enough


def test_equal_rows_are_all_doubt():
    X = np.repeat([[0.0, 0.0], [9.0, 0.0]], 20, axis=0)
    splits, partition = look_at(X)
    assert splits.doubt_of_halves(partition) == 1.0


# --- beside one cloud -----------------------------------------------------------------------------


def test_halves_of_one_cloud_are_as_far_apart_as_those_of_clouds(seed):
    """Middle of five round clouds.

    Of 60 measured, logarithms of the relative doubt have mean 0.1 and deviation 0.2; a p-value is
    below 0.004 in 0.4% or less, so the middle of five is once in more than a million.
    """
    generator = np.random.default_rng(seed)
    found = [pair_of(generator.normal(size=(200, 2)), seed=seed) for _ in range(5)]
    assert 0.4 < np.median([pair.relative_doubt for pair in found]) < 2.5
    assert np.median([pair.p_value for pair in found]) > 0.004


def test_separated_clusters_are_far_below_halves_of_one_cloud(seed):
    """Middle of five; of 60 measured, 0.03 is the largest ratio and 0.001 the largest p-value."""
    found = [pair_of(blobs(2, 100, 8.0, 5 * seed + i), seed=seed) for i in range(5)]
    assert np.median([pair.relative_doubt for pair in found]) < 0.1
    assert np.median([pair.p_value for pair in found]) < 0.02


@pytest.mark.parametrize("kind", ["uniform square", "gaussian", "gaussians 2 deviations apart"])
def test_p_values_without_a_valley_are_not_small(kind, seed, draw_without_a_valley):
    """Ten tables: minus the logarithms of ten uniform p-values add up to 40 once in 10^8."""
    generator = np.random.default_rng(seed)
    tables = [draw_without_a_valley(kind, generator) for _ in range(10)]
    p_values = []
    for i, X in enumerate(tables):
        splits, partition = look_at(X, seed=10 * seed + i, n_draws=500)
        p_values.append(splits.p_value(partition, (0, 1), splits.neighbours(partition)))
    assert -np.log(p_values).sum() < 40


def test_the_shape_of_other_clusters_decides_what_is_one_cloud():
    """Four long clusters: a cut across one of them is not told apart better than a long cloud."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(400, 2)) * [10.0, 1.0]
    X[:, 1] += 30 * (np.arange(400) % 4)
    apart, cut = ({test.clusters: test.relative_doubt for test in all_pairs(X, k)} for k in (4, 5))
    assert max(apart.values()) < 0.1
    assert max(cut.values()) > 0.5


def test_pairs_come_least_apart_first():
    X = blobs(3, 60, 4.0)
    X[120:, 0] += 0.7
    found = all_pairs(X, 3)
    assert len(found) == 2
    assert found[0].relative_doubt > found[1].relative_doubt
    assert all(pair.clusters[0] < pair.clusters[1] for pair in found)


def test_few_rows_between_two_centres_show_nothing():
    splits, partition = look_at(blobs(2, 2, 30.0))
    assert splits.p_value(partition, (0, 1), splits.neighbours(partition)) == 1.0


@pytest.mark.parametrize(
    ("relative_doubt", "p_value", "verdict"),
    [
        (0.1, 0.05, "separated"),
        (3.0, 0.01, "separated"),
        (0.99, 0.06, "touching"),
        (1.0, 0.06, "no more apart than two halves of one cloud"),
        (2.0, 1.0, "no more apart than two halves of one cloud"),
    ],
)
def test_verdicts_of_pairs(relative_doubt, p_value, verdict):
    assert pair_verdict(relative_doubt, p_value) == verdict
    assert PairTest((0, 1), relative_doubt, p_value).verdict == verdict


def test_p_values_are_those_of_students_distribution():
    logs = np.array([-1.0, -2.0, -3.0])
    expected = stdtr(2, (-4.0 - -2.0) / np.sqrt(1 + 1 / 3))
    assert module._share_below(-4.0, logs) == pytest.approx(expected)
    assert module._share_below(-2.0, logs) == pytest.approx(0.5)
    # Clouds that happen to agree are not more alike than their replicas let one see.
    alike = np.full(3, -2.0)
    least = stdtr(2, -1.0 / (module.LEAST_SPREAD * np.sqrt(1 + 1 / 3)))
    assert module._share_below(-3.0, alike) == pytest.approx(least)
    assert module._share_below(-3.0, alike[:1]) == 1.0


def test_clouds_are_drawn_until_the_answer_is_plain(monkeypatch):
    splits, _ = look_at(blobs(2, 10, 9.0))
    monkeypatch.setattr(Splits, "_doubt", lambda self, cloud, *_: cloud)

    class Doubts:
        """A source of doubts that are one deviation around 1, in place of clouds."""

        def __init__(self):
            self.logs = iter(np.tile([-1.0, 1.0], 10))

        def draw(self, _):
            return np.exp(next(self.logs))

    def n_beside(observed):
        return len(splits._logs_of_clouds(observed, Doubts(), 20, np.random.default_rng(0)))

    assert n_beside(0.0) == module.FIRST_CLOUDS  # in the middle of them
    assert n_beside(-50.0) == module.FIRST_CLOUDS  # far below
    assert n_beside(-2.0) == 19  # who knows


def test_without_clouds_every_number_is_let_pass():
    X = np.random.default_rng(0).normal(size=(60, 2))
    splits, partition = look_at(X, 3, n_clouds=0)
    grid = GridUnderWay(GridJob(make_table(X), (3,), (SCALE,), settings_of(60), 0)).run()
    assert splits.is_apart(grid, partition, 4)


def test_the_most_doubtful_neighbours_are_asked(monkeypatch):
    X = blobs(4, 40, 9.0)
    splits, partition = look_at(X, 4)
    grid = GridUnderWay(GridJob(make_table(X), (4,), (SCALE,), settings_of(160), 0)).run()
    pairs = splits.neighbours(partition).pairs()
    assert len(pairs) == 3
    doubts = np.zeros((4, 4))
    for i, pair in enumerate(pairs):
        doubts[pair] = i
    grid = replace(grid, cells=tuple(replace(cell, pair_doubts=doubts) for cell in grid.cells))
    asked = []

    def relative(self, _, pair):
        asked.append(pair)
        return 0.9

    monkeypatch.setattr(Splits, "relative_doubt", relative)
    assert splits.is_apart(grid, partition, 2)
    assert asked == pairs[:0:-1]
    monkeypatch.setattr(Splits, "relative_doubt", lambda *_: 1.0)
    assert not splits.is_apart(grid, partition, 1)


# --- what it does not depend on -------------------------------------------------------------------


MIXED = blobs(3, 60, 4.0, seed=3)
MIXED[120:] += [-7.0, 9.0]  # above the other two


def numbers(found):
    return {test.clusters: (test.relative_doubt, test.p_value) for test in found}


def test_same_bits_for_any_number_of_threads():
    assert numbers(all_pairs(MIXED, 3)) == numbers(all_pairs(MIXED, 3, n_jobs=2))


def test_equal_weights_are_no_weights():
    plain, weighted = all_pairs(MIXED, 3), all_pairs(MIXED, 3, weights=np.ones(len(MIXED)))
    assert numbers(plain) == numbers(weighted)


def test_the_order_of_questions_does_not_matter():
    splits, partition = look_at(MIXED, 3)
    neighbours = splits.neighbours(partition)
    backwards = {
        pair: (
            splits.p_value(partition, pair, neighbours),
            splits.relative_doubt(partition, pair),
        )[::-1]
        for pair in reversed(neighbours.pairs())
    }
    assert numbers(all_pairs(MIXED, 3)) == backwards


@pytest.mark.parametrize("shift", [-3.0, 1e3, 1e6])
def test_translation_changes_nothing_but_roundings(shift):
    here, there = (numbers(all_pairs(X, 3)) for X in (MIXED, MIXED + shift))
    assert here.keys() == there.keys()
    for pair, values in here.items():
        np.testing.assert_allclose(there[pair], values, rtol=1e-3)


def test_large_clusters_are_looked_at_by_a_sample(monkeypatch):
    sizes = []
    doubt = Splits._doubt

    def watch(self, cloud, n_whole, generator):
        sizes.append((cloud.n, n_whole))
        return doubt(self, cloud, n_whole, generator)

    monkeypatch.setattr(Splits, "_doubt", watch)
    splits, partition = look_at(blobs(2, 400, 20.0), n_draws=300, n_clouds=2)
    splits.test_pairs(partition)
    assert set(sizes) == {(MAX_ROWS, 800)}


def test_rotation_changes_nothing_on_average(seed):
    """Six long clouds; a difference of two logarithms has deviation 0.3, so 0.8 is six errors."""
    generator = np.random.default_rng(seed)
    turn = np.linalg.qr(generator.normal(size=(2, 2)))[0]
    differences = []
    for i in range(6):
        X = generator.normal(size=(150, 2)) * [1.5, 1.0]
        here, there = (pair_of(rows, seed=i).relative_doubt for rows in (X, 7 * X @ turn))
        differences.append(np.log(there / here))
    assert abs(np.mean(differences)) < 0.8
