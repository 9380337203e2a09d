"""Clusters that are disturbed, how they are, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import socket
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, Nanny, Scheduler, Worker
from fault_targets import Draw, demand, digest

from bbclust import BBC
from bbclust.dask import DaskBBC, DaskKSelector
from bbclust.datasets import load_iris
from bbclust.priors import SamplerPrior

IRIS = load_iris().data
SENTENCES = (ConnectionError, MemoryError, RuntimeError)
PUBLISHED = (
    "replica_centers_",
    "cluster_shares_",
    "mean_entropy_",
    "scores_",
    "best_k_",
    "curves_",
    "labels_",
    "memberships_",
)


# Workers are forked with bbclust in them: where its number is used, it is another.
START_LIMIT = 60  # seconds for a scheduler and two workers to start
OTHER_BBCLUST = """
import bbclust.dask.cluster.compatibility, bbclust.dask.cluster.session

for module in (bbclust.dask.cluster.compatibility, bbclust.dask.cluster.session):
    module.BUILD = "0.0.9 with results 1"
"""


# --- a cluster ------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def fork(run: Callable[[], Awaitable[None]]) -> int:
    """A process that does something; its number. It has imported already what it needs."""
    process = os.fork()
    if process == 0:
        try:
            asyncio.run(run())
        finally:
            os._exit(0)
    return process


def fork_on_demand(run: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """A process that begins when the function that is given back is called."""
    waiting, asking = os.pipe()

    async def run_when_asked() -> None:
        os.read(waiting, 1)
        await run()

    fork(run_when_asked)
    return lambda: os.write(asking, b".") and None


class SetUpError(Exception):
    """There was no cluster to disturb."""


def wait_for_port(port: int) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + START_LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise SetUpError("the scheduler did not start") from None
            time.sleep(0.05)


class Proxy:
    """Passes bytes on to a port, until it is told to cut connections or to be silent."""

    def __init__(self, listener: socket.socket, port: int) -> None:
        self._listener, self._to = listener, port
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._refusing = False
        self._silent = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._refusing:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            threading.Thread(target=self._pump, args=(near, far), daemon=True).start()

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while True:
                for one in select.select([near, far], [], [])[0]:
                    while self._silent.is_set():
                        time.sleep(0.05)
                    data = one.recv(2**16)
                    if not data:
                        return self._close(near, far)
                    (far if one is near else near).sendall(data)
        return self._close(near, far)

    @staticmethod
    def _close(*sockets: socket.socket) -> None:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self) -> None:
        """Drop all connections; new ones are served."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def refuse(self) -> None:
        """Drop all connections, and those that come."""
        self._refusing = True
        self.cut()

    def be_silent(self) -> None:
        """Keep all connections and pass nothing on, as a network does that loses its way."""
        self._silent.set()


class Cluster:
    """A scheduler and two workers of one thread, as processes that are forked from this one.

    Parameters
    ----------
    folder : Path
    client_by_proxy, workers_by_proxy : bool
        Whether connections to the scheduler can be cut.
    nanny : bool
        Whether workers that die are started again.
    memory_limit : str
        Of each worker.
    """

    def __init__(
        self,
        folder: Path,
        *,
        client_by_proxy: bool = False,
        workers_by_proxy: bool = False,
        nanny: bool = True,
        memory_limit: str = "1GiB",
    ) -> None:
        self.folder = folder
        self.port = free_port()
        listener = socket.create_server(("127.0.0.1", 0))
        proxy_port = int(listener.getsockname()[1])
        self._worker_class = Nanny if nanny else Worker
        self._worker_options = {"memory_limit": memory_limit, "dashboard": False}
        if nanny:
            self._worker_options = {"memory_limit": memory_limit}
        self._worker_port = proxy_port if workers_by_proxy else self.port
        # All are forked before this process has threads; some wait to be asked for.
        self.scheduler = fork(self._schedule)
        wait_for_port(self.port)  # a worker whose first connection is closed gives up
        for _ in range(2):
            fork(self._work)
        self.another_scheduler = fork_on_demand(self._schedule)
        self.other_version = fork_on_demand(lambda: self._work(preload=[OTHER_BBCLUST]))
        self.proxy = Proxy(listener, self.port)
        port = proxy_port if client_by_proxy else self.port
        self.client = self._connect(port)
        try:
            self.client.wait_for_workers(2, timeout=START_LIMIT)
        except TimeoutError as error:
            raise SetUpError("a worker did not come") from error

    def _connect(self, port: int) -> Client:
        end = time.monotonic() + START_LIMIT
        while True:
            try:
                return Client(f"tcp://127.0.0.1:{port}", set_as_default=False)
            except OSError:
                if time.monotonic() > end:
                    raise SetUpError("the scheduler did not answer") from None

    async def _schedule(self) -> None:
        async with Scheduler(host="127.0.0.1", port=self.port, dashboard=False) as scheduler:
            await scheduler.finished()

    async def _work(self, **more: Any) -> None:
        address = f"tcp://127.0.0.1:{self._worker_port}"
        options = {"nthreads": 1, "local_directory": str(self.folder), **self._worker_options}
        async with self._worker_class(address, **options, **more) as worker:
            await worker.finished()

    def worker_ids(self) -> list[int]:
        """Process numbers of the workers."""
        return sorted(self.client.run(os.getpid).values())


# --- what is fitted -------------------------------------------------------------------------------


def estimator_of(kind: str, client: Client, **more: Any) -> tuple[Any, Any]:
    """An estimator on a cluster, and its table."""
    if kind == "selection":
        quick = BBC(n_replicas=20, n_init=1, **more)
        settings = {"k_range": (2, 3, 4), "null_reference": 2, "n_resamples": 2, "refit": False}
        return DaskKSelector(quick, **settings, random_state=0, client=client), IRIS
    model = DaskBBC(3, n_replicas=200, block_size=5, random_state=0, client=client, **more)
    if kind == "in memory":
        return model, IRIS
    return model, da.from_array(np.tile(IRIS, (20, 1)), chunks=(300, -1))


def fit(kind: str, client: Client, **more: Any) -> str:
    """Digest of what a fit published; nothing is published if it ends with an error."""
    model, table = estimator_of(kind, client, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(table)
        except Exception:
            demand(not any(hasattr(model, name) for name in PUBLISHED), "half a result was left")
            raise
    values = {name: getattr(model, name) for name in PUBLISHED if hasattr(model, name)}
    demand(len(values) >= 3, f"only {list(values)} were published")
    return digest({name: one for name, one in values.items() if not isinstance(one, da.Array)})


def outcome_of(fitting: Callable[[], str], expected: str) -> str:
    """Whether a fit gave what it gives undisturbed, or a sentence of ours."""
    try:
        found = fitting()
    except SENTENCES as error:
        said = str(error)
        demand(type(error) in SENTENCES, f"{type(error).__name__} instead of a sentence: {said}")
        demand("\n" not in said and said.endswith("."), f"not one sentence: {said!r}")
        return f"a sentence ({re.sub(r'tcp://[0-9.:]*[0-9]', 'ADDRESS', said).partition(':')[0]})"
    demand(found == expected, "another result than undisturbed")
    return "the same result"


# --- faults ---------------------------------------------------------------------------------------


class Case:
    """A cluster with a fault: ``disturb`` is called once, while a fit is under way.

    ``ends_well`` says that no sentence will do.
    """

    ends_well = False
    cluster_options: dict[str, Any] = {}  # noqa: RUF012
    fit_options: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, folder: Path, kind: str) -> None:
        self.kind = kind
        self.cluster = Cluster(folder, **self.cluster_options)

    def disturb(self, victims: list[int], draw: Draw) -> None:
        raise NotImplementedError

    def trial(self, draw: Draw) -> str:
        client = self.cluster.client
        expected = fit(self.kind, client)
        began = time.perf_counter()
        demand(fit(self.kind, client) == expected, "two results without any fault")
        seconds = time.perf_counter() - began
        victims = [int(one) for one in draw.permutation(self.cluster.worker_ids())]
        delay = draw.uniform(0, seconds)
        disturbed = threading.Event()

        def disturb() -> None:
            time.sleep(delay)
            self.disturb(victims, draw)
            disturbed.set()

        threading.Thread(target=disturb, daemon=True).start()
        outcomes = []
        # At least one fit begins after the fault.
        while not disturbed.is_set() or len(outcomes) < 2:
            already = disturbed.is_set()
            outcomes.append(outcome_of(lambda: fit(self.kind, client), expected))
            if already or outcomes[-1] != "the same result":
                break
        if self.ends_well:
            demand(set(outcomes) == {"the same result"}, f"{outcomes[-1]} where none is needed")
        if outcomes[-1] != "the same result":
            # Whoever fits again is told so, too.
            outcome_of(lambda: fit(self.kind, client), expected)
        return outcomes[-1]


def send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


class WorkerKilled(Case):
    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(victims[0], signal.SIGKILL)


class AllWorkersKilled(Case):
    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        for one in victims:
            send(one, signal.SIGKILL)


class AllWorkersGone(Case):
    cluster_options = {"nanny": False}  # noqa: RUF012

    def disturb(self, victims: list[int], draw: Draw) -> None:
        for one in victims:
            send(one, signal.SIGKILL)


class WorkerFrozenForAWhile(Case):
    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(victims[0], signal.SIGSTOP)
        time.sleep(draw.uniform(0.5, 5))
        send(victims[0], signal.SIGCONT)


class WorkerFrozen(Case):
    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(victims[0], signal.SIGSTOP)


class WorkerFrozenWithoutNanny(WorkerFrozen):
    cluster_options = {"nanny": False}  # noqa: RUF012


class AllWorkersFrozen(Case):
    cluster_options = {"nanny": False}  # noqa: RUF012

    def disturb(self, victims: list[int], draw: Draw) -> None:
        for one in victims:
            send(one, signal.SIGSTOP)


class WorkerSlow(Case):
    """A worker that runs a tenth of the time."""

    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        def slow_down() -> None:
            while True:
                send(victims[0], signal.SIGSTOP)
                time.sleep(0.09)
                send(victims[0], signal.SIGCONT)
                time.sleep(0.01)

        threading.Thread(target=slow_down, daemon=True).start()


def take_all_memory(n: int, generator: Draw) -> Any:
    taken = []
    while True:
        taken.append(np.ones(2**20))


class TooLittleMemory(Case):
    cluster_options = {"memory_limit": "500MiB"}  # noqa: RUF012

    def trial(self, draw: Draw) -> str:
        client = self.cluster.client
        expected = fit(self.kind, client)
        prior = SamplerPrior(take_all_memory)
        outcome = outcome_of(lambda: fit(self.kind, client, prior=prior), "none")
        demand(
            outcome.startswith("a sentence (Workers died again"), f"{outcome} for want of memory"
        )
        # The cluster is of use again.
        demand(fit(self.kind, client) == expected, "another result after workers had died")
        return outcome


class SchedulerKilled(Case):
    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(self.cluster.scheduler, signal.SIGKILL)
        os.waitpid(self.cluster.scheduler, 0)


class SchedulerRestarted(SchedulerKilled):
    def disturb(self, victims: list[int], draw: Draw) -> None:
        super().disturb(victims, draw)
        self.cluster.another_scheduler()


class SchedulerFrozenForAWhile(Case):
    ends_well = True

    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(self.cluster.scheduler, signal.SIGSTOP)
        time.sleep(draw.uniform(0.5, 5))
        send(self.cluster.scheduler, signal.SIGCONT)


class SchedulerFrozen(Case):
    def disturb(self, victims: list[int], draw: Draw) -> None:
        send(self.cluster.scheduler, signal.SIGSTOP)


class ClientCutOff(Case):
    """Connections of the client are dropped once; it may connect again."""

    cluster_options = {"client_by_proxy": True}  # noqa: RUF012

    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.proxy.cut()


class ClientCutOffForGood(ClientCutOff):
    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.proxy.refuse()


class ClientUnheard(ClientCutOff):
    """Connections of the client stay open, and nothing comes through."""

    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.proxy.be_silent()


class WorkersCutOff(Case):
    cluster_options = {"workers_by_proxy": True}  # noqa: RUF012

    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.proxy.cut()


class WorkersCutOffForGood(WorkersCutOff):
    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.proxy.refuse()


class OtherVersionJoins(Case):
    """A worker joins that has another bbclust."""

    def disturb(self, victims: list[int], draw: Draw) -> None:
        self.cluster.other_version()
        with suppress(Exception):
            self.cluster.client.wait_for_workers(3, timeout=60)


CASES: dict[str, type[Case]] = {
    "the scheduler killed": SchedulerKilled,
    "the scheduler killed and started again": SchedulerRestarted,
    "the scheduler frozen for a while": SchedulerFrozenForAWhile,
    "the scheduler frozen for good": SchedulerFrozen,
    "the client cut off once": ClientCutOff,
    "the client cut off for good": ClientCutOffForGood,
    "the client unheard": ClientUnheard,
    "the workers cut off once": WorkersCutOff,
    "the workers cut off for good": WorkersCutOffForGood,
    "a worker of another version joins": OtherVersionJoins,
    "a worker killed": WorkerKilled,
    "all workers killed, and started again": AllWorkersKilled,
    "all workers gone for good": AllWorkersGone,
    "a worker frozen for a while": WorkerFrozenForAWhile,
    "a worker frozen for good": WorkerFrozen,
    "a worker without nanny frozen for good": WorkerFrozenWithoutNanny,
    "all workers frozen for good": AllWorkersFrozen,
    "a slow worker": WorkerSlow,
    "too little memory": TooLittleMemory,
}
