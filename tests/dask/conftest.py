"""Real clusters: a scheduler and worker processes that talk TCP over loopback."""

import pytest

pytest.importorskip("distributed")

import dask
from distributed import Client, LocalCluster

# Processes start slowly on a busy machine.
dask.config.set({"distributed.comm.timeouts.connect": "60s"})


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
