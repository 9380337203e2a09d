"""A client for one command: of a cluster on this machine, or of one that runs already."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster
from distributed.gc import disable_gc_diagnosis
from distributed.utils import silence_logging_cmgr

CONNECT_SECONDS = 10

# A worker that is killed is started again by its nanny. LocalCluster gives it up if it is away 15
# seconds after a death, be it for the next one or on a busy machine, and work would wait for ever.
PATIENCE = {"distributed.deploy.lost-worker-timeout": "1h"}

# Ctrl-C reaches all processes of a terminal; the client handles it and closes the workers.
_LEAVE_INTERRUPTS_TO_CLIENT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class NobodyAnswersError(ConnectionError):
    """There is no scheduler at an address."""


@contextmanager
def open_client(
    scheduler: str | None = None,
    *,
    n_workers: int | None = None,
    memory_limit: int | None = None,
) -> Iterator[Client]:
    """A client; a cluster that was started for it ends with the block.

    Workers have one thread each: the engine holds no lock while it computes, but reading and
    writing tables does, and so every worker's memory is that of one task.

    Parameters
    ----------
    scheduler : str, optional
        Address of a scheduler, such as "tcp://10.0.0.1:8786"; by default a cluster is started on
        this machine.
    n_workers : int, optional
        Processes of that cluster, one for each core by default.
    memory_limit : int, optional
        Bytes of each, an equal part of what this machine has by default.

    Raises
    ------
    NobodyAnswersError
        There is no scheduler at the address.
    """
    # whoever runs the command tells what goes wrong; graphs of many partitions are large
    with (
        silence_logging_cmgr(logging.CRITICAL),
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB", **PATIENCE}),
    ):
        if scheduler is not None:
            with _connect(scheduler) as client:
                yield client
            return
        with (
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                memory_limit="auto" if memory_limit is None else memory_limit,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                preload=[_LEAVE_INTERRUPTS_TO_CLIENT],
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            # its callback swallows a Ctrl-C that comes while memory is collected
            disable_gc_diagnosis(force=True)
            yield client


def _connect(scheduler: str) -> Client:
    try:
        return Client(scheduler, set_as_default=False, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise NobodyAnswersError(
            f"No Dask scheduler answers at {scheduler!r}: give an address such as "
            "tcp://10.0.0.1:8786, and see that it runs."
        ) from error


def smallest_memory(client: Client) -> int | None:
    """Memory limit in bytes of a worker, the least of those looked at; None if there is none."""
    workers = client.scheduler_info()["workers"].values()
    return min((one["memory_limit"] for one in workers if one["memory_limit"]), default=None)
