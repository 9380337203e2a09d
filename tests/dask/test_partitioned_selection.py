"""DaskKSelector of a table in partitions: the choice that the local twin makes."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_equal

from bbclust import KSelector
from bbclust.dask import DaskBBC, DaskKSelector
from bbclust.datasets import make_paper_dataset

X = make_paper_dataset(1, random_state=0).data
SETTINGS = {"k_range": (2, 3), "prior_scales": (1.0,), "null_reference": 2, "random_state": 0}


def assert_same_choice(mine, local):
    assert mine.best_k_ == local.best_k_
    assert mine.n_sample_ == local.n_sample_
    assert mine.n_draws_ == local.n_draws_
    assert mine.cluster_tendency_ == local.cluster_tendency_
    assert mine.verdict_.by_k == local.verdict_.by_k
    for name, values in local.curves_.items():
        assert_equal(mine.curves_[name], values, name)


def test_choice_has_the_bits_of_the_local_twin(client):
    local = KSelector(refit=False, **SETTINGS).fit(X)
    table = da.from_array(X, chunks=(60, 2))
    mine = DaskKSelector(client=client, **SETTINGS).fit(table[table[:, 0] > -np.inf])
    assert_same_choice(mine, local)
    assert isinstance(mine.best_estimator_, DaskBBC)
    assert mine.labels_.chunks == ((60, 39),)
    assert_equal(mine.predict(table).compute(), mine.predict(X))


def test_the_model_knows_the_names_that_the_selector_saw(client):
    frame = pd.DataFrame(X, columns=["length", "width"])
    for table in (frame, dd.from_pandas(frame, npartitions=2)):
        mine = DaskKSelector(client=client, **SETTINGS | {"null_reference": 0}).fit(table)
        for fitted in (mine, mine.best_estimator_):
            assert fitted.feature_names_in_.tolist() == ["length", "width"]
        assert_equal(np.asarray(mine.predict(table)), mine.predict(frame))


def test_large_tables_are_sampled_as_by_the_local_twin(client, monkeypatch):
    monkeypatch.setattr("bbclust.selection.k_selector.MAX_SAMPLE", 60)
    monkeypatch.setattr("bbclust.dask.k_selector.MAX_SAMPLE", 60)
    local = KSelector(refit=False, **SETTINGS).fit(X)
    mine = DaskKSelector(refit=False, client=client, **SETTINGS).fit(da.from_array(X, chunks=40))
    assert mine.n_sample_ == 60
    assert_same_choice(mine, local)


def test_what_the_last_fit_would_refuse_is_refused_before_any_work(client):
    with pytest.raises(ValueError, match="sample_weight cannot be used with a partitioned table"):
        DaskKSelector(client=client).fit(da.from_array(X), sample_weight=np.ones(len(X)))
    rubin = DaskKSelector(DaskBBC(resampling="rubin"), client=client)
    with pytest.raises(ValueError, match="resampling='rubin' cannot be used"):
        rubin.fit(da.from_array(X))
