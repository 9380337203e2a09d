"""Real clusters: a scheduler and worker processes that talk TCP over loopback."""

import pytest

pytest.importorskip("distributed")

import dask
from distributed import Client, LocalCluster

dask.config.set(
    {
        # Processes start slowly on a busy machine.
        "distributed.comm.timeouts.connect": "60s",
        # A LocalCluster looks for a dead worker only after a while, and gives it up if that is
        # just when a test has killed it again.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
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
