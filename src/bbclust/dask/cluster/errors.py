"""What can go wrong on a cluster, in one sentence each that says what to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dask.utils import format_bytes, format_time
from distributed import CancelledError, Client, KilledWorker
from distributed.comm import CommClosedError
from distributed.scheduler import NoWorkerError

from bbclust.dask.cluster.client import smallest_memory


class WorkersKeepDyingError(Exception):
    """Workers died again and again with what was sent to them."""


@contextmanager
def translate_cluster_errors(client: Client, if_lost: str) -> Iterator[None]:
    """Raise faults of the cluster as errors that a user can act on.

    ``if_lost`` says what to do when the scheduler is gone.

    Raises
    ------
    ConnectionError
        The scheduler is gone.
    MemoryError
        Workers die of a task again and again.
    RuntimeError
        Somebody has cancelled the tasks, or there were no workers for too long.
    """
    address, limit = address_of_scheduler(client), ""
    try:
        limit = _memory_limit(client)
        yield
    except (KilledWorker, WorkersKeepDyingError) as error:
        task = ""
        if isinstance(error, KilledWorker):
            task = f" of the task {str(error.task).rpartition('-')[0]}"
        raise MemoryError(
            f"Workers died again and again{task}, most likely for want of memory{limit}: give "
            "workers more memory (memory_limit) or fewer threads, or lower n_draws."
        ) from error
    except Exception as error:
        # Dask's own time-out of a connection is an OSError that names the address.
        no_connection = type(error) is OSError and address in str(error)
        if no_connection or is_disconnection(error) or client.status != "running":
            raise ConnectionError(
                f"The connection to the scheduler {address} was lost: {if_lost}."
            ) from error
        if isinstance(error, NoWorkerError):
            raise no_workers(address, error.timeout) from error
        if isinstance(error, CancelledError):
            raise RuntimeError(
                "The tasks were cancelled on the scheduler, by somebody or by a restart of the "
                "cluster: fit again."
            ) from error
        raise


def no_workers(address: str, seconds: float) -> RuntimeError:
    """What to say when there is nobody to work, whether Dask has noticed it or we have."""
    return RuntimeError(
        f"The cluster at {address} has had no workers for {format_time(seconds)}: start some and "
        "fit again."
    )


def address_of_scheduler(client: Client) -> str:
    """Where the scheduler of a client is.

    Raises
    ------
    ConnectionError
        The client is closed, or has lost its scheduler and tries to connect again. It closes if
        that is in vain, and calls that wait for it then never end.
    """
    scheduler, status = client.scheduler, client.status
    if scheduler is None or status != "running":
        raise ConnectionError(
            f"The client is {status}, by hand or since its scheduler was lost: connect a new one "
            "with Client(address) and fit again."
        )
    address: str = scheduler.address
    return address


def is_disconnection(error: BaseException) -> bool:
    """Whether the scheduler is gone."""
    return (
        isinstance(error, CommClosedError)
        or getattr(error, "reason", None) == "scheduler-connection-lost"
    )


def _memory_limit(client: Client) -> str:
    limit = smallest_memory(client)
    return "" if limit is None else f" (the limit is {format_bytes(limit)})"
