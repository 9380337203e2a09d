"""What becomes of a fit when its table is changed in a way whose effect is known.

Random numbers are drawn by the number of a row and of a column. So permuted rows or columns, and a
duplicate in place of a weight of two, lead to other replicas of the same distribution (which
``tests/estimators/test_bbc.py`` compares). What holds exactly, or to a rounding, is here.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import (
    ON_A_GRID,
    SETTINGS,
    assert_same_bits,
    examples,
    fit_or_pass,
    separated_groups,
    tables,
    weights_of,
)

from bbclust import BagClust2, FuzzyCMeans, pairwise_entropy
from bbclust.stages.bootstrap import Resampling, draw_replica
from bbclust.stages.table import Table

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
    "ignore:.*pairs of rows were drawn together by none:UserWarning",
    "ignore:Fuzzy c-means still moved",
)
CLUSTERS = st.integers(1, 4)
DOUBLE = st.just(np.float64)


# --- exactly --------------------------------------------------------------------------------------


@examples(40)
@given(st.data(), tables(), CLUSTERS, SETTINGS, st.integers(-20, 20))
def test_another_unit_scales_every_bit(data, X, K, parameters, power):
    """Powers of two round nothing: shares stay, lengths are multiplied."""
    weights = data.draw(weights_of(len(X)))
    factor = X.dtype.type(2.0**power)
    plain = fit_or_pass(X, K, sample_weight=weights, **parameters)
    scaled = fit_or_pass(X * factor, K, sample_weight=weights, **parameters)
    for name in ("memberships_", "labels_", "entropy_", "n_votes_", "alignment_margin_"):
        assert getattr(scaled, name).tobytes() == getattr(plain, name).tobytes(), name
    for name in ("reference_centers_", "replica_centers_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name) * float(factor))
    assert scaled.predict_proba(X * factor).tobytes() == plain.predict_proba(X).tobytes()


@examples(15)
@given(tables(), CLUSTERS, st.integers(-20, 20))
def test_another_unit_scales_the_other_estimators(X, K, power):
    factor = X.dtype.type(2.0**power)
    fit_or_pass(X, K), fit_or_pass(X * factor, K)  # so that refusals are those of BBC
    pairs = [BagClust2(K, n_replicas=6, random_state=0).fit(rows) for rows in (X, X * factor)]
    assert pairs[0].dissimilarity_.tobytes() == pairs[1].dissimilarity_.tobytes()
    np.testing.assert_array_equal(pairs[0].labels_, pairs[1].labels_)
    fuzzy = [FuzzyCMeans(K, n_init=1, random_state=0).fit(rows) for rows in (X, X * factor)]
    np.testing.assert_allclose(fuzzy[0].memberships_, fuzzy[1].memberships_, atol=1e-6)


@examples(30)
@given(
    st.data(), tables(rows=st.sampled_from([4, 8, 16]), dtypes=DOUBLE, values=ON_A_GRID),
    CLUSTERS, SETTINGS,
)  # fmt: skip
def test_a_translation_that_rounds_nothing_changes_no_share(data, X, K, parameters):
    """The mean of 2^k multiples of 2^-6 is exact, and so is that of rows shifted by whole numbers.

    The engine sees centred rows, which are then the same bits.
    """
    shift = data.draw(st.lists(st.integers(-(2**20), 2**20), min_size=4, max_size=4))
    shift = np.array(shift[: X.shape[1]], dtype=float)
    parameters = parameters | {"prior_weight": 0.0}
    plain = fit_or_pass(X, K, **parameters)
    moved = fit_or_pass(X + shift, K, **parameters)
    assert moved.memberships_.tobytes() == plain.memberships_.tobytes()
    np.testing.assert_allclose(moved.replica_centers_ - shift, plain.replica_centers_, atol=1e-9)
    assert moved.predict_proba(X + shift).tobytes() == plain.predict_proba(X).tobytes()


@examples(30)
@given(st.data(), tables(), SETTINGS)
def test_names_of_a_given_reference_do_not_matter(data, X, parameters):
    """Clusters are numbered by size, whatever they are called."""
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    names = np.array(data.draw(st.permutations([7, 30, 200])))
    K = len(set(labels.tolist()))
    plain = fit_or_pass(X, K, reference_labels=labels, **parameters)
    renamed = fit_or_pass(X, K, reference_labels=names[labels], **parameters)
    sizes = np.bincount(plain.reference_labels_)
    assert (np.diff(sizes) <= 0).all()
    if len(set(sizes.tolist())) == K:  # equal sizes are ordered by centres, which may be equal
        assert_same_bits(plain, renamed)


@examples(50)
@given(st.data(), st.integers(1, 5), st.integers(1, 12))
def test_relabelling_permutes_rows_and_columns_of_the_pairwise_entropy(data, K, n):
    votes = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n * K, max_size=n * K)))
    shares = (votes.reshape(n, K) + 1) / (votes.reshape(n, K) + 1).sum(axis=1, keepdims=True)
    order = np.array(data.draw(st.permutations(range(K))))
    permuted = pairwise_entropy(shares[:, order])
    np.testing.assert_allclose(permuted, pairwise_entropy(shares)[np.ix_(order, order)], atol=1e-12)


@examples(40)
@given(st.data(), st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_a_weight_draws_as_so_many_duplicates_do(data, n, seed, efron):
    """A uniform number falls on a row of weight w as it falls on its w copies, side by side."""
    weights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    copies = np.repeat(np.arange(n), weights)
    X = np.arange(float(n))[:, None]
    weighted = Table(X, np.zeros(1), weights / weights.mean())
    duplicated = Table(X[copies], np.zeros(1))
    resampling = Resampling(10, 0.0, "efron" if efron else "proper", "weights")
    by_weight = draw_replica(weighted, None, resampling, seed, 0)
    by_copies = draw_replica(duplicated, None, resampling, seed, 0)
    drawn = copies[by_copies.rows]
    assert set(by_weight.rows.tolist()) == set(drawn.tolist())
    if efron:  # whose weights are numbers of draws; those of others depend on the number of rows
        counts = np.bincount(drawn, by_copies.weights, minlength=n)
        np.testing.assert_array_equal(
            counts, np.bincount(by_weight.rows, by_weight.weights, minlength=n)
        )


# --- to a rounding --------------------------------------------------------------------------------


def assert_same_prior(first, second, order=slice(None)):
    """Components of F0, the second with columns in another order."""
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-12)
    scale = np.abs(second.means).max() + 1e-300
    np.testing.assert_allclose(first.means, second.means[:, order], atol=1e-9 * scale)
    covariances = second.covariances[:, order][:, :, order]
    np.testing.assert_allclose(first.covariances, covariances, rtol=1e-7, atol=1e-9 * scale**2)


@examples(30)
@given(st.data(), separated_groups(dtypes=DOUBLE))
def test_the_order_of_rows_does_not_matter_to_reference_and_prior(data, groups):
    X, labels = groups
    order = np.array(data.draw(st.permutations(range(len(X)))))
    K = labels.max() + 1
    plain, permuted = fit_or_pass(X, K), fit_or_pass(X[order], K)
    np.testing.assert_array_equal(permuted.reference_labels_, plain.reference_labels_[order])
    np.testing.assert_allclose(permuted.reference_centers_, plain.reference_centers_, atol=1e-9)
    assert_same_prior(permuted.prior_, plain.prior_)


@examples(30)
@given(st.data(), separated_groups(dtypes=DOUBLE))
def test_the_order_of_columns_does_not_matter_to_reference_and_prior(data, groups):
    X, labels = groups
    order = list(data.draw(st.permutations(range(X.shape[1]))))
    K = labels.max() + 1
    given = np.repeat([0], len(X)) + labels
    plain = fit_or_pass(X, K, reference_labels=given)
    permuted = fit_or_pass(X[:, order], K, reference_labels=given)
    # equal sizes are numbered by the coordinates, so clusters are found by their rows
    of_plain = plain.reference_centers_[plain.reference_labels_]
    of_permuted = permuted.reference_centers_[permuted.reference_labels_]
    np.testing.assert_allclose(of_permuted, of_plain[:, order], atol=1e-9)
    numbers = [int(plain.reference_labels_[permuted.reference_labels_ == k][0]) for k in range(K)]
    np.testing.assert_allclose(
        permuted.prior_.covariances,
        plain.prior_.covariances[numbers][:, order][:, :, order],
        atol=1e-9,
    )


@examples(30)
@given(st.data(), separated_groups(dtypes=DOUBLE))
def test_a_weight_is_so_many_duplicates_to_reference_and_prior(data, groups):
    X, labels = groups
    n, K = len(X), labels.max() + 1
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    copies = np.repeat(np.arange(n), weights)
    weighted = fit_or_pass(X, K, sample_weight=weights)
    duplicated = fit_or_pass(X[copies], K)
    np.testing.assert_array_equal(duplicated.reference_labels_, weighted.reference_labels_[copies])
    np.testing.assert_allclose(
        duplicated.reference_centers_, weighted.reference_centers_, atol=1e-9
    )
    assert_same_prior(duplicated.prior_, weighted.prior_)


@examples(30)
@given(separated_groups(dtypes=DOUBLE), st.floats(0, 6.3), st.floats(-1e3, 1e3))
def test_rotated_and_shifted_groups_have_the_same_votes(groups, angle, shift):
    """Without a prior, whose draws are by column. Rows are far from every border: 1 of 32."""
    X, labels = groups
    d, K = X.shape[1], labels.max() + 1
    turn = np.eye(max(d, 2))
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    X = np.pad(X, [(0, 0), (0, max(d, 2) - d)])
    parameters = {"prior_weight": 0.0, "votes": "all", "tol": 0.0}
    plain = fit_or_pass(X, K, reference_labels=labels, **parameters)
    moved = fit_or_pass(X @ turn.T + shift, K, reference_labels=labels, **parameters)
    # equal sizes are numbered by the coordinates, so columns are compared by rows of clusters
    rows = [int(np.flatnonzero(labels == k)[0]) for k in range(K)]
    of_plain = plain.memberships_[:, plain.reference_labels_[rows]]
    of_moved = moved.memberships_[:, moved.reference_labels_[rows]]
    np.testing.assert_array_equal(of_moved, of_plain)
    centers = plain.replica_centers_[:, plain.reference_labels_[rows]]
    np.testing.assert_allclose(
        moved.replica_centers_[:, moved.reference_labels_[rows]],
        centers @ turn.T + shift,
        atol=1e-9 * (1 + abs(shift)),
    )


@examples(30)
@given(separated_groups(dtypes=DOUBLE), SETTINGS)
def test_single_precision_finds_the_same_groups(groups, parameters):
    """Draws and weights are the same words; rows of this size are exact in both types.

    Where the prior is wide its draws may fall on a border, so that it is narrow here.
    """
    X, labels = groups
    K = labels.max() + 1
    parameters = {**parameters, "prior_scale": 0.01}
    wide = fit_or_pass(X, K, **parameters)
    narrow = fit_or_pass(X.astype(np.float32), K, **parameters)
    np.testing.assert_array_equal(narrow.reference_labels_, wide.reference_labels_)
    np.testing.assert_allclose(narrow.reference_centers_, wide.reference_centers_, atol=1e-4)
