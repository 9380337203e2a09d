"""How tests start clusters: a scheduler and worker processes that talk TCP over loopback."""

import dask
from distributed import LocalCluster
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
