"""Questions about pairs of rows, single replicas and the largest memberships."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbclust import BBC
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.diagnostics.comembership import comembership_rates
from bbclust.stages.voting import largest_memberships

IRIS = load_iris().data


@pytest.fixture(scope="module")
def model():
    return BBC(3, n_replicas=50, votes="all", random_state=0).fit(IRIS)


def test_share_together_of_a_small_case():
    labels = np.array([[0, 0, 1, -1], [1, 0, 0, -1], [2, 2, 2, -1], [0, 0, -1, -1]])
    first, second = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 2, 2, 3])
    # rows 1 and 2: replicas 1 and 2 of the three that label both; nobody labels row 3
    expected = [3 / 4, 2 / 3, 1, 1 / 3, np.nan]
    np.testing.assert_array_equal(comembership_rates(labels, first, second), expected)


def test_replica_labels_are_the_nearest_centres(model):
    rows = IRIS[::7] + 0.1
    replicas = list(model.replica_labels(rows))
    assert len(replicas) == 50
    for labels, centers in zip(replicas, model.replica_centers_, strict=True):
        nearest = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(labels, nearest)


def test_replica_labels_add_up_to_the_votes(model):
    counts = np.zeros((150, 3))
    for labels in model.replica_labels(IRIS):
        counts[np.arange(150), labels] += 1
    np.testing.assert_array_equal(counts / 50, model.memberships_)


def test_replica_labels_checks_its_rows_at_once(model):
    with pytest.raises(ValueError, match="4 features"):
        model.replica_labels(IRIS[:, :2])


def test_comembership_is_the_share_of_replicas_that_agree(model):
    pairs = np.random.default_rng(0).integers(0, 150, size=(400, 2))
    labels = np.array(list(model.replica_labels(IRIS)))
    expected = [np.mean([row[i] == row[j] for row in labels]) for i, j in pairs]
    np.testing.assert_allclose(model.comembership(pairs), expected, rtol=1e-15)
    assert 0 < np.mean(expected) < 1


def test_comembership_is_symmetric_and_one_with_itself(model):
    pairs = np.array([[3, 120], [50, 140], [77, 110]])
    np.testing.assert_array_equal(model.comembership(pairs), model.comembership(pairs[:, ::-1]))
    np.testing.assert_array_equal(model.comembership([[5, 5], [149, 149]]), [1, 1])
    assert model.comembership(np.empty((0, 2), dtype=int)).shape == (0,)


def test_comembership_counts_the_rows_of_fit_where_some_have_no_weight():
    weights = (np.arange(150) % 3).astype(float)
    model = BBC(3, n_replicas=60, random_state=0).fit(IRIS, sample_weight=weights)
    numbers = np.array([0, 1, 2, 51, 52, 53, 147, 148, 149])
    np.testing.assert_allclose(model._state.record.rows.rows(numbers), IRIS[numbers], rtol=1e-14)
    labels = np.array(list(model.replica_labels(IRIS)))
    pairs = [[0, 1], [51, 147], [52, 149], [53, 148]]
    expected = [np.mean(labels[:, i] == labels[:, j]) for i, j in pairs]
    np.testing.assert_allclose(model.comembership(pairs), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("pairs", "error", "sentence"),
    [
        ([0, 1], ValueError, r"pairs must have shape \(p, 2\), .* got \(2,\)"),
        ([[0, 1, 2]], ValueError, r"got \(1, 3\)"),
        ([[0.0, 1.0]], TypeError, "whole numbers, got float64"),
        ([[True, False]], TypeError, "got bool"),
        ([[0, 150]], ValueError, "the row number 150, .* from 0 to 149"),
        ([[-1, 3]], ValueError, "the row number -1, .* from 0 to 149"),
    ],
)
def test_bad_pairs_are_refused_with_one_sentence(model, pairs, error, sentence):
    with pytest.raises(error, match=sentence):
        model.comembership(pairs)


def test_largest_memberships_of_a_small_case():
    shares = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [1, 0, 0], [0.25, 0.25, 0.5]])
    top = largest_memberships(shares, 2)
    expected = [[0, 0.5, 0.3], [0.4, 0, 0.4], [1, 0, 0], [0.25, 0, 0.5]]
    np.testing.assert_array_equal(top.toarray(), expected)
    assert top.nnz == 7
    assert top.has_canonical_format


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_largest_memberships_lose_the_least(k, seed):
    counts = np.random.default_rng(seed).integers(0, 4, size=(20, 6))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    top = largest_memberships(shares, k).toarray()
    assert ((top == shares) | (top == 0)).all()
    np.testing.assert_array_equal(np.sort(top, axis=1)[:, 6 - k :], np.sort(shares)[:, 6 - k :])
    assert ((top > 0).sum(axis=1) <= k).all()


def test_top_memberships_of_all_clusters_are_the_memberships():
    data = make_paper_dataset(5, random_state=0).data
    model = BBC(5, n_replicas=60, random_state=0).fit(data)
    np.testing.assert_array_equal(model.top_memberships(5).toarray(), model.memberships_)
    best = model.top_memberships(1)
    np.testing.assert_array_equal(best.toarray().argmax(axis=1), model.labels_)


@pytest.mark.parametrize(
    ("k", "error", "sentence"),
    [
        (0, ValueError, "k must be at least 1, got 0"),
        (4, ValueError, "k must be at most 3, got 4"),
        (1.5, TypeError, "k must be a whole number, got 1.5"),
    ],
)
def test_bad_k_is_refused_with_one_sentence(model, k, error, sentence):
    with pytest.raises(error, match=sentence):
        model.top_memberships(k)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.comembership([[0, 1]]),
        lambda model: model.top_memberships(1),
        lambda model: model.replica_labels(IRIS),
    ],
)
def test_a_model_must_be_fitted_first(ask):
    with pytest.raises(ValueError, match="not fitted"):
        ask(BBC())


@pytest.mark.parametrize(
    "ask", [lambda model: model.comembership([[0, 1]]), lambda model: model.top_memberships(1)]
)
def test_without_the_rows_of_fit_the_model_says_so(ask):
    model = BBC(3, n_replicas=60, random_state=0).fit(IRIS)
    model._state = replace(model._state, source="file", record=None)
    with pytest.raises(AttributeError, match="needs the rows that were clustered"):
        ask(model)
