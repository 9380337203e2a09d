"""Any clusterer as P: what it gets, how it is aligned, who abstains, and what comes out."""

import itertools
import warnings

import kmedoids
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    SpectralClustering,
)
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris
from bbclust.ensemble.custom_clusterer import adapt
from bbclust.selection import splits
from bbclust.stages.alignment import pair_clusters
from bbclust.stages.bootstrap import draw_replica

# Few replicas make votes coarse, and say so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* rows have no vote of any:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* rows were drawn by none:UserWarning"),
]

IRIS = load_iris()
BLOBS, BLOB_OF = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


def medoids():
    return kmedoids.KMedoids(3, metric="euclidean", method="fasterpam")


def scaled_kmeans():
    return make_pipeline(StandardScaler(), KMeans(n_init=3))


THAT_TAKE_A_NUMBER = {
    "GaussianMixture": GaussianMixture(),
    "AgglomerativeClustering": AgglomerativeClustering(),
    "SpectralClustering": SpectralClustering(),
    "BisectingKMeans": BisectingKMeans(),
    "KMedoids": medoids(),
    "Pipeline": scaled_kmeans(),
}
THAT_FIND_THEIR_OWN = {"HDBSCAN": HDBSCAN(copy=True), "DBSCAN": DBSCAN(eps=0.8)}
ALL = THAT_TAKE_A_NUMBER | THAT_FIND_THEIR_OWN
DATA = {"iris": (IRIS.data, IRIS.target), "blobs": (BLOBS, BLOB_OF)}


def fit(X, clusterer, *, n_clusters=3, fit_arguments=None, **parameters):
    parameters = {"n_replicas": 100, "random_state": 0, **parameters}
    model = BBC(n_clusters, clusterer=clusterer, **parameters)
    return model.fit(X, **(fit_arguments or {}))


# What it can do -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clusterer", "count", "weights", "predicts"),
    [
        (GaussianMixture(), "n_components", None, True),
        (AgglomerativeClustering(), "n_clusters", None, False),
        (SpectralClustering(), "n_clusters", None, False),
        (BisectingKMeans(), "n_clusters", "sample_weight", True),
        (HDBSCAN(copy=True), None, None, False),
        (DBSCAN(), None, "sample_weight", False),
        (medoids(), "n_clusters", None, True),
        (scaled_kmeans(), "kmeans__n_clusters", "kmeans__sample_weight", True),
        (lambda X: X, None, None, False),
        (lambda X, sample_weight, n_clusters: X, "n_clusters", "sample_weight", False),
    ],
)
def test_what_a_clusterer_can_do_is_read_off_it(clusterer, count, weights, predicts):
    adapter = adapt(clusterer)
    assert adapter.count_parameter == count
    assert adapter.weight_parameter == weights
    assert adapter.predicts == predicts


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ALL)
def test_memberships_are_shares(name, data):
    X, _ = DATA[data]
    model = fit(X, ALL[name], n_replicas=25)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.memberships_.shape == (len(X), len(model.reference_centers_))
    assert set(np.unique(model.labels_)) <= set(range(-1, len(model.reference_centers_)))
    assert model.replica_centers_.shape == (25, *model.reference_centers_.shape)
    assert model.n_failed_ == 0


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", THAT_TAKE_A_NUMBER)
def test_the_vote_is_as_good_as_the_clusterer(name, data):
    """Adjusted Rand index at most 0.02 below the plain clusterer's mean over 20 seeds."""
    X, truth = DATA[data]
    adapter = adapt(ALL[name])
    plain = [
        adjusted_rand_score(truth, adapter.cluster(X, np.ones(len(X)), 3, seed).labels)
        for seed in range(20)
    ]
    B, n_seeds = (100, 3) if data == "iris" else (30, 1)  # clusters that touch need more of both
    voted = [
        adjusted_rand_score(truth, fit(X, ALL[name], n_replicas=B, random_state=seed).labels_)
        for seed in range(n_seeds)
    ]
    assert np.mean(voted) >= np.mean(plain) - 0.02


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        # With and without a number of clusters, weights and predictions; a pipeline.
        BBC(n_replicas=3, clusterer=GaussianMixture(), random_state=0),
        BBC(n_replicas=3, clusterer=AgglomerativeClustering(), random_state=0),
        BBC(n_replicas=3, clusterer=HDBSCAN(copy=True), random_state=0),
        BBC(n_replicas=3, clusterer=DBSCAN(), random_state=0),
        BBC(n_replicas=3, clusterer=scaled_kmeans(), random_state=0),
    ],
    # DBSCAN finds noise alone there, which is the same for any weights.
    expected_failed_checks=lambda estimator: (
        {"check_sample_weight_equivalence_on_dense_data": "agrees in distribution, as BBC itself"}
        if not isinstance(estimator.clusterer, DBSCAN)
        else {}
    ),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# What it gets -------------------------------------------------------------------------------------


def test_a_clusterer_with_weights_gets_the_replicas_points_and_dirichlet_weights():
    calls = []

    def clusterer(X, sample_weight, n_clusters):
        calls.append((X, sample_weight))
        return (X[:, 0] > 3).astype(int)

    model = fit(BLOBS, clusterer, n_clusters=2, n_replicas=4)
    run = model._state.record.job
    np.testing.assert_allclose(calls[0][0], BLOBS, atol=1e-14)
    np.testing.assert_array_equal(calls[0][1], np.ones(len(BLOBS)))
    for b, (points, weights) in enumerate(calls[1:]):
        drawn = draw_replica(run.table, run.prior, run.plan.resampling, run.plan.seed, b)
        np.testing.assert_allclose(points, drawn.points + run.table.center)
        np.testing.assert_array_equal(weights, drawn.weights)


@pytest.mark.parametrize("resampling", ["proper", "rubin", "efron"])
def test_a_clusterer_without_weights_gets_each_point_as_often_as_it_was_drawn(resampling):
    calls = []

    def clusterer(X):
        calls.append(X)
        return (X[:, 0] > 3).astype(int)

    model = fit(BLOBS, clusterer, n_replicas=4, resampling=resampling)
    run = model._state.record.job
    assert run.plan.resampling.weighting == "resample"
    for b, points in enumerate(calls[1:]):
        drawn = draw_replica(run.table, run.prior, run.plan.resampling, run.plan.seed, b)
        assert len(points) == len(BLOBS)
        expected = np.repeat(drawn.points + run.table.center, drawn.weights.astype(int), axis=0)
        np.testing.assert_allclose(points, expected)


def test_every_replica_gets_another_seed_and_the_same_ones_again():
    def seeds():
        calls = []

        def clusterer(X, random_state, sample_weight):
            calls.append(random_state)
            return (X[:, 0] > 3).astype(int)

        fit(BLOBS, clusterer, n_replicas=6)
        return calls

    first = seeds()
    assert len(set(first)) == 7
    assert seeds() == first


# Alignment ----------------------------------------------------------------------------------------


def best_by_hand(overlap, chosen):
    """Largest agreement of all pairings, and of those without one of the chosen pairs."""
    if len(overlap) > overlap.shape[1]:
        overlap, chosen = overlap.T, {(c, r) for r, c in chosen}
    best = second = 0
    for columns in itertools.permutations(range(overlap.shape[1]), len(overlap)):
        pairs = set(enumerate(columns))
        total = sum(overlap[pair] for pair in pairs)
        best = max(best, total)
        if not chosen <= pairs:
            second = max(second, total)
    return best, second


@given(
    arrays(
        np.int64,
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
        elements=st.integers(0, 9),
    )
)
def test_pairing_is_the_best_of_all_and_its_margin_to_the_next(overlap):
    pairing = pair_clusters(overlap, np.zeros(overlap.shape))
    rows = np.flatnonzero(pairing.to_reference >= 0)
    columns = pairing.to_reference[rows]
    assert len(set(columns)) == len(columns)
    assert (overlap[rows, columns] > 0).all()
    best, second = best_by_hand(overlap, set(zip(rows, columns, strict=True)))
    assert overlap[rows, columns].sum() == best
    if overlap.any():
        assert pairing.margin == pytest.approx((best - second) / overlap.sum())


def test_equal_overlaps_are_paired_by_distance():
    overlap = np.array([[5, 5], [5, 5]])
    near = np.array([[9.0, 1.0], [1.0, 9.0]])
    np.testing.assert_array_equal(pair_clusters(overlap, near).to_reference, [1, 0])
    np.testing.assert_array_equal(pair_clusters(overlap, near[::-1]).to_reference, [0, 1])


def by_column(X, cuts):
    return np.searchsorted(cuts, X[:, 0])


def line(*blocks):
    """Rows on a line: for each (place, count), that many rows within 0.3 of the place."""
    return np.concatenate([np.linspace(p - 0.3, p + 0.3, n) for p, n in blocks])[:, None]


def test_a_cluster_without_a_partner_abstains_and_is_counted():
    X = line((0, 40), (10, 30), (20, 20))
    reference = by_column(X, [5, 15])

    def splits_the_largest(points, sample_weight):
        return by_column(points, [-0.1, 5, 15])

    model = fit(
        X,
        splits_the_largest,
        resampling="efron",
        n_replicas=200,
        fit_arguments={"reference_labels": reference},
    )
    # Two thirds of the largest cluster lie right of -0.1; the rest has no partner in the reference.
    left_out = X[:, 0] < -0.1
    assert model.n_abstained_votes_ > 0
    assert (model.n_votes_[left_out] < 5).all()
    assert (model.labels_ == np.repeat([0, 1, 2], [40, 30, 20])).all()
    run = model._state.record.job
    drawn = sum(
        len(draw_replica(run.table, None, run.plan.resampling, run.plan.seed, b).rows)
        for b in range(200)
    )
    assert model.n_votes_.sum() + model.n_abstained_votes_ == drawn


def test_a_replica_with_fewer_clusters_leaves_a_center_unoccupied():
    X = line((0, 60), (10, 50), (20, 8))

    def merges_two(points, sample_weight):
        return by_column(points, [5])

    model = fit(
        X,
        merges_two,
        resampling="efron",
        n_replicas=50,
        fit_arguments={"reference_labels": by_column(X, [5, 15])},
    )
    assert model.n_abstentions_ == 50
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [60, 58]))
    np.testing.assert_array_equal(
        model.replica_centers_[:, 2], np.tile(model.reference_centers_[2], (50, 1))
    )


def test_noise_abstains_and_rows_that_are_always_noise_keep_their_reference_label():
    X = line((0, 40), (10, 30), (50, 2))

    def far_is_noise(points, sample_weight):
        labels = by_column(points, [5])
        labels[points[:, 0] > 30] = -1
        return labels

    with pytest.warns(UserWarning, match="2 of 72 rows have no vote of any of the 30 replicas"):
        model = fit(X, far_is_noise, resampling="efron", n_replicas=30, votes="drawn")
    np.testing.assert_array_equal(model.reference_labels_, np.repeat([0, 1, -1], [40, 30, 2]))
    np.testing.assert_array_equal(model.labels_, model.reference_labels_)
    np.testing.assert_array_equal(model.memberships_[-2:], np.full((2, 2), 0.5))
    assert model.n_undrawn_ == 2
    assert model.n_abstained_votes_ > 0

    given = np.repeat([0, 1, 1], [40, 30, 2])
    with pytest.warns(UserWarning, match="keep their reference label"):
        model = fit(
            X,
            far_is_noise,
            resampling="efron",
            n_replicas=30,
            fit_arguments={"reference_labels": given},
        )
    np.testing.assert_array_equal(model.labels_, given)
    np.testing.assert_array_equal(model.memberships_[-2:], [[0, 1], [0, 1]])


def test_given_labels_may_hold_noise():
    given = BLOB_OF.copy()
    given[:7] = -1
    model = fit(BLOBS, DBSCAN(eps=1.2), fit_arguments={"reference_labels": given})
    np.testing.assert_array_equal(model.reference_labels_ == -1, given == -1)
    assert model.memberships_.shape == (150, 3)


def test_noise_takes_no_part_in_the_prior():
    labels = np.where(BLOBS[:, 0] > 8, -1, (BLOBS[:, 0] > 3).astype(int))
    model = fit(BLOBS, DBSCAN(eps=1.2), n_clusters=2, fit_arguments={"reference_labels": labels})
    inside = labels >= 0
    clusters = [BLOBS[inside & (labels == k)] for k in (0, 1)]
    clusters.sort(key=len, reverse=True)
    for mean, rows in zip(model.prior_.means, clusters, strict=True):
        np.testing.assert_allclose(mean, rows.mean(axis=0))


# Trouble ------------------------------------------------------------------------------------------


def test_replicas_on_which_the_clusterer_fails_are_counted_and_told():
    calls = itertools.count()

    def moody(X, sample_weight):
        if next(calls) % 4 == 2:
            raise RuntimeError("not today")
        return (X[:, 0] > 3).astype(int)

    with pytest.warns(UserWarning, match=r"failed on 10 of 40 replicas.*RuntimeError: not today"):
        model = fit(BLOBS, moody, n_replicas=40)
    assert model.n_failed_ == 10
    assert model.n_votes_.max() <= 30
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)


def test_a_clusterer_that_fails_on_every_replica_is_an_error():
    calls = itertools.count()

    def useless(X, sample_weight):
        if next(calls):
            raise RuntimeError("never")
        return (X[:, 0] > 3).astype(int)

    model = BBC(clusterer=useless, n_replicas=5)
    with pytest.raises(ValueError, match=r"failed on every replica.*RuntimeError: never"):
        model.fit(BLOBS)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda X: X[:, 0], "returned labels of shape .150,. and type float64"),
        (lambda X: np.zeros(3, dtype=int), "returned labels of shape .3,."),
    ],
)
def test_labels_that_are_none_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        fit(BLOBS, labels)


def test_a_reference_of_noise_alone_is_one_cluster_and_told():
    with pytest.warns(UserWarning, match="DBSCAN calls all 150 rows noise"):
        model = fit(BLOBS, DBSCAN(eps=1e-9))
    np.testing.assert_array_equal(model.labels_, np.zeros(150))
    np.testing.assert_array_equal(model.memberships_, np.ones((150, 1)))


def test_fewer_clusters_than_asked_for_are_told():
    def finds_two(X, n_clusters, sample_weight):
        return (X[:, 0] > 3).astype(int)

    with pytest.warns(UserWarning, match="asked for 5 clusters and found 2"):
        model = fit(BLOBS, finds_two, n_clusters=5)
    assert model.memberships_.shape == (150, 2)


def test_weights_that_the_clusterer_cannot_take_are_told():
    weights = np.random.default_rng(0).uniform(1, 2, size=len(BLOBS))
    with pytest.warns(UserWarning, match="GaussianMixture takes no sample_weight"):
        fit(BLOBS, GaussianMixture(), votes="all", fit_arguments={"sample_weight": weights})


def test_rows_of_weight_zero_are_voted_on():
    weights = np.ones(len(BLOBS))
    weights[::10] = 0
    for clusterer in (GaussianMixture(), AgglomerativeClustering()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = fit(BLOBS, clusterer, fit_arguments={"sample_weight": weights})
        assert adjusted_rand_score(BLOB_OF, model.labels_) > 0.95
        assert (model.n_votes_[::10] > 0).all()


# The same bits, and more of them ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GaussianMixture", "AgglomerativeClustering", "Pipeline"])
def test_same_bits_for_any_number_of_processes_and_for_added_replicas(name):
    one = fit(IRIS.data, ALL[name], n_replicas=25)
    two = fit(IRIS.data, ALL[name], n_replicas=25, n_jobs=2)
    grown = fit(IRIS.data, ALL[name], n_replicas=8).add_replicas(17)
    for other in (two, grown):
        for attribute in ("memberships_", "replica_centers_", "alignment_margin_", "n_votes_"):
            np.testing.assert_array_equal(getattr(other, attribute), getattr(one, attribute))
        np.testing.assert_array_equal(other.predict_proba(IRIS.data), one.predict_proba(IRIS.data))


def test_replicas_that_predict_vote_on_all_rows():
    model = fit(BLOBS, GaussianMixture(), votes="all")
    assert (model.n_votes_ == 100).all()
    np.testing.assert_array_equal(model.memberships_, model.predict_proba(BLOBS))


def test_precision_is_reached_with_rows_that_are_always_noise():
    X = np.vstack([BLOBS, [[300.0, 300.0]]])
    with pytest.warns(UserWarning, match="1 of 151 rows"):
        model = fit(X, DBSCAN(eps=1.2), n_replicas="auto", mc_tol=0.05)
    assert model.n_replicas_ < 5000
    assert model.labels_[-1] == -1


# The same job as the engine's ---------------------------------------------------------------------


def test_scikit_learns_kmeans_agrees_with_the_native_one():
    """Same replicas, same optimum: every vote is the same."""
    native = BBC(3, n_replicas=100, n_init=10, random_state=0).fit(BLOBS)
    adapted = fit(BLOBS, KMeans(n_init=10))
    np.testing.assert_array_equal(adapted.reference_labels_, native.reference_labels_)
    np.testing.assert_array_equal(adapted.n_votes_, native.n_votes_)
    np.testing.assert_array_equal(adapted.memberships_, native.memberships_)
    apart = np.abs(adapted.replica_centers_ - native.replica_centers_).max(axis=(1, 2))
    assert (apart < 1e-9).mean() >= 0.9
    run = native._state.record.job
    for b in range(100):
        replica = draw_replica(run.table, run.prior, run.plan.resampling, run.plan.seed, b)
        costs = [
            (replica.weights * distances.min(axis=1) ** 2).sum()
            for distances in (
                cdist(replica.points + run.table.center, model.replica_centers_[b])
                for model in (native, adapted)
            )
        ]
        assert costs[0] < 1.002 * costs[1]


# Choosing K ---------------------------------------------------------------------------------------


def test_k_is_chosen_with_any_clusterer_that_takes_a_number(monkeypatch):
    monkeypatch.setattr(splits, "N_REPLICAS", 20)  # of each pair and each half of a cluster
    X, blob_of = make_blobs(45, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)
    template = BBC(clusterer=GaussianMixture(covariance_type="spherical"), n_replicas=20)
    selector = KSelector(
        template, k_range=range(2, 5), prior_scales=(1.0,), null_reference=0, random_state=0
    )
    selector.fit(X)
    assert selector.best_k_ == 3
    assert adjusted_rand_score(blob_of, selector.labels_) > 0.95


def test_rows_that_no_replica_voted_on_say_nothing_about_k():
    """Four replicas leave rows undrawn, and agglomerative clustering cannot predict them."""
    template = BBC(clusterer=AgglomerativeClustering(), n_replicas=4)
    selector = KSelector(
        template, k_range=[2, 3], prior_scales=(1.0,), null_reference=0, random_state=0
    )
    cells = selector.fit(IRIS.data).grid_.cells
    for n_clusters, cell in zip((2, 3), cells, strict=True):
        model = BBC(n_clusters, clusterer=AgglomerativeClustering(), n_replicas=4, random_state=0)
        model.fit(IRIS.data)
        assert model.n_undrawn_ > 0
        voted = model.n_votes_ > 0
        assert cell.mean_entropy == pytest.approx(model.entropy_[voted].mean())
        assert 0 <= cell.pair_doubt <= 1


def test_no_k_is_chosen_for_a_clusterer_that_finds_its_own():
    with pytest.raises(ValueError, match="DBSCAN finds its own number of clusters"):
        KSelector(BBC(clusterer=DBSCAN())).fit(BLOBS)
