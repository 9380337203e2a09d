"""DaskBBC of Dask arrays and data frames: the same for any cluster and any partitioning."""

import os
import pickle
import signal

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_equal

from bbclust import BBC, load_model, pairwise_entropy
from bbclust.dask import DaskBBC
from bbclust.dask.partitioned import reference
from bbclust.dask.partitioned import replicas as drawn_replicas
from bbclust.ensemble.predictors import CenterPredictors
from bbclust.priors import (
    ElicitedPrior,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    StudentMixturePrior,
)

GENERATOR = np.random.default_rng(2)
X = np.concatenate([GENERATOR.normal(3 * j, 1, size=(200 + 100 * j, 2)) for j in range(3)])
X = GENERATOR.permutation(X)
N_DRAWS = 150

ROUNDED = (
    "reference_centers_",
    "cluster_centers_",
    "replica_centers_",
    "alignment_margin_",
    "cluster_shares_",
    "pairwise_entropy_",
    "mean_entropy_",
    "mean_entropy_se_",
    "max_pairwise_entropy_",
    "mean_entropy_bias_",
    "max_pair_doubt_se_",
    "variance_ratio_",
)
CONCRETE = (*ROUNDED, "replica_n_iter_", "n_iter_")
LAZY = ("memberships_", "labels_", "entropy_", "reference_labels_", "n_votes_", "membership_se_")


def fit(table, client=None, **parameters):
    settings = {"n_replicas": 30, "n_draws": N_DRAWS, "random_state": 0, **parameters}
    return DaskBBC(3, client=client, **settings).fit(table)


def fit_locally(table, **parameters):
    settings = {"n_replicas": 30, "n_draws": N_DRAWS, "random_state": 0, **parameters}
    return BBC(3, votes="all", **settings).fit(table)


def chunked(values=X, chunks=(130, 2)):
    return da.from_array(values, chunks=chunks)


def assert_alike(mine, other, rtol=1e-10):
    """Equal up to rounding; labels and votes exactly.

    (Of two starts that end alike rounding decides which one wins, so iterations may differ.)

    Rounding moves centres by 1e-15 of their size, and a row gets another vote if it is as near as
    that to a boundary. There are 900 rows, 30 replicas and 2 boundaries: once in a hundred million
    draws of the rows, which are fixed besides.
    """
    for name in ROUNDED:
        assert_allclose(
            getattr(mine, name), getattr(other, name), rtol=rtol, atol=1e-12, err_msg=name
        )
    assert mine.worst_pair_ == other.worst_pair_
    assert_same_rows(mine, other)


def assert_same_rows(mine, other):
    """All that there is of every row, computed together: one pass for each model."""
    both = (dask.compute(*(getattr(model, name) for name in LAZY)) for model in (mine, other))
    for name, left, right in zip(LAZY, *both, strict=True):
        assert_equal(left, right, name)


def test_equals_the_local_twin_up_to_rounding(client):
    assert_alike(fit(chunked(), client), fit_locally(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"resampling": "efron"},
        {"prior_weight": 0.0, "weighting": "resample"},
        {"prior": ElicitedPrior("tied"), "prior_scale": 2.0},
        {"prior": StudentMixturePrior(df=3)},
        {"prior": MixturePrior([1], [[9, 9]], [np.eye(2)], others="elicited")},
        {"prior": KernelPrior()},
    ],
    ids=str,
)
def test_bootstraps_and_priors_equal_those_of_the_local_twin(client, parameters):
    assert_alike(fit(chunked(), client, **parameters), fit_locally(X, **parameters))


def test_an_earlier_model_numbers_the_clusters(client):
    earlier = fit_locally(X[np.argsort(X[:, 0])][:550])
    prior = ModelPrior(earlier)
    mine = fit(chunked(), client, prior=prior)
    assert_alike(mine, fit_locally(X, prior=prior))
    assert mine.prior_.matched


def test_one_cluster(client):
    mine = DaskBBC(1, n_replicas=5, random_state=0, client=client).fit(chunked())
    assert_equal(np.asarray(mine.memberships_), np.ones((len(X), 1)))
    assert mine.worst_pair_ is None


@pytest.mark.parametrize("chunks", [(900, 2), (90, 1), ((400, 0, 1, 499), (2,))])
def test_any_partitioning_gives_the_same_up_to_rounding(client, monkeypatch, chunks):
    """Rows are drawn by their number, so partitions are nothing but the order of additions."""
    monkeypatch.setattr(reference, "SAMPLE", 300)
    assert_alike(fit(chunked(chunks=chunks), client), fit(chunked(chunks=(200, 2)), client))


def test_same_bits_for_any_number_of_workers_and_any_blocks(client, monkeypatch):
    monkeypatch.setattr(reference, "SAMPLE", 300)
    table = chunked(chunks=(45, 2))
    two = fit(table, client)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as alone,
    ):
        one = fit(table, alone, block_size=7)
    for name in CONCRETE:
        assert_equal(getattr(one, name), getattr(two, name), name)
    assert_same_rows(one, two)


def test_same_bits_for_any_blocks_that_draw_many_rows(client):
    """The engine puts many rows in order by stretches, wherever the others are."""
    n = 30_000
    values = np.random.default_rng(0).normal(size=(n, 2)) + 4 * (np.arange(n) % 3)[:, None]
    table = da.from_array(values, chunks=(7_000, 2))
    settings = {"n_replicas": 8, "n_draws": 15_000, "random_state": 0, "client": client}
    one, other = (DaskBBC(3, block_size=size, **settings).fit(table) for size in (1, 8))
    for name in CONCRETE:
        assert_equal(getattr(one, name), getattr(other, name), name)


def test_same_bits_when_rows_are_picked_by_several_passes(client, monkeypatch):
    once = fit(chunked(), client)
    monkeypatch.setattr(drawn_replicas, "_PICKED", 8 * N_DRAWS)
    often = fit(chunked(), client)
    for name in CONCRETE:
        assert_equal(getattr(often, name), getattr(once, name), name)


def test_drawn_rows_are_all_that_replicas_see(client):
    """Every other row could be any other: here far away, in the same clusters."""
    n = 20_000
    values = GENERATOR.normal(size=(n, 2)) + 20 * (np.arange(n) % 2)[:, None]
    model = DaskBBC(2, n_replicas=3, n_draws=40, random_state=0, client=client)
    model.fit(da.from_array(values, chunks=1000))
    local = BBC(2, n_replicas=3, n_draws=40, random_state=0).fit(values)
    assert_allclose(model.replica_centers_, local.replica_centers_, rtol=1e-10)


def test_means_are_those_of_the_sample(client, monkeypatch):
    monkeypatch.setattr(reference, "SAMPLE_VALUES", 2 * 50)
    model = fit(chunked(), client)
    numbers = reference.sample_of(model._state.table, model._state.job.plan.seed)
    assert len(numbers) == 50
    assert model.mean_entropy_ == pytest.approx(np.asarray(model.entropy_)[numbers].mean())
    shares = np.asarray(model.memberships_)[numbers]
    assert_allclose(model.cluster_shares_, shares.mean(axis=0))
    assert_allclose(model.pairwise_entropy_, pairwise_entropy(shares))


def test_draws_are_bounded_by_default(client):
    values = GENERATOR.normal(size=(12_000, 1))
    model = DaskBBC(2, n_replicas=2, random_state=0, client=client)
    model.fit(da.from_array(values, chunks=(6000, 1)))
    n, k, m = 12_000, 12_000, 10_000
    assert model.variance_ratio_ == pytest.approx(1 + (n + k) / m)


def test_memberships_are_the_votes_of_the_replicas_centres(client):
    model = fit(chunked(), client)
    occupied = np.ones((30, 3), dtype=bool)
    votes = CenterPredictors(model.replica_centers_, occupied, X.mean(axis=0)).vote(X)
    assert_equal(np.asarray(model.memberships_), votes / 30)
    assert model.memberships_.chunks == ((130,) * 6 + (120,), (3,))
    assert model.labels_.chunks == model.entropy_.chunks == ((130,) * 6 + (120,),)


def test_lazy_results_share_one_pass(client, monkeypatch):
    model = fit(chunked(), client)
    voted_on = []
    vote = CenterPredictors.vote
    monkeypatch.setattr(
        CenterPredictors,
        "vote",
        lambda predictors, rows: voted_on.append(len(rows)) or vote(predictors, rows),
    )
    lazy = [getattr(model, name) for name in ("memberships_", "labels_", "entropy_")]
    shares, labels, _ = dask.compute(*lazy, scheduler="sync")
    assert sorted(voted_on) == [120] + [130] * 6
    assert_equal(labels, shares.argmax(axis=1))


def test_data_frames_with_unknown_lengths_and_names(client):
    frame = pd.DataFrame(X, columns=["length", "width"])
    table = dd.from_pandas(frame, npartitions=5)
    table = table[table["length"] > -np.inf]
    mine = fit(table, client)
    assert_alike(mine, fit_locally(frame))
    assert mine.feature_names_in_.tolist() == ["length", "width"]
    with pytest.raises(ValueError, match="feature names"):
        mine.predict(table.rename(columns={"width": "height"}))


def test_float32_stays_float32(client):
    single = X.astype(np.float32)
    mine, local = fit(chunked(single), client), fit_locally(single)
    assert_allclose(mine.replica_centers_, local.replica_centers_, atol=1e-5)
    assert mine._state.table.rows.dtype == np.float32
    assert np.mean(np.asarray(mine.labels_) != local.labels_) < 0.01


def test_predictions_of_dask_collections_are_lazy_and_equal_those_in_memory(client):
    model = fit(chunked(), client)
    rows = GENERATOR.normal(3, 3, size=(50, 2))
    table = da.from_array(rows, chunks=(20, 1))
    for result, expected in [
        (model.predict(table), model.predict(rows)),
        (model.predict(table, min_confidence=0.9), model.predict(rows, min_confidence=0.9)),
        (model.predict_proba(table), model.predict_proba(rows)),
        (model.transform(table), model.transform(rows)),
        (model.predict(table[table[:, 0] > 0]), model.predict(rows[rows[:, 0] > 0])),
    ]:
        assert isinstance(result, da.Array)
        assert_equal(result.compute(), expected)
    with pytest.raises(ValueError, match="row 1 of partition 2, column 0"):
        model.predict(da.where(da.arange(50, chunks=20)[:, None] == 41, np.nan, table)).compute()


def test_memberships_stream_to_parquet(client, tmp_path):
    model = fit(chunked(chunks=(70, 2)), client)  # of 13 parts, the 10th comes after the 9th
    model.write_memberships(tmp_path / "memberships")
    files = sorted((tmp_path / "memberships").glob("*.parquet"))
    assert [len(pd.read_parquet(file)) for file in files] == [70] * 12 + [60]
    written = pd.read_parquet(tmp_path / "memberships")
    assert_equal(written["label"].to_numpy(), np.asarray(model.labels_))
    assert_equal(written["entropy"].to_numpy(), np.asarray(model.entropy_))
    shares = written[["membership_0", "membership_1", "membership_2"]]
    assert_equal(shares.to_numpy(), np.asarray(model.memberships_))
    with pytest.raises(FileExistsError, match="holds files already"):
        model.write_memberships(tmp_path / "memberships")


def test_added_replicas_equal_a_larger_fit(client):
    grown = fit(chunked(), client, n_replicas=12).add_replicas(18)
    whole = fit(chunked(), client)
    for name in CONCRETE:
        assert_equal(getattr(grown, name), getattr(whole, name), name)
    assert_equal(np.asarray(grown.memberships_), np.asarray(whole.memberships_))


def test_how_far_it_is_is_told(client, monkeypatch, capsys):
    monkeypatch.setattr(reference, "SAMPLE", 300)
    fit(chunked(), client, verbose=1)
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["DaskBBC: 900 rows in 7 partitions", "DaskBBC: 300 rows clustered"]
    assert told[2].startswith("DaskBBC: pass 1 moved the centres by 0.")
    assert told[-1] == "DaskBBC: 30 of 30 replicas"


def test_automatic_number_of_replicas_and_progress(client):
    heard = []
    model = fit(
        chunked(),
        client,
        n_replicas="auto",
        mc_tol=0.5,
        callbacks=lambda done, total: heard.append((done, total)),
    )
    assert model.n_replicas_ == 100
    assert heard[-1] == (100, 5000)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_nothing_is_kept_on_the_workers(client):
    fit(chunked(), client)
    for _ in range(1000):  # workers hear of it soon
        if not any(client.who_has().values()):
            return
    raise AssertionError("Some results were not released.")


@pytest.mark.parametrize(
    ("parameters", "arguments", "word"),
    [
        ({}, {"sample_weight": np.ones(900)}, "sample_weight"),
        ({}, {"reference_labels": np.zeros(900)}, "reference_labels"),
        ({"resampling": "rubin"}, {}, "resampling='rubin'"),
        ({"votes": "drawn"}, {}, "votes='drawn'"),
        ({"trim": 0.05}, {}, "trim"),
        ({"clusterer": "kmeans"}, {}, "clusterer"),
    ],
)
def test_what_needs_all_rows_on_one_machine_is_refused(client, parameters, arguments, word):
    from sklearn.cluster import KMeans

    if "clusterer" in parameters:
        parameters = {"clusterer": KMeans()}
    with pytest.raises(ValueError, match=rf"{word} cannot be used with a partitioned table"):
        DaskBBC(3, client=client, **parameters).fit(chunked(), **arguments)


def test_bad_tables_leave_the_model_as_it_was(client):
    model = fit(chunked(), client)
    before = model.replica_centers_
    bad = X.copy()
    bad[500] = np.nan
    with pytest.raises(ValueError, match="row 110 of partition 3"):
        model.fit(chunked(bad))
    few = da.zeros((10, 2), chunks=(5, 2))
    with pytest.raises(ValueError, match="n_clusters=3 is more than the 1 distinct rows"):
        model.fit(few)
    assert model.replica_centers_ is before


def test_questions_that_need_rows_in_memory_say_so(client):
    model = fit(chunked(), client)
    for ask in (
        lambda: model.comembership([[0, 1]]),
        lambda: model.prior_conflict(),
        lambda: model.top_memberships(1),
        lambda: model.variable_importance(),
    ):
        with pytest.raises(AttributeError, match="fitted to a partitioned table"):
            ask()
    assert model.centers_interval(0.8).shape == (3, 2, 2)
    assert model.variable_importance(X).bits.shape == (2,)
    for ask in (model.replica_labels, model.variable_importance):
        with pytest.raises(TypeError, match="needs rows in memory"):
            ask(chunked())


@pytest.mark.measures
def test_a_worker_that_is_killed_changes_nothing(client):
    table = chunked(chunks=(300, 2))
    expected = fit(table, client)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as other,
    ):
        victims = list(other.run(os.getpid).values())[:1]

        def kill(done, total):
            if victims:
                os.kill(victims.pop(), signal.SIGKILL)

        mine = fit(table, other, block_size=3, callbacks=kill)
    assert not victims
    assert_equal(mine.replica_centers_, expected.replica_centers_)
    assert_equal(mine.mean_entropy_, expected.mean_entropy_)


def test_a_model_can_be_saved_and_pickled(client, tmp_path):
    model = fit(chunked(), client)
    model.save(tmp_path / "model.bbc")
    assert_equal(
        load_model(tmp_path / "model.bbc").predict_proba(X), np.asarray(model.memberships_)
    )
    copied = pickle.loads(pickle.dumps(model))
    assert_equal(np.asarray(copied.memberships_), np.asarray(model.memberships_))
