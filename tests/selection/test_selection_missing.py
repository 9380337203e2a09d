"""KSelector on rows with missing values."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from bbclust import BBC, KSelector
from bbclust.selection.completion import completed_table, draws_for_every_k
from bbclust.stages.table import make_table


def three_blobs(share, n=150, d=4, seed=0, dtype=np.float64):
    generator = np.random.default_rng(seed)
    X = 8.0 * np.eye(3, d)[np.arange(n) % 3] + generator.normal(size=(n, d))
    missing = generator.random(X.shape) < share
    missing[np.arange(n), generator.integers(0, d, n)] = False
    return np.where(missing, np.nan, X).astype(dtype)


def select(X, *, missing="draw", sample_weight=None, **parameters):
    settings = {"k_range": range(2, 5), "prior_scales": (1.0, 2.0), "null_reference": 5}
    selector = KSelector(
        BBC(n_init=2, n_replicas=40, votes="all", missing=missing),
        random_state=0,
        **settings | {"refit": False, **parameters},
    )
    return selector.fit(X, sample_weight=sample_weight)


def assert_same(one, other):
    assert one.best_k_ == other.best_k_
    assert one.cluster_tendency_ == other.cluster_tendency_
    assert one.confidence_ == other.confidence_
    assert one.verdict_ == other.verdict_
    for name, values in one.curves_.items():
        assert_equal(other.curves_[name], values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_finds_clusters_in_spite_of_missing_values(dtype):
    selector = select(three_blobs(0.2, dtype=dtype), refit=True, n_resamples=3)
    assert selector.best_k_ == 3
    assert selector.cluster_tendency_ <= 0.05
    together = np.zeros((3, 3))
    np.add.at(together, (selector.labels_, np.arange(150) % 3), 1)
    assert together.max(axis=1).sum() >= 0.9 * 150
    assert selector.predict(three_blobs(0.2, dtype=dtype)).shape == (150,)


def test_complete_tables_have_the_bits_of_before():
    X = three_blobs(0.0)
    assert_same(select(X, n_resamples=2), select(X, missing="error", n_resamples=2))


def test_same_bits_for_any_number_of_threads_and_with_weights():
    X, weights = three_blobs(0.2), np.arange(150) % 4
    one = select(X, sample_weight=weights, n_resamples=2)
    assert_same(one, select(X, sample_weight=weights, n_resamples=2, n_jobs=2))


def test_goes_on_from_a_checkpoint_with_the_same_bits(tmp_path):
    X = three_blobs(0.2)
    fresh = select(X, n_resamples=2)
    select(X, checkpoint=tmp_path, k_range=(2, 3), null_reference=0)
    assert_same(fresh, select(X, checkpoint=tmp_path, n_resamples=2))


def test_a_checkpoint_of_the_other_setting_is_refused(tmp_path):
    X = three_blobs(0.0)
    select(X, checkpoint=tmp_path, missing="error")
    with pytest.raises(ValueError, match="made with another missing"):
        select(X, checkpoint=tmp_path)


def test_half_samples_and_clouds_see_one_completed_table():
    table = make_table(three_blobs(0.3))
    complete = completed_table(table, draws_for_every_k(table, 5))
    assert complete.incomplete is None
    observed = ~np.isnan(table.rows)
    assert_equal(complete.rows[observed], table.rows[observed])


def test_missing_values_are_refused_unless_the_estimator_takes_them():
    with pytest.raises(ValueError, match="X holds NaN"):
        select(three_blobs(0.2), missing="error")
