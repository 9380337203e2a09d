"""A session on a cluster: which client, who its workers are, and tasks that run there.

Every task computes with the instruction set that all workers and the client have in common, so
that it gives the same bits wherever it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import dask
from distributed import (
    CancelledError,
    Client,
    Future,
    LocalCluster,
    as_completed,
    get_client,
    performance_report,
)

from bbclust._native import using_isa
from bbclust.dask.cluster.client import PATIENCE
from bbclust.dask.cluster.compatibility import (
    check_versions,
    describe_process,
    look_at_workers,
    lowest_isa,
)
from bbclust.dask.cluster.errors import (
    WorkersKeepDyingError,
    is_disconnection,
    translate_cluster_errors,
)
from bbclust.dask.cluster.watch import Watch, watched
from bbclust.version import BUILD

RETRIES = 2
MAX_SENDINGS = 4


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
    watch : Watch
        Whether to wait for the cluster any longer.
    """

    client: Client
    isa: str
    n_threads: int
    watch: Watch

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, priority: int = 0
    ) -> Future:
        """Start a task; among the arguments may be futures, whose results it gets.

        ``name`` says what it does, such as "replicas-0-25": dashboards show it. Tasks of higher
        priority are run first.
        """
        return self.client.submit(
            run_task,
            BUILD,
            self.isa,
            function,
            *arguments,
            key=_unique(name),
            retries=RETRIES,
            priority=priority,
            pure=False,
        )

    def tasks(self) -> AbstractContextManager[Tasks]:
        """Tasks that are handed back as they end; what is not done at the end is cancelled."""
        return _tasks(self)

    def fetch(self, future: Future) -> Any:
        """The result of a task, or :class:`LostResult`; its error is raised."""
        try:
            return future.result()
        except CancelledError as error:
            gone = is_disconnection(error) or self.client.status != "running"
            if gone or self.watch.error is not None:
                raise
            return LostResult()


def _unique(name: str) -> str:
    return f"{name}-{uuid4().hex}"


def run_task(build: str, isa: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A task, on a worker that may have come after the session was opened."""
    if build != BUILD:
        raise RuntimeError(
            f"A worker that joined has bbclust {BUILD} and the client has {build}: "
            "install the same version on all."
        )
    with using_isa(isa):
        return function(*arguments)


class LostResult:
    """What is left of a result that was on workers that died, and cannot be computed again there.

    The scheduler computes tasks again by itself, unless they need something that was sent from
    here (:class:`Shared`) and is gone too.
    """


class Shared:
    """Something large that is sent to a worker once; others get it from there when they need it.

    When all workers that hold it are gone it is sent again. It is not sent to all of them at
    first: the scheduler would wait for ever for one that dies meanwhile.
    """

    def __init__(self, session: Session, name: str, value: Any) -> None:
        self._client = session.client
        self._watch = session.watch
        self._name = name
        self._value = value
        self._future: Future | None = None
        self._n_sendings = 0

    def future(self) -> Future:
        """Stands for it among the arguments of a task."""
        while self._future is None:
            self._n_sendings += 1
            if self._n_sendings > MAX_SENDINGS:
                raise WorkersKeepDyingError
            key = _unique(self._name)
            try:
                self._future = self._client.scatter({key: self._value})[key]
            except TimeoutError:
                raise RuntimeError(
                    "All workers are gone and no other has come: start some and fit again."
                ) from None
            except Exception:  # of whatever kind, if a worker died on the way
                if self._n_sendings == MAX_SENDINGS or self._watch.error is not None:
                    raise
        return self._future

    def reset_send_count(self) -> None:
        """A task that needs it has ended well, so it may be sent again as often as at first."""
        self._n_sendings = 1

    def invalidate_if_lost(self) -> None:
        """A task that needs it was lost: look whether a worker still has it."""
        # The future need not know: what is lost while it is being sent is not told.
        if self._future is not None and (
            self._future.status != "finished"
            or not any(self._client.who_has([self._future]).values())
        ):
            self._future = None


@dataclass(frozen=True)
class FinishedTask:
    """A task that has ended: what it was for, and its result or :class:`LostResult`."""

    purpose: Any
    result: Future | LostResult


class Tasks:
    """Tasks under way, each for a purpose, handed back as they end.

    More may be started while one goes through them. One that fails ends all with its error.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._purposes: dict[Future, Any] = {}
        self._under_way = as_completed(loop=session.client.loop)

    def start(
        self,
        purpose: Any,
        name: str,
        function: Callable[..., Any],
        *arguments: Any,
        priority: int = 0,
    ) -> None:
        """Start a task, see :meth:`Session.submit`."""
        future = self._session.submit(name, function, *arguments, priority=priority)
        self._purposes[future] = purpose
        self._under_way.add(future)

    def __len__(self) -> int:
        return len(self._purposes)

    def __iter__(self) -> Iterator[FinishedTask]:
        for future in self._under_way:
            if future not in self._purposes:
                continue
            if future.status in ("pending", "lost"):  # it is being computed again
                self._under_way.add(future)
                continue
            purpose = self._purposes.pop(future)
            there = future.status == "finished"
            yield FinishedTask(purpose, future if there else self._session.fetch(future))

    def cancel(self, which: Callable[[Any], bool]) -> None:
        """Forget the tasks for some purposes."""
        futures = [future for future, purpose in self._purposes.items() if which(purpose)]
        for future in futures:
            del self._purposes[future]
        self._session.client.cancel(futures)


@contextmanager
def _tasks(session: Session) -> Iterator[Tasks]:
    tasks = Tasks(session)
    try:
        yield tasks
    finally:
        if len(tasks):
            with suppress(Exception):  # the scheduler may be gone, and another error is on its way
                tasks.cancel(lambda _: True)


@contextmanager
def open_session(
    client: Client | None = None,
    *,
    report: str | os.PathLike[str] | None = None,
    if_lost: str = "start it again and fit again",
) -> Iterator[Session]:
    """A session on a client, on the current one, or on a cluster on this machine.

    Such a cluster is closed afterwards. What is computed inside of the ``with``, by the client too,
    uses the common instruction set. What goes wrong on the cluster is raised as one sentence.

    Parameters
    ----------
    client : distributed.Client, optional
    report : path, optional
        Where to write Dask's performance report.
    if_lost : str
        What to do when the scheduler is gone, as half a sentence.
    """
    with (
        _connected(client) as connected,
        connected.as_current(),
        watched(connected, if_lost) as watch,
        translate_cluster_errors(connected, if_lost),
    ):
        here, workers = describe_process(), look_at_workers(connected)
        watch.expect_workers()
        check_versions(here, workers)
        isa = lowest_isa(here, workers)
        session = Session(connected, isa, sum(connected.nthreads().values()), watch)
        with using_isa(isa), _reported(connected, report):
            yield session


@contextmanager
def _connected(client: Client | None) -> Iterator[Client]:
    if client is None:
        try:
            client = get_client()
        except ValueError:  # there is none
            with dask.config.set(PATIENCE), _own_cluster() as cluster, Client(cluster) as own:
                yield own
            return
    yield client


def _own_cluster() -> LocalCluster:
    try:
        return LocalCluster(dashboard_address=":0")  # any free port
    except RuntimeError as error:
        raise RuntimeError(
            "No cluster could be started on this machine: in a script, call fit below "
            "if __name__ == '__main__', since its processes read the script too; or give a client."
        ) from error


@contextmanager
def _reported(client: Client, path: str | os.PathLike[str] | None) -> Iterator[None]:
    if path is None:
        yield
        return
    if not client.run_on_scheduler(_has_bokeh):
        raise ImportError(
            "A performance report is drawn by bokeh, which the scheduler does not have: install "
            "bokeh there, or leave performance_report=None."
        )
    report = performance_report(filename=os.fspath(path))
    report.__enter__()
    yield
    report.__exit__(None, None, None)  # not after an error, which it could hide


def _has_bokeh() -> bool:
    from importlib.util import find_spec

    return find_spec("bokeh") is not None
