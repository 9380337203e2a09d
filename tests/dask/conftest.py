"""Real clusters: a scheduler and worker processes that talk TCP over loopback."""

import subprocess
import sys

import pytest
from distributed import Client
from local_clusters import start_cluster


@pytest.fixture(scope="module")
def cluster():
    """Two workers that tests of a file share and leave as they were; idle ones use time."""
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
