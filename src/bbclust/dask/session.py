"""A session on a cluster: which client, who its workers are, and tasks that run there.

Every task computes with the instruction set that all workers and the client have in common, so
that it gives the same bits wherever it runs.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy
import scipy
import sklearn
from distributed import Client, Future, LocalCluster, get_client

from bbclust._native import ISAS, engine, using_isa
from bbclust.version import __version__

RETRIES = 2


@dataclass(frozen=True)
class Session:
    """A client whose workers have been looked at.

    Attributes
    ----------
    client : distributed.Client
    isa : str
        The instruction set that all have in common.
    n_threads : int
        Threads of all workers together.
    """

    client: Client
    isa: str
    n_threads: int

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, priority: int = 0
    ) -> Future:
        """Start a task; among the arguments may be futures, whose results it gets.

        ``name`` says what it does, such as "replicas-0-25": dashboards show it. Tasks of higher
        priority are run first.
        """
        return self.client.submit(
            _run,
            __version__,
            self.isa,
            function,
            *arguments,
            key=f"{name}-{uuid4().hex}",
            retries=RETRIES,
            priority=priority,
            pure=False,
        )

    def scatter(self, name: str, value: Any) -> Future:
        """Give every worker a copy of something large.

        If all workers that hold it die it is lost, and tasks that need it are cancelled.
        """
        key = f"{name}-{uuid4().hex}"
        futures: dict[str, Future] = self.client.scatter({key: value}, broadcast=True)
        return futures[key]


def _run(version: str, isa: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A task, on a worker that may have come after the session was opened."""
    if version != __version__:
        raise RuntimeError(
            f"A worker that joined has bbclust {__version__} and the client has {version}: "
            "install the same version on both."
        )
    with using_isa(isa):
        return function(*arguments)


@contextmanager
def open_session(client: Client | None = None) -> Iterator[Session]:
    """A session on a client, on the current one, or on a cluster on this machine.

    Such a cluster is closed afterwards. Computations inside of the ``with``, those of the client
    too, use the common instruction set.
    """
    with _connected(client) as connected:
        workers = _look_at_workers(connected)
        isa = min([engine.ISA, *(worker["isa"] for worker in workers)], key=ISAS.index)
        n_threads = sum(connected.nthreads().values())
        with using_isa(isa):
            yield Session(connected, isa, max(n_threads, 1))


@contextmanager
def _connected(client: Client | None) -> Iterator[Client]:
    if client is None:
        try:
            client = get_client()
        except ValueError:  # there is none
            with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as own:
                yield own
            return
    yield client


def _look_at_workers(client: Client) -> list[dict[str, str]]:
    client.wait_for_workers(1)
    return list(client.run(describe_process).values())


def describe_process() -> dict[str, str]:
    """Versions that results depend on, and the instruction set of the engine."""
    return {
        "bbclust": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "isa": engine.ISA,
    }
