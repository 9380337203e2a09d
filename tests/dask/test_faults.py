"""Workers that die, run out of memory or are not like the client; schedulers that go away."""

import os
import pickle
import re
import signal
import subprocess
import sys
import threading

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster
from distributed.scheduler import NoWorkerError
from local_clusters import start_cluster
from same import assert_same_fit

from bbclust import BBC, KSelector
from bbclust._native import engine
from bbclust.dask import DaskBBC, DaskKSelector
from bbclust.dask.cluster.compatibility import check_versions, describe_process
from bbclust.dask.cluster.errors import translate_cluster_errors
from bbclust.datasets import load_iris
from bbclust.priors import SamplerPrior
from bbclust.version import BUILD

IRIS = load_iris().data

pytestmark = pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")


def one_process_id(client):
    """Of some worker that is alive."""
    while True:
        found = client.run(os.getpid, on_error="ignore")
        if found:
            return min(found.values())


class KillAfter:
    """A callback that kills a worker when so many blocks are done."""

    def __init__(self, client, n_calls):
        self.victim = one_process_id(client)
        self.n_calls = n_calls

    def __call__(self, done, total):
        self.n_calls -= 1
        if self.n_calls == 0:
            os.kill(self.victim, signal.SIGKILL)


@pytest.fixture(scope="module", params=[1, 2], ids="{} workers".format)
def mortal(request):
    """A cluster whose workers may be killed: their nannies start them again."""
    with start_cluster(request.param) as cluster, Client(cluster) as client:
        yield client


@pytest.mark.measures
@pytest.mark.parametrize("n_blocks", [1, 12])
def test_same_bits_when_a_worker_is_killed(n_blocks, mortal):
    killer = KillAfter(mortal, n_blocks)
    parameters = {"n_clusters": 3, "n_replicas": 60, "random_state": 0}
    model = DaskBBC(**parameters, block_size=5, client=mortal, callbacks=killer).fit(IRIS)
    assert killer.n_calls <= 0
    assert_same_fit(model, BBC(**parameters).fit(IRIS))


@pytest.mark.measures
def test_the_choice_of_k_survives_the_death_of_a_worker(mortal):
    killer = KillAfter(mortal, 3)
    settings = {
        "estimator": BBC(n_replicas=20),
        "k_range": (2, 3, 4),
        "null_reference": 0,
        "random_state": 0,
    }
    selector = DaskKSelector(**settings, client=mortal, callbacks=killer).fit(IRIS)
    assert killer.n_calls <= 0
    assert_same_fit(selector, KSelector(**settings).fit(IRIS))


# --- tasks that are too much ----------------------------------------------------------------------


def hungry_prior():
    """A prior that takes all memory there is."""

    def sample(n, generator):
        taken = []
        while True:
            taken.append(np.ones(2**20))

    return SamplerPrior(sample)


def deadly_prior():
    """A prior whose draws end the process, as if the machine was switched off."""

    def sample(n, generator):
        os.kill(os.getpid(), signal.SIGKILL)

    return SamplerPrior(sample)


@pytest.fixture
def impatient():
    """A cluster that gives up on a task at the first worker that it costs."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        start_cluster(1, memory_limit="400MiB") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.measures
@pytest.mark.parametrize("prior", [hungry_prior(), deadly_prior()], ids=["hungry", "deadly"])
def test_a_task_that_is_too_much_for_workers_ends_with_what_to_change(prior, impatient):
    model = DaskBBC(3, n_replicas=10, prior=prior, client=impatient)
    with pytest.raises(MemoryError) as error:
        model.fit(IRIS)
    message = str(error.value)
    assert message.startswith("Workers died again and again")
    assert "400.00 MiB" in message
    assert "memory_limit" in message
    assert "n_draws" in message
    assert not hasattr(model, "memberships_")


def test_an_error_of_a_task_is_that_of_the_local_twin(client):
    prior = SamplerPrior(lambda n, generator: np.full((n, 4), np.nan))
    with pytest.raises(ValueError, match="The prior gave draws that hold NaN"):
        DaskBBC(3, prior=prior, client=client).fit(IRIS)


def test_what_cannot_be_pickled_is_named(client):
    lock = threading.Lock()
    prior = SamplerPrior(lambda n, generator: lock)
    with pytest.raises(TypeError, match="prior cannot be sent to the workers, since it cannot be"):
        DaskBBC(3, prior=prior, client=client).fit(IRIS)
    estimator = BBC(clusterer=lambda points, n_clusters: lock)
    with pytest.raises(TypeError, match="clusterer cannot be sent to the workers"):
        DaskKSelector(estimator, client=client).fit(IRIS)


def test_what_workers_cannot_load_is_named(client, tmp_path, monkeypatch):
    (tmp_path / "at_home.py").write_text("def halve(points):\n    return (points[:, 0] > 5) * 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import at_home

    with pytest.raises(
        RuntimeError, match=r"cannot load the clusterer .*No module named 'at_home'"
    ):
        DaskBBC(3, clusterer=at_home.halve, client=client).fit(IRIS)


# --- workers that are not like the client ---------------------------------------------------------


def start_mixed_cluster(**other):
    """One worker as usual, and another."""
    options = {"nthreads": 1, "memory_limit": "1GiB", "host": "127.0.0.1"}
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "dashboard_address": ":0"}}
    workers = {
        0: {"cls": Nanny, "options": options},
        1: {"cls": Nanny, "options": {**options, **other}},
    }
    return SpecCluster(workers=workers, scheduler=scheduler)


OTHER_BBCLUST = """
import bbclust.version

bbclust.version.BUILD = "0.0.9 with results 1"
"""
NO_BBCLUST = """
import sys

sys.modules["bbclust"] = None
"""


@pytest.mark.measures
@pytest.mark.parametrize(
    ("preload", "message"),
    [
        (
            OTHER_BBCLUST,
            r"^The worker tcp://\S+ has bbclust 0\.0\.9 with results 1 and the client has "
            rf"{re.escape(BUILD)}: install the same version on all\.$",
        ),
        (NO_BBCLUST, r"^The worker tcp://\S+ cannot import bbclust .* install it there\.$"),
    ],
    ids=["another", "none"],
)
def test_another_version_on_a_worker_is_named_before_the_work_begins(preload, message):
    with start_mixed_cluster(preload=preload) as cluster, Client(cluster) as client:
        with pytest.raises(RuntimeError, match=message):
            DaskBBC(3, client=client).fit(IRIS)
        assert "replicas" not in cluster.scheduler.task_prefixes


def test_other_versions_of_packages_are_warned_of():
    here = describe_process()
    there = {**here, "numpy": "1.0", "scipy": "1.1"}
    message = (
        rf"worker b has numpy 1\.0 \(the client {np.__version__}\), scipy 1\.1 .*same versions"
    )
    with pytest.warns(UserWarning, match=message):
        check_versions(here, {"a": here, "b": there})


@pytest.mark.measures
def test_a_cluster_without_workers_is_named():
    with (
        start_cluster(0) as cluster,
        Client(cluster) as client,
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(RuntimeError, match=r"^The cluster at tcp://\S+ had no workers for 200ms: "),
    ):
        DaskBBC(3, client=client).fit(IRIS)


FIT_LOCALLY = """
import pickle, sys
from bbclust import BBC
from bbclust._native import engine
from bbclust.dask.cluster.compatibility import check_versions, describe_process
from bbclust.datasets import load_iris

assert engine.ISA == "portable"
X = load_iris().data.astype("float32") * 1.1
pickle.dump(BBC(5, n_replicas=60, random_state=0).fit(X), sys.stdout.buffer)
"""


@pytest.mark.measures
@pytest.mark.skipif(engine.ISA == "portable", reason="this machine has one instruction set")
def test_all_use_the_instruction_set_that_they_have_in_common():
    environment = {"BBCLUST_ISA": "portable"}
    command = [sys.executable, "-W", "ignore", "-c", FIT_LOCALLY]
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True
    )
    portable = pickle.loads(done.stdout)
    X = IRIS.astype("float32") * np.float32(1.1)
    with start_mixed_cluster(env=environment) as cluster, Client(cluster) as client:
        mine = DaskBBC(5, n_replicas=60, random_state=0, client=client).fit(X)
    assert_same_fit(mine, portable)
    assert engine.ISA != "portable"  # here only for as long as the fit
    widest = BBC(5, n_replicas=60, random_state=0).fit(X)
    assert (widest.replica_centers_ != portable.replica_centers_).any()


# --- a scheduler that goes away -------------------------------------------------------------------


@pytest.mark.measures
def test_a_selection_goes_on_after_its_scheduler_was_lost(processes, client, tmp_path):
    scheduler, file = processes
    folder = tmp_path / "cells"
    settings = {
        "estimator": BBC(n_replicas=20),
        "k_range": range(2, 7),
        "null_reference": 0,
        "random_state": 0,
    }

    def kill_scheduler(done, total):
        if done == 4:
            scheduler.kill()

    with Client(scheduler_file=str(file), set_as_default=False) as lost:
        lost._timeout = 1  # for connecting again, which is in vain; the first time may take longer
        address = lost.scheduler.address
        selector = DaskKSelector(
            **settings, checkpoint=folder, callbacks=kill_scheduler, client=lost
        )
        with pytest.raises(ConnectionError) as error:
            selector.fit(IRIS)
    assert str(error.value) == (
        f"The connection to the scheduler {address} was lost: start it again and fit again, which "
        f"goes on from {folder}."
    )
    kept = list(folder.rglob("*.cell"))
    assert 4 <= len(kept) < 15
    times = {path: path.stat().st_mtime_ns for path in kept}
    again = DaskKSelector(**settings, checkpoint=folder, client=client).fit(IRIS)
    assert_same_fit(again, KSelector(**settings).fit(IRIS))
    assert times == {path: path.stat().st_mtime_ns for path in kept}  # not computed again


@pytest.mark.measures
def test_a_fit_whose_cluster_is_closed_ends_with_a_sentence():
    with start_cluster(1) as cluster, Client(cluster) as lost:
        model = DaskBBC(3, block_size=5, callbacks=lambda *_: cluster.close(), client=lost)
        with pytest.raises(ConnectionError, match="was lost: start it again and fit again"):
            model.fit(IRIS)


# --- a cluster that does nothing any more ---------------------------------------------------------


@pytest.fixture
def little_patience():
    """For whoever waits for a cluster in this process.

    A busy machine may keep a scheduler from answering for seconds, so what a test ends must have
    ended before a fit begins, or nobody else's silence must look the same.
    """
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "5s"}):
        yield


@pytest.mark.measures
def test_a_scheduler_that_is_frozen_is_not_waited_for_without_end(processes, little_patience):
    scheduler, file = processes
    with Client(scheduler_file=str(file), set_as_default=False) as lost:
        lost._timeout = 1  # for connecting again, which is in vain
        model = DaskBBC(3, block_size=5, client=lost)
        scheduler.send_signal(signal.SIGSTOP)
        with pytest.raises(ConnectionError, match=r"has not answered for 5\.00 s: start it again"):
            model.fit(IRIS)
    assert not hasattr(model, "memberships_")


@pytest.mark.measures
def test_workers_that_are_gone_are_not_waited_for_without_end(little_patience):
    with start_cluster(1) as cluster, Client(cluster) as client:
        model = DaskBBC(3, block_size=5, callbacks=lambda *_: cluster.scale(0), client=client)
        with pytest.raises(RuntimeError, match=r"has had no workers for 5\.00 s: start some and"):
            model.fit(da.from_array(IRIS, chunks=(50, 4)))
    assert not hasattr(model, "memberships_")


def test_no_workers_for_too_long_is_one_sentence_whoever_notices(client):
    with (
        pytest.raises(RuntimeError, match=r"has had no workers for 5\.00 s: start some and fit"),
        translate_cluster_errors(client, "connect again"),
    ):
        raise NoWorkerError("a task", 5.0)


def test_a_closed_client_is_named(cluster):
    with Client(cluster, set_as_default=False) as closed:
        pass
    with pytest.raises(ConnectionError, match=r"^The client is closed, by hand or since"):
        DaskBBC(3, client=closed).fit(IRIS)
