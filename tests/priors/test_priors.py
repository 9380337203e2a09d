"""What F0 is: one suite for all priors, then each by itself."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.covariance import oas

from bbclust import BBC, KSelector, proper_bayesian_bootstrap
from bbclust.datasets import load_iris
from bbclust.priors import (
    ElicitedPrior,
    GaussianMixture,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    SamplerPrior,
    StudentMixturePrior,
)
from bbclust.priors.contract import check_prepared
from bbclust.priors.covariances import (
    FORMS,
    ClusterMoments,
    cluster_factors,
    semidefinite_factor,
)
from bbclust.stages.kmeans import cluster_reference, partition_from_labels
from bbclust.stages.table import make_table

Z = 6.0  # standard errors: exceeded twice in a thousand million

generator = np.random.default_rng(3)
X = np.concatenate(
    [
        generator.normal([0, 0], [1.0, 0.5], (60, 2)),
        generator.normal([6, 1], [0.5, 1.5], (40, 2)),
        generator.normal([1, 8], 1.0, (20, 2)),
    ]
)
WEIGHTS = generator.integers(1, 4, size=120) / 2.0
WEIGHTS /= WEIGHTS.mean()
REFERENCE = cluster_reference(make_table(X), 3, seed=0)
WEIGHTED = cluster_reference(make_table(X, WEIGHTS), 3, seed=0)
COVARIANCES = [np.eye(2), [[2.0, 0.9], [0.9, 1.0]], [[0.5, -0.2], [-0.2, 0.7]]]
MEANS = [[0.0, 0.0], [6.0, 1.0], [1.0, 8.0]]


def uniform_square(n, generator):
    return generator.uniform(size=(n, 2))


def wide_earlier_model():
    return BBC(3, n_replicas=30, prior_scale=1.5, votes="all", random_state=0).fit(X + 0.3)


PRIORS = {
    "elicited": ElicitedPrior(),
    "shrunk": ElicitedPrior("shrunk"),
    "diagonal": ElicitedPrior("diagonal"),
    "spherical": ElicitedPrior("spherical"),
    "tied": ElicitedPrior("tied"),
    "expert": MixturePrior([1, 2, 3], MEANS, COVARIANCES),
    "expert on one cluster": MixturePrior([1], MEANS[:1], COVARIANCES[:1], others="elicited"),
    "student": StudentMixturePrior(df=12),
    "student by an expert": StudentMixturePrior(12, [1, 2, 3], MEANS, COVARIANCES),
    "kernel": KernelPrior(),
    "kernel of given width": KernelPrior(0.4),
    "scipy, joint": SamplerPrior(stats.multivariate_normal([1, 2], [[2, 1], [1, 3]])),
    "scipy, by column": SamplerPrior([stats.norm(1, 2), stats.gamma(3, scale=0.5)]),
    "function": SamplerPrior(uniform_square),
    "earlier model": ModelPrior(wide_earlier_model()),
}
KEEPS_ITS_DIMENSION = ("expert", "student by an expert", "scipy", "function", "earlier")
all_priors = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())


def mixture_moments(weights, means, covariances):
    mean = weights @ means
    deviations = means - mean
    within = np.einsum("k,kij->ij", weights, covariances)
    return mean, within + np.einsum("k,ki,kj->ij", weights, deviations, deviations)


def stated_moments(prior, reference):
    """Mean and covariance of F0, from what its documentation says."""
    prepared = prior.prepare(X, reference, 1.0)
    if isinstance(prior, KernelPrior):
        weights = np.ones(120) if reference.weights is None else reference.weights
        covariance = np.cov(X.T, aweights=weights, ddof=0)
        for j in range(3):
            mine = reference.labels == j
            of_cluster = np.cov(X[mine].T, aweights=weights[mine], ddof=0)
            covariance += reference.shares[j] * prepared.bandwidths[j] ** 2 * of_cluster
        return np.average(X, axis=0, weights=weights), covariance
    if prior is PRIORS["scipy, joint"]:
        return np.array([1.0, 2.0]), np.array([[2.0, 1.0], [1.0, 3.0]])
    if prior is PRIORS["scipy, by column"]:
        return np.array([1.0, 1.5]), np.diag([4.0, 0.75])
    if prior is PRIORS["function"]:
        return np.array([0.5, 0.5]), np.eye(2) / 12
    return mixture_moments(prepared.weights, prepared.means, prepared.covariances)


def assert_moments(draws, mean, covariance):
    """Z standard errors for each of the five first and second moments."""
    products = np.stack(
        [
            draws[:, 0],
            draws[:, 1],
            (draws[:, 0] - mean[0]) ** 2,
            (draws[:, 0] - mean[0]) * (draws[:, 1] - mean[1]),
            (draws[:, 1] - mean[1]) ** 2,
        ],
        axis=1,
    )
    expected = [*mean, covariance[0, 0], covariance[0, 1], covariance[1, 1]]
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) - expected) < Z * error).all()


# --- one suite for all of them -------------------------------------------------------------------


@pytest.mark.parametrize("reference", [REFERENCE, WEIGHTED], ids=["equal rows", "weighted rows"])
@all_priors
def test_samples_have_the_stated_moments(prior, reference, seed):
    draws = prior.prepare(X, reference, 1.0).sample(100_000, np.random.default_rng(seed))
    assert_moments(draws, *stated_moments(prior, reference))


@all_priors
def test_same_generator_same_sample(prior):
    prepared = prior.prepare(X, REFERENCE, 1.0)
    first, again, other = (prepared.sample(50, np.random.default_rng(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).all()
    for n in (0, 1):
        assert prepared.sample(n, np.random.default_rng(0)).shape == (n, 2)


@all_priors
def test_replicas_of_almost_no_data_follow_f0(prior, seed):
    """What the engine draws and what `sample` draws have the same moments."""
    prepared = prior.prepare(X, REFERENCE, 1.0)
    replicas = proper_bayesian_bootstrap(
        X, prepared, prior_weight=0.999, n_draws=10_000, n_replicas=4, random_state=seed
    )
    draws = np.concatenate([replica.points[replica.rows < 0] for replica in replicas])
    assert len(draws) > 39_000
    assert_moments(draws, *stated_moments(prior, REFERENCE))


@all_priors
def test_another_dimension_is_refused(prior):
    prepared = prior.prepare(X, REFERENCE, 1.0)
    with pytest.raises(ValueError, match=r"(prior has 2|draws of 3) features"):
        next(proper_bayesian_bootstrap(np.zeros((5, 3)), prepared))


@pytest.mark.parametrize("name", [n for n in PRIORS if n.startswith(KEEPS_ITS_DIMENSION)])
def test_another_dimension_is_refused_by_fit(name):
    iris = load_iris().data
    for estimator in (BBC(3, prior=PRIORS[name]), KSelector(BBC(prior=PRIORS[name]), k_range=[3])):
        with pytest.raises(ValueError, match=r"(prior has 2|of 4) features"):
            estimator.fit(iris)


@pytest.mark.filterwarnings("ignore:.*of the earlier model")
@all_priors
def test_it_works_in_both_estimators(prior):
    model = BBC(3, prior=prior, n_replicas=60, random_state=0)
    model.fit(X, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)
    assert np.isfinite(model.replica_centers_).all()
    selector = KSelector(
        BBC(prior=prior, n_replicas=60, n_init=1), k_range=(2, 3), prior_scales=(1.0, 2.0),
        null_reference=2, random_state=0,
    )  # fmt: skip
    assert selector.fit(X).best_k_ in (1, 2, 3)


@all_priors
def test_copies_are_as_good_as_the_original(prior):
    parameters = {"n_replicas": 40, "votes": "all", "random_state": 0}
    original = BBC(3, prior=prior, **parameters).fit(X)
    pickled = pickle.loads(pickle.dumps(prior))
    for same in (copy.deepcopy(prior), pickled, clone(BBC(prior=prior)).prior):
        again = BBC(3, prior=same, **parameters).fit(X)
        np.testing.assert_array_equal(original.replica_centers_, again.replica_centers_)
        assert repr(same).partition(" object at ")[0] == repr(prior).partition(" object at ")[0]
    prepared = pickle.loads(pickle.dumps(original.prior_))
    np.testing.assert_array_equal(
        prepared.sample(9, np.random.default_rng(0)),
        original.prior_.sample(9, np.random.default_rng(0)),
    )


@all_priors
def test_the_description_is_a_short_text(prior):
    text = prior.prepare(X, REFERENCE, 1.0).describe()
    assert isinstance(text, str)
    assert 0 < len(text) < 600
    assert "array(" not in text


@pytest.mark.parametrize("name", [name for name in PRIORS if name != "function"])
def test_the_density_integrates_to_one(name):
    """Sums over a grid are exact for smooth densities; scipy's gamma has a kink at zero."""
    prepared = PRIORS[name].prepare(X, REFERENCE, 1.0)
    first, step = np.linspace(-14, 18, 101, retstep=True)
    points = np.stack(np.meshgrid(first, first), axis=-1).reshape(-1, 2)
    total = np.exp(prepared.logpdf(points)).sum() * step**2
    assert total == pytest.approx(1.0, abs=2e-3)


def test_the_density_in_one_dimension_integrates_to_one():
    column = X[:, :1]
    reference = cluster_reference(make_table(column), 2, seed=0)
    grid, step = np.linspace(-60, 60, 4001, retstep=True)
    for prior in (
        ElicitedPrior(),
        StudentMixturePrior(df=3),
        KernelPrior("scott"),
        SamplerPrior(stats.norm(1, 2)),
        SamplerPrior(stats.multivariate_t([0.5], [[2.0]], df=6)),
    ):
        density = np.exp(prior.prepare(column, reference, 1.0).logpdf(grid[:, None]))
        assert density.sum() * step == pytest.approx(1.0, abs=1e-3), prior


# --- elicited ------------------------------------------------------------------------------------


def elicited(X, labels, scale=1.0, weights=None, form="empirical"):
    reference = partition_from_labels(make_table(X, weights), np.asarray(labels, dtype=np.int32))
    return reference, ElicitedPrior(form).prepare(X, reference, scale)


@pytest.mark.parametrize("scale", [1.0, 2.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elicited_components_are_the_moments_of_the_clusters(scale, dtype):
    X = (100 + np.random.default_rng(0).normal(size=(90, 3))).astype(dtype)
    labels = np.repeat([0, 1, 2], [40, 30, 20])
    reference, prior = elicited(X, labels, scale)
    for j in range(3):
        mine = X[reference.labels == j].astype(float)
        assert prior.weights[j] == pytest.approx(len(mine) / 90)
        np.testing.assert_allclose(prior.means[j], mine.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(
            prior.covariances[j], scale * np.cov(mine.T, bias=True), rtol=1e-6, atol=1e-9
        )


def test_forms_of_the_covariance_by_hand():
    """Cluster 0 has variances 4 and 1 and covariance 1; cluster 1 has variance 1 in x alone."""
    X = np.array([[2.0, 1], [-2, -1], [2, 0], [-2, 0], [2, 1], [-2, -1], [2, -1], [-2, 1]])
    X[:, 1] *= np.sqrt(8 / 6)
    X = np.concatenate([X, [[21.0, 0.0], [19.0, 0.0]]])
    labels = [0] * 8 + [1] * 2
    covariance = np.array([[4.0, np.sqrt(8 / 6) * 0.5], [np.sqrt(8 / 6) * 0.5, 1.0]])
    other = np.diag([1.0, 0.0])
    expected = {
        "empirical": [covariance, other],
        "diagonal": [np.diag([4.0, 1.0]), other],
        "spherical": [2.5 * np.eye(2), 0.5 * np.eye(2)],
        "tied": [0.8 * covariance + 0.2 * other] * 2,
    }
    for form, matrices in expected.items():
        _, prior = elicited(X, labels, form=form)
        np.testing.assert_allclose(prior.covariances, matrices, atol=1e-12, err_msg=form)
        np.testing.assert_allclose(prior.scaled(3.0).covariances, 3 * np.array(matrices), atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(12, 3), (5, 8), (40, 4), (2, 2), (30, 1)])
def test_shrunk_covariance_is_that_of_scikit_learn(n, d):
    points = np.random.default_rng(n).normal(size=(n, d)) * np.arange(1, d + 1)
    _, prior = elicited(points, np.zeros(n), form="shrunk")
    np.testing.assert_allclose(prior.covariances[0], oas(points)[0], rtol=1e-9, atol=1e-12)


def test_shrinkage_hears_of_weights():
    """A row of hardly any weight is as good as none; unequal weights leave fewer rows to trust."""
    points = np.random.default_rng(5).normal(size=(9, 3)) * [1.0, 3.0, 9.0]
    few, _ = oas(points[:8])
    weights = np.array([1.0] * 8 + [1e-9])
    _, prior = elicited(points, np.zeros(9), weights=weights / weights.mean(), form="shrunk")
    np.testing.assert_allclose(prior.covariances[0], few, rtol=1e-6)
    _, equal = elicited(points, np.zeros(9), form="shrunk")
    uneven = np.array([9.0] + [1.0] * 8)
    _, trusted_less = elicited(points, np.zeros(9), weights=uneven / uneven.mean(), form="shrunk")

    def roundness(covariance):
        spectrum = np.linalg.eigvalsh(covariance)
        return spectrum[0] / spectrum[-1]

    assert roundness(trusted_less.covariances[0]) > roundness(equal.covariances[0])


@pytest.mark.parametrize("form", ["empirical", "shrunk", "diagonal", "spherical", "tied"])
def test_every_form_works_for_clusters_of_fewer_points_than_features(form, seed):
    X = np.random.default_rng(seed).normal(size=(12, 20))
    X[:, 7] = 3.0
    X[11] += 100.0
    model = BBC(2, prior=ElicitedPrior(form), n_replicas=60, random_state=seed)
    model.fit(X)
    draws = model.prior_.sample(300, np.random.default_rng(seed))
    assert np.isfinite(draws).all()
    point_mass = form != "tied"
    far = draws[draws[:, 0] > 50]
    assert (np.ptp(far, axis=0).max() < 1e-9) == point_mass
    np.testing.assert_allclose(
        model.prior_.scaled(4.0).covariances, 4 * model.prior_.covariances, rtol=1e-9
    )


@pytest.mark.parametrize("form", ["empirical", "diagonal", "spherical", "tied"])
def test_weight_two_is_elicited_as_two_rows(form):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(30, 2))
    copies = generator.integers(1, 4, size=30)
    labels = np.repeat([0, 1], 15)
    weights = copies / copies.mean()
    _, weighted = elicited(X, labels, weights=weights, form=form)
    _, copied = elicited(np.repeat(X, copies, axis=0), np.repeat(labels, copies), form=form)
    np.testing.assert_allclose(weighted.weights, copied.weights)
    np.testing.assert_allclose(weighted.means, copied.means)
    np.testing.assert_allclose(weighted.covariances, copied.covariances)


@pytest.mark.parametrize("form", FORMS)
def test_moments_of_clusters_will_do_instead_of_their_rows(form):
    table = make_table(load_iris().data)
    reference = cluster_reference(table, 3, seed=0)
    rows = [load_iris().data[reference.labels == k] for k in range(3)]
    moments = ClusterMoments(
        np.array([float(len(mine)) for mine in rows]),
        np.stack([np.cov(mine.T, bias=True) for mine in rows]),
    )
    by_rows = cluster_factors(load_iris().data, reference, form)
    by_moments = cluster_factors(moments, reference, form)
    for one, other in zip(by_rows, by_moments, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert moments.shape == (150, 4)


def test_cluster_of_one_point_is_a_point_mass_and_constant_columns_stay_constant():
    X = np.array([[0.1, 7.3], [0.2, 7.3], [0.4, 7.3], [50.0, 7.3]])
    _, prior = elicited(X, [0, 0, 0, 1])
    draws = prior.sample(1000, np.random.default_rng(0))
    assert (np.abs(draws[:, 1] - 7.3) < 1e-12).all()
    assert (np.abs(draws[draws[:, 0] > 25] - X[3]) < 1e-12).all()


def test_few_points_in_many_dimensions_take_no_more_room_than_the_data():
    X = np.random.default_rng(2).normal(size=(20, 400))
    reference = cluster_reference(make_table(X), 2, seed=0)
    prior = ElicitedPrior().prepare(X, reference, 1.0)
    assert sum(factor.size for factor in prior.factors) <= X.size
    mine = X[reference.labels == 0]
    np.testing.assert_allclose(prior.covariances[0], np.cov(mine.T, bias=True), atol=1e-9)


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_factor_of_any_semidefinite_matrix(rank):
    half = np.random.default_rng(rank).normal(size=(rank, 5))
    covariance = half.T @ half
    factor = semidefinite_factor(covariance)
    np.testing.assert_allclose(factor.T @ factor, covariance, atol=1e-12)


def test_factor_with_columns_of_very_different_size():
    sizes = np.array([1e-12, 1.0, 1e12])
    covariance = np.outer(sizes, sizes) * (0.5 + 0.5 * np.eye(3))
    factor = semidefinite_factor(covariance)
    np.testing.assert_allclose(factor.T @ factor, covariance, rtol=1e-12)


def test_what_reads_a_partition_says_so():
    for prior in (ElicitedPrior(), StudentMixturePrior(), KernelPrior()):
        with pytest.raises(TypeError, match="reads a partition of the data"):
            proper_bayesian_bootstrap(X, prior)


# --- an expert's mixture -------------------------------------------------------------------------


def test_an_experts_mixture_is_used_as_given_unless_told_otherwise():
    expert = MixturePrior([1], [[6.0, 1.0]], [np.eye(2)])
    prepared = expert.prepare(X, REFERENCE, 4.0)
    np.testing.assert_array_equal(prepared.means, [[6.0, 1.0]])
    np.testing.assert_array_equal(prepared.covariances, [np.eye(2)])


def test_clusters_an_expert_says_nothing_of_are_elicited():
    """Clusters 0, 1, 2 have shares 1/2, 1/3, 1/6; the expert knows the first and the last."""
    expert = MixturePrior(
        [1, 3], [[1.5, 7.5], [0.5, -0.5]], [2 * np.eye(2), np.eye(2)], others="elicited"
    )
    prepared = expert.prepare(X, REFERENCE, 4.0)
    np.testing.assert_allclose(prepared.weights, [2 / 3 * 3 / 4, 1 / 3, 2 / 3 * 1 / 4])
    np.testing.assert_allclose(
        prepared.means, [[0.5, -0.5], REFERENCE.centers[1], [1.5, 7.5]], atol=1e-12
    )
    of_cluster = np.cov(X[REFERENCE.labels == 1].T, bias=True)
    np.testing.assert_allclose(
        prepared.covariances, [np.eye(2), 4 * of_cluster, 2 * np.eye(2)], rtol=1e-9, atol=1e-12
    )


def test_components_and_clusters_are_paired_together_not_one_by_one():
    """Both components are nearest to cluster 0; together they are best as 0 and 2."""
    expert = MixturePrior(
        [1, 1], [[0.1, 3.5], [0.0, 0.0]], [np.eye(2), 2 * np.eye(2)], others="elicited"
    )
    prepared = expert.prepare(X, REFERENCE, 1.0)
    np.testing.assert_array_equal(prepared.means[[0, 2]], [[0.0, 0.0], [0.1, 3.5]])


def test_with_enough_components_nothing_is_elicited():
    expert = MixturePrior([1, 2, 3], MEANS, COVARIANCES, others="elicited")
    prepared = expert.prepare(X, REFERENCE, 1.0)
    np.testing.assert_allclose(prepared.weights, [1 / 6, 1 / 3, 1 / 2])
    with pytest.raises(TypeError, match="reads a partition"):
        expert.prepare(X, None, 1.0)


STATEMENTS = [
    (([1], [0.0], [[1.0]]), "means must have shape"),
    (([1, 2], [[0.0]], [[[1.0]]]), "1 means need 1 weights"),
    (([1], [[0.0, 1.0]], [[[1.0]]]), r"must have shape \(1, 2, 2\)"),
    (([-1], [[0.0]], [[[1.0]]]), "must be positive, got -1"),
    (([1], [[np.nan]], [[[1.0]]]), "means of the prior hold NaN"),
    (([1], [[0.0]], [[[np.inf]]]), "of the prior hold NaN or infinity"),
    (([1e308, 1e308], [[0.0]] * 2, [[[1.0]]] * 2), "weights of the prior overflow"),
    (([1], [[1e300]], [[[1.0]]]), r"means of the prior are as large as 1e\+300"),
    (([1], [[0.0]], [[[1e305]]]), r"are as large as 1e\+305"),
    (([1], [[0.0]], [[[-2.0]]]), "negative eigenvalue -2"),
    (([1], [[0.0, 0.0]], [[[1.0, 0.5], [0.1, 1.0]]]), "not symmetric"),
    (("a", [[0.0]], [[[1.0]]]), "weights of the prior must be an array of numbers, got 'a'"),
    (([1], [[0.0], [1.0, 2.0]], [[[1.0]]]), "means of the prior must be an array of numbers"),
]


@pytest.mark.parametrize(("arguments", "words"), STATEMENTS)
def test_impossible_mixtures_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        MixturePrior(*arguments)
    with pytest.raises(ValueError, match=words):
        StudentMixturePrior(4, *arguments)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ElicitedPrior("full"), ValueError, "'spherical', 'tied', got 'full'"),
        (lambda: ElicitedPrior(2), ValueError, "got 2"),
        (
            lambda: MixturePrior([1], [[0.0]], [[[1.0]]], others="all"),
            ValueError,
            "others must be None or 'elicited', got 'all'",
        ),
        (lambda: StudentMixturePrior("4"), TypeError, "df must be a number, got '4'"),
        (lambda: StudentMixturePrior(0), ValueError, "df must be positive and finite, got 0"),
        (lambda: StudentMixturePrior(np.inf), ValueError, "got inf: for Gaussian tails"),
        (lambda: StudentMixturePrior(4, means=[[0.0]]), ValueError, "weights and scales"),
        (lambda: KernelPrior("normal"), ValueError, "got 'normal'"),
        (lambda: KernelPrior(0.0), ValueError, "bandwidth must be positive and finite, got 0.0"),
        (lambda: KernelPrior(None), TypeError, "got None"),
        (lambda: SamplerPrior(3), TypeError, "got 3"),
        (lambda: SamplerPrior(stats.norm), TypeError, "frozen scipy distribution"),
        (lambda: SamplerPrior([]), TypeError, r"got \[\]"),
        (lambda: SamplerPrior([stats.norm(), "b"]), TypeError, "Distribution 1 of the prior is"),
        (
            lambda: SamplerPrior([stats.multivariate_normal([0, 0])]),
            TypeError,
            "one univariate frozen scipy distribution per column",
        ),
        (lambda: ModelPrior(None), TypeError, "needs a fitted BBC, got None"),
        (lambda: ModelPrior(BBC(3)), TypeError, "fit it first"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "prior",
    [
        MixturePrior([1], [[1e140, 0.0]], [np.eye(2)]),
        MixturePrior([1], [[0.0, 0.0]], [1e290 * np.eye(2)]),
        SamplerPrior([stats.norm(0, 1e200), stats.norm()]),
    ],
    ids=["far", "wide", "sampled"],
)
def test_what_is_too_far_from_the_data_to_compute_with_is_refused(prior):
    small = X.astype(np.float32)
    for estimator in (BBC(3, prior=prior), KSelector(BBC(prior=prior), k_range=[2])):
        with pytest.raises(ValueError, match=r"overflow float32: give it in the units of the data"):
            estimator.fit(small)


def test_a_scale_too_large_to_compute_with_is_refused():
    with pytest.raises(ValueError, match=r"overflow float64"):
        BBC(3, prior_scale=1e307).fit(X)


def test_prepared_priors_are_checked_against_the_data():
    mixture = GaussianMixture(np.ones(1), np.zeros((1, 3)), (np.zeros((0, 3)),))
    assert check_prepared(mixture, 3) is mixture
    with pytest.raises(ValueError, match="3 features and X has 2"):
        check_prepared(mixture, 2)
    with pytest.raises(TypeError, match="cannot be sampled"):
        check_prepared(object(), 2)


# --- densities -----------------------------------------------------------------------------------


def test_gaussian_and_student_densities_are_those_of_scipy():
    points = np.random.default_rng(0).normal(2, 4, size=(50, 2))
    weights = np.array([1, 2, 3]) / 6
    gaussian = MixturePrior([1, 2, 3], MEANS, COVARIANCES).prepare(X, None, 1.0)
    student = StudentMixturePrior(2.5, [1, 2, 3], MEANS, COVARIANCES).prepare(X, None, 1.0)
    for prepared, family in (
        (gaussian, stats.multivariate_normal),
        (student, lambda mean, shape: stats.multivariate_t(mean, shape, df=2.5)),
    ):
        densities = [
            family(mean, c).pdf(points) for mean, c in zip(MEANS, COVARIANCES, strict=True)
        ]
        np.testing.assert_allclose(np.exp(prepared.logpdf(points)), weights @ densities, rtol=1e-9)


def test_a_singular_gaussian_has_a_density_on_its_plane():
    covariance = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    mean = np.array([1.0, 2.0, 3.0])
    prepared = MixturePrior([1], [mean], [covariance]).prepare(X, None, 1.0)
    inside = mean + np.array([[2.0, 1.0, 0.0], [-4.0, -2.0, 5.0], [0.0, 0.0, 0.0]])
    expected = stats.multivariate_normal(mean, covariance, allow_singular=True).logpdf(inside)
    np.testing.assert_allclose(prepared.logpdf(inside), expected, rtol=1e-9)
    assert prepared.logpdf(mean[None] + [[0.1, 0.0, 0.0]]) == -np.inf


def test_few_points_in_many_dimensions_have_a_density_on_their_plane():
    """Three points in five dimensions span a plane."""
    points = np.random.default_rng(4).normal(size=(3, 5))
    _, prepared = elicited(points, [0, 0, 0])
    theirs = stats.multivariate_normal(
        points.mean(axis=0), np.cov(points.T, bias=True), allow_singular=True
    )
    np.testing.assert_allclose(prepared.logpdf(points), theirs.logpdf(points), rtol=1e-6)


def test_a_point_mass_outweighs_every_density_at_its_point():
    prepared = MixturePrior([1, 3], [[5.0], [0.0]], [[[0.0]], [[1.0]]]).prepare(X, None, 1.0)
    points = np.array([[5.0], [4.999], [0.0]])
    usual = np.log(0.75) + stats.norm.logpdf(points[1:, 0])
    np.testing.assert_allclose(prepared.logpdf(points), [np.log(0.25), *usual])


def test_rows_lie_on_the_plane_they_elicited():
    shifted = X + 1e6
    flat = np.concatenate([shifted, shifted @ [[0.3], [0.7]]], axis=1)
    reference = cluster_reference(make_table(flat), 3, seed=0)
    for prior in (ElicitedPrior(), StudentMixturePrior(), KernelPrior()):
        prepared = prior.prepare(flat, reference, 1.0)
        assert np.isfinite(prepared.logpdf(flat)).all(), prior
        assert (prepared.logpdf(flat + np.array([0.0, 0.0, 0.1])) == -np.inf).all(), prior


# --- heavier tails -------------------------------------------------------------------------------


def test_the_scale_matrix_of_an_elicited_student_is_the_covariance_of_the_cluster():
    gaussian = ElicitedPrior().prepare(X, REFERENCE, 2.0)
    student = StudentMixturePrior(df=5).prepare(X, REFERENCE, 2.0)
    np.testing.assert_array_equal(student.scales, gaussian.covariances)
    np.testing.assert_allclose(student.covariances, 5 / 3 * gaussian.covariances)
    np.testing.assert_array_equal(student.scaled(3.0).scales, gaussian.scaled(3.0).covariances)
    with pytest.raises(ValueError, match="df=2 has no covariance"):
        StudentMixturePrior(df=2).prepare(X, REFERENCE, 1.0).covariances  # noqa: B018


@pytest.mark.parametrize("df", [1.0, 2.5, 50.0])
def test_tails_are_those_of_the_student_distribution(df, seed):
    """Z standard errors of each share beyond a quantile."""
    prepared = StudentMixturePrior(df, [1], [[3.0]], [[[4.0]]]).prepare(X, None, 1.0)
    draws = (prepared.sample(40_000, np.random.default_rng(seed))[:, 0] - 3) / 2
    for share in (0.5, 0.9, 0.99):
        beyond = (draws <= stats.t(df).ppf(share)).mean()
        assert abs(beyond - share) < Z * np.sqrt(share * (1 - share) / len(draws))


# --- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", ["silverman", "scott", 0.3])
def test_a_kernel_density_of_one_cluster_is_that_of_scipy(rule, weighted):
    """scipy divides covariances by n - 1 (or the like for weights), and we by n."""
    weights = WEIGHTS[:60] / WEIGHTS[:60].mean() if weighted else None
    rows = X[:60]
    reference = cluster_reference(make_table(rows, weights), 1, seed=0)
    prepared = KernelPrior(rule).prepare(rows, reference, 1.0)
    theirs = stats.gaussian_kde(rows.T, bw_method=rule, weights=weights)
    assert prepared.bandwidths[0] == pytest.approx(theirs.factor)
    correction = np.cov(rows.T, aweights=weights, ddof=0)[0, 0] / np.cov(
        rows.T, aweights=None if weights is None else weights / weights.sum()
    )[0, 0]  # fmt: skip
    theirs.set_bandwidth(theirs.factor * np.sqrt(correction))
    points = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(prepared.logpdf(points), theirs.logpdf(points.T), rtol=1e-6)


def test_kernel_noise_has_the_covariance_of_the_rows_own_cluster(seed):
    """Clusters of standard deviation 1 and 10, with noise far smaller than the gaps in them."""
    rows = np.array([[0.0], [2.0], [1000.0], [1020.0]])
    reference = partition_from_labels(make_table(rows), np.array([0, 0, 1, 1], dtype=np.int32))
    prepared = KernelPrior(0.01).prepare(rows, reference, 9.0)
    draws = prepared.sample(40_000, np.random.default_rng(seed))
    noise = (draws - rows.T)[np.arange(40_000), np.abs(draws - rows.T).argmin(axis=1)]
    for mine, variance in ((draws[:, 0] < 500, 0.03**2), (draws[:, 0] > 500, 0.3**2)):
        error = variance * np.sqrt(2 / mine.sum())
        assert abs(np.mean(noise[mine] ** 2) - variance) < Z * error


def test_kernel_draws_rows_by_weight(seed):
    rows = np.arange(4.0)[:, None] * 100
    weights = np.array([1.0, 2.0, 3.0, 2.0]) / 2
    reference = cluster_reference(make_table(rows, weights), 1, seed=0)
    prepared = KernelPrior(1e-6).prepare(rows, reference, 1.0)
    draws = prepared.sample(40_000, np.random.default_rng(seed))[:, 0]
    shares = np.bincount((draws / 100).round().astype(int), minlength=4) / len(draws)
    expected = weights / 4
    assert (np.abs(shares - expected) < Z * np.sqrt(expected * (1 - expected) / len(draws))).all()


def test_the_density_of_many_rows_needs_little_memory(monkeypatch):
    prepared = KernelPrior().prepare(X, REFERENCE, 1.0)
    points = np.random.default_rng(0).normal(size=(100, 2))
    at_once = prepared.logpdf(points)
    monkeypatch.setattr("bbclust.priors.kernel._PAIRS_AT_ONCE", 700)
    np.testing.assert_allclose(prepared.logpdf(points), at_once, rtol=1e-12)


# --- anything that can be sampled ----------------------------------------------------------------


def test_distributions_of_scipy_in_every_shape():
    generator = np.random.default_rng(0)
    one = SamplerPrior(stats.expon(scale=2)).prepare(X, None, 1.0)
    assert one.sample(1, generator).shape == (1, 1)
    assert one.n_features == 1
    assert one.logpdf([[2.0]]) == pytest.approx([np.log(0.5) - 1.0])
    dirichlet = SamplerPrior(stats.dirichlet([1.0, 2.0, 3.0])).prepare(X, None, 1.0)
    draws = dirichlet.sample(3, generator)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    expected = [stats.dirichlet([1.0, 2.0, 3.0]).logpdf(row) for row in draws]
    np.testing.assert_allclose(dirichlet.logpdf(draws), expected)
    counts = SamplerPrior([stats.poisson(3), stats.norm()]).prepare(X, None, 1.0)
    assert counts.sample(7, generator).shape == (7, 2)
    with pytest.raises(TypeError, match=r"poisson\(3\) has no density"):
        counts.logpdf(X)
    assert not hasattr(SamplerPrior(uniform_square).prepare(X, None, 1.0), "logpdf")


def test_a_sampler_decides_where_clusters_are_when_it_has_all_the_weight():
    far = SamplerPrior(stats.multivariate_normal([50.0, 50.0], 1e-6))
    model = BBC(1, prior=far, prior_weight=0.999, n_replicas=50, votes="all", random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, [[50.0, 50.0]], rtol=0.02)


def test_draws_that_a_prior_keeps_are_left_alone():
    kept = np.random.default_rng(0).normal(size=(500, 2))
    before = kept.copy()
    BBC(3, prior=SamplerPrior(lambda n, generator: kept[:n]), random_state=0).fit(X)
    np.testing.assert_array_equal(kept, before)


def test_descriptions_by_hand():
    expert = MixturePrior([1, 3], [[0, 0], [4, 4]], [np.eye(2), 4 * np.eye(2)]).prepare(X, None, 1)
    assert expert.describe() == (
        "Gaussian mixture, 2 components in 2 dimensions\n"
        "  0: weight 0.25, mean (0, 0), standard deviations (1, 1)\n"
        "  1: weight 0.75, mean (4, 4), standard deviations (2, 2)"
    )
    many = GaussianMixture(np.full(30, 1 / 30), np.zeros((30, 40)), (np.zeros((0, 40)),) * 30)
    assert many.describe().endswith("\n  and 20 more")
    assert "0, ...)" in many.describe()
    normal = SamplerPrior([stats.norm(0, 2), stats.gamma(a=3)]).prepare(X, None, 1.0)
    assert normal.describe() == "Distribution of scipy: norm(0, 2), gamma(a=3)"
    assert "uniform_square" in SamplerPrior(uniform_square).prepare(X, None, 1.0).describe()
