"""How often clusters are found again: by hand, by plain sets, by fpc, and of fitted models."""

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.cluster import DBSCAN

from bbclust import BBC, BagClust1, load_model
from bbclust.datasets import load_iris
from bbclust.diagnostics.cluster_stability import cluster_stability, replica_jaccards
from bbclust.stages.monte_carlo import bounded_mean_interval

IRIS = load_iris().data
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "stability.json").read_text())["cases"]
MEASURES = ("jaccard", "jaccard_se", "recovered", "recovered_se", "n_replicas")


def assert_same(found, expected, **tolerance):
    for name in MEASURES:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **tolerance)


@pytest.fixture(scope="module")
def model():
    return BBC(3, n_replicas=50, votes="all", random_state=0).fit(IRIS)


# --- by hand --------------------------------------------------------------------------------------


def test_a_small_case_by_hand():
    """Clusters {0, 1, 2}, {3, 4} and {5}; -1 is no vote.

    Replica 0 has {0, 1}, {2, 3, 4}, {5}: 2/3, 2/3, 1.
    Replica 1 votes on rows 0, 2, 3 and has {0, 2, 3}: 2/3, 1/3, and no row of cluster 2.
    Replica 2 has {0}, {1}, {2}, {3, 4, 5}: 1/3, 2/3, 1/3.
    """
    labels = np.array([0, 0, 0, 1, 1, 2])
    replicas = np.array([[0, 0, 1, 1, 1, 2], [4, -1, 4, 4, -1, -1], [3, 2, 1, 0, 0, 0]])
    expected = [[2 / 3, 2 / 3, 1], [2 / 3, 1 / 3, np.nan], [1 / 3, 2 / 3, 1 / 3]]
    np.testing.assert_allclose(replica_jaccards(labels, replicas, 3), expected)
    found = cluster_stability(labels, replicas, 3)
    np.testing.assert_allclose(found.jaccard, [5 / 9, 5 / 9, 2 / 3])
    np.testing.assert_array_equal(found.n_replicas, [3, 3, 2])
    np.testing.assert_allclose(found.recovered, [2 / 3, 2 / 3, 1 / 2])
    # sums of squares 2/27, 2/27 and 2/9 over (n - 1) n
    np.testing.assert_allclose(found.jaccard_se, np.sqrt([1 / 81, 1 / 81, 1 / 9]))
    # Beta(2.5, 1.5) and Beta(1.5, 1.5)
    np.testing.assert_allclose(found.recovered_se**2, [3 / 64, 3 / 64, 1 / 16])


def test_weights_are_summed():
    labels, replicas = np.array([0, 0, 1, 1]), np.array([[0, 1, 1, 1]])
    found = replica_jaccards(labels, replicas, 2, np.array([5.0, 1.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, [[5 / 6, 6 / 7]])


def test_one_half_is_not_found_again():
    labels, replicas = np.array([0, 0, 1, 1]), np.array([[0, 1, 2, 2]])
    np.testing.assert_array_equal(replica_jaccards(labels, replicas, 2), [[0.5, 1]])
    np.testing.assert_array_equal(cluster_stability(labels, replicas, 2).recovered, [0, 1])
    lower = cluster_stability(labels, replicas, 2, threshold=0.49)
    np.testing.assert_array_equal(lower.recovered, [1, 1])


def test_a_row_in_no_cluster_counts_in_the_cluster_of_the_replica():
    labels, replicas = np.array([0, 0, -1]), np.array([[1, 1, 1]])
    np.testing.assert_allclose(replica_jaccards(labels, replicas, 1), [[2 / 3]])


def test_a_cluster_without_votes_has_no_stability():
    labels = np.array([0, 0, 1, 3])
    replicas = np.array([[0, 0, 1, -1], [0, 0, 0, -1], [-1, -1, -1, -1]])
    found = cluster_stability(labels, replicas, 4)
    np.testing.assert_array_equal(found.n_replicas, [2, 2, 0, 0])
    for name in MEASURES[:4]:
        np.testing.assert_array_equal(np.isnan(getattr(found, name)), [0, 0, 1, 1])


def test_one_replica_has_no_monte_carlo_error():
    found = cluster_stability(np.array([0, 1]), np.array([[0, 1]]), 2)
    np.testing.assert_array_equal(found.jaccard, 1)
    assert np.isnan(found.jaccard_se).all()


# --- by plain sets, and properties ----------------------------------------------------------------


def oracle(labels, replicas, n_clusters, weights):
    """The definition in sets of row numbers."""

    def clusters(values):
        return {k: {i for i, v in enumerate(values) if v == k} for k in set(values) - {-1}}

    def mass(rows):
        return sum(weights[i] for i in sorted(rows))

    table = []
    for theirs in replicas:
        voted = {i for i, v in enumerate(theirs) if v != -1}
        line = []
        for k in range(n_clusters):
            mine = clusters(labels).get(k, set()) & voted
            found = [mass(mine & one) / mass(mine | one) for one in clusters(theirs).values()]
            line.append(max(found) if mine else np.nan)
        table.append(line)
    return np.array(table).reshape(-1, n_clusters)


@st.composite
def votes(draw):
    n_rows, n_replicas, k = (
        draw(st.integers(1, 12)),
        draw(st.integers(1, 6)),
        draw(st.integers(1, 5)),
    )
    labels = draw(hnp.arrays(np.int64, n_rows, elements=st.integers(-1, k - 1)))
    replicas = draw(hnp.arrays(np.int16, (n_replicas, n_rows), elements=st.integers(-1, k + 1)))
    weights = draw(hnp.arrays(np.float64, n_rows, elements=st.floats(0.1, 10)))
    return labels, replicas, k, weights


@given(votes())
def test_coefficients_are_those_of_plain_sets(case):
    labels, replicas, k, weights = case
    expected = oracle(labels.tolist(), replicas.tolist(), k, weights.tolist())
    np.testing.assert_allclose(replica_jaccards(labels, replicas, k, weights), expected, rtol=1e-12)
    expected = oracle(labels.tolist(), replicas.tolist(), k, [1] * len(labels))
    np.testing.assert_array_equal(replica_jaccards(labels, replicas, k), expected)


@given(votes(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_in_replicas_do_not_matter(case, random):
    labels, replicas, k, weights = case
    expected = cluster_stability(labels, replicas, k)
    order = random.sample(range(len(labels)), len(labels))
    assert_same(cluster_stability(labels[order], replicas[:, order], k), expected)
    renamed = replicas.copy()
    for line in renamed:
        names = random.sample(range(100), k + 2)
        line[:] = np.where(line >= 0, np.take(names, line), -1)
    assert_same(cluster_stability(labels, renamed, k), expected, rtol=0)
    assert_same(
        cluster_stability(labels, renamed, k, weights),
        cluster_stability(labels, replicas, k, weights),
        rtol=0,
    )


@given(votes())
def test_a_row_of_weight_two_is_two_rows(case):
    labels, replicas, k, _ = case
    twice = np.repeat(np.arange(len(labels)), 1 + np.arange(len(labels)) % 2)
    weighted = cluster_stability(labels, replicas, k, 1.0 + np.arange(len(labels)) % 2)
    assert_same(cluster_stability(labels[twice], replicas[:, twice], k), weighted)


@given(votes(), st.randoms(use_true_random=False))
def test_a_clustering_that_every_replica_repeats_is_perfectly_stable(case, random):
    labels, replicas, k, weights = case
    labels = np.maximum(labels, 0)
    names = np.array(random.sample(range(100), k))
    replicas = np.where(replicas >= 0, names[labels], -1)
    found = cluster_stability(labels, replicas, k, weights)
    seen = found.n_replicas > 0
    np.testing.assert_array_equal(found.jaccard[seen], 1)
    np.testing.assert_array_equal(found.recovered[seen], 1)
    np.testing.assert_array_equal(
        found.n_replicas, [(replicas[:, labels == c] >= 0).any(axis=1).sum() for c in range(k)]
    )


@given(votes())
def test_a_match_of_more_than_half_is_the_only_one(case):
    """Why 0.5: whichever way one looks, there is no second one."""
    labels, replicas, k, _ = case
    for theirs in replicas:
        voted = theirs >= 0
        matches = np.zeros((k, k + 2), dtype=bool)
        for i in range(k):
            for j in range(k + 2):
                mine, other = (labels == i) & voted, theirs == j
                matches[i, j] = 2 * (mine & other).sum() > (mine | other).sum()
        assert (matches.sum(axis=0) <= 1).all()
        assert (matches.sum(axis=1) <= 1).all()


# --- fpc ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", GOLDEN)
def test_clusterboot_of_fpc_has_the_same_coefficients(case):
    """To the 15 digits of the file; 0 there where a replica drew no row of the cluster."""
    golden = GOLDEN[case]
    labels, replicas = np.array(golden["labels"]), np.array(golden["replica_labels"])
    k = labels.max() + 1
    theirs = np.array(golden["jaccard"]).T
    ours = replica_jaccards(labels, replicas, k)
    undrawn = np.isnan(ours)
    assert undrawn.sum() == 2
    np.testing.assert_array_equal(theirs[undrawn], 0)
    np.testing.assert_allclose(ours[~undrawn], theirs[~undrawn], rtol=1e-14)
    np.testing.assert_allclose(np.nan_to_num(ours).mean(axis=0), golden["mean"], rtol=1e-14)
    # shares of the replicas in which the cluster has rows
    for threshold, count in [
        (golden["dissolution"], len(replicas) - np.array(golden["dissolved"])),
        (golden["recover"], np.array(golden["recovered"])),
    ]:
        found = cluster_stability(labels, replicas, k, threshold=threshold)
        np.testing.assert_allclose(found.recovered * found.n_replicas, count, rtol=1e-14)
        np.testing.assert_array_equal(found.n_replicas, len(replicas) - undrawn.sum(axis=0))


# --- intervals ------------------------------------------------------------------------------------


def test_intervals_are_those_of_jeffreys():
    labels, replicas = np.array([0, 0, 0, 1, 1, 1]), np.array([[0, 0, 0, 1, 1, 1]] * 7)
    replicas[:3, 2] = 1
    found = cluster_stability(labels, replicas, 2)
    by_replica = np.array([2 / 3] * 3 + [1] * 4)
    mean, error = by_replica.mean(), scipy.stats.sem(by_replica)
    trials = mean * (1 - mean) / error**2
    trials *= (scipy.stats.norm.ppf(0.95) / scipy.stats.t(6).ppf(0.95)) ** 2
    low, high = found.jaccard_interval(0.9)
    expected = scipy.stats.beta(mean * trials + 0.5, (1 - mean) * trials + 0.5).interval(0.9)
    np.testing.assert_allclose([low[0], high[0]], expected)
    sure = cluster_stability(labels, replicas[3:], 2)  # all of the cluster, in all replicas
    low, high = sure.jaccard_interval(0.9)
    assert high[0] == 1
    trials = 4 * (scipy.stats.norm.ppf(0.95) / scipy.stats.t(3).ppf(0.95)) ** 2
    np.testing.assert_allclose(low[0], scipy.stats.beta(trials + 0.5, 0.5).ppf(0.05))
    harsh = cluster_stability(labels, replicas, 2, threshold=0.7)
    low, high = harsh.recovered_interval(0.9)
    np.testing.assert_allclose([low[0], high[0]], scipy.stats.beta(4.5, 3.5).interval(0.9))
    assert high[1] == 1
    np.testing.assert_allclose(low[1], scipy.stats.beta(7.5, 0.5).ppf(0.05))


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("rare", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("value", [0.3, 0.7, 0.9])
def test_intervals_of_skew_coefficients_hold(n, rare, value):
    """Replicas find all of a cluster, or rarely a part: the coverage is a sum over how many do.

    Student's intervals hold 88% where 10% of 50 replicas find a part.
    """
    count = np.arange(n + 1)
    mean = 1 - (1 - value) * count / n
    error = (1 - value) * np.sqrt(count / n * (1 - count / n) / (n - 1))
    low, high = bounded_mean_interval(mean, error, np.full(n + 1, n), 0.95)
    truth = 1 - (1 - value) * rare
    holds = (low <= truth) & (truth <= high)
    assert holds @ scipy.stats.binom(n, rare).pmf(count) > 0.94


@pytest.mark.parametrize("level", [0, 1, 95])
def test_levels_that_are_none_are_refused(level):
    found = cluster_stability(np.array([0, 1]), np.array([[0, 1], [0, 1]]), 2)
    for interval in (found.jaccard_interval, found.recovered_interval):
        with pytest.raises(ValueError, match=f"level must lie between 0 and 1, got {level}"):
            interval(level)


def test_intervals_are_not_a_number_where_nothing_was_voted_on():
    found = cluster_stability(np.array([0, 0]), np.array([[0, 0], [0, 0]]), 2)
    assert np.isnan([found.jaccard_interval(), found.recovered_interval()])[..., 1].all()
    assert not np.isnan([found.jaccard_interval(), found.recovered_interval()])[..., 0].any()


# --- fitted models --------------------------------------------------------------------------------


def test_a_model_compares_its_reference_with_its_replicas(model):
    """Its labels are the majority of the same replicas, which agree with themselves."""
    labels = np.array(list(model.replica_labels(IRIS)))
    expected = cluster_stability(model.reference_labels_, labels, 3)
    assert_same(model.cluster_stability(), expected, rtol=1e-12)
    assert 0.5 < model.cluster_stability().jaccard.min() < 1


@pytest.mark.parametrize("estimator", [BBC, BagClust1])
def test_with_drawn_votes_only_drawn_rows_count(estimator):
    model = estimator(3, n_replicas=80, random_state=0).fit(IRIS)
    drawn = model._state.record.replicas.evaluation_labels
    assert (drawn < 0).mean() > 0.3
    rows = model._state.record.job.plan.evaluation_rows
    expected = oracle(model.reference_labels_[rows].tolist(), drawn.tolist(), 3, [1] * 150)
    np.testing.assert_allclose(model.cluster_stability().jaccard, expected.mean(axis=0))


def test_rows_of_weight_zero_take_no_part():
    weights = (np.arange(150) % 3).astype(float)
    weighted = BBC(3, n_replicas=60, votes="all", random_state=0).fit(IRIS, sample_weight=weights)
    used = weights > 0
    labels = np.array(list(weighted.replica_labels(IRIS)))[:, used]
    expected = cluster_stability(weighted.reference_labels_[used], labels, 3, weights[used])
    assert_same(weighted.cluster_stability(), expected, rtol=1e-9)


def test_large_tables_are_judged_by_the_evaluation_rows():
    X = np.random.default_rng(0).normal(size=(6_000, 2)) + 6 * (np.arange(6_000) % 2)[:, None]
    found = BBC(2, n_replicas=20, n_init=1, votes="all", random_state=0).fit(X).cluster_stability()
    np.testing.assert_array_equal(found.n_replicas, 20)
    assert found.jaccard.min() > 0.99


def test_cuts_through_a_disc_are_less_stable_than_clusters_apart():
    """A disc can be cut in three in any direction."""
    spiral = np.arange(300)
    disc = np.sqrt(spiral)[:, None] * np.stack([np.cos(spiral), np.sin(spiral)], axis=1)
    apart = disc + 100 * np.eye(3, 2)[spiral % 3]
    cuts, clusters = (
        BBC(3, n_replicas=60, votes="all", random_state=0).fit(X).cluster_stability()
        for X in (disc, apart)
    )
    np.testing.assert_array_equal(clusters.jaccard, 1)
    np.testing.assert_array_equal(clusters.jaccard_se, 0)
    assert cuts.jaccard.max() < 0.9
    assert cuts.recovered.min() < 1


def test_a_cut_through_one_long_cloud_is_found_again():
    """Stability does not speak of a gap: here is none."""
    spiral = np.arange(300)
    disc = np.sqrt(spiral)[:, None] * np.stack([np.cos(spiral), np.sin(spiral)], axis=1)
    model = BBC(2, n_replicas=60, votes="all", random_state=0).fit(disc * [10, 1])
    np.testing.assert_array_equal(model.cluster_stability().recovered, 1)


def test_a_clusterer_with_noise_is_asked_too():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(size=(60, 2)) + center for center in (0, 12)])
    X = np.concatenate([X, [[50, 50]]])
    model = BBC(clusterer=DBSCAN(eps=2, min_samples=3), n_replicas=80, random_state=0)
    with pytest.warns(UserWarning, match="call them noise"):
        model.fit(X)
    found = model.cluster_stability()
    assert model.labels_[-1] == -1
    np.testing.assert_array_equal(found.n_replicas, 80)
    assert (found.jaccard > 0.8).all()


def test_the_same_bits_for_any_number_of_threads():
    one, two = (
        BBC(3, n_replicas=80, n_jobs=jobs, random_state=1).fit(IRIS).cluster_stability()
        for jobs in (1, 2)
    )
    for field in fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(two, field.name))


@pytest.mark.parametrize(
    ("threshold", "error", "sentence"),
    [
        (1.0, ValueError, "threshold must be at least 0 and below 1, got 1.0: it is compared"),
        (-0.1, ValueError, "got -0.1"),
        (float("nan"), ValueError, "got nan"),
        ("half", TypeError, "threshold must be a number, got 'half'"),
    ],
)
def test_bad_thresholds_are_refused_with_one_sentence(model, threshold, error, sentence):
    with pytest.raises(error, match=sentence):
        model.cluster_stability(threshold)


def test_a_model_must_be_fitted_first():
    with pytest.raises(ValueError, match="not fitted"):
        BBC().cluster_stability()


def test_a_loaded_model_says_that_it_has_no_rows(model, tmp_path):
    model.save(tmp_path / "model.bbc")
    with pytest.raises(AttributeError, match=r"cluster_stability needs the rows .* from a file"):
        load_model(tmp_path / "model.bbc").cluster_stability()
