"""What BBC does, from Iris and the paper to weights, priors, votes and precision."""

import tracemalloc
import warnings
from math import log, sqrt

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import beta, dirichlet
from sklearn.metrics import adjusted_rand_score

from bbclust import BBC
from bbclust.datasets import load_iris, make_paper_dataset, make_uniform_square
from bbclust.ensemble import run as ensemble
from bbclust.priors import ElicitedPrior, MixturePrior

IRIS = load_iris()
FALSE_ALARM = 1e-6  # of every statistical test here, at most


def blobs(seed=0, sizes=(50, 40, 30), spread=1.0, distance=20.0):
    """Round clusters on the axes, `distance` from the origin."""
    classes = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(seed).normal(size=(len(classes), len(sizes)))
    return distance * np.eye(len(sizes))[classes] + spread * noise, classes


def contingency(labels):
    """Species by cluster; clusters matched to species by largest agreement."""
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (IRIS.target, labels), 1)
    return table[:, linear_sum_assignment(-table)[1]]


OVERLAPPING = make_paper_dataset(1, random_state=0)


def fit_overlapping(rows, seed, weights=None, **parameters):
    """Votes of all replicas on some rows, with the true classes as the reference."""
    model = BBC(3, votes="all", random_state=seed, **parameters)
    classes = OVERLAPPING.target[rows]
    return model.fit(OVERLAPPING.data[rows], sample_weight=weights, reference_labels=classes)


def difference_bound(model):
    """What the shares of votes of two fits with seeds of their own may differ by.

    A share is a mean of B independent votes, so two of them differ by more than t with
    probability 2 exp(-B t^2) at most (Hoeffding); over all cells that is FALSE_ALARM.
    """
    return sqrt(log(2 * model.memberships_.size / FALSE_ALARM) / model.n_replicas_)


def largest_difference(first, second):
    assert (first.n_votes_ == first.n_replicas_).all()
    assert (second.n_votes_ == first.n_replicas_).all()
    return np.abs(first.memberships_ - second.memberships_[: len(first.labels_)]).max()


def assert_same_distribution(first, second):
    assert largest_difference(first, second) < difference_bound(first)


# --- the paper's Iris --------------------------------------------------------------------------


def test_the_reference_of_iris_is_the_papers(seed):
    model = BBC(3, n_replicas=1, votes="all", random_state=seed).fit(IRIS.data)
    expected = [[50, 0, 0], [0, 48, 2], [0, 14, 36]]
    np.testing.assert_array_equal(contingency(model.reference_labels_), expected)


@pytest.mark.parametrize("prior_weight", [0.1, 0.3, 0.5, 0.7])
def test_iris_keeps_its_table_for_any_prior_weight(prior_weight, seed):
    model = BBC(3, n_replicas=300, prior_weight=prior_weight, random_state=seed).fit(IRIS.data)
    expected = np.array([[50, 0, 0], [0, 47, 3], [0, 14, 36]])
    # Three flowers of one species would have to change sides. The likeliest three, at weight 0.7,
    # are 1.8, 3.8 and 4.2 standard errors of their votes away from it: about 2e-8.
    assert np.abs(contingency(model.labels_) - expected).max() <= 2


def test_a_wide_prior_makes_a_cluster_of_iris_collapse(seed):
    model = BBC(3, n_replicas=300, prior_scale=100, prior_weight=0.1, random_state=seed)
    table = contingency(model.fit(IRIS.data).labels_)
    # The flowers that decide it are more than nine standard errors away from changing sides.
    assert table[1, 1] <= 5
    assert table[2, 2] >= 45


# --- clusters ----------------------------------------------------------------------------------


def test_clusters_far_apart_are_found_without_doubt(seed):
    X, classes = blobs(seed)
    model = BBC(3, n_replicas=100, random_state=seed).fit(X)
    assert adjusted_rand_score(model.labels_, classes) == 1
    assert model.mean_entropy_ < 0.01
    np.testing.assert_array_equal(model.labels_, classes)  # numbered by size


def test_doubt_grows_where_there_are_no_clusters(seed):
    square = BBC(3, n_replicas=200, random_state=seed).fit(make_uniform_square(random_state=seed))
    apart = BBC(3, n_replicas=200, random_state=seed).fit(blobs(seed)[0])
    assert square.mean_entropy_ > 0.01 > apart.mean_entropy_  # 0.2 and 0, over many draws


def test_the_middle_of_two_clusters_is_undecided_and_names_the_pair(seed):
    X, _ = blobs(seed, sizes=(60, 50, 40))
    middle = (X[:60].mean(axis=0) + X[110:].mean(axis=0)) / 2
    model = BBC(3, n_replicas=200, votes="all", random_state=seed).fit(np.r_[X, [middle]])
    assert model.entropy_.argmax() == 150
    assert model.worst_pair_ == (0, 2)


def test_cluster_centres_are_means_over_the_replicas(seed):
    model = BBC(3, n_replicas=100, random_state=seed).fit(IRIS.data)
    assert model.n_abstentions_ == 0
    np.testing.assert_allclose(
        model.cluster_centers_, model.replica_centers_.mean(axis=0), rtol=1e-12
    )


def test_lloyd_iterations_are_counted():
    model = BBC(3, n_replicas=100, max_iter=2, tol=0.0, random_state=0).fit(IRIS.data)
    assert model.n_iter_ == 2
    assert set(model.replica_n_iter_) <= {1, 2}
    free = BBC(3, n_replicas=100, tol=0.0, random_state=0).fit(IRIS.data)
    assert 2 < free.replica_n_iter_.max() <= free.n_iter_ < 300


def test_a_tolerance_does_not_leave_replicas_of_large_tables_at_the_reference(seed):
    generator = np.random.default_rng(seed)
    centers = 1.5 * np.eye(3)
    X = centers[generator.integers(3, size=100_000)] + generator.normal(size=(100_000, 3))
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    model = BBC(3, n_replicas=60, random_state=seed).fit(X, reference_labels=nearest)
    exact = BBC(3, n_replicas=60, tol=0.0, random_state=seed).fit(X, reference_labels=nearest)
    # .995 of it, with a standard deviation of .004 over seeds; .78 if tol is taken literally
    assert model.mean_entropy_ == pytest.approx(exact.mean_entropy_, rel=0.1)


# --- prediction --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris_model():
    return BBC(3, n_replicas=100, random_state=0).fit(IRIS.data)


def test_each_replica_votes_for_its_nearest_centre(iris_model):
    rows = IRIS.data[::7] + 0.1
    votes = np.zeros((len(rows), 3))
    for centers in iris_model.replica_centers_:
        distances = ((rows[:, None] - centers) ** 2).sum(axis=2)
        votes[np.arange(len(rows)), distances.argmin(axis=1)] += 1
    np.testing.assert_allclose(iris_model.predict_proba(rows), votes / 100, atol=1e-12)


def test_predict_takes_the_largest_membership(iris_model):
    shares = iris_model.predict_proba(IRIS.data)
    np.testing.assert_array_equal(iris_model.predict(IRIS.data), shares.argmax(axis=1))


@pytest.mark.parametrize("confidence", [0, 0.5, 0.9, 1])
def test_doubtful_rows_are_not_predicted(iris_model, confidence):
    largest = iris_model.predict_proba(IRIS.data).max(axis=1)
    labels = iris_model.predict(IRIS.data, min_confidence=confidence)
    np.testing.assert_array_equal(labels == -1, largest < confidence)
    sure = labels >= 0
    np.testing.assert_array_equal(labels[sure], iris_model.predict(IRIS.data)[sure])


def test_some_rows_of_iris_are_doubtful(iris_model):
    assert 0 < (iris_model.predict(IRIS.data, min_confidence=0.9) == -1).sum() < 75


# --- votes -------------------------------------------------------------------------------------


def test_drawn_rows_get_one_vote_per_replica_that_drew_them(seed):
    B, n = 1000, 150
    model = BBC(3, n_replicas=B, n_init=0, random_state=seed).fit(IRIS.data)
    drawn = 1 - (1 - 0.5 / n) ** n
    # Rows drawn in one replica crowd each other out, so their number varies less than a
    # binomial; six standard deviations of that are exceeded with probability 2e-9.
    deviation = model.n_votes_.sum() - B * n * drawn
    assert abs(deviation) < 6 * sqrt(B * n * drawn * (1 - drawn))


@pytest.mark.parametrize(("n_draws", "votes"), [(None, "drawn"), (150, "drawn"), (149, "all")])
def test_votes_are_of_drawn_rows_when_there_are_enough_draws(n_draws, votes):
    parameters = {"n_replicas": 100, "n_draws": n_draws, "random_state": 0}
    auto = BBC(3, **parameters).fit(IRIS.data)
    named = BBC(3, votes=votes, **parameters).fit(IRIS.data)
    np.testing.assert_array_equal(auto.memberships_, named.memberships_)
    np.testing.assert_array_equal(auto.n_votes_, named.n_votes_)
    assert (auto.n_votes_ == 100).all() == (votes == "all")


def test_rubins_bootstrap_draws_every_row_so_both_kinds_of_votes_agree(seed):
    parameters = {"n_replicas": 100, "resampling": "rubin", "tol": 0.0, "random_state": seed}
    drawn = BBC(3, votes="drawn", **parameters).fit(IRIS.data)
    by_centres = BBC(3, votes="all", **parameters).fit(IRIS.data)
    np.testing.assert_array_equal(drawn.memberships_, by_centres.memberships_)
    np.testing.assert_array_equal(drawn.alignment_margin_, by_centres.alignment_margin_)


def test_votes_of_all_are_those_of_prediction(seed):
    model = BBC(3, n_replicas=100, votes="all", random_state=seed).fit(IRIS.data)
    np.testing.assert_array_equal(model.memberships_, model.predict_proba(IRIS.data))


def test_rows_that_no_replica_drew_are_counted_named_and_voted_on_by_centres(seed):
    model = BBC(3, n_replicas=2, random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(IRIS.data)
    # A row escapes both replicas with probability 0.37: that none or all of 150 do has 1e-30.
    assert 0 < model.n_undrawn_ < 150
    assert str(caught[0].message).startswith(f"{model.n_undrawn_} of 150 rows were drawn by none")
    assert caught[0].filename == __file__

    never = ~model._state.record.replicas.votes.any(axis=1)
    assert never.sum() == model.n_undrawn_
    assert (model.n_votes_[never] == 2).all()
    np.testing.assert_array_equal(model.memberships_[never], model.predict_proba(IRIS.data)[never])


@pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")
def test_more_replicas_reach_the_rows_that_none_had_drawn():
    with pytest.warns(UserWarning, match="drawn by none"):
        model = BBC(3, n_replicas=2, random_state=0).fit(IRIS.data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.add_replicas(198)
    assert model.n_undrawn_ == 0
    whole = BBC(3, n_replicas=200, random_state=0).fit(IRIS.data)
    np.testing.assert_array_equal(model.memberships_, whole.memberships_)


def test_few_votes_are_named(seed):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = BBC(3, n_replicas=20, random_state=seed).fit(IRIS.data)
    named = [warning for warning in caught if "Half of the rows" in str(warning.message)]
    assert f"at most {np.median(model.n_votes_):g} votes" in str(named[0].message)
    assert named[0].filename == __file__


@pytest.mark.parametrize("parameters", [{}, {"n_replicas": 2, "votes": "all"}], ids=str)
def test_enough_votes_are_not_remarked_upon(parameters, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BBC(3, random_state=seed, **parameters).fit(IRIS.data)


# --- weights -----------------------------------------------------------------------------------


def some_weights(seed):
    """Zeros, ones and larger numbers."""
    return np.random.default_rng(seed).choice([0.0, 1.0, 1.0, 2.5, 4.0], size=150)


@pytest.mark.parametrize("votes", ["drawn", "all"])
@pytest.mark.parametrize("resampling", ["proper", "rubin", "efron"])
def test_rows_of_weight_zero_take_no_part(resampling, votes, seed):
    weights = some_weights(seed)
    counted = weights > 0
    # Light rows are drawn by a fifth of the replicas.
    parameters = {"n_replicas": 300, "resampling": resampling, "votes": votes}
    whole = BBC(3, random_state=seed, **parameters).fit(IRIS.data, sample_weight=weights)
    without = BBC(3, random_state=seed, **parameters)
    without.fit(IRIS.data[counted], sample_weight=weights[counted])
    np.testing.assert_array_equal(whole.replica_centers_, without.replica_centers_)
    np.testing.assert_array_equal(whole.memberships_[counted], without.memberships_)
    np.testing.assert_array_equal(whole.reference_labels_[counted], without.reference_labels_)
    np.testing.assert_array_equal(whole.pairwise_entropy_, without.pairwise_entropy_)
    assert whole.mean_entropy_ == without.mean_entropy_
    assert whole.mean_entropy_se_ == without.mean_entropy_se_

    # The centres vote on them.
    assert (whole.n_votes_[~counted] == 300).all()
    np.testing.assert_array_equal(
        whole.memberships_[~counted], without.predict_proba(IRIS.data[~counted])
    )
    distances = ((IRIS.data[:, None] - whole.reference_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        whole.reference_labels_[~counted], distances.argmin(axis=1)[~counted]
    )


def test_weights_of_zero_and_one_select_rows(seed):
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    chosen = BBC(3, random_state=seed).fit(IRIS.data, sample_weight=weights)
    without = BBC(3, random_state=seed).fit(IRIS.data[weights > 0])
    np.testing.assert_allclose(chosen.replica_centers_, without.replica_centers_, rtol=1e-9)
    np.testing.assert_array_equal(chosen.memberships_[weights > 0], without.memberships_)


@pytest.mark.parametrize("constant", [np.full(150, 0.3), 7, [2] * 150], ids=["0.3", "7", "list"])
def test_equal_weights_are_no_weights(constant):
    plain = BBC(3, random_state=0).fit(IRIS.data)
    weighted = BBC(3, random_state=0).fit(IRIS.data, sample_weight=constant)
    assert weighted.memberships_.tobytes() == plain.memberships_.tobytes()
    assert weighted.replica_centers_.tobytes() == plain.replica_centers_.tobytes()


def test_weights_enter_the_mean_entropies(seed):
    weights = some_weights(seed)
    model = BBC(3, n_replicas=300, random_state=seed).fit(IRIS.data, sample_weight=weights)
    assert model.mean_entropy_ == pytest.approx(np.average(model.entropy_, weights=weights))
    u = model.memberships_[:, [0, 2]]
    p = np.divide(u[:, 0], u.sum(axis=1), out=np.zeros(150), where=u.sum(axis=1) > 0)
    q = np.where((p > 0) & (p < 1), p, 0.5)
    between = np.where(q == p, -q * np.log2(q) - (1 - q) * np.log2(1 - q), 0)
    between[p == 0.5] = 1
    assert model.pairwise_entropy_[0, 2] == pytest.approx(np.average(between, weights=weights))


def test_heavy_rows_are_drawn_as_often_as_they_weigh(seed):
    B = 2000
    weights = np.where(np.arange(150) < 15, 5.0, 1.0)
    model = BBC(3, n_replicas=B, n_init=0, random_state=seed)
    model.fit(IRIS.data, sample_weight=weights)
    drawn = 1 - (1 - 0.5 * weights / weights.sum()) ** 150
    z = (model.n_votes_ - B * drawn) / np.sqrt(B * drawn * (1 - drawn))
    assert np.abs(z).max() < 6.5  # 150 normal values: 1.2e-8


def test_weight_two_equals_a_duplicate_for_reference_and_prior(seed):
    X, _ = blobs(seed, spread=2.0)
    twice = np.random.default_rng(seed).random(len(X)) < 0.4
    weighted = BBC(3, n_replicas=100, votes="all", random_state=seed)
    weighted.fit(X, sample_weight=np.where(twice, 2, 1))
    doubled = BBC(3, n_replicas=100, votes="all", random_state=seed).fit(np.r_[X, X[twice]])
    np.testing.assert_array_equal(weighted.reference_labels_, doubled.reference_labels_[: len(X)])
    for name in ("weights", "means", "covariances"):
        np.testing.assert_allclose(
            getattr(weighted.prior_, name), getattr(doubled.prior_, name), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(
        weighted.reference_centers_, doubled.reference_centers_, rtol=1e-9, atol=1e-12
    )


# Stands in for scikit-learn's check_sample_weight_equivalence. Efron's bootstrap and a number of
# draws, because n and the Dirichlet weights count rows: a row of weight 2 is one row.
TWICE = OVERLAPPING.target == 1  # the leftmost cluster: number 0, of equal or double size


def fit_by_efron(rows, seed, weights=None):
    efron = {"resampling": "efron", "n_draws": 60, "n_init": 2}
    return fit_overlapping(rows, seed, weights, n_replicas=10_000, **efron)


def test_weight_two_equals_a_duplicate_in_distribution(seed):
    weighted = fit_by_efron(np.arange(99), seed, np.where(TWICE, 2, 1))
    doubled = fit_by_efron(np.r_[np.arange(99), np.flatnonzero(TWICE)], seed + 10_000)
    np.testing.assert_allclose(weighted.reference_centers_, doubled.reference_centers_, rtol=1e-9)
    assert_same_distribution(weighted, doubled)


def test_weight_two_differs_from_weight_one_in_distribution(seed):
    """The test above can tell them apart."""
    weighted = fit_by_efron(np.arange(99), seed, np.where(TWICE, 2, 1))
    plain = fit_by_efron(np.arange(99), seed + 10_000)
    assert largest_difference(weighted, plain) > 2 * difference_bound(weighted)


# --- reference given ---------------------------------------------------------------------------


def test_a_given_reference_is_used_and_numbered_by_size():
    names = np.array(["a", "b", "c"])[np.r_[np.zeros(20), np.ones(50), np.full(80, 2)].astype(int)]
    model = BBC(3, random_state=0).fit(IRIS.data, reference_labels=names)
    np.testing.assert_array_equal(model.reference_labels_, np.repeat([2, 1, 0], [20, 50, 80]))
    means = [
        IRIS.data[70:].mean(axis=0),
        IRIS.data[20:70].mean(axis=0),
        IRIS.data[:20].mean(axis=0),
    ]
    np.testing.assert_allclose(model.reference_centers_, means, rtol=1e-12)
    np.testing.assert_allclose(model.prior_.weights, [80 / 150, 50 / 150, 20 / 150])


def test_its_own_reference_given_back_changes_nothing(seed):
    own = BBC(3, random_state=seed).fit(IRIS.data)
    names = np.array([7, -1, 3])[own.reference_labels_]
    given = BBC(3, random_state=seed).fit(IRIS.data, reference_labels=names)
    np.testing.assert_array_equal(given.reference_labels_, own.reference_labels_)
    np.testing.assert_allclose(given.replica_centers_, own.replica_centers_, rtol=1e-9)
    np.testing.assert_array_equal(given.memberships_, own.memberships_)


# --- priors ------------------------------------------------------------------------------------


class SampledInPython:
    """Any prior, hidden from the engine behind its `sample`."""

    def __init__(self, prior):
        self.prior = prior

    def prepare(self, X, reference, scale):
        self.prepared = self.prior.prepare(X, reference, scale)
        return self

    def sample(self, n, generator):
        return self.prepared.sample(n, generator)


def test_a_prior_sampled_in_python_agrees_with_the_engines(seed):
    parameters = {"n_replicas": 4000, "prior_scale": 4.0, "prior_weight": 0.7}
    native = fit_overlapping(np.arange(99), seed, **parameters)
    hidden = SampledInPython(ElicitedPrior())
    python = fit_overlapping(np.arange(99), seed + 10_000, prior=hidden, **parameters)
    assert_same_distribution(native, python)
    other = fit_overlapping(np.arange(99), seed + 10_000, **(parameters | {"prior_scale": 0.01}))
    assert largest_difference(native, other) > 2 * difference_bound(native)


def test_the_prior_does_not_decide_which_rows_are_drawn():
    native = BBC(3, random_state=0).fit(IRIS.data)
    python = BBC(3, prior=SampledInPython(ElicitedPrior()), random_state=0).fit(IRIS.data)
    np.testing.assert_array_equal(native.n_votes_, python.n_votes_)


def test_the_elicited_prior_is_the_default():
    implied = BBC(3, random_state=0).fit(IRIS.data)
    named = BBC(3, prior=ElicitedPrior(), random_state=0).fit(IRIS.data)
    np.testing.assert_array_equal(implied.memberships_, named.memberships_)


def test_the_scale_acts_on_the_elicited_prior_alone():
    expert = MixturePrior([1, 3], [[5.0] * 4, [1.0] * 4], [np.eye(4), 2 * np.eye(4)])
    one, nine = (
        BBC(3, prior=expert, prior_scale=scale, random_state=0).fit(IRIS.data) for scale in (1, 9)
    )
    np.testing.assert_array_equal(one.replica_centers_, nine.replica_centers_)
    elicited = [
        BBC(3, prior_scale=scale, random_state=0).fit(IRIS.data).prior_.covariances
        for scale in (1, 9)
    ]
    np.testing.assert_allclose(elicited[1], 9 * elicited[0], rtol=1e-9)


def test_an_experts_mixture_is_published_as_given():
    covariances = [np.diag([1.0, 0.0, 2.0, 3.0]), np.full((4, 4), 0.5)]
    expert = MixturePrior([1, 3], [[5.0] * 4, [1.0] * 4], covariances)
    prior = BBC(3, prior=expert, random_state=0).fit(IRIS.data).prior_
    np.testing.assert_allclose(prior.weights, [0.25, 0.75])
    np.testing.assert_array_equal(prior.means, [[5.0] * 4, [1.0] * 4])
    np.testing.assert_allclose(prior.covariances, covariances, atol=1e-12)


@pytest.mark.parametrize(
    "parameters", [{"resampling": "efron"}, {"resampling": "rubin"}, {"prior_weight": 0}], ids=str
)
def test_without_a_share_the_prior_is_not_used(parameters):
    plain = BBC(3, random_state=0, **parameters).fit(IRIS.data)
    expert = MixturePrior([1], [[100.0] * 4], [np.eye(4)])
    with_prior = BBC(3, prior=expert, prior_scale=9, random_state=0, **parameters).fit(IRIS.data)
    assert plain.prior_ is None
    assert with_prior.prior_ is None
    np.testing.assert_array_equal(plain.replica_centers_, with_prior.replica_centers_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_prior_of_almost_all_weight_forgets_the_data(seed):
    X = np.random.default_rng(seed).normal(size=(200, 2))
    expert = MixturePrior([1, 1], [[100.0, 0.0], [-100.0, 0.0]], [np.eye(2), np.eye(2)])
    model = BBC(2, n_replicas=50, prior=expert, prior_weight=1 - 1e-12, random_state=seed).fit(X)
    # One draw from the data among 200 in 50 replicas has probability 1e-8.
    assert model.n_undrawn_ == 200
    # A centre is the mean of about 100 draws of variance one: 1.0 is seven deviations even if
    # it were of 50 draws alone. 200 coordinates: 5e-10.
    assert np.abs(np.abs(model.replica_centers_) - [100.0, 0.0]).max() < 1.0
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)


def test_a_heavier_prior_pulls_the_centres_further(seed):
    X, _ = blobs(seed, sizes=(60, 40))
    means = np.array([[20.0, 0.0], [0.0, 20.0]]) + 2.0
    expert = MixturePrior([0.6, 0.4], means, [np.eye(2)] * 2)
    pulls = []
    for prior_weight in (0.0, 0.25, 0.5, 0.75):
        model = BBC(2, n_replicas=400, prior=expert, prior_weight=prior_weight, random_state=seed)
        pulls.append((model.fit(X).cluster_centers_ - model.reference_centers_).mean())
    # Expected: w (2 - what the sample's own means are off), and these are off by 0.07 on average
    # over the four coordinates: 0.4 is seven deviations at w = 0.75. The means over 400 replicas
    # of 100 draws add less than 0.01.
    np.testing.assert_allclose(pulls, [0.0, 0.5, 1.0, 1.5], atol=0.4)
    assert (np.diff(pulls) > 0).all()


# --- precision ---------------------------------------------------------------------------------


def test_membership_errors_are_jeffreys_posterior_deviations(iris_model):
    votes = (iris_model.memberships_ * iris_model.n_votes_[:, None]).round()
    for row in (0, 50, 70, 149):
        by_hand = np.sqrt(dirichlet.var(votes[row] + 0.5))
        np.testing.assert_allclose(iris_model.membership_se_[row], by_hand, rtol=1e-12)


def test_membership_intervals_are_jeffreys_of_votes_for_and_against(iris_model):
    votes = (iris_model.memberships_ * iris_model.n_votes_[:, None]).round()
    intervals = iris_model.memberships_interval(0.9)
    assert intervals.shape == (150, 3, 2)
    row = int(iris_model.entropy_.argmax())  # no membership of 0 or 1
    against = iris_model.n_votes_[row] - votes[row]
    by_hand = np.stack(beta(votes[row] + 0.5, against + 0.5).interval(0.9), axis=1)
    inner = (votes[row] > 0) & (against > 0)
    assert inner.sum() >= 2
    np.testing.assert_allclose(intervals[row][inner], by_hand[inner], rtol=1e-10)
    assert (intervals[..., 0] <= iris_model.memberships_).all()
    assert (iris_model.memberships_ <= intervals[..., 1]).all()


@pytest.mark.parametrize("votes", ["drawn", "all"])
def test_auto_stops_at_the_first_block_that_is_precise_enough(votes, seed):
    def is_precise(model):
        return model.mean_entropy_se_ <= 0.006 and model.membership_se_.max() <= 0.03

    parameters = {"votes": votes, "mc_tol": 0.006, "random_state": seed}
    model = BBC(3, n_replicas="auto", **parameters).fit(IRIS.data)
    assert model.n_replicas_ % 100 == 0
    assert is_precise(model)
    # 0.03 takes 277 votes on a row in the balance, so the first block is never enough
    one_less = BBC(3, n_replicas=model.n_replicas_ - 100, **parameters).fit(IRIS.data)
    assert not is_precise(one_less)


def test_auto_gives_up_at_five_thousand():
    model = BBC(3, n_replicas="auto", mc_tol=1e-6, n_init=0, random_state=0).fit(IRIS.data)
    assert model.n_replicas_ == 5000
    assert model.mean_entropy_se_ > 1e-6


def test_errors_shrink_with_the_root_of_the_replicas(seed):
    few, many = (BBC(3, n_replicas=B, random_state=seed).fit(IRIS.data) for B in (250, 4000))
    # Root of 16, measured 3.8 with a standard deviation of 0.3 over seeds: six of them off is 2.
    assert 2 < few.mean_entropy_se_ / many.mean_entropy_se_ < 6
    assert 2 < few.max_pair_doubt_se_ / many.max_pair_doubt_se_ < 6


def test_the_error_of_the_pairwise_entropy_is_deprecated():
    model = BBC(3, random_state=0).fit(IRIS.data)
    with pytest.warns(FutureWarning, match="use max_pair_doubt_"):
        assert model.max_pairwise_entropy_se_ > 0


# --- progress ----------------------------------------------------------------------------------


@pytest.fixture
def _blocks_of_ten(monkeypatch):
    monkeypatch.setattr(ensemble, "block_size", lambda *_: 10)


@pytest.mark.usefixtures("_blocks_of_ten")
def test_callbacks_hear_of_every_block():
    heard, also = [], []
    both = [lambda *call: heard.append(call), lambda done, total: also.append(done / total)]
    model = BBC(3, n_replicas=95, callbacks=both, random_state=0).fit(IRIS.data)
    assert heard == [(done, 95) for done in (*range(10, 100, 10), 95)]
    assert also == [done / total for done, total in heard]
    model.add_replicas(15)
    assert heard[-2:] == [(105, 110), (110, 110)]


def test_one_callback_needs_no_list():
    heard = []
    BBC(3, callbacks=lambda *call: heard.append(call), random_state=0).fit(IRIS.data)
    assert heard[-1] == (200, 200)


def test_callbacks_hear_the_cap_when_the_number_is_open():
    heard = []
    model = BBC(3, n_replicas="auto", callbacks=lambda *call: heard.append(call), random_state=0)
    model.fit(IRIS.data)
    assert heard[-1] == (model.n_replicas_, 5000)
    done = [call[0] for call in heard]
    assert done == sorted(set(done))


@pytest.mark.usefixtures("_blocks_of_ten")
def test_an_error_in_a_callback_leaves_the_model_as_it_was():
    def stop_at_fifty(done, total):
        if done == 50:
            raise RuntimeError("enough")

    model = BBC(3, n_replicas=100, callbacks=stop_at_fifty, random_state=0)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(IRIS.data)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "memberships_")


@pytest.mark.usefixtures("_blocks_of_ten")
def test_verbose_prints_progress_and_silence_is_the_default(capsys):
    BBC(3, n_replicas=95, random_state=0).fit(IRIS.data)
    assert capsys.readouterr().out == ""
    BBC(3, n_replicas=95, verbose=1, random_state=0).fit(IRIS.data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert "10 of 95" in lines[0]
    assert "95 of 95" in lines[-1]


# --- what must not matter ----------------------------------------------------------------------


@pytest.mark.parametrize("resampling", ["proper", "rubin", "efron"])
def test_translation_changes_nothing_but_the_centres(resampling, seed):
    X, _ = blobs(seed, distance=2.0)
    shift = np.array([10.0, -30.0, 5.0])
    parameters = {"resampling": resampling, "random_state": seed}
    here, there = BBC(3, **parameters).fit(X), BBC(3, **parameters).fit(X + shift)
    np.testing.assert_array_equal(here.memberships_, there.memberships_)
    np.testing.assert_allclose(here.replica_centers_ + shift, there.replica_centers_, atol=1e-9)


@pytest.mark.parametrize("resampling", ["rubin", "efron"])
def test_rotation_changes_nothing_but_the_centres(resampling, seed):
    """Without a prior, whose normal numbers belong to the axes.

    Rows are searched in single precision: where two divisions are all but equally good, in one of
    20,000 replicas, rounding decides which is found.
    """
    X, classes = blobs(seed, distance=2.0)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    here, there = (
        BBC(3, resampling=resampling, random_state=seed).fit(rows, reference_labels=classes)
        for rows in (X, X @ rotation)
    )
    moves = np.abs(here.replica_centers_ @ rotation - there.replica_centers_).max(axis=(1, 2))
    n_others = (moves > 1e-9).sum()
    assert n_others <= 5  # of 200; six or more once in 1e13 runs
    at_most = n_others / 80  # a row has at least 80 votes
    np.testing.assert_allclose(here.memberships_, there.memberships_, rtol=0, atol=at_most)


def test_rotation_does_not_matter_to_the_reference(seed):
    X, _ = blobs(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    here, there = (BBC(3, random_state=seed).fit(rows) for rows in (X, X @ rotation))
    np.testing.assert_array_equal(here.reference_labels_, there.reference_labels_)
    moved = here.reference_centers_ @ rotation
    np.testing.assert_allclose(moved, there.reference_centers_, rtol=0, atol=1e-9)


def test_order_of_rows_does_not_matter_to_the_reference(seed):
    X, _ = blobs(seed, spread=2.0)
    order = np.random.default_rng(seed).permutation(len(X))
    here, there = (BBC(3, random_state=seed).fit(rows) for rows in (X, X[order]))
    np.testing.assert_array_equal(here.reference_labels_[order], there.reference_labels_)
    np.testing.assert_allclose(here.reference_centers_, there.reference_centers_, rtol=1e-9)
    np.testing.assert_allclose(here.prior_.covariances, there.prior_.covariances, rtol=1e-9)


def test_order_of_rows_does_not_matter_in_distribution(seed):
    parameters = {"n_replicas": 4000, "n_init": 2}
    order = np.random.default_rng(seed).permutation(99)
    here = fit_overlapping(np.arange(99), seed, **parameters)
    there = fit_overlapping(order, seed + 10_000, **parameters)
    there.memberships_ = there.memberships_[np.argsort(order)]
    assert_same_distribution(here, there)


@pytest.mark.measures
def test_memory_does_not_grow_with_the_number_of_blocks(monkeypatch):
    """Votes of all blocks at once would take 40 times those of one."""
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    model = BBC(4, n_replicas=40, votes="all", n_init=0, max_iter=1, random_state=0)
    labels = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)

    def peak(n_blocks):
        monkeypatch.setattr(ensemble, "block_size", lambda *_: 40 // n_blocks)
        tracemalloc.start()
        try:
            model.fit(X, reference_labels=labels)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    votes = X.shape[0] * 4 * 4  # int32
    assert peak(n_blocks=40) - peak(n_blocks=2) < 10 * votes
