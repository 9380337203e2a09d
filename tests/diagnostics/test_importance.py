"""What variables tell about clusters: hand-computed cases, limits, and errors that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bbclust import BBC, load_model
from bbclust.datasets import load_iris
from bbclust.diagnostics.variable_importance import (
    bin_codes,
    bin_count,
    mutual_information,
    variable_importances,
)

IRIS = load_iris()


def equal(n):
    return np.full(n, 1 / n)


def one_hot(labels):
    return np.eye(max(labels) + 1)[labels]


# --- by hand --------------------------------------------------------------------------------------


def test_information_by_hand():
    """Two bins of two rows; the first is all cluster 0, the second half and half.

    p = [[1/2, 0], [1/4, 1/4]], p_k = (3/4, 1/4):
    I = 1/2 log2(4/3) + 1/4 log2(2/3) + 1/4 log2(2) = 0.3113.
    Three cells, two bins, two clusters: Miller and Madow add (2 + 2 - 1 - 3) / (2 n ln 2) = 0.
    """
    found = mutual_information(np.array([0, 0, 1, 1]), one_hot([0, 0, 0, 1]), equal(4))
    expected = 0.5 * np.log2(4 / 3) + 0.25 * np.log2(2 / 3) + 0.25
    assert found.bits == pytest.approx(expected)
    contributions = np.array([np.log2(4 / 3), np.log2(4 / 3), np.log2(2 / 3), 1.0])
    assert found.se == pytest.approx(np.sqrt(((contributions - expected) ** 2).sum()) / 4)


def test_the_correction_counts_cells_as_miller_and_madow_do():
    generator = np.random.default_rng(0)
    codes = generator.integers(4, size=60)
    labels = generator.integers(3, size=60)
    joint = np.zeros((4, 3))
    np.add.at(joint, (codes, labels), 1 / 60)
    margins = joint.sum(axis=1), joint.sum(axis=0)
    plain = sum(stats.entropy(m, base=2) for m in margins) - stats.entropy(joint.ravel(), base=2)
    cells = (joint > 0).sum() - 4 - 3 + 1
    found = mutual_information(codes, one_hot(labels), equal(60))
    assert found.bits == pytest.approx(plain - cells / (2 * 60 * np.log(2)))


def test_a_variable_that_determines_the_cluster_has_its_entropy():
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    found = mutual_information(labels, one_hot(labels), equal(100))
    entropy = stats.entropy([0.5, 0.3, 0.2], base=2)
    # as many cells as bins: what is left of the correction is that of the entropy
    assert found.bits == pytest.approx(entropy + 2 / (200 * np.log(2)))


def test_memberships_that_are_all_alike_hold_no_information():
    found = mutual_information(np.arange(20) % 4, np.full((20, 3), 1 / 3), equal(20))
    assert found.bits == pytest.approx(0, abs=1e-15)
    assert found.se == pytest.approx(0, abs=1e-15)


def test_one_bin_or_one_cluster_holds_no_information():
    for codes, shares in [
        (np.zeros(9, dtype=int), one_hot(np.arange(9) % 3)),
        (np.arange(9) % 3, np.ones((9, 1))),
    ]:
        assert mutual_information(codes, shares, equal(9)).bits == pytest.approx(0, abs=1e-15)


def test_weight_two_equals_a_duplicate():
    generator = np.random.default_rng(0)
    codes, shares = generator.integers(4, size=30), generator.dirichlet([1, 1, 1], size=30)
    weights = generator.integers(1, 3, size=30)
    copies = np.repeat(np.arange(30), weights)
    weighted = mutual_information(codes, shares, weights / weights.sum())
    repeated = mutual_information(codes[copies], shares[copies], equal(len(copies)))
    # a row of weight two is one observation, so only what is not about errors agrees
    assert weighted.bits == pytest.approx(repeated.bits, abs=0.2)
    plain = [
        mutual_information(c, s, w).bits + bias_of(c, s, w)
        for c, s, w in [
            (codes, shares, weights / weights.sum()),
            (codes[copies], shares[copies], equal(len(copies))),
        ]
    ]
    assert plain[0] == pytest.approx(plain[1])


def bias_of(codes, shares, weights):
    """Half the summed variances over masses, written out row by row."""
    cells = [(codes == b)[:, None] * shares for b in range(codes.max() + 1)]
    joint = np.concatenate(cells, axis=1)
    bins = np.eye(codes.max() + 1)[codes]

    def part(values):
        p = (weights[:, None] * values).sum(axis=0)
        variance = (weights[:, None] ** 2 * (values - p) ** 2).sum(axis=0)
        return (variance[p > 0] / p[p > 0]).sum()

    return (part(joint) - part(bins) - part(shares)) / (2 * np.log(2))


def test_the_correction_is_its_definition():
    generator = np.random.default_rng(1)
    codes, shares = generator.integers(5, size=40), generator.dirichlet([0.5, 1, 1], size=40)
    weights = generator.uniform(size=40)
    weights /= weights.sum()
    p = np.zeros((5, 3))
    np.add.at(p, codes, weights[:, None] * shares)
    plain = (p * np.log2(p / (p.sum(axis=1, keepdims=True) * p.sum(axis=0)))).sum()
    found = mutual_information(codes, shares, weights)
    assert found.bits == pytest.approx(plain - bias_of(codes, shares, weights))


# --- bins -----------------------------------------------------------------------------------------


def test_bins_are_quantiles_of_evenly_spread_values():
    assert bin_codes(np.arange(12.0), 3).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert bin_codes(0.1 * np.arange(12.0), 3).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    counts = np.bincount(bin_codes(np.random.default_rng(0).normal(size=1000), 10))
    assert len(counts) == 10
    assert counts.max() <= 200


def test_cuts_go_to_the_gaps():
    values = np.concatenate([np.linspace(0, 1, 37), np.linspace(9, 10, 63)])
    codes = bin_codes(values, 5)
    assert not set(codes[:37]) & set(codes[37:])


def test_equal_values_share_a_bin():
    values = np.array([1.0, 1, 1, 1, 1, 1, 1, 2, 2, 5])
    codes = bin_codes(values, 4)
    assert len(set(codes[:7])) == 1
    assert len(set(codes[7:9])) == 1
    assert bin_codes(np.full(30, 2.5), 5).tolist() == [0] * 30


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=60), st.integers(2, 12))
@settings(deadline=None)
def test_bins_are_ordered_consecutive_and_do_not_depend_on_the_order_of_rows(values, n_bins):
    values = np.array(values, dtype=float)
    codes = bin_codes(values, n_bins)
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    assert set(codes) == set(range(codes.max() + 1))
    assert codes.max() < n_bins
    for value in set(values):
        assert len(set(codes[values == value])) == 1
    assert (bin_codes(values[::-1], n_bins) == codes[::-1]).all()


def test_numbers_of_bins():
    assert [bin_count(n) for n in (2, 8, 150, 10**6)] == [2, 2, 8, 64]


# --- estimates ------------------------------------------------------------------------------------


def importance(X, shares):
    return variable_importances(X, shares, np.ones(len(X)))


@pytest.mark.parametrize("hard", [True, False])
def test_variables_that_tell_nothing_have_no_importance(hard, seed):
    """Eight errors: the chance of more is below 1e-7 for each of 30 variables.

    (A chi-square variable with 16 degrees of freedom, in units of its standard deviation times
    the root of two, which is what the error is here.) Uncorrected, the mean would be 0.05 or more.
    """
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet([0.3, 0.3, 0.3], size=200)
    if hard:
        shares = one_hot(shares.argmax(axis=1))
    found = importance(generator.normal(size=(200, 30)), shares)
    assert (np.abs(found.bits) < 8 * found.se).all()
    assert abs(found.bits.mean()) < 0.03


@pytest.mark.parametrize("n", [60, 200, 2000])
def test_variables_that_determine_the_clusters_have_their_entropy(n, seed):
    labels = np.repeat([0, 1, 2], [n // 2, 3 * n // 10, n // 5])
    noise = np.random.default_rng(seed).normal(size=n).clip(-3, 3)
    X = np.stack([20 * labels + noise, -5e3 * labels + noise, np.exp(labels) + noise / 90], axis=1)
    found = importance(X, one_hot(labels))
    assert found.cluster_entropy == pytest.approx(stats.entropy([0.5, 0.3, 0.2], base=2))
    np.testing.assert_allclose(found.bits, found.cluster_entropy + 2 / (2 * n * np.log(2)))


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0])
def test_information_of_two_gaussians_is_found(distance, seed):
    """Six errors and 2% for the width of the bins."""

    def integrand(x):
        densities = [stats.norm.pdf(x, m) for m in (-distance, distance)]
        return sum(0.5 * p * np.log2(2 * p / sum(densities)) for p in densities)

    truth = integrate.quad(integrand, -12, 12)[0]
    generator = np.random.default_rng(seed)
    labels = generator.integers(2, size=5000)
    x = generator.normal(size=5000) + distance * (2 * labels - 1)
    found = importance(x[:, None], one_hot(labels))
    assert found.bits[0] == pytest.approx(truth, abs=6 * found.se[0] + 0.02)
    assert found.se[0] < 0.02


def test_errors_match_the_spread_over_samples():
    """300 samples: the spread is known to 4%, and 25% is six errors."""
    generator = np.random.default_rng()
    bits, errors = [], []
    for _ in range(300):
        labels = generator.integers(2, size=400)
        x = generator.normal(size=400) + 2 * labels
        found = importance(x[:, None], one_hot(labels))
        bits.append(found.bits[0])
        errors.append(found.se[0])
    assert np.mean(errors) == pytest.approx(np.std(bits), rel=0.25)


def test_order_and_units_do_not_matter():
    generator = np.random.default_rng(0)
    X, shares = generator.normal(size=(100, 3)), generator.dirichlet([1, 1], size=100)
    plain = importance(X, shares)
    other = importance(-7 * X[::-1] + 5, shares[::-1])
    increasing = importance(X, shares[:, ::-1])
    np.testing.assert_allclose(increasing.bits, plain.bits)
    # bins from the other end: the same up to which gap of equal ones is cut
    np.testing.assert_allclose(other.bits, plain.bits, atol=0.05)


# --- fitted models --------------------------------------------------------------------------------


def test_petals_tell_more_of_iris_than_sepals():
    model = BBC(3, random_state=0).fit(IRIS.data)
    found = model.variable_importance()
    assert found.bits.argsort().tolist()[:2] == [1, 0]
    assert (found.bits < found.cluster_entropy).all()
    assert (found.bits > 5 * found.se).all()
    assert found.cluster_entropy == pytest.approx(stats.entropy(model.cluster_shares_, base=2))


def test_a_column_of_noise_is_found_unimportant(seed):
    generator = np.random.default_rng(seed)
    labels = np.arange(200) % 2
    X = np.stack([30 * labels + generator.normal(size=200), generator.normal(size=200)], axis=1)
    found = BBC(2, random_state=seed).fit(X).variable_importance()
    assert found.bits[0] == pytest.approx(1, abs=0.02)
    assert abs(found.bits[1]) < 8 * found.se[1]


def test_rows_of_weight_zero_and_one_cluster():
    weights = np.arange(150) % 2
    weighted = BBC(3, random_state=0).fit(IRIS.data, sample_weight=weights).variable_importance()
    alone = BBC(3, random_state=0).fit(IRIS.data[1::2]).variable_importance()
    np.testing.assert_allclose(weighted.bits, alone.bits)
    one = BBC(1, random_state=0).fit(IRIS.data).variable_importance()
    np.testing.assert_allclose(one.bits, 0, atol=1e-12)
    assert one.cluster_entropy == pytest.approx(0, abs=1e-12)


def test_other_rows_and_loaded_models(tmp_path):
    model = BBC(3, votes="all", random_state=0).fit(IRIS.data)
    model.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    with pytest.raises(AttributeError, match="variable_importance without X needs the rows"):
        loaded.variable_importance()
    given, fitted = loaded.variable_importance(IRIS.data), model.variable_importance()
    np.testing.assert_allclose(given.bits, fitted.bits)
    np.testing.assert_allclose(given.se, fitted.se)
    with pytest.raises(ValueError, match="3 features"):
        loaded.variable_importance(IRIS.data[:, :3])
