"""Clouds without a gap: one mode along a line, and the shape of another cluster."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.selection.clouds import N_MODES, BorrowedShape, Cloud, FilledValley
from bbclust.selection.clouds import with_one_mode as one_mode_and_distance

EVERYWHERE = (-np.inf, np.inf)


def two_humps(n=120, d=2, gap=6.0, seed=0):
    """Rows around two centres, unequal weights, and the centres."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d))
    centers = np.zeros((2, d))
    centers[1] = gap / np.sqrt(d)
    rows[::2] += centers[1]
    return Cloud(rows, generator.uniform(0.5, 2.0, size=n)), centers


def rotation(d, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def with_one_mode(values, weights, between):
    return one_mode_and_distance(values, weights, between)[0]


def distance_from_one_mode(values, weights, between=EVERYWHERE):
    return one_mode_and_distance(values, weights, between)[1]


def heights(values, weights):
    """Distinct values, their masses, and the distribution function in the middle of its steps."""
    knots, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=weights) / weights.sum()
    return knots, mass, np.cumsum(mass) - mass / 2


# --- one mode on a line ---------------------------------------------------------------------------


def test_two_humps_by_hand():
    """Four values of a quarter each: slopes 1/4, 1/32, 1/8.

    Falling from the left, the last two are one slope of 1/20, which is 2/5 high after 8, where a
    quarter was, and reaches the third quantile 5 after the second. Rising to the right, the first
    two are one of 1/18, which is farther away.
    """
    values = np.array([0.0, 1.0, 9.0, 11.0])
    np.testing.assert_allclose(with_one_mode(values, np.ones(4), EVERYWHERE), [0, 1, 6, 11])
    assert distance_from_one_mode(values, np.ones(4)) == pytest.approx(2 / 5 - 1 / 4)
    np.testing.assert_allclose(with_one_mode(-values, np.ones(4), EVERYWHERE), [0, -1, -6, -11])


def test_no_rounding_decides_between_equals():
    """Either hump may be the mode."""
    values = np.array([0.0, 1.0, 9.0, 10.0])
    expected = with_one_mode(values, np.ones(4), EVERYWHERE)
    assert expected.tolist() in ([0, 1, 5.5, 10], [0, 4.5, 9, 10])
    for rounding in (1e-12, -1e-12):
        for place in range(4):
            nearly = values + rounding * (np.arange(4) == place)
            moved = with_one_mode(nearly, np.ones(4), EVERYWHERE)
            np.testing.assert_allclose(moved, expected, atol=1e-9)


def test_weights_by_hand():
    """Masses of 2, 4, 1 and 3 tenths: slopes 0.3, 0.125, 0.2; falling, 0.3 and 0.45 over 3."""
    values, weights = np.array([0.0, 1.0, 3.0, 4.0]), np.array([2.0, 4.0, 1.0, 3.0])
    moved = with_one_mode(values, weights, EVERYWHERE)
    np.testing.assert_allclose(moved, [0, 1, 1 + 0.25 / 0.15, 4])
    assert distance_from_one_mode(values, weights) == pytest.approx(0.3 - 0.25)


def test_what_has_one_mode_already_stays_put():
    for values in (
        np.arange(12.0),
        np.array([-9.0, -5.0, -2.0, -0.5, 0.5, 2.0, 5.0, 9.0]),
        np.array([0.0, 1.0, 3.0, 6.0, 10.0]),
        np.array([0.0, 4.0, 7.0, 9.0, 10.0]),
    ):
        moved = with_one_mode(values, np.ones(len(values)), EVERYWHERE)
        np.testing.assert_allclose(moved, values, atol=1e-12)
        assert distance_from_one_mode(values, np.ones(len(values))) < 1e-12


def test_only_what_is_moved_between_the_two_counts():
    values = np.array([0.0, 1.0, 9.0, 11.0])
    for between, distance in (((0, 11), 0.15), ((8, 10), 0.15), ((0, 5), 0), ((10, 11), 0)):
        assert distance_from_one_mode(values, np.ones(4), between) == pytest.approx(distance)


@pytest.mark.parametrize("values", [[0, 5, 5, 9], [3, 3, 3, 3]], ids=["three values", "one value"])
def test_where_nothing_can_be_said_nothing_is_moved(values):
    values = np.array(values, dtype=float)
    assert (with_one_mode(values, np.ones(4), EVERYWHERE) == values).all()
    assert distance_from_one_mode(values, np.ones(4)) == 0


def convex_minorant(x, y):
    """At each point, the lowest of all chords above it."""
    low = y.copy()
    for i in range(len(x)):
        for k in range(i + 1, len(x)):
            for j in range(i + 1, k):
                low[j] = min(low[j], y[i] + (y[k] - y[i]) * (x[j] - x[i]) / (x[k] - x[i]))
    return low


def oracle(values, weights, between=EVERYWHERE):
    """All modes tried: the least distance, and all distributions so near, as moved values."""
    knots, _, share = heights(values, weights)
    inside = (knots >= between[0]) & (knots <= between[1])
    fits, distances = [], []
    for mode in np.unique(np.searchsorted(share, np.linspace(0, share[-1], N_MODES))):
        left = convex_minorant(knots[: mode + 1], share[: mode + 1])
        right = -convex_minorant(knots[mode:], -share[mode:])
        fits.append(np.concatenate([left, right[1:]]))
        change = np.abs(fits[-1] - share)
        distances.append((change.max(), change[inside].max(initial=0.0)))
    # The least change anywhere, and of those as small the least within.
    least = min(anywhere for anywhere, _ in distances) + 1e-9
    within = min(inner for anywhere, inner in distances if anywhere <= least)
    places = np.searchsorted(knots, values)
    nearest = [
        np.interp(share, fit, knots)[places]
        for fit, (anywhere, inner) in zip(fits, distances, strict=True)
        if anywhere <= least and inner <= within + 1e-9
    ]
    return within, nearest


# Whole numbers, so that no slope hangs on a rounding.
few_values = st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 6)), min_size=4, max_size=15)


def check_with_the_definition(values, weights, between):
    distance, nearest = oracle(values, weights, between)
    moved, found = one_mode_and_distance(values, weights, between)
    assert any(np.allclose(moved, one, atol=1e-6) for one in nearest)
    assert found == pytest.approx(distance, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(few_values, st.none() | st.tuples(st.integers(-60, 60), st.integers(-60, 60)))
def test_the_nearest_distribution_of_one_mode_is_that_of_its_definition(rows, ends):
    values, weights = np.array(rows, dtype=float).T
    if len(np.unique(values)) < 4:
        return
    check_with_the_definition(values, weights, tuple(sorted(ends)) if ends else EVERYWHERE)


@pytest.mark.parametrize("between", [EVERYWHERE, (0, 9), (20, 30)])
@pytest.mark.parametrize("seed_of_rows", range(4))
def test_so_it_is_with_more_values_than_modes_are_tried(seed_of_rows, between):
    """Two or three humps, some of them ties."""
    generator = np.random.default_rng(seed_of_rows)
    places = generator.choice([0, 9, 30][: 2 + seed_of_rows % 2], size=36)
    values = (places + generator.normal(scale=2.0, size=36)).round(1)
    weights = generator.integers(1, 5, size=36).astype(float)
    assert len(np.unique(values)) > N_MODES
    check_with_the_definition(values, weights, between)


@settings(max_examples=60, deadline=None)
@given(few_values)
def test_what_was_moved_has_one_mode_and_its_order(rows):
    values, weights = np.array(rows, dtype=float).T
    moved = with_one_mode(values, weights, EVERYWHERE)
    np.testing.assert_allclose(with_one_mode(moved, weights, EVERYWHERE), moved, atol=1e-6)
    assert distance_from_one_mode(moved, weights) < 1e-9
    assert (np.diff(moved[np.argsort(values)]) >= 0).all()
    assert moved.min() == pytest.approx(values.min())
    assert moved.max() == pytest.approx(values.max())
    for value in np.unique(values):
        assert len(set(moved[values == value])) == 1


@settings(max_examples=60, deadline=None)
@given(few_values)
def test_a_weight_counts_as_so_many_rows(rows):
    values, weights = np.array(rows, dtype=float).T
    times = weights.astype(int)
    repeated = with_one_mode(np.repeat(values, times), np.ones(times.sum()), EVERYWHERE)
    once = with_one_mode(values, weights, EVERYWHERE)
    np.testing.assert_allclose(repeated, np.repeat(once, times), atol=1e-9)
    np.testing.assert_allclose(with_one_mode(values, 3 * weights, EVERYWHERE), once, atol=1e-9)


# --- a valley between two centres -----------------------------------------------------------------


def test_the_valley_is_filled_and_nothing_else_is_moved():
    cloud, centers = two_humps(d=3)
    filled = FilledValley.between(cloud, centers)
    line = (centers[1] - centers[0]) / np.linalg.norm(centers[1] - centers[0])
    shift = filled.moved - cloud.rows
    along = shift @ line
    np.testing.assert_allclose(shift, along[:, None] * line, atol=1e-12)
    assert np.abs(along).max() > 0.5
    gap = 6.0
    before, after = (rows @ line for rows in (cloud.rows, filled.moved))
    middle = [((np.abs(t - gap / 2) < 1) * cloud.weights).sum() for t in (before, after)]
    assert middle[1] > 2 * middle[0]
    depth = distance_from_one_mode(before, cloud.weights, (0, gap))
    assert filled.depth == pytest.approx(depth)
    assert depth > 0.1
    assert FilledValley.between(Cloud(filled.moved, cloud.weights), centers).depth < 1e-9


def test_filled_valleys_turn_with_the_rows():
    cloud, centers = two_humps(d=3)
    turn, shift = rotation(3), np.array([5.0, -3.0, 100.0])
    there = Cloud(cloud.rows @ turn + shift, cloud.weights)
    here = FilledValley.between(cloud, centers).moved
    turned = FilledValley.between(there, centers @ turn + shift).moved
    np.testing.assert_allclose(turned, here @ turn + shift, atol=1e-9)


def test_centres_in_one_place_leave_the_rows_alone():
    cloud, centers = two_humps()
    filled = FilledValley.between(cloud, centers[[0, 0]])
    assert (filled.moved == cloud.rows).all()
    assert filled.depth == 0


def test_rows_of_a_filled_valley_keep_their_weights_and_their_place_beside_the_line():
    cloud, centers = two_humps(d=3)
    filled = FilledValley.between(cloud, centers)
    drawn = filled.draw(np.random.default_rng(0))
    assert drawn.n == cloud.n
    which = [cloud.weights.tolist().index(weight) for weight in drawn.weights]
    assert len(set(which)) < cloud.n  # with replacement
    line = (centers[1] - centers[0]) / np.linalg.norm(centers[1] - centers[0])
    shift = drawn.rows - filled.moved[which]
    np.testing.assert_allclose(shift, (shift @ line)[:, None] * line, atol=1e-9)


def test_rows_of_a_filled_valley_are_between_it_and_the_next_one_on_the_line():
    cloud, centers = two_humps(d=3)
    filled = FilledValley.between(cloud, centers)
    drawn = filled.draw(np.random.default_rng(0))
    which = [cloud.weights.tolist().index(weight) for weight in drawn.weights]
    line = (centers[1] - centers[0]) / np.linalg.norm(centers[1] - centers[0])
    before, after = filled.moved @ line, drawn.rows @ line
    ordered = np.sort(before)
    place = np.searchsorted(ordered, before[which])
    assert (after >= ordered[np.maximum(place - 1, 0)] - 1e-9).all()
    assert (after <= ordered[np.minimum(place + 1, cloud.n - 1)] + 1e-9).all()
    assert np.ptp(after) <= np.ptp(before) + 1e-9
    assert len(np.unique(after.round(9))) == cloud.n  # no two in one place


def test_draws_of_a_filled_valley_have_no_valley(seed):
    """Of 4,000 rows, within 0.05 of the filled ones but once in 10^7 (Kolmogorov)."""
    cloud, centers = two_humps(n=4000)
    filled = FilledValley.between(cloud, centers)
    drawn = filled.draw(np.random.default_rng(seed))
    assert filled.depth > 0.15
    assert FilledValley.between(drawn, centers).depth < 0.05


# --- the shape of another cluster -----------------------------------------------------------------


def moments(cloud):
    return np.average(cloud.rows, axis=0, weights=cloud.weights), np.cov(
        cloud.rows.T, aweights=cloud.weights, bias=True
    )


def test_draws_have_the_mean_and_the_covariance_of_the_rows(seed):
    """Seven standard errors of a mean and of a covariance, for donors of bounded rows."""
    generator = np.random.default_rng(seed)
    skew = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5, -2.0, 0.2]])
    rows = generator.normal(size=(20_000, 3)) @ skew + [1e3, 0, -5]
    cloud = Cloud(rows, generator.uniform(0.5, 2.0, size=20_000))
    donors = [
        Cloud(generator.uniform(size=(n, 3)) * [1, 10, 100], generator.uniform(1, 2, size=n))
        for n in (200, 500)
    ]
    like = BorrowedShape.like(cloud, donors)
    mean, covariance = moments(cloud)
    deviations = np.sqrt(np.diag(covariance))
    drawn = like.draw(generator)
    assert drawn.n == cloud.n
    found_mean, found = moments(drawn)
    error = 7 * 1.1 / np.sqrt(20_000)  # unequal weights cost a tenth
    assert (np.abs(found_mean - mean) < error * deviations).all()
    # The square of a uniform variable in units of its variance is below 3 everywhere.
    assert (np.abs(found - covariance) < 3 * error * np.outer(deviations, deviations)).all()


def test_the_shape_is_that_of_a_donor(seed):
    """Donors on the corners of a square leave rows on the corners of a parallelogram."""
    generator = np.random.default_rng(seed)
    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    cloud = Cloud(generator.normal(size=(300, 2)) * [5, 1], np.ones(300))
    drawn = BorrowedShape.like(cloud, [Cloud(np.repeat(corners, 9, axis=0), np.ones(36))])
    rows = drawn.draw(generator).rows
    assert len(np.unique(rows.round(9), axis=0)) == 4


def test_donors_are_drawn_by_their_size(seed):
    """A hundred draws from donors of 30 and 90 rows, told apart by their weights: six errors."""
    generator = np.random.default_rng(seed)
    donors = [Cloud(generator.normal(size=(30 * w, 2)), np.full(30 * w, float(w))) for w in (1, 3)]
    like = BorrowedShape.like(Cloud(generator.normal(size=(10, 2)), np.ones(10)), donors)
    drawn = [set(like.draw(generator).weights) for _ in range(100)]
    assert all(weights in ({1.0}, {3.0}) for weights in drawn)
    assert abs(drawn.count({3.0}) - 75) <= 26


def test_too_small_donors_are_none():
    cloud, _ = two_humps(d=3)
    assert BorrowedShape.like(cloud, []) is None
    assert BorrowedShape.like(cloud, [cloud.take(np.arange(7))]) is None
    like = BorrowedShape.like(cloud, [cloud.take(np.arange(7)), cloud.take(np.arange(8))])
    assert [donor.n for donor in like.donors] == [8]


def test_borrowed_shapes_turn_with_the_rows():
    cloud, _ = two_humps(d=3)
    generator = np.random.default_rng(2)
    donor = Cloud(generator.gamma(2.0, size=(50, 3)) * [1, 4, 9], np.ones(50))
    turn, shift = rotation(3), np.array([5.0, -3.0, 100.0])
    here, there = (
        BorrowedShape.like(*clouds).draw(np.random.default_rng(3)).rows
        for clouds in (
            (cloud, [donor]),
            (
                Cloud(cloud.rows @ turn + shift, cloud.weights),
                [Cloud(donor.rows @ turn, donor.weights)],
            ),
        )
    )
    np.testing.assert_allclose(there, here @ turn + shift, atol=1e-9)


def test_flat_rows_stay_flat():
    generator = np.random.default_rng(0)
    flat = Cloud(np.column_stack([generator.normal(size=40), np.full(40, 7.0)]), np.ones(40))
    donor = Cloud(generator.normal(size=(40, 2)), np.ones(40))
    assert np.ptp(BorrowedShape.like(flat, [donor]).draw(generator).rows[:, 1]) < 1e-9
    # And a flat donor has nothing to say of the other direction.
    assert np.isfinite(BorrowedShape.like(donor, [flat]).draw(generator).rows).all()
