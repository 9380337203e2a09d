"""Odd tables that must work, and what holds after every fit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bbclust import BBC
from bbclust.datasets import load_iris, make_paper_dataset

IRIS = load_iris().data

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
)


def fit(X, n_clusters=3, *, n_replicas=50, random_state=0, fit_arguments=None, **parameters):
    model = BBC(n_clusters, n_replicas=n_replicas, random_state=random_state, **parameters)
    return model.fit(X, **(fit_arguments or {}))


def assert_invariants(model, n, d):
    """What every fit promises, whatever the data."""
    K, B = model.n_clusters, model.n_replicas_
    shapes = {
        "labels_": (n,),
        "memberships_": (n, K),
        "entropy_": (n,),
        "pairwise_entropy_": (K, K),
        "n_votes_": (n,),
        "membership_se_": (n, K),
        "reference_labels_": (n,),
        "reference_centers_": (K, d),
        "cluster_centers_": (K, d),
        "replica_centers_": (B, K, d),
        "replica_n_iter_": (B,),
        "alignment_margin_": (B,),
    }
    for name, shape in shapes.items():
        values = getattr(model, name)
        assert values.shape == shape, name
        assert np.isfinite(values).all(), name
    for name in ("mean_entropy_", "mean_entropy_se_", "max_pair_doubt_se_"):
        assert isinstance(getattr(model, name), float), name
    for name in ("n_replicas_", "n_undrawn_", "n_abstentions_", "n_iter_", "n_features_in_"):
        assert isinstance(getattr(model, name), int), name
    assert model.n_features_in_ == d
    assert hasattr(model, "prior_")

    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (model.memberships_ >= 0).all()
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    assert (model.entropy_ >= 0).all()
    assert (model.entropy_ <= np.log2(K) + 1e-12).all()
    assert (model.mean_entropy_se_ >= 0) & (model.max_pair_doubt_se_ >= 0)
    assert ((model.alignment_margin_ >= 0) & (model.alignment_margin_ <= 1)).all()
    assert ((model.membership_se_ >= 0) & (model.membership_se_ <= 0.5)).all()

    # Memberships are shares of whole votes, at most one per replica.
    votes = model.memberships_ * model.n_votes_[:, None]
    np.testing.assert_allclose(votes, votes.round(), rtol=0, atol=1e-9)
    assert (model.n_votes_ >= 1).all()
    assert (model.n_votes_ <= B).all()

    pairwise = model.pairwise_entropy_
    np.testing.assert_array_equal(pairwise, pairwise.T)
    assert (np.diag(pairwise) == 0).all()
    assert ((pairwise >= 0) & (pairwise <= 1 + 1e-12)).all()
    assert model.max_pairwise_entropy_ == pairwise.max()
    if K > 1:
        first, second = model.worst_pair_
        assert first < second
        assert pairwise[first, second] == pairwise.max()

    assert_numbered_by_size(model)

    shares = model.predict_proba(np.zeros((2, d)))
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)


def assert_numbered_by_size(model, weights=None):
    """Reference clusters come by decreasing size, ties by the coordinates of their centres."""
    sizes = np.bincount(model.reference_labels_, weights, minlength=model.n_clusters)
    assert (sizes > 0).all()
    keys = [(-size, *center) for size, center in zip(sizes, model.reference_centers_, strict=True)]
    assert keys == sorted(keys)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def three_groups(seed=0):
    return make_paper_dataset(1, random_state=seed).data


TABLES = {
    "plain": (three_groups(), 3),
    "constant column": (np.c_[three_groups(), np.full(99, 7.3)], 3),
    "all columns but one constant": (np.c_[np.full((40, 3), 0.1), normal(40, 1)], 3),
    "all columns constant": (np.full((20, 3), 0.1), 1),
    "duplicated rows": (np.repeat(normal(4, 2), 10, axis=0), 3),
    "as many clusters as distinct rows": (np.repeat(normal(4, 2), 10, axis=0), 4),
    "one cluster": (three_groups(), 1),
    "two clusters": (three_groups(), 2),
    "many clusters": (three_groups(), 20),
    "a cluster for each row": (normal(30, 2), 30),
    "a cluster of one point": (np.r_[normal(30, 2), [[100.0, 100.0]]], 2),
    "three clusters of one point": (np.r_[normal(30, 2), 100 * np.eye(2), [[-90, 0]]], 4),
    "one column": (normal(40, 1), 3),
    "more columns than rows": (normal(12, 50), 3),
    "many more columns than rows": (normal(5, 300), 2),
    "two rows, one cluster": (normal(2, 3), 1),
    "two rows, two clusters": (normal(2, 3), 2),
    "three rows": (normal(3, 1), 3),
    "small numbers": (1e-12 * three_groups(), 3),
    "large numbers": (1e12 * three_groups(), 3),
    "a small column": (three_groups() * [1, 1e-12], 3),
    "a large column": (three_groups() * [1, 1e12], 3),
    "a small and a large column": (three_groups() * [1e12, 1e-12], 3),
    "far from zero": (three_groups() + 1e6, 3),
    "negative numbers": (three_groups() - 1e3, 3),
    "whole numbers": (np.random.default_rng(0).integers(-5, 6, size=(40, 2)), 3),
    "bytes": (np.random.default_rng(0).integers(0, 255, size=(40, 2)).astype(np.uint8), 3),
    "large whole numbers": (np.random.default_rng(0).integers(0, 2**53, size=(40, 2)), 3),
    "booleans": (np.random.default_rng(0).integers(0, 2, size=(40, 4)).astype(bool), 3),
    "an equal grid": (np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2), 4),
    "heavy tails": (np.random.default_rng(0).standard_cauchy(size=(60, 2)), 4),
}
VARIANTS = {
    "default": {},
    "all": {"votes": "all"},
    "rubin": {"resampling": "rubin"},
    "efron": {"resampling": "efron"},
    "resample": {"weighting": "resample"},
    "without prior": {"prior_weight": 0.0},
    "mostly prior": {"prior_weight": 0.95, "prior_scale": 50.0},
    "many draws": {"n_draws": 400},
    "one iteration": {"max_iter": 1},
    "reference start alone": {"n_init": 0},
}


@pytest.mark.parametrize("dtype", [None, np.float32], ids=["as given", "float32"])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize(("rows", "n_clusters"), TABLES.values(), ids=TABLES)
def test_fits_keep_their_promises(rows, n_clusters, variant, dtype):
    if dtype is not None:
        rows = rows.astype(dtype)
        n_clusters = min(n_clusters, len(np.unique(rows, axis=0)))
    assert_invariants(fit(rows, n_clusters, **variant), *rows.shape)


TOO_CLOSE = {
    "a small column beside a large one": (
        np.c_[np.repeat([-2e12, 1e12, 4e12], 20), 1e-12 * normal(60, 1)],
        6,
    ),
    "a rounding": (np.array([[1.0], [1.0 + 2**-52], [5.0], [5.0]]), 3),
}


@pytest.mark.parametrize("variant", ["default", "rubin"])
@pytest.mark.parametrize(("rows", "n_clusters"), TOO_CLOSE.values(), ids=TOO_CLOSE)
def test_rows_too_close_to_be_told_apart_are_clustered_or_refused(rows, n_clusters, variant):
    """Distinct, but squared distances between them vanish beside those between the others."""
    try:
        model = fit(rows, n_clusters, **VARIANTS[variant])
    except ValueError as error:
        assert "n_clusters" in str(error)  # noqa: PT017 (it may also succeed)
    else:
        assert_invariants(model, *rows.shape)


@pytest.mark.parametrize(("n_draws", "enough"), [(4, False), (20, True)])
def test_few_draws_leave_clusters_empty_and_say_so(n_draws, enough, seed):
    model = fit(
        normal(30, 2, seed),
        4,
        n_draws=n_draws,
        resampling="efron",
        n_replicas=200,
        random_state=seed,
    )
    assert_invariants(model, 30, 2)
    # 4 draws out of 30 rows repeat a row in 1 - 30*29*28*27/30^4 = 19% of the replicas: none in
    # 200 of them has probability 1e-18. 20 draws hold fewer than 4 rows with probability 4e-17.
    assert (model.n_abstentions_ == 0) == enough


def test_centres_that_abstain_stay_at_the_reference():
    X = normal(30, 2)
    model = fit(X, 30, resampling="efron")
    stayed = (model.replica_centers_ == model.reference_centers_).all(axis=2)
    assert model.n_abstentions_ > 0
    assert stayed.sum() >= model.n_abstentions_


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_one_cluster_leaves_no_doubt(variant):
    X = three_groups()
    model = fit(X, 1, **variant)
    assert (model.memberships_ == 1).all()
    assert (model.labels_ == 0).all()
    assert (model.entropy_ == 0).all()
    assert (model.membership_se_ == 0).all()
    assert (model.alignment_margin_ == 1).all()
    assert model.worst_pair_ is None
    assert model.mean_entropy_ == model.max_pairwise_entropy_ == 0
    assert model.mean_entropy_se_ == model.max_pair_doubt_se_ == 0
    np.testing.assert_allclose(model.reference_centers_, X.mean(axis=0)[None], atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_two_clusters_make_both_entropies_one(variant, seed):
    model = fit(three_groups(seed), 2, random_state=seed, **variant)
    assert model.max_pairwise_entropy_ == pytest.approx(model.mean_entropy_, rel=1e-12, abs=1e-15)
    assert model.max_pair_doubt_se_ == pytest.approx(model.mean_entropy_se_, rel=1e-9)
    assert model.max_pair_doubt_bias_ == pytest.approx(model.mean_entropy_bias_, rel=1e-9)
    assert model.worst_pair_ == (0, 1)


def test_mean_entropies_are_means_of_the_rows(seed):
    model = fit(three_groups(seed), 4, random_state=seed)
    assert model.mean_entropy_ == pytest.approx(model.entropy_.mean(), rel=1e-12)
    u = model.memberships_
    for first, second in [(0, 1), (2, 3)]:
        total = u[:, first] + u[:, second]
        p = np.divide(u[:, first], total, out=np.zeros(len(u)), where=total > 0)
        p = p[(p > 0) & (p < 1)]
        by_hand = -(p * np.log2(p) + (1 - p) * np.log2(1 - p)).sum() / len(u)
        assert model.pairwise_entropy_[first, second] == pytest.approx(by_hand, rel=1e-12)


def test_a_cluster_for_each_row_is_the_row_itself():
    X = normal(30, 2)
    model = fit(X, 30, n_replicas=200)
    np.testing.assert_allclose(model.reference_centers_[model.reference_labels_], X, atol=1e-12)
    assert len(set(model.reference_labels_)) == 30


def test_a_lonely_point_keeps_a_cluster_of_its_own():
    X = np.r_[normal(30, 2), [[100.0, 100.0]]]
    model = fit(X, 2)
    np.testing.assert_array_equal(model.reference_labels_, np.r_[np.zeros(30), 1])
    assert model.prior_.weights[1] == pytest.approx(1 / 31)
    assert (model.prior_.covariances[1] == 0).all()  # a point mass
    np.testing.assert_array_equal(model.labels_, model.reference_labels_)


def test_a_constant_column_changes_nothing(seed):
    X = three_groups(seed)
    # tol=0, because the tolerance is relative to the mean variance of the columns; without prior,
    # because draws from it take as many random numbers as there are columns
    plain = fit(X, random_state=seed, tol=0.0, prior_weight=0.0)
    wider = fit(np.c_[X, np.full(len(X), 7.3)], random_state=seed, tol=0.0, prior_weight=0.0)
    np.testing.assert_array_equal(wider.memberships_, plain.memberships_)
    np.testing.assert_allclose(wider.replica_centers_[:, :, :2], plain.replica_centers_, rtol=1e-12)
    np.testing.assert_allclose(wider.replica_centers_[:, :, 2], 7.3, rtol=1e-12)
    with_prior = fit(np.c_[X, np.full(len(X), 7.3)], random_state=seed)
    np.testing.assert_allclose(with_prior.replica_centers_[:, :, 2], 7.3, rtol=1e-12)


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40], ids=["small", "large"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_do_not_matter(factor, dtype, seed):
    """Powers of two scale without rounding, so every bit of the result scales with them."""
    X = three_groups(seed).astype(dtype)
    plain = fit(X, random_state=seed)
    scaled = fit(X * dtype(factor), random_state=seed)
    np.testing.assert_array_equal(scaled.memberships_, plain.memberships_)
    np.testing.assert_array_equal(scaled.replica_centers_, plain.replica_centers_ * factor)


def read_only(X, path):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_mapped(X, path):
    np.save(path / "rows.npy", X)
    return np.load(path / "rows.npy", mmap_mode="r")


def strided(X, path):
    wide = np.zeros((3 * len(X), 2 * X.shape[1]), dtype=X.dtype)
    wide[::3, ::2] = X
    return wide[::3, ::2]


def reversed_in_memory(X, path):
    return X[::-1].copy()[::-1]


LAYOUTS = {
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "Fortran order": lambda X, path: np.asfortranarray(X),
    "strided": strided,
    "negative strides": reversed_in_memory,
    "pandas": lambda X, path: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X, path: pl.DataFrame(X, schema=list("abcd")),
    "pyarrow": lambda X, path: pa.table({name: X[:, j] for j, name in enumerate("abcd")}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_same_bits_for_any_container(layout, dtype, tmp_path):
    X = IRIS.astype(dtype)
    same = layout(X, tmp_path)
    plain, other = fit(X), fit(same)
    assert other._state.record.job.table.rows.dtype == dtype
    np.testing.assert_array_equal(other.memberships_, plain.memberships_)
    np.testing.assert_array_equal(other.replica_centers_, plain.replica_centers_)
    np.testing.assert_array_equal(other.reference_centers_, plain.reference_centers_)
    np.testing.assert_array_equal(other.predict_proba(same), plain.predict_proba(X))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, object])
def test_other_numbers_are_taken_as_float64(dtype):
    X = np.random.default_rng(0).integers(0, 100, size=(60, 3)).astype(dtype)
    given, floats = fit(X), fit(X.astype(np.float64))
    assert given._state.record.job.table.rows.dtype == np.float64
    np.testing.assert_array_equal(given.memberships_, floats.memberships_)
    np.testing.assert_array_equal(given.replica_centers_, floats.replica_centers_)


def test_numbers_of_the_other_byte_order_are_taken_as_float64():
    swapped = IRIS.astype(IRIS.dtype.newbyteorder())
    np.testing.assert_array_equal(fit(swapped).memberships_, fit(IRIS).memberships_)


def test_lists_are_taken_as_tables():
    np.testing.assert_array_equal(fit(IRIS.tolist()).memberships_, fit(IRIS).memberships_)


def test_float32_stays_float32_and_finds_the_same():
    narrow, wide = fit(IRIS.astype(np.float32)), fit(IRIS)
    assert narrow._state.record.job.table.rows.dtype == np.float32
    assert narrow.memberships_.dtype == narrow.replica_centers_.dtype == np.float64
    np.testing.assert_allclose(narrow.reference_centers_, wide.reference_centers_, rtol=1e-6)
    assert narrow.mean_entropy_ == pytest.approx(wide.mean_entropy_, abs=0.02)


def test_a_model_predicts_rows_of_the_other_precision():
    model = fit(IRIS)
    narrow = model.predict_proba(IRIS.astype(np.float32))
    np.testing.assert_allclose(narrow, model.predict_proba(IRIS), atol=0.1)


def test_votes_of_all_count_every_replica():
    assert (fit(IRIS, votes="all").n_votes_ == 50).all()


def test_votes_of_rubins_bootstrap_count_every_replica():
    assert (fit(IRIS, resampling="rubin").n_votes_ == 50).all()


def test_clusters_of_equal_size_are_numbered_by_their_centres():
    corners = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
    X = np.repeat(10 * corners, 25, axis=0) + 0.1 * normal(100, 2)
    model = fit(X, 4)
    first = [round(value) for value in model.reference_centers_[:, 0] / 10]
    assert first == [-1, -1, 1, 1]
    assert (np.bincount(model.reference_labels_) == 25).all()
    assert_numbered_by_size(model)


def test_centres_that_tie_in_a_coordinate_are_numbered_by_the_next():
    X = np.array([[0.0, 5.0], [0.0, -5.0], [9.0, 0.0]] * 10)
    model = fit(X, 3)
    np.testing.assert_allclose(
        model.reference_centers_, [[0.0, -5.0], [0.0, 5.0], [9.0, 0.0]], atol=1e-12
    )


def test_size_comes_before_coordinates_and_counts_weights():
    X = np.repeat([[0.0], [5.0], [10.0]], [10, 20, 30], axis=0) + 0.01 * normal(60, 1)
    np.testing.assert_allclose(fit(X).reference_centers_[:, 0], [10, 5, 0], atol=0.1)
    weights = np.repeat([9.0, 1.0, 1.0], [10, 20, 30])
    weighted = fit(X, fit_arguments={"sample_weight": weights})
    np.testing.assert_allclose(weighted.reference_centers_[:, 0], [0, 10, 5], atol=0.1)
    assert_numbered_by_size(weighted, weights)


@pytest.mark.parametrize("n_others", [4, 5, 6])
def test_weighted_sizes_that_tie_are_ties_whatever_the_rounding(n_others):
    """One row of weight 3 weighs as much as three of weight 1, though rescaled sums round."""
    X = np.r_[0.0, 4.9, 5.0, 5.1, np.full(n_others, 10.0)][:, None]
    weights = np.r_[3.0, np.ones(3 + n_others)]
    weighted = fit(X, fit_arguments={"sample_weight": weights}, votes="all")
    np.testing.assert_allclose(weighted.reference_centers_[:, 0], [10, 0, 5], atol=1e-9)


def test_clusters_of_equal_weight_are_numbered_as_those_of_as_many_rows():
    """Weights 10 and 10 beside 13: sums of thirds that differ by a rounding."""
    labels = np.array([1, 0, 1, 0, 1, 2, 1, 0, 1, 2, 2, 0, 2, 2, 0])
    weights = np.array([2, 3, 1, 2, 2, 1, 2, 3, 3, 3, 2, 2, 3, 1, 3])
    X, copies = 64.0 * labels[:, None], np.repeat(np.arange(15), weights)
    weighted = fit(X, fit_arguments={"sample_weight": weights})
    np.testing.assert_array_equal(
        weighted.reference_labels_[copies], fit(X[copies]).reference_labels_
    )
    np.testing.assert_allclose(weighted.reference_centers_[:, 0], [0, 64, 128], atol=1e-9)


def test_given_reference_labels_may_tie_every_point():
    model = fit(np.ones((20, 2)), 3, fit_arguments={"reference_labels": np.arange(20) % 3})
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert np.isfinite(model.replica_centers_).all()


@pytest.mark.parametrize("factor", [1e-320, 1e-300, 1e300, 8e307])
def test_only_ratios_of_weights_matter(factor):
    weights = np.r_[np.full(75, 1.0), np.full(75, 2.0)]
    plain = fit(IRIS, fit_arguments={"sample_weight": weights})
    scaled = fit(IRIS, fit_arguments={"sample_weight": weights * factor})
    np.testing.assert_allclose(scaled.reference_centers_, plain.reference_centers_, rtol=1e-3)
    np.testing.assert_allclose(scaled.memberships_.sum(axis=1), 1)
