"""The consensus of all replicas' partitions, and the ball around it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.cluster import AgglomerativeClustering, KMeans

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.diagnostics import consensus_partition
from bbclust.diagnostics.consensus_partition import find_consensus
from bbclust.diagnostics.partition_posterior import (
    find_changes,
    n_inside,
    number_like,
    partition_posterior,
)
from bbclust.diagnostics.variation_of_information import (
    group_rows,
    mean_vi_of_each,
    number_in_order,
    variation_of_information,
    vi_from_partition,
)

IRIS = load_iris().data


def slow_vi(first, second, weights):
    """2 H(first, second) - H(first) - H(second), from the definition of entropy."""

    def entropy(keys):
        masses = {}
        for key, weight in zip(keys, weights, strict=True):
            masses[key] = masses.get(key, 0.0) + weight / sum(weights)
        return -sum(mass * math.log2(mass) for mass in masses.values())

    first, second = list(first), list(second)
    return 2 * entropy(zip(first, second, strict=True)) - entropy(first) - entropy(second)


def all_partitions(n_rows):
    """Every partition of some rows, (Bell number, E)."""
    found = [[0]]
    for _ in range(n_rows - 1):
        found = [[*one, k] for one in found for k in range(max(one) + 2)]
    return np.array(found)


def least_expected_vi(labels, weights):
    """Over every partition there is."""
    every = all_partitions(labels.shape[1])
    means = np.zeros(len(every))
    for of_replica in labels:
        means += vi_from_partition(every, number_in_order(of_replica), weights) / len(labels)
    return means.min()


def find(labels, published=None, weights=None, level=0.95):
    labels = np.asarray(labels)
    published = labels[0] if published is None else np.asarray(published)
    weights = np.ones(labels.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    return partition_posterior(
        labels,
        published,
        weights,
        rows=np.arange(labels.shape[1]),
        n_clusters=int(published.max()) + 1,
        level=level,
    )


@st.composite
def label_arrays(draw, max_replicas=6, max_rows=6, max_labels=4):
    """Labels of replicas (B, E), and weights (E,) of the rows, equal or not."""
    n_replicas, n_rows = draw(st.integers(1, max_replicas)), draw(st.integers(1, max_rows))
    row = st.lists(st.integers(0, max_labels - 1), min_size=n_rows, max_size=n_rows)
    labels = draw(st.lists(row, min_size=n_replicas, max_size=n_replicas))
    masses = st.lists(st.floats(0.01, 10), min_size=n_rows, max_size=n_rows)
    weights = draw(st.one_of(st.just([1.0] * n_rows), masses))
    return np.array(labels), np.array(weights)


# --- the distance ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "bits"),
    [
        ([0, 0, 1, 1], [5, 5, 2, 2], 0),
        ([0, 0, 0, 0], [0, 0, 1, 1], 1),
        ([0, 0, 1, 1], [0, 1, 0, 1], 2),
        ([0, 0, 0, 0], [0, 1, 2, 3], 2),
        # parts of 2, 1 and 1 rows: 2 log2(3/2) + (log2 3 + log2 2) + log2 2, over 4
        ([0, 0, 0, 1], [0, 0, 1, 1], (3 * math.log2(3)) / 4),
    ],
)
def test_bits_by_hand(first, second, bits):
    found = variation_of_information(np.array(first), np.array(second))
    assert found == pytest.approx(bits, rel=1e-15)


@given(label_arrays())
def test_the_distance_is_that_of_its_definition(arrays):
    labels, weights = arrays
    expected = slow_vi(labels[0], labels[-1], weights)
    found = variation_of_information(labels[0], labels[-1], weights)
    assert found == pytest.approx(expected, abs=1e-12)


@given(label_arrays(max_replicas=3))
def test_the_distance_is_a_metric(arrays):
    labels, weights = arrays
    a, b, c = labels[0], labels[len(labels) // 2], labels[-1]
    ab, bc, ac = (variation_of_information(x, y, weights) for x, y in [(a, b), (b, c), (a, c)])
    assert ab == pytest.approx(variation_of_information(b, a, weights), abs=1e-14)
    assert min(ab, bc, ac) >= 0
    assert ac <= ab + bc + 1e-12
    same = np.array_equal(number_in_order(a), number_in_order(b))
    assert (ab == 0) == same


def test_weight_three_is_three_copies():
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 3, size=(2, 20))
    counts = generator.integers(1, 4, size=20)
    copies = np.repeat(np.arange(20), counts)
    found = variation_of_information(first, second, counts.astype(float))
    assert found == pytest.approx(variation_of_information(first[copies], second[copies]))


def test_tables_that_are_mostly_empty_give_the_same():
    """With as many clusters as rows, cells are found by sorting."""
    labels = np.random.default_rng(0).integers(0, 60, size=(5, 60))
    named = np.array([number_in_order(of_replica) for of_replica in labels])
    weights = np.random.default_rng(1).exponential(size=60)
    found = vi_from_partition(named, named[0], weights)
    expected = [slow_vi(of_replica, labels[0], weights) for of_replica in labels]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[0] == 0


def test_means_of_the_first_partitions_are_over_all():
    labels = np.random.default_rng(0).integers(0, 3, size=(9, 12))
    weights = np.ones(12)
    distances = [[variation_of_information(a, b) for a in labels] for b in labels]
    for n_first in (1, 4, 9, 20):
        found = mean_vi_of_each(labels, weights, n_first)
        np.testing.assert_allclose(found, np.mean(distances, axis=1)[:n_first], rtol=1e-12)


def test_rows_that_all_label_alike_are_one_group():
    partitions = np.array([[3, 3, 1, 1, 3], [0, 0, 0, 2, 0]])
    groups = group_rows(partitions, np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    np.testing.assert_array_equal(groups.group, [0, 0, 1, 2, 0])
    np.testing.assert_array_equal(groups.weights, [19, 4, 8])
    np.testing.assert_array_equal(groups.labels, [[0, 1, 1], [0, 0, 1]])


# --- the consensus --------------------------------------------------------------------------------


@pytest.mark.parametrize("flips", [0.2, 0.4, 1.0], ids=["alike", "less alike", "noise"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_the_search_finds_the_least_of_all_partitions(flips, weighted):
    """Compared with every partition of up to 7 rows, of which there are 877.

    The search is not exact in general, which is why these arrays are the same in every run.
    """
    generator = np.random.default_rng([int(10 * flips), weighted])
    for _ in range(25):
        n_rows, n_replicas, k = generator.integers([2, 1, 2], [8, 9, 5])
        noise = generator.integers(0, k, size=(n_replicas, n_rows))
        base = generator.integers(0, k, size=n_rows)
        labels = np.where(generator.random(noise.shape) < flips, noise, base)
        weights = generator.exponential(size=n_rows) + 0.01 if weighted else np.ones(n_rows)
        found = find(labels, weights=weights)
        assert found.expected_vi == pytest.approx(least_expected_vi(labels, weights), abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(label_arrays(), st.randoms(use_true_random=False))
def test_the_consensus_is_at_least_as_near_as_every_candidate(arrays, random):
    labels, weights = arrays
    published = np.array([random.randrange(3) for _ in weights])
    found = find(labels, published, weights)
    named = [*labels, published]
    means = [np.mean([slow_vi(one, b, weights) for b in labels]) for one in named]
    assert found.expected_vi <= min(means) + 1e-10
    assert found.expected_vi >= least_expected_vi(labels, weights) - 1e-10
    assert found.expected_vi_of_labels == pytest.approx(means[-1], abs=1e-10)
    assert found.expected_vi == pytest.approx(
        np.mean([slow_vi(found.labels, b, weights) for b in labels]), abs=1e-10
    )


def test_a_consensus_that_no_replica_has():
    base = np.repeat([0, 1, 2], 6)
    labels = np.tile(base, (6, 1))
    for b, row in enumerate(range(0, 18, 3)):
        labels[b, row] = (base[row] + 1) % 3
    found = find(labels, published=labels[0])
    np.testing.assert_array_equal(found.labels, base)
    assert found.expected_vi < found.expected_vi_of_labels


def test_the_search_splits_a_cluster_that_no_single_move_does():
    """All start partitions have rows 0 to 7 together; halves of them are apart in most replicas."""
    halves = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    labels = np.tile(halves, (9, 1))
    together = np.array([0, 0, 0, 0, 0, 0, 0, 0, 2, 2])
    found = consensus_partition.descend(labels, np.ones(10), together)
    np.testing.assert_array_equal(number_in_order(found), halves)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_relabelled_replicas_give_the_same_bits(weighted):
    generator = np.random.default_rng(3)
    base = generator.integers(0, 4, size=60)
    noise = generator.integers(0, 4, size=(30, 60))
    labels = np.where(generator.random(noise.shape) < 0.3, noise, base)
    weights = generator.exponential(size=60) if weighted else np.ones(60)
    renamed = np.array([generator.permutation(9)[of_replica] for of_replica in labels])
    one, other = find(labels, base, weights), find(renamed, base, weights)
    for name in ("expected_vi", "expected_vi_se", "radius", "changes", "coverage"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.labels, other.labels)
    for name in ("furthest", "fewest", "most"):
        np.testing.assert_array_equal(getattr(one, name).labels, getattr(other, name).labels)
        assert getattr(one, name).vi == getattr(other, name).vi


def test_where_tables_would_be_too_large_the_best_candidate_is_the_consensus(monkeypatch):
    monkeypatch.setattr(consensus_partition, "MOST_CELLS", 10)
    labels = np.random.default_rng(0).integers(0, 3, size=(8, 10))
    found = find_consensus(labels, np.ones(10), labels[0])
    best = mean_vi_of_each(labels, np.ones(10), 8).argmin()
    np.testing.assert_array_equal(found, labels[best])


# --- the ball -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(label_arrays(max_replicas=12), st.floats(0.01, 0.99))
def test_the_ball_is_the_smallest_that_holds_the_level(arrays, level):
    labels, weights = arrays
    found = find(labels, weights=weights, level=level)
    vi = np.array([variation_of_information(found.labels, b, weights) for b in labels])
    assert (vi <= found.radius + 1e-12).mean() >= level - 1e-9
    assert (vi < found.radius - 1e-12).mean() < level


@settings(max_examples=40, deadline=None)
@given(label_arrays(max_replicas=12), st.sampled_from([0.5, 0.8, 0.95]))
def test_bounds_are_the_furthest_inside_by_number_of_clusters(arrays, level):
    labels, weights = arrays
    found = find(labels, weights=weights, level=level)
    vi = np.array([variation_of_information(found.labels, b, weights) for b in labels])
    counts = np.array([len(np.unique(b)) for b in labels])
    inside = vi <= found.radius + 1e-12
    for bound, count in (
        (found.furthest, None),
        (found.fewest, counts[inside].min()),
        (found.most, counts[inside].max()),
    ):
        of_count = inside & (counts == count) if count is not None else inside
        assert bound.vi == pytest.approx(vi[of_count].max(), abs=1e-12)
        assert bound.n_clusters == counts[bound.replica] == len(np.unique(bound.labels))
        assert of_count[bound.replica]
        np.testing.assert_array_equal(
            number_in_order(bound.labels), number_in_order(labels[bound.replica])
        )
    assert found.furthest.vi == pytest.approx(found.radius, abs=1e-12)


@pytest.mark.parametrize(
    ("level", "n_replicas", "inside"),
    [(0.95, 200, 190), (0.95, 20, 19), (0.95, 19, 19), (0.55, 100, 55), (0.5, 1, 1), (1e-9, 50, 1)],
)
def test_how_many_replicas_a_ball_holds(level, n_replicas, inside):
    assert n_inside(level, n_replicas) == inside


def test_other_replicas_are_inside_as_often_as_said(seed):
    """Of 4,000 other replicas, up to 5 standard deviations of a beta-binomial (r, B + 1 - r).

    The consensus is the base here, whichever replicas it is found from, so that the distances are
    independent. It would catch a ball of half the replicas, or of the furthest.
    """
    generator = np.random.default_rng(seed)
    base = np.repeat(np.arange(3), 100)
    noise = generator.integers(0, 3, size=(4100, 300))
    flips = generator.random((4100, 300)) < 0.2 * generator.random((4100, 1))
    labels = np.where(flips, noise, base)
    found = find(labels[:100], base)
    np.testing.assert_array_equal(found.labels, base)
    assert found.coverage == 95 / 101
    others = vi_from_partition(
        np.array([number_in_order(of_replica) for of_replica in labels[100:]]), base, np.ones(300)
    )
    beta = stats.betabinom(4000, 95, 6)
    assert found.coverage_se == pytest.approx(stats.beta(95, 6).std())
    assert beta.ppf(5e-7) <= (others <= found.radius).sum() <= beta.isf(5e-7)


# --- words ----------------------------------------------------------------------------------------


def test_clusters_without_a_partner_get_numbers_of_their_own():
    labels = np.array([4, 4, 4, 7, 7, 9, 9, 9, 9])
    reference = np.array([1, 1, 0, 1, 1, -1, -1, -1, -1])
    np.testing.assert_array_equal(
        number_like(labels, reference, np.ones(9), 2), [0, 0, 0, 1, 1, 2, 2, 2, 2]
    )


def test_what_changes_in_words():
    consensus = np.repeat([0, 1, 2], [5, 4, 2])
    other = consensus.copy()
    other[[5, 6]] = 0  # half of cluster 1
    other[9:] = 0  # all of cluster 2
    other[0] = 3
    changes = find_changes(consensus, other, np.ones(11))
    assert [str(change) for change in changes] == [
        "50% of cluster 1 goes to cluster 0",
        "all of cluster 2 goes to cluster 0",
        "20% of cluster 0 becomes a cluster of its own",
    ]
    assert [change.share_of_rows for change in changes] == [2 / 11, 2 / 11, 1 / 11]


def test_weights_count_in_what_changes():
    change = find_changes(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 3.0, 6.0]))[0]
    assert (change.share, change.share_of_rows) == (0.75, 0.3)


def test_the_whole_in_sentences():
    labels = np.tile(np.repeat([0, 1], 10), (20, 1))
    labels[-2:, :2] = 1
    assert str(find(labels)) == (
        "The consensus of 20 replicas on 20 rows has 2 clusters; replicas are 0.08 bits of "
        "variation of information from it on average, and 0.08 from labels_. The nearest 95% of "
        "the replicas are within 0.75 bits. In the furthest of these 10% of the rows change their "
        "cluster: 20% of cluster 0 goes to cluster 1."
    )
    labels[-2:] = 0
    assert "within 1.00 bits and have 1 to 2 clusters." in str(find(labels))
    labels[:] = labels[0]
    assert str(find(labels)).endswith("95% of the replicas are the same as the consensus.")


# --- of a fitted model ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return BBC(3, n_replicas=60, random_state=0).fit(IRIS)


def test_every_replica_labels_all_evaluation_rows(model):
    """Replicas vote on drawn rows here, and are compared on all."""
    assert (model._state.record.replicas.evaluation_labels < 0).any()
    found = model.partition_posterior(0.9)
    labels = list(model.replica_labels(IRIS))
    vi = [variation_of_information(found.labels, of_replica) for of_replica in labels]
    np.testing.assert_array_equal(found.rows, np.arange(150))
    assert found.expected_vi == pytest.approx(np.mean(vi))
    assert found.expected_vi_se == pytest.approx(np.std(vi, ddof=1) / math.sqrt(60))
    assert found.radius == pytest.approx(np.sort(vi)[53])
    of_labels = [variation_of_information(model.labels_, of_replica) for of_replica in labels]
    assert found.expected_vi_of_labels == pytest.approx(np.mean(of_labels))
    assert found.expected_vi <= found.expected_vi_of_labels
    assert (found.labels == model.labels_).mean() > 0.95
    np.testing.assert_array_equal(
        number_in_order(found.furthest.labels), number_in_order(labels[found.furthest.replica])
    )


def test_rows_and_weights_are_those_of_fit():
    weights = (np.arange(150) % 3).astype(float)
    model = BBC(3, n_replicas=40, random_state=0).fit(IRIS, sample_weight=weights)
    found = model.partition_posterior()
    np.testing.assert_array_equal(found.rows, np.flatnonzero(weights))
    vi = [
        slow_vi(found.labels, of_replica[found.rows], weights[found.rows])
        for of_replica in model.replica_labels(IRIS)
    ]
    assert found.expected_vi == pytest.approx(np.mean(vi))


def test_large_tables_are_asked_on_a_sample(model, monkeypatch):
    monkeypatch.setattr(BBC, "_max_evaluation_points", 50)
    sampled = BBC(3, n_replicas=60, random_state=0).fit(IRIS)
    found = sampled.partition_posterior()
    assert len(found.rows) == len(found.labels) == 50
    vi = [
        variation_of_information(found.labels, of_replica[found.rows])
        for of_replica in sampled.replica_labels(IRIS)
    ]
    assert found.expected_vi == pytest.approx(np.mean(vi))


def test_same_bits_for_any_number_of_threads(model):
    one = model.partition_posterior()
    other = BBC(3, n_replicas=60, random_state=0, n_jobs=2).fit(IRIS).partition_posterior()
    np.testing.assert_array_equal(one.labels, other.labels)
    assert (one.expected_vi, one.radius) == (other.expected_vi, other.radius)


def test_one_cluster_has_nothing_to_say():
    found = BBC(1, n_replicas=5, votes="all", random_state=0).fit(IRIS).partition_posterior()
    assert (found.n_clusters, found.expected_vi, found.radius) == (1, 0, 0)
    assert found.changes == ()


def test_one_replica_is_its_own_consensus():
    with pytest.warns(UserWarning, match="replicas"):
        model = BBC(3, n_replicas=1, random_state=0).fit(IRIS)
    found = model.partition_posterior()
    assert found.expected_vi == found.radius == 0
    assert math.isnan(found.expected_vi_se)


def test_incomplete_rows_are_completed_in_every_replica(model):
    rows = IRIS.copy()
    rows[::4, 2:] = np.nan
    incomplete = BBC(3, n_replicas=60, missing="draw", random_state=0).fit(rows)
    assert incomplete.partition_posterior().expected_vi > model.partition_posterior().expected_vi


def test_clusterers_of_scikit_learn_that_predict_are_asked():
    model = BBC(3, n_replicas=60, clusterer=KMeans(n_init=1), random_state=0).fit(IRIS)
    assert model.partition_posterior().n_clusters == 3


def test_a_clusterer_that_cannot_predict_is_refused_with_one_sentence():
    model = BBC(3, n_replicas=80, clusterer=AgglomerativeClustering(), random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match="AgglomerativeClustering label only the rows they drew"):
        model.partition_posterior()


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_bad_levels_are_refused(model, level):
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1"):
        model.partition_posterior(level)


def test_without_the_rows_of_fit_the_model_says_so():
    model = BBC(3, n_replicas=60, random_state=0).fit(IRIS)
    model._state = replace(model._state, source="file", record=None)
    with pytest.raises(AttributeError, match="partition_posterior needs the rows"):
        model.partition_posterior()
    with pytest.raises(ValueError, match="not fitted"):
        BBC().partition_posterior()
