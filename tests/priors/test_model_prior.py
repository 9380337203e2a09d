"""An earlier model as the prior: what carries over, and what is new or gone."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bbclust import BBC, load_model
from bbclust.priors import (
    ElicitedPrior,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    SamplerPrior,
    StudentMixturePrior,
)
from bbclust.priors.matching import pairs_within_spread
from bbclust.stages.kmeans import Partition, partition_from_labels
from bbclust.stages.table import make_table

DAYS = 30


def earlier(centers, covariances=None, weights=None):
    """All that a ModelPrior reads of a model, but for its shares."""
    centers = np.array(centers, dtype=float)
    k, d = centers.shape
    mixture = MixturePrior(
        np.ones(k) if weights is None else weights,
        centers,
        [np.eye(d)] * k if covariances is None else covariances,
    ).prepare(None, None, 1.0)
    return SimpleNamespace(cluster_centers_=centers, reference_centers_=centers, prior_=mixture)


def reference(centers):
    """A partition with these centres, by pairs of rows at a distance of one."""
    centers = np.array(centers, dtype=float)
    step = np.eye(centers.shape[1])[0]
    rows = np.concatenate([[center + step, center - step] for center in centers])
    labels = np.repeat(np.arange(len(centers)), 2).astype(np.int32)
    return rows, Partition(
        labels=labels,
        centers=centers,
        shares=np.full(len(centers), 1 / len(centers)),
        weights=None,
        inertia=float(len(rows)),
        n_iter=1,
    )


def blobs(centers, sizes, generator):
    """Rows around centres, shuffled, and the number of the centre of each."""
    truth = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.array(centers)[truth] + generator.normal(size=(len(truth), 2)), truth


def drifting_day(day, generator, extra=False):
    """Three blobs that drift by eight standard deviations in a month while their sizes cross."""
    centers = [[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]]
    centers = np.array(centers) + day / DAYS * np.array([[8.0, 0.0], [0.0, 8.0], [-4.0, -4.0]])
    sizes = [80 - 2 * day, 50 + day, 20 + 2 * day]
    if extra:
        centers, sizes = np.concatenate([centers, [[24.0, 24.0]]]), [*sizes, 90]
    return blobs(centers, sizes, generator)


def fit(X, n_clusters, seed, prior=None):
    model = BBC(n_clusters, n_replicas=30, n_init=2, votes="all", prior=prior, random_state=seed)
    return model.fit(X)


def agreement(model, truth):
    return (model.labels_ == truth).mean()


# --- thirty days ---------------------------------------------------------------------------------


def test_numbers_stay_with_their_clusters_for_thirty_days(seed):
    """Blobs twelve standard deviations apart: no row is ever in doubt."""
    generator = np.random.default_rng(seed)
    carried = fresh = None
    fresh_numbers = set()
    for day in range(DAYS):
        X, truth = drifting_day(day, generator)
        carried = fit(X, 3, day, None if carried is None else ModelPrior(carried))
        assert agreement(carried, truth) > 0.98, day
        fresh = fit(X, 3, day)
        fresh_numbers.add(tuple(fresh.labels_[[list(truth).index(j) for j in range(3)]]))
    assert len(fresh_numbers) > 1
    assert carried.prior_.matched == {0: 0, 1: 1, 2: 2}


def test_a_cluster_that_appears_is_flagged_and_gets_the_next_number(seed):
    generator = np.random.default_rng(seed)
    model = None
    for day in range(18):
        X, truth = drifting_day(day, generator, extra=day >= 15)
        prior = None if model is None else ModelPrior(model)
        if day == 15:
            with pytest.warns(UserWarning, match=r"^Cluster 3 is new: see prior_.describe\(\)\.$"):
                model = fit(X, 4, day, prior)
            assert model.prior_.new_clusters == (3,)
            assert model.prior_.matched == {0: 0, 1: 1, 2: 2}
            assert "New: 3" in model.prior_.describe()
        else:
            model = fit(X, 4 if day > 15 else 3, day, prior)
        assert agreement(model, truth) > 0.98, day
    assert model.prior_.new_clusters == ()


def test_a_cluster_that_vanishes_is_flagged_and_the_others_keep_their_numbers(seed):
    generator = np.random.default_rng(seed)
    centers = [[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]]
    X, truth = blobs(centers, [60, 50, 40], generator)
    before = fit(X, 3, seed)
    assert agreement(before, truth) > 0.98
    X, truth = blobs([centers[0], centers[2]], [40, 80], generator)
    with pytest.warns(UserWarning, match=r"^Cluster 1 of the earlier model has vanished: see"):
        after = fit(X, 2, seed, ModelPrior(before))
    # cluster 2 cannot keep its number when there are two, and takes the one that is free
    assert after.prior_.matched == {0: 0, 1: 2}
    assert after.prior_.vanished_clusters == (1,)
    assert agreement(after, truth) > 0.98
    X, truth = blobs([centers[0], [30.0, 30.0], centers[2]], [40, 80, 60], generator)
    with pytest.warns(UserWarning, match="^Cluster 1 is new and cluster 1 of the earlier model"):
        replaced = fit(X, 3, seed, ModelPrior(before))
    assert replaced.prior_.matched == {0: 0, 2: 2}
    assert agreement(replaced, truth) > 0.98


def test_the_warning_comes_once(seed):
    X, _ = blobs([[0.0, 0.0], [12.0, 0.0]], [40, 40], np.random.default_rng(seed))
    before = fit(X, 2, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(X + 100, 2, seed, ModelPrior(before))
        model.add_replicas(20)
    assert [str(one.message) for one in caught] == [
        "Clusters 0 and 1 are new and clusters 0 and 1 of the earlier model have vanished: "
        "see prior_.describe()."
    ]
    assert caught[0].filename == __file__


# --- what carries over ---------------------------------------------------------------------------


def test_f0_is_the_earlier_mixture_at_the_posterior_centres():
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], [60, 50, 40], np.random.default_rng(1))
    before = BBC(3, prior_scale=2.0, votes="all", n_replicas=50, random_state=0).fit(X)
    after = fit(X, 3, 1, ModelPrior(before))
    np.testing.assert_array_equal(after.prior_.means, before.cluster_centers_)
    assert (before.cluster_centers_ != before.reference_centers_).any()
    np.testing.assert_allclose(after.prior_.covariances, before.prior_.covariances, rtol=1e-12)
    np.testing.assert_allclose(after.prior_.weights, before.cluster_shares_)


def test_a_new_cluster_has_its_elicited_component_and_its_share():
    prior = ModelPrior(earlier([[0.0, 0.0], [9.0, 0.0]], weights=[1, 3]))
    X, partition = reference([[9.0, 1.0], [50.0, 50.0], [0.5, 0.0], [0.0, 60.0]])
    prepared = prior.prepare(X, partition, 4.0)
    assert prepared.matched == {0: 1, 2: 0}
    assert prepared.new_clusters == (1, 3)
    np.testing.assert_allclose(prepared.weights, [3 / 8, 1 / 4, 1 / 8, 1 / 4])
    np.testing.assert_allclose(prepared.means, [[9.0, 0.0], [50.0, 50.0], [0.0, 0.0], [0.0, 60.0]])
    elicited = 4.0 * np.diag([1.0, 0.0])  # the scale acts on what is elicited
    np.testing.assert_allclose(prepared.covariances, [np.eye(2), elicited, np.eye(2), elicited])


def test_without_a_partition_it_is_the_whole_earlier_mixture():
    prior = ModelPrior(earlier([[0.0, 0.0], [9.0, 0.0]], weights=[1, 3]))
    prepared = prior.prepare(np.zeros((4, 2)), None, 1.0)
    np.testing.assert_allclose(prepared.weights, [0.25, 0.75])


@pytest.mark.parametrize(
    ("centers", "numbers"),
    [
        # the same two in another order
        ([[9.0, 0.0], [0.0, 0.0], [0.0, 9.0]], [1, 0, 2]),
        # more clusters: new ones behind, the larger first
        ([[50.0, 0.0], [9.0, 0.0], [0.0, 50.0], [0.0, 9.0], [0.0, 0.0]], [4, 1, 3, 0, 2]),
        # fewer clusters: 2 does not exist any more and takes the free number
        ([[0.0, 9.0], [0.0, 0.0]], [1, 0]),
        # 2 does not exist any more and there is a new one: the old acquaintance goes first
        ([[50.0, 0.0], [0.0, 9.0]], [1, 0]),
        # one gone, one new: the new one gets the number that is free
        ([[50.0, 0.0], [0.0, 0.0], [0.0, 9.0]], [1, 0, 2]),
        # nothing in common: numbers by size
        ([[50.0, 0.0], [60.0, 0.0], [70.0, 0.0]], [0, 1, 2]),
    ],
)
def test_numbers_by_hand(centers, numbers):
    """`numbers[j]`: which of the given clusters becomes cluster j."""
    prior = ModelPrior(earlier([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]))
    _, partition = reference(centers)
    order = prior.number_clusters(partition)
    np.testing.assert_array_equal(order, numbers)
    renumbered = partition.renumbered(order)
    np.testing.assert_array_equal(renumbered.centers, np.array(centers)[numbers])
    again = prior.number_clusters(renumbered)
    np.testing.assert_array_equal(again, np.arange(len(centers)))


def test_renumbering_moves_labels_centres_and_shares_together():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.2], [9.0]])
    partition = partition_from_labels(make_table(X), np.array([0, 0, 0, 1, 1, 2], dtype=np.int32))
    other = partition.renumbered(np.array([2, 0, 1]))
    np.testing.assert_array_equal(other.labels, [1, 1, 1, 2, 2, 0])
    np.testing.assert_allclose(other.centers[:, 0], [9.0, 0.1, 5.1])
    np.testing.assert_allclose(other.shares, [1 / 6, 1 / 2, 1 / 3])
    noisy = Partition(
        labels=np.array([0, -1, 1], dtype=np.int32),
        centers=np.zeros((2, 1)),
        shares=np.full(2, 0.5),
        weights=None,
        inertia=0.0,
        n_iter=0,
    )
    np.testing.assert_array_equal(noisy.renumbered(np.array([1, 0])).labels, [1, -1, 0])


def test_the_border_between_the_same_and_new_is_the_quantile_of_chi_square():
    """Unit spheres: at two columns 99.9% lie within a radius of 3.717."""
    radius = np.sqrt(stats.chi2.ppf(0.999, 2))
    mixture = ModelPrior(earlier([[0.0, 0.0]])).mixture
    for factor, pairs in ((0.999, {0: 0}), (1.001, {})):
        assert pairs_within_spread(np.array([[0.0, factor * radius]]), mixture) == pairs


def test_the_spread_of_a_flat_cluster_is_rounded():
    """Three quarters of diag(8, 0) and a quarter of the mean variance 4: variances 7 and 1."""
    limit = stats.chi2.ppf(0.999, 2)
    mixture = ModelPrior(earlier([[0.0, 0.0]], [np.diag([8.0, 0.0])])).mixture
    for direction, variance in (([1.0, 0.0], 7.0), ([0.0, 1.0], 1.0)):
        border = np.array(direction) * np.sqrt(variance * limit)
        assert pairs_within_spread(0.999 * border[None], mixture) == {0: 0}
        assert pairs_within_spread(1.001 * border[None], mixture) == {}


def test_one_far_cluster_does_not_disturb_the_pairs_of_the_others():
    """Uncapped, the far centre would make swapping the near ones look cheap."""
    mixture = ModelPrior(earlier([[0.0], [3.0], [6.0]])).mixture
    pairs = pairs_within_spread(np.array([[2.9], [5.9], [1000.0]]), mixture)
    assert pairs == {0: 1, 1: 2}


def test_point_masses_match_themselves_alone():
    mixture = ModelPrior(earlier([[0.0], [3.0]], np.zeros((2, 1, 1)))).mixture
    assert pairs_within_spread(np.array([[3.0], [0.1]]), mixture) == {0: 1}


# --- what the earlier model may be ---------------------------------------------------------------


def test_a_model_is_read_by_its_public_attributes_only(tmp_path):
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    before = fit(X, 2, 0)
    alike = SimpleNamespace(
        cluster_centers_=before.cluster_centers_,
        reference_centers_=before.reference_centers_,
        cluster_shares_=before.cluster_shares_,
        prior_=before.prior_,
    )
    before.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    one, other, third = (fit(X, 2, 1, ModelPrior(model)) for model in (before, alike, loaded))
    np.testing.assert_array_equal(one.replica_centers_, other.replica_centers_)
    np.testing.assert_array_equal(one.replica_centers_, third.replica_centers_)


def test_a_model_whose_file_does_not_hold_its_prior_is_refused(tmp_path):
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    fit(X, 2, 0, KernelPrior()).save(tmp_path / "model.bbc")
    with pytest.raises(ValueError, match=r"no prior to carry over: .* was a KernelDensity"):
        ModelPrior(load_model(tmp_path / "model.bbc"))


def test_chains_do_not_grow():
    generator = np.random.default_rng(0)
    sizes, model = [], None
    for _ in range(4):
        X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], generator)
        model = fit(X, 2, 0, None if model is None else ModelPrior(model))
        sizes.append(len(pickle.dumps(ModelPrior(model))))
    assert len(set(sizes)) == 1
    assert sizes[0] < 2000


@pytest.mark.parametrize(
    "prior",
    [
        StudentMixturePrior(df=5),
        KernelPrior(0.01),
        SamplerPrior([stats.norm(4.5, 4.6), stats.norm()]),
        MixturePrior([1, 1], [[9.0, 0.0], [0.0, 0.0]], [np.eye(2)] * 2),
        MixturePrior([1], [[9.0, 0.0]], [np.eye(2)]),
        MixturePrior([1, 1, 1], [[9.0, 0.0], [0.0, 0.0], [9.0, 2.0]], [np.eye(2)] * 3),
    ],
    ids=["student", "kernel", "function", "other order", "too few", "too many"],
)
def test_any_prior_of_the_earlier_model_gives_one_component_per_cluster(prior):
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [600, 500], np.random.default_rng(1))
    before = fit(X, 2, 0, prior)
    mixture = ModelPrior(before).mixture
    np.testing.assert_array_equal(mixture.means, before.cluster_centers_)
    assert mixture.weights.sum() == pytest.approx(1.0)
    variances = mixture.covariances[:, [0, 1], [0, 1]]
    if isinstance(prior, SamplerPrior):  # half a broad Gaussian: more spread along the first column
        assert (variances[:, 0] > 4).all()
    else:
        np.testing.assert_allclose(variances, 1.0, rtol=0.25)
    after = fit(X, 2, 1, ModelPrior(before))
    assert after.prior_.matched == {0: 0, 1: 1}


def test_components_in_another_order_go_to_their_clusters():
    covariances = [4 * np.eye(2), np.eye(2)]
    expert = MixturePrior([1, 3], [[9.0, 0.0], [0.0, 0.0]], covariances)
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    mixture = ModelPrior(fit(X, 2, 0, expert)).mixture
    np.testing.assert_allclose(mixture.covariances, covariances[::-1], atol=1e-12)
    np.testing.assert_allclose(mixture.weights, [60 / 110, 50 / 110], atol=0.02)


def test_clusters_without_a_component_get_the_average():
    model = earlier([[0.0], [9.0], [20.0]])
    model.prior_ = MixturePrior([1, 3], [[0.0], [9.0]], [[[1.0]], [[5.0]]]).prepare(None, None, 1)
    mixture = ModelPrior(model).mixture
    np.testing.assert_allclose(mixture.covariances[:, 0, 0], [1.0, 5.0, 4.0])
    np.testing.assert_allclose(mixture.weights, np.array([0.25, 0.75, 0.5]) / 1.5)


@pytest.mark.parametrize("parameters", [{"resampling": "rubin"}, {"prior_weight": 0.0}], ids=str)
def test_a_model_without_a_prior_is_refused(parameters):
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    with pytest.raises(ValueError, match="fit it with resampling='proper' and prior_weight above"):
        ModelPrior(BBC(2, random_state=0, **parameters).fit(X))


def test_without_a_share_of_the_prior_numbers_are_by_size():
    prior = ModelPrior(earlier([[9.0, 0.0], [0.0, 0.0]]))
    X, _ = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    by_size = BBC(2, prior=prior, resampling="rubin", random_state=0).fit(X)
    carried = BBC(2, prior=prior, random_state=0).fit(X)
    np.testing.assert_allclose(by_size.reference_centers_[:, 0].round(), [0, 9], atol=0.5)
    np.testing.assert_allclose(carried.reference_centers_[:, 0].round(), [9, 0], atol=0.5)
    np.testing.assert_array_equal(carried.reference_labels_, 1 - by_size.reference_labels_)


def test_numbers_carry_over_to_given_labels_and_weighted_rows():
    prior = ModelPrior(earlier([[9.0, 0.0], [0.0, 0.0]]))
    X, truth = blobs([[0.0, 0.0], [9.0, 0.0]], [60, 50], np.random.default_rng(1))
    weights = np.arange(110) % 3
    model = BBC(2, prior=prior, random_state=0).fit(
        X, sample_weight=weights, reference_labels=np.array(["near", "far"])[truth]
    )
    np.testing.assert_array_equal(model.reference_labels_, 1 - truth)
    np.testing.assert_array_equal(model.labels_, 1 - truth)


def test_the_default_prior_still_numbers_by_size():
    assert not hasattr(ElicitedPrior(), "number_clusters")
