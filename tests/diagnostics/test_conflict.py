"""Whether prior and data contradict each other."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.cluster import DBSCAN

from bbclust import BBC, load_model
from bbclust.datasets import load_iris, make_paper_dataset, make_uniform_square
from bbclust.diagnostics.prior_conflict import (
    ClusterConflict,
    PriorConflict,
    compare_with_prior,
    n_prior_draws,
)
from bbclust.priors import (
    ElicitedPrior,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    SamplerPrior,
    StudentMixturePrior,
)

TRIANGLE = np.array([[0.0, 8.0], [7.0, -4.0], [-7.0, -4.0]])


def quantiles(n, mean=0.0, deviation=1.0):
    """A sample of a Gaussian without any chance in it, one column."""
    return mean + deviation * stats.norm.ppf((np.arange(n) + 0.5) / n)[:, None]


def compare(rows, draws, centers=((0.0,),), posterior=None, weights=None):
    centers = np.array(centers, dtype=float)
    posterior = centers if posterior is None else np.array(posterior, dtype=float)
    return compare_with_prior(rows, weights, centers, posterior, draws)


def blobs(sizes, generator, centers=TRIANGLE):
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return centers[truth] + generator.normal(size=(len(truth), 2))


def expert(weights=(5, 3, 2), means=TRIANGLE, variances=(1.0, 1.0, 1.0)):
    return MixturePrior(weights, means, [v * np.eye(2) for v in variances])


def judge(X, prior, n_clusters=3, **parameters):
    model = BBC(n_clusters, prior=prior, n_replicas=20, n_init=1, votes="all", random_state=0)
    return model.set_params(**parameters).fit(X).prior_conflict()


# --- by hand -------------------------------------------------------------------------------------


def test_location_spread_and_posterior_by_hand():
    """F0 is N(1, 4), the rows N(0, 1), the posterior centre 0.4."""
    found = compare(quantiles(2000), quantiles(20_000, 1.0, 2.0), posterior=[[0.4]]).clusters[0]
    assert found.location == pytest.approx(0.5, abs=0.005)
    assert found.spread == pytest.approx(0.5, abs=0.01)
    assert found.posterior_location == pytest.approx(0.3, abs=0.005)
    assert (found.share, found.prior_share, found.n_rows) == (1.0, 1.0, 2000.0)
    assert found.stray == pytest.approx(0.0, abs=1e-6)


def test_what_chance_adds_to_a_distance_is_taken_off():
    """The squared distance of a mean of ten rows is a tenth too large, on average."""
    found = compare(quantiles(10, 0.5), quantiles(20_000)).clusters[0]
    assert found.location == pytest.approx(np.sqrt(0.25 - 0.1), abs=0.005)


def test_a_few_draws_from_elsewhere_do_not_decide_on_the_spread():
    draws = np.concatenate([quantiles(20_000), quantiles(400, 1000.0)])
    found = compare(quantiles(500), draws).clusters[0]
    assert found.spread == pytest.approx(1.0, abs=0.02)
    assert found.reasons == ()


def test_roundings_are_no_conflict():
    rows = np.concatenate([quantiles(500), np.full((500, 1), 0.1 + 0.2)], axis=1)
    rows[::2, 1] = 0.3
    draws = np.concatenate([quantiles(20_000), np.full((20_000, 1), 0.3)], axis=1)
    assert not compare(rows, draws, centers=[[0.0, 0.3]]).conflict


def test_location_is_the_mahalanobis_distance():
    """Standard deviations 3 and 1 with correlation 0.9: (1, -1/3) is far, (1, 1/3) is near."""
    generator = np.random.default_rng(0)
    covariance = np.array([[9.0, 2.7], [2.7, 1.0]])
    draws = generator.multivariate_normal([0, 0], covariance, size=40_000)
    rows = draws[:4000] - draws[:4000].mean(axis=0)
    for shift in ([3.0, -1.0], [3.0, 1.0]):
        expected = np.sqrt(shift @ np.linalg.inv(covariance) @ shift)
        found = compare(rows + shift, draws, centers=[shift]).clusters[0]
        assert found.location == pytest.approx(expected, rel=0.03)
        assert found.reasons == ("location",)


def test_shares_by_hand():
    rows = np.concatenate([quantiles(60, -20), quantiles(40, 20)])
    draws = np.concatenate([quantiles(4000, -20), quantiles(16_000, 20)])
    first, second = compare(rows, draws, centers=[[-20], [20]]).clusters
    assert (first.share, first.prior_share) == (0.6, 0.2)
    assert (second.share, second.prior_share) == (0.4, 0.8)
    assert first.reasons == second.reasons == ("share",)


def test_stray_mass_by_hand():
    """The farthest of 200 quantiles is 2.807: a sixth of F0 lies beyond three times that."""
    rows = quantiles(200)
    draws = np.concatenate([quantiles(10_000), quantiles(2000, 9.0, 0.01)])
    found = compare(rows, draws).clusters[0]
    assert found.stray == pytest.approx(1 / 6)
    assert "stray" in found.reasons
    near = np.concatenate([quantiles(10_000), quantiles(2000, 8.0, 0.01)])
    assert compare(rows, near).clusters[0].stray == 0.0


@pytest.mark.parametrize(("deviation", "reported"), [(0.7, True), (0.9, False), (1.8, False)])
def test_a_prior_may_be_wider_than_the_rows_but_hardly_narrower(deviation, reported):
    found = compare(quantiles(2000), quantiles(20_000, 0.0, deviation)).clusters[0]
    assert found.spread == pytest.approx(1 / deviation, rel=0.01)
    assert found.reasons == (("spread",) if reported else ())


def test_a_prior_much_wider_than_the_rows_is_reported():
    found = compare(quantiles(2000), quantiles(20_000, 0.0, 3.0)).clusters[0]
    assert found.reasons == ("spread",)
    assert found.sentences() == ["Cluster 0: the prior spreads 3.0 times as wide as its rows."]


def test_small_differences_are_no_conflict_however_many_rows():
    """p-values far below any level: a fifth of a standard deviation, a tenth of the spread."""
    rows = quantiles(200_000, 0.2, 1.1)
    assert not compare(rows, quantiles(20_000), centers=[[0.2]]).conflict


def test_large_differences_are_no_conflict_when_they_may_be_chance():
    """Three rows one standard deviation off and twice as wide; with three hundred it is one."""
    for n, reported in ((3, False), (300, True)):
        found = compare(quantiles(n, 1.0, 2.0), quantiles(20_000), centers=[[1.0]])
        assert found.conflict is reported


def test_where_the_prior_has_next_to_nothing_only_shares_are_compared():
    rows = np.concatenate([quantiles(80, -20), quantiles(20, 20)])
    first, second = compare(rows, quantiles(20_000, -20), centers=[[-20], [20]]).clusters
    assert first.reasons == ()
    assert second.reasons == ("share",)
    assert np.isnan([second.location, second.spread, second.stray]).all()
    assert second.sentences() == ["Cluster 1: it holds 20% of the rows and 0% of the prior."]


def test_rows_that_are_all_alike():
    """They say where they are and not how wide."""
    rows = np.zeros((50, 1))
    here = compare(rows, quantiles(20_000, 0.0, 0.3))
    assert np.isnan(here.clusters[0].spread)
    assert not here.conflict
    assert compare(rows, np.full((20_000, 1), 1.0)).clusters[0].reasons == ("location",)
    assert not compare(rows, np.zeros((20_000, 1))).conflict
    assert not compare(rows[:1], quantiles(20_000)).conflict


def test_a_prior_that_is_a_point_among_spread_rows():
    found = compare(quantiles(100), np.zeros((20_000, 1))).clusters[0]
    assert found.spread == np.inf
    assert found.reasons == ("spread",)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_nothing_depends_on_units_origin_or_order(seed):
    generator = np.random.default_rng(seed)
    rows, draws = blobs([30, 20, 10], generator), blobs([500, 300, 200], generator)
    scale, shift = 10.0 ** generator.uniform(-6, 6), generator.normal(size=2) * 1e3
    shuffled = generator.permutation(60)
    before = compare(rows, draws, centers=TRIANGLE)
    after = compare(
        scale * (rows[shuffled] + shift),
        scale * (draws + shift),
        centers=scale * (TRIANGLE + shift),
        weights=np.full(60, 7.0),
    )
    for one, other in zip(before.clusters, after.clusters, strict=True):
        assert one.reasons == other.reasons
        for name in ("location", "spread", "share", "prior_share", "stray", "posterior_location"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-4, abs=1e-4)


def test_unequal_weights_count_as_fewer_rows():
    rows = quantiles(100)
    weights = np.where(np.arange(100) % 2 == 0, 3.0, 1.0)
    assert compare(rows, quantiles(20_000), weights=weights).clusters[0].n_rows == pytest.approx(80)


def test_the_sample_of_the_prior_fits_into_memory():
    assert n_prior_draws(3, 2) == 10_000
    assert n_prior_draws(10, 200) == 40_000
    assert n_prior_draws(100, 10_000) * 10_000 <= 20_000_000


# --- what users see ------------------------------------------------------------------------------


def test_texts_by_hand():
    fine = ClusterConflict(0, 50.0, 0.1, 1.1, 0.5, 0.5, 0.0, 0.05, ())
    wrong = ClusterConflict(
        1, 50.0, 2.34, 1.96, 0.25, 0.5, 0.21, 1.2, ("location", "spread", "share", "stray")
    )
    agreeing, conflict = PriorConflict((fine,)), PriorConflict((fine, wrong))
    assert not agreeing.conflict
    assert agreeing.statement == "The prior does not contradict the data."
    assert conflict.conflict
    assert conflict.statement == (
        "The prior contradicts the data in 1 of 2 clusters.\n"
        "Cluster 1: its rows lie 2.3 prior standard deviations from where the prior has them.\n"
        "Cluster 1: its rows spread 2.0 times as wide as the prior.\n"
        "Cluster 1: it holds 25% of the rows and 50% of the prior.\n"
        "Cluster 1: 21% of the prior around it lies where there are no rows."
    )
    assert str(conflict).splitlines()[-1].split() == [
        "1", "50", "2.34", "1.96", "0.250", "0.500", "0.21", "1.20",
        "location,", "spread,", "share,", "stray",
    ]  # fmt: skip


def test_the_table_is_plain_data():
    rows = np.concatenate([quantiles(60, -20), quantiles(40, 20)])
    found = compare(rows, quantiles(20_000, -20), centers=[[-20], [20]]).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False))["clusters"][1]["location"] is None
    assert found["conflict"] is True


def test_it_does_not_depend_on_threads_or_on_when_it_is_asked():
    X = make_paper_dataset(1, random_state=0).data
    model = BBC(3, n_replicas=50, votes="all", n_jobs=2, random_state=0).fit(X)
    single = BBC(3, n_replicas=50, votes="all", random_state=0).fit(X)
    assert model.prior_conflict() == model.prior_conflict() == single.prior_conflict()


# --- experts right and wrong ---------------------------------------------------------------------
# Benchmarks measure both rates where it is close (benchmarks/prior_conflict.py). Here nothing is:
# with 3,000 rows the smallest effect that counts is more than ten standard errors away from the
# truth, and the experts who are wrong are wrong by twice as much.


def test_an_expert_who_is_right_is_not_contradicted(seed):
    X = blobs([1500, 900, 600], np.random.default_rng(seed))
    found = judge(X, expert())
    assert not found.conflict, str(found)


@pytest.mark.parametrize(
    ("wrong", "reasons"),
    [
        (expert(means=TRIANGLE + np.array([[0, 0], [2.0, 0], [0, 0]])), {1: ("location",)}),
        (expert(variances=(1.0, 1.0, 1 / 9)), {2: ("spread",)}),
        (expert(variances=(1.0, 1.0, 1 / 3)), {2: ("spread",)}),
        (expert(weights=(1, 5, 4)), {0: ("share",), 1: ("share",), 2: ("share",)}),
        (expert(means=[*TRIANGLE[:2], [-70.0, -40.0]]), {2: ("location", "stray")}),
        (
            MixturePrior([5, 3, 2, 1.5], [*TRIANGLE, [-40.0, 40.0]], [np.eye(2)] * 4),
            {0: ("stray",)},
        ),
    ],
    ids=["location", "spread", "variance", "weights", "far away", "one too many"],
)
def test_an_expert_who_is_wrong_is_contradicted_where_he_is(wrong, reasons, seed):
    X = blobs([1500, 900, 600], np.random.default_rng(seed))
    found = judge(X, wrong)
    for cluster, expected in reasons.items():
        assert set(expected) <= set(found.clusters[cluster].reasons), str(found)
    certain = {k for k in range(3) if found.clusters[k].reasons}
    assert certain >= set(reasons)


def test_three_hundred_rows_are_enough_for_what_is_plain(seed):
    """Four standard deviations off, a fifth of the spread: ten standard errors and more."""
    X = blobs([120, 100, 80], np.random.default_rng(seed))
    assert judge(X, expert((6, 5, 4), TRIANGLE + np.array([[0, 0], [0, 4.0], [0, 0]]))).conflict
    assert judge(X, expert((6, 5, 4), variances=(1.0, 1.0, 1 / 25))).conflict


@pytest.mark.parametrize(
    "prior",
    [
        None,
        ElicitedPrior("shrunk"),
        KernelPrior(),
        StudentMixturePrior(df=5),
        MixturePrior([1], [[0.0, 8.0]], [np.eye(2)], others="elicited"),
        SamplerPrior(lambda n, generator: TRIANGLE[generator.choice(3, n, p=[0.5, 0.3, 0.2])]
                     + generator.normal(size=(n, 2))),
    ],
    ids=["elicited", "shrunk", "kernel", "student", "expert on one", "function"],
)  # fmt: skip
def test_any_prior_can_be_asked_about(prior):
    """A fixed draw; experts of the true parameters and priors read off the data."""
    found = judge(blobs([150, 90, 60], np.random.default_rng(0)), prior)
    assert not found.conflict, str(found)


@pytest.mark.parametrize("n_clusters", [1, 3, 8])
@pytest.mark.parametrize(
    "X",
    [
        load_iris().data,
        load_iris().data.astype(np.float32),
        np.concatenate([load_iris().data, np.full((150, 1), 7.3), np.zeros((150, 1))], axis=1),
        load_iris().data + 1e6,
        load_iris().data * [1e-6, 1.0, 1e6, 1.0],
        make_uniform_square(2000, random_state=0),
        np.random.default_rng(0).integers(0, 2, size=(500, 4)).astype(float),
        np.random.default_rng(0).normal(size=(30, 60)),
    ],
    ids=["iris", "float32", "constants", "far", "units", "square", "binary", "wide"],
)
def test_what_is_elicited_from_the_data_does_not_contradict_them(X, n_clusters):
    found = judge(X, None, n_clusters)
    assert not found.conflict, str(found)


def test_a_scale_that_keeps_clusters_apart_is_no_conflict_and_a_huge_one_is():
    X = load_iris().data
    assert not judge(X, None, prior_scale=2.5).conflict
    assert judge(X, None, prior_scale=100.0).conflict


def test_a_sudden_jump_contradicts_the_model_of_yesterday(seed):
    generator = np.random.default_rng(seed)
    sizes = [600, 360, 240]
    yesterday = BBC(3, votes="all", n_replicas=30, random_state=0).fit(blobs(sizes, generator))
    moved = TRIANGLE + np.array([[0, 0], [1.5, 0], [0, 0]])
    found = judge(blobs(sizes, generator, moved), ModelPrior(yesterday))
    assert "location" in found.clusters[1].reasons


@pytest.mark.filterwarnings("ignore:1 of 151 rows have no vote")
def test_rows_of_noise_and_weight_zero_take_no_part():
    X = np.concatenate([blobs([60, 50, 40], np.random.default_rng(0)), [[300.0, 300.0]]])
    noise = BBC(clusterer=DBSCAN(eps=1.5, min_samples=4), n_replicas=60, random_state=0).fit(X)
    assert noise.reference_labels_[-1] == -1
    weights = np.append(np.ones(150), 0.0)
    zero = BBC(3, votes="all", random_state=0).fit(X, sample_weight=weights)
    for model in (noise, zero):
        found = model.prior_conflict()
        assert sum(one.n_rows for one in found.clusters) <= 150
        assert not found.conflict, str(found)


# --- what cannot be answered ---------------------------------------------------------------------


def test_without_a_prior_there_is_nothing_to_compare():
    model = BBC(3, resampling="rubin", random_state=0).fit(load_iris().data)
    with pytest.raises(ValueError, match="fitted without a prior"):
        model.prior_conflict()


def test_a_loaded_model_says_that_it_needs_the_rows(tmp_path):
    BBC(3, random_state=0).fit(load_iris().data).save(tmp_path / "model.bbc")
    with pytest.raises(AttributeError, match="prior_conflict needs the rows"):
        load_model(tmp_path / "model.bbc").prior_conflict()
