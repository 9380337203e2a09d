"""Two clusters beside two halves of one cloud: neighbours, doubts, and p-values."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtr
from sklearn.cluster import AgglomerativeClustering

from bbclust import BBC
from bbclust.selection import p_values, valleys
from bbclust.selection import splits as module
from bbclust.selection import tightness as tightness_module
from bbclust.selection.clouds import Cloud, FilledValley
from bbclust.selection.grid import GridJob, GridSettings, GridUnderWay, find_reference
from bbclust.selection.neighbours import Neighbours
from bbclust.selection.one_cloud import Ellipsoid, IndependentAxes
from bbclust.selection.splits import (
    MAX_ROWS,
    N_REPLICAS,
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
    each = [splits._doubt_of_cluster(partition, cluster) for cluster in range(3)]
    assert doubt == np.median(each)
    assert min(each) > 0.05


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
    assert p_values.share_below(-4.0, logs) == pytest.approx(expected)
    assert p_values.share_below(-2.0, logs) == pytest.approx(0.5)
    # Clouds that happen to agree are not more alike than their replicas let one see.
    alike = np.full(3, -2.0)
    least = stdtr(2, -1.0 / (p_values.LEAST_SPREAD * np.sqrt(1 + 1 / 3)))
    assert p_values.share_below(-3.0, alike) == pytest.approx(least)
    assert p_values.share_below(-3.0, alike[:1]) == 1.0
    # Unless there are no replicas.
    assert p_values.share_below(-2.0, alike, least_spread=0.0) == pytest.approx(0.5)
    close = np.array([-2.01, -2.0, -1.99])
    expected = stdtr(2, -0.05 / (0.01 * np.sqrt(1 + 1 / 3)))
    assert p_values.share_below(-2.05, close, least_spread=0.0) == pytest.approx(expected)


def test_clouds_are_drawn_until_the_answer_is_plain():
    def n_beside(observed, **options):
        logs = iter(np.tile([-1.0, 1.0], 10))
        return len(p_values.logs_until_plain(observed, lambda: next(logs), 19, **options))

    assert n_beside(0.0) == p_values.FIRST_CLOUDS  # in the middle of them
    assert n_beside(-50.0) == p_values.FIRST_CLOUDS  # far below
    assert n_beside(-2.0) == 19  # who knows
    assert n_beside(-50.0, least_spread=20.0) == 19  # for all that is known of the spread


def grid_beside(X, k):
    return GridUnderWay(GridJob(make_table(X), (k,), (SCALE,), settings_of(len(X)), 0)).run()


@pytest.fixture(scope="module")
def four_in_a_row():
    """Doubts, partition, grid and pairs of neighbours, the last pair the most doubtful."""
    X = blobs(4, 40, 9.0)
    splits, partition = look_at(X, 4)
    pairs = splits.neighbours(partition).pairs()
    assert len(pairs) == 3
    doubts = np.zeros((4, 4))
    for i, pair in enumerate(pairs):
        doubts[pair] = i
    grid = grid_beside(X, 4)
    grid = replace(grid, cells=tuple(replace(cell, pair_doubts=doubts) for cell in grid.cells))
    return splits, partition, grid, pairs


def test_without_clouds_every_number_is_let_pass_and_none_is_separated():
    for X in (np.random.default_rng(0).normal(size=(60, 2)), blobs(3, 20, 50.0)):
        splits, partition = look_at(X, 3, n_clouds=0)
        assert splits.is_apart(grid_beside(X, 3), partition, 4)
        assert not splits.is_separated(grid_beside(X, 3), partition, 0.05)


def test_the_most_doubtful_neighbours_are_asked(monkeypatch, four_in_a_row):
    splits, partition, grid, pairs = four_in_a_row
    asked = []

    def relative(self, _, pair):
        asked.append(pair)
        return 0.9

    monkeypatch.setattr(Splits, "relative_doubt", relative)
    assert splits.is_apart(grid, partition, 2)
    assert asked == pairs[:0:-1]
    monkeypatch.setattr(Splits, "relative_doubt", lambda *_: 1.0)
    assert not splits.is_apart(grid, partition, 1)


# --- separated ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p_values", "n_asked", "is_separated"),
    [([0.01] * 3, 3, True), ([0.01, 0.011, 0.01], 2, False), ([0.5, 0.001, 0.001], 1, False)],
)
def test_separated_are_those_with_a_valley_between_all_neighbours(
    monkeypatch, four_in_a_row, p_values, n_asked, is_separated
):
    splits, partition, grid, pairs = four_in_a_row
    asked = []

    def p_value(self, _, pair, neighbours):
        asked.append(pair)
        return p_values[len(asked) - 1]

    monkeypatch.setattr(Splits, "p_value", p_value)
    assert splits.is_separated(grid, partition, 0.01) == is_separated
    assert asked == pairs[::-1][:n_asked]  # the most doubtful first


def test_without_neighbours_nothing_is_shown(monkeypatch, four_in_a_row):
    splits, partition, grid, _ = four_in_a_row
    monkeypatch.setattr(Neighbours, "pairs", lambda self: [])
    assert not splits.is_separated(grid, partition, 1.0)


def test_far_blobs_are_separated_and_halves_of_a_blob_are_not():
    X = blobs(3, 60, 20.0)
    for k, is_separated in ((3, True), (4, False)):
        splits, partition = look_at(X, k)
        assert splits.is_separated(grid_beside(X, k), partition, 0.05 / 2) == is_separated


def test_every_valley_is_looked_for_once(monkeypatch):
    X = blobs(3, 40, 20.0)
    splits, partition = look_at(X, 3)
    looked = []
    p_of_valley = Splits._p_of_valley

    def watch(self, members, centers, generator):
        looked.append(centers)
        return p_of_valley(self, members, centers, generator)

    monkeypatch.setattr(Splits, "_p_of_valley", watch)
    grid = grid_beside(X, 3)
    assert splits.is_separated(grid, partition, 0.05)
    tests = splits.test_pairs(partition)
    assert splits.is_separated(grid, partition, 0.05)
    assert len(looked) == len(tests) == 2
    # Another K has other clusters by the same numbers.
    other, of_other = look_at(X, 4)
    pair = splits.neighbours(of_other).pairs()[0]
    found = splits.p_value(of_other, pair, splits.neighbours(of_other))
    assert found == other.p_value(of_other, pair, other.neighbours(of_other))


# --- a small cluster beside a large one -----------------------------------------------------------


def middle_of(rows, weights=None, centers=(-5, 5)):
    """Positions of those rows on a line that are around the middle."""
    rows = np.array(rows, dtype=float)[:, None]
    weights = np.ones(len(rows)) if weights is None else np.array(weights, dtype=float)
    kept = valleys.around_the_middle(Cloud(rows, weights), np.array(centers, dtype=float)[:, None])
    return dict(zip(kept.rows[:, 0].tolist(), kept.weights.tolist(), strict=True))


def test_around_the_middle_by_hand():
    assert list(middle_of([9, -6, 2, 1, -4, 3])) == [-6, 2, 1, -4]
    assert list(middle_of([-9, 6, -2, -1, 4, -3])) == [6, -2, -1, 4]
    assert list(middle_of([-9, 6, -2, -1, 4, -3], centers=(5, -5))) == [6, -2, -1, 4]
    assert list(middle_of([9, -6, 2, 1, -4, 3], centers=(0, 5))) == [9, 2, 1, 3]
    assert list(middle_of([9, -6, 2, 1, -4, 3], centers=(0, 3))) == [9, -6, 2, 1, -4, 3]
    assert list(middle_of([8, -6, 7])) == [-6, 7]
    assert list(middle_of([1, 2, 3])) == [1, 2, 3]  # nothing beyond


def test_around_the_middle_weights_count():
    """At least as heavy as the other side, and without the last row less."""
    assert middle_of([-6, -4, 1, 2, 3, 9], [1, 1, 2, 3, 4, 5]) == {-6: 1, -4: 1, 1: 2}
    assert middle_of([-6, -4, 1, 2, 3, 9], [1, 1.5, 2, 3, 4, 5]) == {-6: 1, -4: 1.5, 1: 2, 2: 3}
    assert middle_of([-6, -4, 1, 2], [20, 3, 1, 2]) == {-4: 3, 1: 1, 2: 2}
    assert middle_of([-6, -4, 1, 2], [20, 2, 1, 2]) == {-6: 20, -4: 2, 1: 1, 2: 2}


def test_around_the_middle_only_the_way_along_the_line_counts():
    rows = np.array([[-3.0, 50.0], [1.0, 90.0], [2.0, 0.0]])
    centers = np.array([[-3.0, 7.0], [3.0, 7.0]])
    kept = valleys.around_the_middle(Cloud(rows, np.ones(3)), centers)
    assert kept.rows.tolist() == rows[:2].tolist()


rows_and_weights = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(1, 5)), min_size=1, max_size=20
)


@settings(max_examples=60, deadline=None)
@given(rows_and_weights)
def test_around_the_middle_both_sides_weigh_as_much(rows):
    along, weights = np.array(rows, dtype=float).T
    numbered = Cloud(np.column_stack([along, np.arange(len(along))]), weights)
    kept = valleys.around_the_middle(numbered, np.array([[-4.0, 0.0], [4.0, 0.0]]))
    which = kept.rows[:, 1].astype(int)
    assert (np.diff(which) > 0).all()  # in their order
    assert kept.weights.tolist() == weights[which].tolist()
    left_out = np.setdiff1d(np.arange(len(along)), which)
    sides = [along <= 0, along > 0]
    light, heavy = sorted(sides, key=lambda side: weights[side].sum())
    if not light.any():
        assert len(left_out) == 0
        return
    assert heavy[left_out].all()
    kept_heavy = which[heavy[which]]
    distances = np.abs(along)
    assert distances[left_out].min(initial=99) >= distances[kept_heavy].max()
    assert weights[light].sum() <= weights[kept_heavy].sum() < weights[light].sum() + 5


def test_a_small_cluster_is_separated_from_a_large_one(seed):
    """Thirty rows seven deviations from 700, the middle of seven tables.

    Of 360 measured, none has a p-value above 0.05: with 1% of them, four of seven are once in
    three million.
    """
    p_values = []
    for i in range(7):
        X = np.random.default_rng([seed, i]).normal(size=(730, 2))
        X[:30, 0] += 7.0
        splits, partition = look_at(X, seed=seed, n_draws=300)
        assert partition.shares.min() * 730 == pytest.approx(30, abs=3)
        p_values.append(splits.p_value(partition, (0, 1), splits.neighbours(partition)))
    assert np.median(p_values) <= 0.05


@pytest.mark.parametrize(
    ("of_even", "of_filled", "p_value"),
    [(0.26, None, 0.26), (0.25, 0.1, 0.25), (0.25, 0.4, 0.4), (0.01, 0.02, 0.02)],
)
def test_filled_rows_are_looked_at_only_if_even_ones_do_not_settle_it(
    monkeypatch, of_even, of_filled, p_value
):
    splits, partition = look_at(blobs(2, 30, 5.0))
    shares = iter([of_even, of_filled])
    drawn = []
    draw = FilledValley.draw

    def watch(self, generator):
        drawn.append(self)
        return draw(self, generator)

    def share(depth, depth_of, n_clouds):
        assert 0 < depth < 1
        assert 0 <= depth_of() < 1
        return next(shares)

    monkeypatch.setattr(FilledValley, "draw", watch)
    monkeypatch.setattr(valleys, "share_as_deep", share)
    assert splits.p_value(partition, (0, 1), splits.neighbours(partition)) == p_value
    assert len(drawn) == (of_filled is not None)


# --- tightness ------------------------------------------------------------------------------------


def tightness(X, k=3, *, seed=0, n_clouds=19, weights=None):
    table = make_table(X, weights)
    return Splits(table, settings_of(len(X)), SCALE, seed, n_clouds).p_value_of_tightness(k)


def three_of_five(*seeds):
    """Three groups of five rows, ten deviations apart."""
    rows = np.random.default_rng(seeds).normal(size=(15, 2))
    return rows + np.repeat([[0.0, 0.0], [10.0, 0.0], [5.0, 8.66]], 5, axis=0)


def one_cloud(kind, generator, n=60):
    if kind == "gaussian":
        return generator.normal(size=(n, 2)) * [3.0, 1.0]
    if kind == "box":
        return generator.uniform(size=(n, 2))
    if kind == "exponential":
        return generator.exponential(size=(n, 2))
    if kind == "ball":
        rows = generator.normal(size=(n, 3))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        return rows * generator.uniform(size=(n, 1)) ** (1 / 3)
    raise ValueError(kind)


def test_few_rows_in_three_groups_are_tight(seed):
    """Middle of seven; of 200 measured, 0.008 is the largest."""
    assert np.median([tightness(three_of_five(seed, i), seed=seed) for i in range(7)]) < 0.05


@pytest.mark.parametrize("kind", ["gaussian", "box", "exponential", "ball"])
def test_one_cloud_is_rarely_tight(kind, seed):
    """Fifteen tables: with an error of 7% each, nine or more are once in five million."""
    p_values = [
        tightness(one_cloud(kind, np.random.default_rng([seed, i])), seed=15 * seed + i)
        for i in range(15)
    ]
    assert (np.array(p_values) <= 0.05).sum() <= 8


@pytest.mark.parametrize("shift", [-3.0, 1e3, 1e6])
def test_tightness_does_not_depend_on_the_place(shift):
    for X in (three_of_five(0), one_cloud("exponential", np.random.default_rng(0))):
        assert tightness(X + shift) == pytest.approx(tightness(X), rel=1e-3)


def test_tightness_hardly_depends_on_the_direction():
    """Draws along an axis of the other sign are others, no more."""
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(2, 2)))[0]
    for i in range(3):
        assert tightness(three_of_five(i) @ turn) < 0.05
        X = one_cloud("gaussian", np.random.default_rng(i))
        assert tightness(7 * X @ turn) == pytest.approx(tightness(X), abs=0.25)


def test_tightness_with_equal_weights_is_that_without():
    X = three_of_five(0)
    assert tightness(X, weights=np.ones(15)) == tightness(X)
    assert tightness(X, weights=np.full(15, 0.1)) == pytest.approx(tightness(X), rel=1e-6)


def test_without_clouds_or_with_too_few_distinct_rows_nothing_is_tight():
    assert tightness(three_of_five(0), n_clouds=0) == 1.0
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert tightness(np.repeat(corners, 20, axis=0)) == 1.0
    assert tightness(np.repeat([[3.0, 4.0]], 20, axis=0), 2) == 1.0


def test_a_column_of_one_number_or_a_sum_of_others_is_no_matter_for_tightness():
    for X, is_tight in (
        (three_of_five(0), True),
        (one_cloud("gaussian", np.random.default_rng(0)), False),
    ):
        flat = np.column_stack([X, np.full(len(X), 7.0), X.sum(axis=1)])
        assert (tightness(flat) < 0.05) == is_tight


def test_large_tables_are_looked_at_by_a_sample_for_tightness(monkeypatch):
    sizes = set()
    looseness = tightness_module.log_looseness

    def watch(cloud, n_clusters, generator):
        sizes.add((cloud.n, n_clusters))
        return looseness(cloud, n_clusters, generator)

    monkeypatch.setattr(tightness_module, "log_looseness", watch)
    tightness(np.random.default_rng(0).normal(size=(700, 2)), 4, n_clouds=2)
    assert sizes == {(MAX_ROWS, 4)}


@pytest.mark.parametrize(
    ("as_tight", "asked"),
    [
        ([], ["principal", "skew", "ellipsoid"]),
        (["principal"], ["principal"]),
        (["skew"], ["principal", "skew"]),
        (["ellipsoid"], ["principal", "skew", "ellipsoid"]),
    ],
)
@pytest.mark.parametrize("has_skew", [True, False])
def test_one_kind_of_cloud_with_parts_as_tight_is_enough(monkeypatch, as_tight, asked, has_skew):
    drawn = []

    def looseness(like, n_clusters, generator):
        drawn.append(like)
        return (-1.1 if like in as_tight else 0.0) + generator.normal(scale=0.01)

    for owner, name, kind in (
        (IndependentAxes, "principal", "principal"),
        (IndependentAxes, "least_gaussian", "skew" if has_skew else None),
        (Ellipsoid, "like", "ellipsoid"),
    ):
        monkeypatch.setattr(owner, name, lambda cloud, kind=kind: kind)
    monkeypatch.setattr(tightness_module, "log_looseness", lambda *_: -1.0)
    monkeypatch.setattr(tightness_module, "log_looseness_of_draw", looseness)
    p_value = tightness(three_of_five(0))
    if not has_skew:
        as_tight = [kind for kind in as_tight if kind != "skew"]
        asked = [kind for kind in asked if kind != "skew"]
        asked = asked if as_tight else ["principal", "ellipsoid"]
    assert (p_value > 0.05) == bool(as_tight)
    assert list(dict.fromkeys(drawn)) == asked


def test_looseness_by_hand():
    """Four rows in two pairs: within 4 x 1, in all 4 x (1 + 100)."""
    rows = np.array([[0.0, -1], [0, 1], [20, -1], [20, 1]])
    generator = np.random.default_rng(0)
    for weights in (np.ones(4), np.full(4, 7.0)):
        found = tightness_module.log_looseness(Cloud(rows + 5, weights), 2, generator)
        assert found == pytest.approx(np.log(1 / 101))
    # Three times the weight on the left: 8 x 1 within; the mean is at 5: 6 x 25 + 2 x 225 more.
    found = tightness_module.log_looseness(Cloud(rows, np.array([3.0, 3, 1, 1])), 2, generator)
    assert found == pytest.approx(np.log(8 / (8 + 600)))
    every = tightness_module.log_looseness(Cloud(rows, np.ones(4)), 4, generator)
    assert np.isfinite(every)
    assert every < -100


# --- no clusters ----------------------------------------------------------------------------------


def p_of_none(monkeypatch, n_clusters, valleys, of_all, tightness):
    """The p-value of none by hand, and how often each of the two is asked."""
    asked = {"all": 0, "tightness": 0}

    def of_one(self, members, generator):
        asked["all"] += 1
        return of_all

    def of_tightness(self, k, partition):
        assert k == n_clusters
        asked["tightness"] += 1
        return tightness

    monkeypatch.setattr(Splits, "p_value_of_one", of_one)
    monkeypatch.setattr(Splits, "p_value_of_tightness", of_tightness)
    splits = Splits(make_table(blobs(2, 10, 9.0)), settings_of(20), SCALE, 0, 19)
    tests = [PairTest(pair, 0.5, p) for pair, p in valleys.items()]
    return splits.p_value_of_none(n_clusters, tests), asked


OF_VALLEYS, OF_TIGHTNESS = module.OF_VALLEYS, 1 - module.OF_VALLEYS


def test_a_shown_valley_settles_it(monkeypatch):
    found, asked = p_of_none(monkeypatch, 2, {(0, 1): 0.001}, 1.0, 0.0)
    assert found == pytest.approx(0.001 / OF_VALLEYS)
    assert asked["tightness"] == 0
    at_the_level = 0.05 * OF_VALLEYS * (1 - 1e-9)
    found, asked = p_of_none(monkeypatch, 2, {(0, 1): at_the_level}, 1.0, 0.0)
    assert found == pytest.approx(0.05)
    assert asked["tightness"] == 0
    found, asked = p_of_none(monkeypatch, 2, {(0, 1): 1.001 * at_the_level}, 1.0, 0.0)
    assert found == 0
    assert asked["tightness"] == 1


@pytest.mark.parametrize(
    ("valley", "tightness", "expected"),
    [
        (0.9, 0.03, 0.03 / OF_TIGHTNESS),
        (0.9, 0.5, 0.5 / OF_TIGHTNESS),
        (0.03, 1.0, 0.03 / OF_VALLEYS),
        (0.03, 0.03, min(0.03 / OF_VALLEYS, 0.03 / OF_TIGHTNESS)),
        (0.03, 0.001, 0.001 / OF_TIGHTNESS),
        (0.06, 1.0, 1.0),  # they are not shown to be separated, so they are one
        (1.0, 1.0, 1.0),
    ],
)
def test_valleys_and_tightness_share_the_level(monkeypatch, valley, tightness, expected):
    found, _ = p_of_none(monkeypatch, 2, {(0, 1): valley}, 1.0, tightness)
    assert found == pytest.approx(expected)


def test_the_deepest_valley_counts_as_often_as_was_looked(monkeypatch):
    valleys = {(0, 1): 0.001, (1, 2): 0.003}
    found, asked = p_of_none(monkeypatch, 3, valleys, 0.8, 1.0)
    assert found == pytest.approx(3 * 0.001 / OF_VALLEYS)
    assert asked == {"all": 1, "tightness": 0}
    found, _ = p_of_none(monkeypatch, 3, valleys, 0.0005, 1.0)
    assert found == pytest.approx(3 * 0.0005 / OF_VALLEYS)


def test_a_valley_between_clusters_that_others_connect_does_not_count(monkeypatch):
    arms = {(0, 1): 0.001, (1, 2): 0.6, (0, 2): 0.4}
    found, _ = p_of_none(monkeypatch, 3, arms, 0.02, 1.0)
    assert found == pytest.approx(4 * 0.02 / OF_VALLEYS)
    found, _ = p_of_none(monkeypatch, 3, arms | {(0, 2): 0.05}, 1.0, 1.0)
    assert found == pytest.approx(4 * 0.001 / OF_VALLEYS)


def test_of_two_clusters_there_is_no_other_cut_of_all_rows(monkeypatch):
    found, asked = p_of_none(monkeypatch, 2, {(0, 1): 0.04}, 1e-9, 1.0)
    assert found == pytest.approx(0.04 / OF_VALLEYS)
    assert asked == {"all": 0, "tightness": 1}


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


@pytest.mark.parametrize("scale", [0.1, 0.7, 1 / 3, 1e-8, 1e8])
def test_the_scale_of_the_weights_does_not_matter_to_the_rows_around_the_middle(scale):
    rows = np.array([-1.0, -2, -3, 1, 2, 3, 4])[:, None]
    weights = np.array([1.0, 2, 3, 3, 2, 1, 6])
    centers = np.array([[-2.0], [2.0]])
    assert valleys.around_the_middle(Cloud(rows, weights * scale), centers).n == 6


def test_two_clusters_that_are_no_neighbours_show_nothing():
    splits, _ = look_at(blobs(2, 3, 0.0), n_clouds=2)
    assert splits.p_value_of_none(2, []) > 0.05


def test_pieces_on_which_nobody_votes_are_told_with_a_remedy():
    """Replicas of a clusterer that cannot predict vote on what they drew: here on nothing."""
    estimator = BBC(clusterer=AgglomerativeClustering(), prior_weight=0.999)
    settings = GridSettings(estimator._settings(), 2, 3)
    job = GridJob(make_table(blobs(3, 1, 5.0)), (2,), (SCALE,), settings, 0)
    with pytest.raises(
        ValueError, match=r"No replica of 2 votes on any of 3 rows.*raise n_replicas"
    ):
        doubt_of_pieces(job)
