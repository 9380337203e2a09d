"""One cloud with the spread of a table: its moments, its one mode, and its axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.selection.clouds import Cloud, with_one_mode
from bbclust.selection.one_cloud import (
    Ellipsoid,
    IndependentAxes,
    Quantiles,
    _denser_inwards,
    _with_one_mode,
    standardized,
)

KINDS = {
    "principal": IndependentAxes.principal,
    "most skew": IndependentAxes.least_gaussian,
    "ellipsoid": Ellipsoid.like,
}
of_any_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
of_independent_axes = pytest.mark.parametrize(
    "kind",
    [IndependentAxes.principal, IndependentAxes.least_gaussian],
    ids=["principal", "most skew"],
)


def rotation(d, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def equally_weighted(rows):
    return Cloud(rows, np.ones(len(rows)))


def moments(cloud):
    return np.average(cloud.rows, axis=0, weights=cloud.weights), np.cov(
        cloud.rows.T, aweights=cloud.weights, bias=True
    )


def skew_rows(n, seed=0, d=3):
    """Exponential columns of unequal spread, turned."""
    columns = np.random.default_rng(seed).exponential(size=(n, d)) * np.arange(1, d + 1)
    return columns @ rotation(d)


def hollow(n, d, generator):
    """Rows on a ring or a sphere, nearly."""
    rows = generator.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    return rows * generator.uniform(0.95, 1.05, size=(n, 1))


# --- moments --------------------------------------------------------------------------------------


@of_any_kind
def test_draws_have_the_mean_and_the_covariance_of_the_rows(kind, seed):
    """Seven standard errors of a mean and of a covariance, for rows of bounded columns."""
    n = 20_000
    generator = np.random.default_rng(seed)
    skew = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5, -2.0, 0.2]])
    columns = generator.uniform(size=(n, 3))
    columns[::3, 0] += 2.0  # two humps
    cloud = Cloud(columns @ skew + [1e3, 0, -5], generator.uniform(0.5, 2.0, size=n))
    mean, covariance = moments(cloud)
    found_mean, found = moments(kind(cloud).draw(generator))
    deviations = np.sqrt(np.diag(covariance))
    error = 7 * 1.1 / np.sqrt(n)  # unequal weights cost a tenth
    assert (np.abs(found_mean - mean) < error * deviations).all()
    # Fourth moments are below 10: that of a ball with a dense centre is the largest.
    assert (np.abs(found - covariance) < 3 * error * np.outer(deviations, deviations)).all()


@pytest.mark.parametrize("kind", [IndependentAxes.principal, Ellipsoid.like])
@pytest.mark.parametrize("n", [15, 100])
def test_few_rows_and_outliers_keep_their_covariance(kind, n):
    """The mean over many draws, within a tenth; one row is far from the others."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(n, 2)) * [1.0, 3.0]
    rows[0, 0] = 20.0
    like = kind(equally_weighted(rows))
    drawn = np.vstack([like.draw(generator).rows for _ in range(40_000 // n)])
    scores = (drawn - like.mean) @ np.linalg.inv(like.axes)
    np.testing.assert_allclose(scores.T @ scores / len(scores), np.eye(2), atol=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_rotated_rows_have_equal_scores(seed):
    generator = np.random.default_rng(seed)
    rows = generator.exponential(size=(80, 3)) * [1.0, 2.0, 4.0]
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    _, before, _ = standardized(equally_weighted(rows))
    _, after, _ = standardized(equally_weighted(rows @ turn + 7.0))
    np.testing.assert_allclose(before, after, atol=1e-9)


def test_standardized_rows_have_no_covariance_and_come_back():
    generator = np.random.default_rng(0)
    cloud = Cloud(skew_rows(50), generator.uniform(1, 3, size=50))
    mean, scores, axes = standardized(cloud)
    found_mean, covariance = moments(Cloud(scores, cloud.weights))
    np.testing.assert_allclose(found_mean, 0, atol=1e-9)
    np.testing.assert_allclose(covariance, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(mean + scores @ axes, cloud.rows, atol=1e-9)


@of_any_kind
def test_weights_are_kept_whatever_their_rows(kind):
    cloud = Cloud(skew_rows(40), np.random.default_rng(0).uniform(1, 3, size=40))
    drawn = kind(cloud).draw(np.random.default_rng(1))
    assert drawn.rows.shape == (40, 3)
    assert sorted(drawn.weights) == sorted(cloud.weights)
    assert drawn.weights.tolist() != cloud.weights.tolist()


@of_any_kind
def test_a_weight_counts_as_so_many_rows(kind):
    """The spread is that of rows repeated; components are found without weights."""
    rows, times = skew_rows(60), 1 + np.arange(60) % 3
    weighted = kind(Cloud(rows, times.astype(float)))
    repeated = kind(equally_weighted(np.repeat(rows, times, axis=0)))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    spreads = [one.axes.T @ one.axes for one in (weighted, repeated)]
    np.testing.assert_allclose(*spreads, rtol=1e-9, atol=1e-9)


@of_any_kind
def test_flat_rows_stay_flat(kind):
    generator = np.random.default_rng(0)
    rows = skew_rows(40, d=2)
    flat = np.column_stack([rows, np.full(40, 7.0), rows.sum(axis=1)])
    drawn = kind(equally_weighted(flat)).draw(generator).rows
    np.testing.assert_allclose(drawn[:, 2], 7.0, atol=1e-9)
    np.testing.assert_allclose(drawn[:, 3], drawn[:, :2].sum(axis=1), atol=1e-9)


@of_any_kind
def test_draws_move_with_the_rows(kind):
    rows, shift = skew_rows(60), np.array([5.0, -300.0, 1e4])
    here, there = (
        kind(equally_weighted(one)).draw(np.random.default_rng(3)).rows
        for one in (rows, rows + shift)
    )
    np.testing.assert_allclose(there, here + shift, rtol=0, atol=1e-6)


@of_any_kind
def test_axes_turn_with_the_rows(kind):
    rows, turn = skew_rows(300), rotation(3, seed=5)
    here, there = (kind(equally_weighted(one)).axes for one in (rows, rows @ turn))
    signs = np.sign(np.einsum("ij,ij->i", here @ turn, there))[:, None]
    np.testing.assert_allclose(there, signs * (here @ turn), atol=1e-6)


# --- one mode -------------------------------------------------------------------------------------


@of_independent_axes
def test_every_axis_has_one_mode_though_the_rows_have_two(kind, seed):
    """Of 4,000 draws, within 0.05 of one mode but once in 10^8 (Kolmogorov)."""
    generator = np.random.default_rng(seed)
    n = 4000
    rows = generator.normal(size=(n, 3))
    rows[::2, 0] += 8.0
    rows = rows @ rotation(3)
    like = kind(equally_weighted(rows))
    drawn = like.draw(generator).rows
    depths = np.array(
        [
            [
                with_one_mode(some @ axis, np.ones(n), (-np.inf, np.inf))[1]
                for axis in np.linalg.pinv(like.axes).T
            ]
            for some in (rows, drawn)
        ]
    )
    assert depths[0].max() > 0.15
    assert depths[1].max() < 0.05


def test_axes_are_independent_though_the_columns_are_not(seed):
    """Squares of columns on a ring go against each other; seven standard errors."""
    generator = np.random.default_rng(seed)
    rows = hollow(4000, 2, generator) * [2.0, 1.0]
    drawn = IndependentAxes.principal(equally_weighted(rows)).draw(generator).rows
    before, after = (np.corrcoef((some**2).T)[0, 1] for some in (rows, drawn))
    assert before < -0.9
    assert abs(after) < 7 / np.sqrt(4000)


values_and_weights = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(1, 6)), min_size=2, max_size=20
)


@settings(max_examples=60, deadline=None)
@given(values_and_weights)
def test_a_distribution_with_one_mode_has_mean_0_and_variance_1(rows):
    values, weights = np.array(rows, dtype=float).T
    if np.ptp(values) == 0:
        return
    found = _with_one_mode(values, weights)
    assert (np.diff(found.values) >= 0).all()
    assert (np.diff(found.shares) > 0).all()
    # Of what is drawn: straight lines between the values.
    at = np.linspace(found.shares[0], found.shares[-1], 200_001)
    drawn = np.interp(at, found.shares, found.values)
    assert drawn.mean() == pytest.approx(0, abs=1e-3)
    assert (drawn**2).mean() == pytest.approx(1, rel=1e-2)
    assert found.mean == pytest.approx(0, abs=1e-9)
    assert found.mean_square == pytest.approx(1)


def test_quantiles_by_hand():
    found = Quantiles(np.array([0.2, 0.4, 0.8]), np.array([0.0, 10.0, 12.0]))
    drawn = found.draw(3000, np.random.default_rng(0))
    assert 0 <= drawn.min() < 0.1
    assert 11.9 < drawn.max() <= 12
    assert (drawn < 10).mean() == pytest.approx(1 / 3, abs=0.06)  # seven standard errors
    assert (drawn < 5).mean() == pytest.approx(1 / 6, abs=0.05)


# --- the least Gaussian axes ----------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1.0, 5.0], ids=["alike", "unlike"])
@pytest.mark.parametrize("d", [2, 3])
def test_exponential_columns_are_found_however_rotated(d, spread, seed):
    """Middle of eleven tables.

    Of 800 measured, 98% are within 25 degrees; some stay where the search starts, in the
    middle between two columns. With 3% of them, six of eleven are once in three million.
    """
    angles = []
    for i in range(11):
        generator = np.random.default_rng([seed, i])
        turn = np.linalg.qr(generator.normal(size=(d, d)))[0]
        rows = generator.exponential(size=(2000, d)) * np.linspace(1.0, spread, d) @ turn
        found = IndependentAxes.least_gaussian(equally_weighted(rows)).axes
        cosines = np.abs(found @ turn.T) / np.linalg.norm(found, axis=1)[:, None]
        alike = sorted(cosines.argmax(axis=1)) == list(range(d))
        angles.append(np.degrees(np.arccos(cosines.max(axis=1).min())) if alike else 90)
    assert np.median(angles) < 25


def test_draws_along_the_least_gaussian_axes_are_as_skew_as_the_columns(seed):
    """Hardly any exponential number is below 0, as it would be if axes were mixed: as above."""
    shares = []
    for i in range(11):
        generator = np.random.default_rng([seed, i])
        turn = np.linalg.qr(generator.normal(size=(2, 2)))[0]
        rows = generator.exponential(size=(2000, 2)) @ turn
        drawn = IndependentAxes.least_gaussian(equally_weighted(rows)).draw(generator).rows @ turn.T
        shares.append((drawn < -0.3).mean())
    assert np.median(shares) < 0.02


@pytest.mark.parametrize(
    ("n", "columns", "is_enough"),
    [(5, 2, False), (6, 2, True), (7, 3, False), (8, 3, True), (50, 1, False)],
)
def test_too_few_rows_have_no_least_gaussian_axes(n, columns, is_enough):
    rows = np.random.default_rng(n).normal(size=(n, columns))
    assert (IndependentAxes.least_gaussian(equally_weighted(rows)) is not None) == is_enough
    # Columns without any spread do not count.
    flat = np.column_stack([rows, np.zeros((n, 2))])
    assert (IndependentAxes.least_gaussian(equally_weighted(flat)) is not None) == is_enough


# --- ellipsoids -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_ellipsoid_has_no_hole(d, seed):
    """Within half the median distance are at least 2^-d of the nearer half; seven errors less.

    The density does not rise outwards, so a volume has its share of that at least.
    """
    n = 4000
    generator = np.random.default_rng(seed)
    cloud = equally_weighted(hollow(n, d, generator))
    like = Ellipsoid.like(cloud)
    shares = []
    for rows in (cloud.rows, like.draw(generator).rows):
        scores = (rows - like.mean) @ np.linalg.inv(like.axes)
        distances = np.linalg.norm(scores, axis=1)
        shares.append((distances < np.median(distances) / 2).mean())
    least = 0.5 / 2**d
    assert shares[0] == 0
    assert shares[1] > least - 7 * np.sqrt(least / n)


def test_an_ellipsoid_goes_as_much_in_all_directions(seed):
    """Rows on two opposite humps; each quarter of the directions has a quarter of the draws."""
    generator = np.random.default_rng(seed)
    n = 4000
    rows = generator.normal(size=(n, 2))
    rows[::2, 0] += 8.0
    like = Ellipsoid.like(equally_weighted(rows))
    scores = (like.draw(generator).rows - like.mean) @ np.linalg.inv(like.axes)
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        share = (scores * signs > 0).all(axis=1).mean()
        assert abs(share - 0.25) < 7 * np.sqrt(0.25 * 0.75 / n)


def test_what_is_denser_inwards_keeps_its_distances(seed):
    """Two samples of 4,000: 0.07 apart once in 10^8 (Kolmogorov)."""
    n = 4000
    generator = np.random.default_rng(seed)
    for rows in (generator.normal(size=(n, 3)), generator.uniform(-1, 1, size=(n, 1))):
        like = Ellipsoid.like(equally_weighted(rows))
        drawn = like.draw(generator).rows
        before, after = (
            np.sort(np.linalg.norm((some - like.mean) @ np.linalg.inv(like.axes), axis=1))
            for some in (rows, drawn)
        )
        every = np.concatenate([before, after])
        below = [np.searchsorted(some, every, side="right") / n for some in (before, after)]
        assert np.abs(below[0] - below[1]).max() < 0.07


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), min_size=1, max_size=15),
    st.integers(1, 5),
)
def test_distances_are_nowhere_denser_further_out(rows, d):
    distances, weights = np.array(rows, dtype=float).T
    if distances.max() == 0:
        return
    found = _denser_inwards(distances, weights, d)
    assert found.values[0] == 0
    assert (np.diff(found.shares) > 0).all()
    assert found.mean_square == pytest.approx(d)
    # Equal shares take ever larger volumes.
    volumes = (found.values / found.values[-1]) ** d
    assert (np.diff(volumes) >= 0).all()
    assert (np.diff(volumes, n=2) > -1e-9).all()


def test_distances_by_hand():
    """A row at 1 and one at 2, on a plane: a quarter of the rows within 1/4 of the volume.

    That is no less dense than the half in the other three quarters, so it stays. In the middle, at
    3/8 of the rows, is 1/4 + 3/4 x 1/4 = 7/16 of the volume. Squares of distances that go straight
    from 0 to a and to b have the mean (a^2 + (a^2 + ab + b^2)) / 6.
    """
    found = _denser_inwards(np.array([1.0, 2.0]), np.ones(2), 2)
    np.testing.assert_allclose(found.shares, [0, 3 / 8, 3 / 4])
    mean_square = (7 + (7 + np.sqrt(7 * 16) + 16)) / 6
    np.testing.assert_allclose(found.values**2, np.array([0, 7, 16]) * 2 / mean_square)


def test_distances_with_a_hole_by_hand():
    """Rows at 2 and 2.1: the nearer half of the rows takes the nearer half of the volume."""
    found = _denser_inwards(np.array([2.0, 2.1]), np.ones(2), 2)
    mean_square = (1 + (1 + np.sqrt(2) + 2)) / 6
    np.testing.assert_allclose(found.values**2, np.array([0, 1, 2]) * 2 / mean_square)


# --- any rows -------------------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Whole numbers times a power of ten, and weights."""
    d = draw(st.integers(1, 4))
    row = st.tuples(*[st.integers(-9, 9)] * d, st.integers(1, 5))
    rows = np.array(draw(st.lists(row, min_size=2, max_size=25)), dtype=float)
    scale, place = draw(st.tuples(st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([0, 1e3])))
    return Cloud((rows[:, :-1] + place) * scale, rows[:, -1])


@settings(max_examples=40, deadline=None)
@given(tables())
def test_finite_rows_for_any_rows(cloud):
    if (cloud.rows == cloud.rows[0]).all():
        return
    generator = np.random.default_rng(0)
    least, most = cloud.rows.min(axis=0), cloud.rows.max(axis=0)
    for kind in KINDS.values():
        like = kind(cloud)
        if like is None:
            continue
        drawn = like.draw(generator)
        assert drawn.rows.shape == cloud.rows.shape
        assert np.isfinite(drawn.rows).all()
        still = least == most
        np.testing.assert_allclose(drawn.rows[:, still], cloud.rows[:, still], rtol=1e-9)
