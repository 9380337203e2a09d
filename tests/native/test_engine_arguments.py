"""The compiled engine refuses arrays that do not fit, before it reads or writes beyond them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from bbclust._native import engine
from bbclust.stages.bootstrap import Resampling, draw_arguments
from bbclust.stages.missing_values import MissingModel, draws_by_number
from bbclust.stages.table import make_table

N, D, K, B, E = 12, 3, 2, 4, 5


@pytest.fixture
def table():
    return make_table(np.random.default_rng(0).normal(size=(N, D)))


def kmeans_arguments(table):
    return {
        "rows": table.rows, "weights": np.ones(N), "seed": 0, "n_starts": 2, "max_iter": 5,
        "tolerance": 0.0, "n_threads": 1, "centers": np.empty((K, D)),
        "labels": np.empty(N, dtype=np.int32),
    }  # fmt: skip


def replica_arguments(table):
    return {
        **draw_arguments(table, None, Resampling(N, prior_weight=0.0), 0),
        "given": None, "given_offsets": None, "reference_centers": np.zeros((K, D)),
        "reference_labels": np.zeros(N, dtype=np.int32), "vote_on_all": False,
        "evaluation_rows": np.arange(E), "n_init": 1, "max_iter": 5, "tolerance": 0.0, "first": 0,
        "n_threads": 1, "votes": np.zeros((N, K), dtype=np.int32), "centers": np.empty((B, K, D)),
        "occupied": np.empty((B, K), dtype=np.uint8), "margin": np.empty(B),
        "inertia": np.empty(B), "n_iter": np.empty(B, dtype=np.int32),
        "evaluation_labels": np.empty((B, E), dtype=np.int16),
    }  # fmt: skip


def test_arguments_that_fit_are_taken(table):
    engine.kmeans(**kmeans_arguments(table))
    engine.run_replicas(**replica_arguments(table))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", np.ones(N - 1)),
        ("labels", np.empty(N - 1, dtype=np.int32)),
        ("centers", np.empty((K, D + 1))),
        ("centers", np.empty((0, D))),
        ("rows", np.empty((0, D))),
        ("n_starts", 0),
        ("n_threads", 0),
        ("max_iter", 0),
    ],
)
def test_kmeans_refuses_what_does_not_fit(table, name, value):
    with pytest.raises(ValueError, match="engine"):
        engine.kmeans(**{**kmeans_arguments(table), name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_draws", 0),
        ("n_draws", 2**62),
        ("prior_weight", 1.0),
        ("prior_weight", np.nan),
        ("resampling", 3),
        ("row_weights", np.full(N, np.nan)),  # a gamma of no shape is drawn for ever
        ("row_cumulative", np.ones(N - 1)),
        ("row_numbers", np.arange(N - 1)),
        ("mixture_means", np.zeros((2, D))),
        ("factor_offsets", np.array([0, 7])),
        ("reference_centers", np.zeros((K, D + 1))),
        ("reference_labels", np.full(N, K, dtype=np.int32)),
        ("reference_labels", np.full(N, -1, dtype=np.int32)),
        ("evaluation_rows", np.full(E, N)),
        ("n_threads", 0),
        ("votes", np.zeros((N - 1, K), dtype=np.int32)),
        ("centers", np.empty((B, K, D - 1))),
        ("inertia", np.empty(B - 1)),
        ("evaluation_labels", np.empty((B, E - 1), dtype=np.int16)),
        ("missing", (1, 2, 3)),
    ],
)
def test_replicas_refuse_what_does_not_fit(table, name, value):
    with pytest.raises(ValueError, match="engine"):
        engine.run_replicas(**{**replica_arguments(table), name: value})


def test_too_few_draws_from_a_prior_in_python_are_refused(table):
    arguments = replica_arguments(table)
    arguments.update(
        prior_weight=0.9, given=np.zeros((3, D)), given_offsets=np.array([0, 3, 3, 3, 3])
    )
    with pytest.raises(IndexError, match="too few draws"):
        engine.run_replicas(**arguments)


def test_a_mixture_of_other_features_is_refused(table):
    with pytest.raises(ValueError, match="mixture_means"):
        engine.run_replicas(**{**replica_arguments(table), "prior_weight": 0.5})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_or_weights_that_are_no_numbers_lead_to_no_partition(table, value):
    for name, array in (("weights", np.full(N, value)), ("rows", np.full((N, D), value))):
        with pytest.raises(ValueError, match="finite"):
            engine.kmeans(**{**kmeans_arguments(table), name: array})


def test_distances_that_are_no_numbers_are_refused():
    overlap, found = np.zeros((K, K), dtype=np.int64), np.empty(K, dtype=np.int32)
    with pytest.raises(ValueError, match="finite"):
        engine.align(overlap, np.full((K, K), np.nan), found)


def test_incomplete_rows_that_do_not_fit_are_refused():
    rows = np.arange(12.0).reshape(4, 3)
    rows[1, 2] = np.nan
    table = make_table(rows)
    model = MissingModel(np.ones(1), np.zeros((1, 3)), np.eye(3)[None])
    parts = draws_by_number(model, table, 0).for_engine(table.center)
    engine.complete_rows(table.rows, parts, 0, np.empty_like(table.rows))
    beyond = (*parts[:5], np.full(4, 9, dtype=np.int32), *parts[6:])
    for missing in (None, beyond, parts[:9]):
        with pytest.raises(ValueError, match="engine"):
            engine.complete_rows(table.rows, missing, 0, np.empty_like(table.rows))
    with pytest.raises(ValueError, match="engine"):
        engine.complete_rows(table.rows, parts, 0, np.empty((3, 3)))


def test_labels_beyond_the_clusters_are_refused():
    labels = np.full((B, E), K, dtype=np.int16)
    with pytest.raises(ValueError, match="engine"):
        engine.count_labels(labels, np.zeros((E, K), dtype=np.int32))
    with pytest.raises(ValueError, match="engine"):
        engine.sum_moves(labels, np.zeros((E, K + 1)), np.empty(B))


def test_endless_arrays_of_nothing_are_refused():
    with pytest.raises(ValueError, match="engine"):
        engine.count_labels(np.empty((2**48, 0), np.int16), np.empty((0, K), np.int32))
    with pytest.raises(ValueError, match="engine"):
        engine.mean_pairwise_entropy(np.empty((2**48, 0)), None, False, np.empty((0, 0)))


@pytest.mark.parametrize("shape", [0.0, -1.0, np.nan, np.inf])
def test_gammas_of_no_shape_are_refused(shape):
    with pytest.raises(ValueError, match="engine"):
        engine.standard_gammas(1, 3, 0, shape, np.empty(3))


AT_EXIT = """
import threading
import numpy as np
from bbclust import BBC
X = np.random.default_rng(0).normal(size=(3000, 6))
begun = threading.Event()
def work():
    begun.set()
    BBC(5, n_replicas=5000, n_jobs=2, random_state=0).fit(X)
threading.Thread(target=work, daemon=True).start()
begun.wait()
np.sort(np.random.default_rng(0).normal(size=3_000_000))  # while the fit begins
"""


@pytest.mark.measures
def test_an_interpreter_ends_though_a_daemon_thread_is_in_a_fit():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


INFINITELY_FAR = """
import numpy as np
from bbclust._native import engine
labels, centers = np.zeros(40, dtype=np.int32), np.zeros((3, 18))
for seed in range(20):
    rows = np.random.default_rng(seed).normal(size=(40, 18))
    rows[::5, 5], rows[1::5, 5] = np.inf, -np.inf
    for dtype in (np.float32, np.float64):
        try:
            engine.kmeans(rows.astype(dtype), np.ones(40), seed, 3, 20, 0.0, 2, centers, labels)
        except ValueError as error:
            print(error)
"""


def test_points_infinitely_far_from_all_centres_have_a_label():
    """Memory that is not set would be one: here it is filled with what is no label."""
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    command = [sys.executable, "-c", INFINITELY_FAR]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("points or weights are not finite") == 40
