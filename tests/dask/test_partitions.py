"""Dask arrays and data frames as rows: what one look at all partitions tells, and refuses."""

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.base import BaseEstimator

from bbclust.dask.cluster.session import open_session
from bbclust.dask.partitioned.passes import FAN_IN, joined_in_order, result_of, shared
from bbclust.dask.partitioned.row_picking import PickedRows, merged, pick_rows
from bbclust.dask.partitioned.table import rows_of, survey

X = np.random.default_rng(0).normal(size=(1000, 3))


@pytest.fixture
def session(client):
    with open_session(client) as session:
        yield session


def survey_columns(session, table):
    return survey(session, BaseEstimator(), rows_of(BaseEstimator(), table, reset=True))


def unknown_chunks(values, chunks):
    array = da.from_array(values, chunks=chunks)
    return array[array[:, 0] > -np.inf]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("chunks", [(1000, 3), (137, 2), ((0, 1, 0, 999), (1, 1, 1))])
def test_means_and_lengths_for_unknown_chunks(session, chunks, dtype):
    values = X.astype(dtype)
    table = survey_columns(session, unknown_chunks(values, chunks))
    lengths = da.core.normalize_chunks(chunks, X.shape)[0]
    assert table.rows.chunks == (lengths, (3,))
    assert table.rows.dtype == dtype
    assert_allclose(table.center, values.mean(axis=0, dtype=np.float64), rtol=1e-12)
    assert_allclose(table.mean_variance, values.astype(np.float64).var(axis=0).mean(), rtol=1e-12)
    assert_equal(table.rows.compute(), values)


def test_variances_far_from_zero(session):
    table = survey_columns(session, da.from_array(X + 1e9, chunks=(100, 3)))
    assert_allclose(table.mean_variance, (X + 1e9).var(axis=0).mean(), rtol=1e-9)


def test_whole_numbers_and_nullable_columns_of_data_frames(session):
    frame = pd.DataFrame(
        {
            "whole": np.arange(20),
            "nullable": pd.array(range(20), dtype="Int64"),
            "arrow": pd.array(np.arange(20.0), dtype="double[pyarrow]"),
            "yes": np.arange(20) % 2 == 0,
        }
    )
    model = BaseEstimator()
    rows = rows_of(model, dd.from_pandas(frame, npartitions=3), reset=True)
    assert rows.dtype == np.float64
    assert_equal(rows.compute(), frame.to_numpy(dtype=np.float64))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.n_features_in_ == 4


def test_float32_stays_float32_in_data_frames():
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abc"))
    rows = rows_of(BaseEstimator(), dd.from_pandas(frame, npartitions=4), reset=True)
    assert rows.dtype == rows.compute().dtype == np.float32


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_a_value_that_is_not_finite_is_named_by_partition_row_and_column(session, value, word):
    values = X.copy()
    values[[417, 900], 1] = value
    sentence = rf"{word}.* in row 17 of partition 4 \(row 417 of all\), column 1: drop or fill"
    with pytest.raises(ValueError, match=sentence):
        survey_columns(session, unknown_chunks(values, (100, 3)))


def test_a_missing_value_of_a_data_frame_is_named(session):
    frame = pd.DataFrame({"a": np.arange(20.0), "b": pd.array([*range(19), None], dtype="Int64")})
    table = dd.from_pandas(frame, npartitions=2)
    model = BaseEstimator()
    with pytest.raises(ValueError, match=r"NaN in row 9 of partition 1 .*row 19.* column 'b'"):
        survey(session, model, rows_of(model, table, reset=True))


def test_what_is_no_number_is_named(session):
    frame = pd.DataFrame({"a": np.arange(6.0), "b": list("uvwxyz")})
    with pytest.raises(ValueError, match=r"Column 'b' of X holds String"):
        rows_of(BaseEstimator(), dd.from_pandas(frame, npartitions=2), reset=True)
    words = da.from_array(np.array([[1.0], [2.0], ["three"]], dtype=object), chunks=1)
    with pytest.raises(ValueError, match=r"no number in partition 2 \(.*three"):
        survey_columns(session, words)


@pytest.mark.parametrize(
    ("table", "error", "sentence"),
    [
        (da.zeros(10), ValueError, r"two dimensions.* got 1"),
        (da.zeros((10, 0)), ValueError, "no columns"),
        (dask.bag.from_sequence([1, 2]), TypeError, "got Bag"),
        (dd.from_pandas(pd.Series([1.0, 2.0]), npartitions=1), ValueError, "to_frame"),
    ],
)
def test_what_is_no_table_is_refused_before_any_work(table, error, sentence):
    with pytest.raises(error, match=sentence):
        rows_of(BaseEstimator(), table, reset=True)


def test_too_few_rows_and_too_large_numbers_are_refused(session):
    with pytest.raises(ValueError, match="X has 1 row in 1 partition: at least two"):
        survey_columns(session, da.zeros((1, 2)))
    with pytest.raises(ValueError, match="squares overflow float32"):
        survey_columns(
            session, da.from_array(np.array([[1e30], [-1e30]], dtype=np.float32), chunks=1)
        )


def test_rows_are_picked_by_number(session):
    table = survey_columns(session, unknown_chunks(X, (77, 2)))
    sets = (np.array([0, 76, 77, 500, 999]), np.array([], dtype=np.int64), np.arange(1000))
    for n_values in (1, 1e12):  # neighbours together, or one by one
        picked = pick_rows(session, table.rows, shared("numbers", sets), len(sets), n_values)
        for node, numbers in zip(picked, sets, strict=True):
            found = result_of(session, node)
            assert_equal(found.numbers, numbers)
            assert_equal(found.rows, X[numbers])


def test_merged_sets_hold_every_row_once():
    one, other = np.array([1, 4, 9]), np.array([0, 4, 10])
    both = merged(PickedRows(one, X[one]), PickedRows(other, X[other]))
    assert both.numbers.tolist() == [0, 1, 4, 9, 10]
    assert_equal(both.rows, X[both.numbers])


def test_no_task_joins_more_than_a_few_results_and_all_stay_in_order(session):
    """So that memory does not grow with the number of partitions."""
    parts = [dask.delayed([i]) for i in range(700)]
    node = joined_in_order(session, "join", _concatenate, parts)
    graph = node.__dask_graph__()
    inputs = [len(names) for names in graph.get_all_dependencies().values()]
    assert max(inputs) <= FAN_IN
    assert node.compute(scheduler="sync") == list(range(700))


def _concatenate(parts):
    return [value for part in parts for value in part]
