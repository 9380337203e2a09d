"""Real clusters: a scheduler and worker processes that talk TCP over loopback."""

import subprocess
import sys

import dask
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

dask.config.set(
    {
        # Worker processes are forked by a server that has imported what they need: they start in a
        # tenth of the time. Not bbclust itself, which some tests make another on some workers.
        "distributed.worker.multiprocessing-method": "forkserver",
        # Processes start slowly on a busy machine.
        "distributed.comm.timeouts.connect": "60s",
        # A LocalCluster looks for a dead worker only after a while, and gives it up if that is
        # just when a test has killed it again.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
)
get_mp_context().set_forkserver_preload(
    ["distributed", "dask.dataframe", "pyarrow.parquet", "scipy.stats", "sklearn.cluster"]
)


def start_cluster(n_workers, **options):
    settings = {"threads_per_worker": 1, "memory_limit": "1GiB", "dashboard_address": ":0"}
    return LocalCluster(n_workers=n_workers, processes=True, **{**settings, **options})


@pytest.fixture(scope="session")
def cluster():
    """Two workers that tests share; they leave it as it was."""
    with start_cluster(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture
def processes(tmp_path):
    """A scheduler and a worker as processes of their own; the scheduler and its address."""
    file = tmp_path / "scheduler.json"
    dask_command = [sys.executable, "-m", "dask"]
    address = ["--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [*dask_command, "scheduler", *address, "--host", "127.0.0.1", "--port", "0"],
        stderr=subprocess.DEVNULL,
    )
    worker = subprocess.Popen(
        [*dask_command, "worker", *address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )
    try:
        yield scheduler, file
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
