"""A look at the cluster now and then, while a fit waits for it.

Dask waits for ever for a scheduler that is frozen or behind a network that loses everything, and
for workers when the last of them is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dask
from dask.utils import format_time, parse_timedelta
from distributed import Client, Future

from bbclust.dask.cluster.errors import address_of_scheduler, no_workers

LOOKS = 10  # within the time that is too long


class Watch:
    """Ends the wait for a cluster that does nothing any more.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        Seconds without an answer, or without workers, that are too long.
    if_lost : str
        What to do when the scheduler is gone, as half a sentence.

    Attributes
    ----------
    error : Exception or None
        Why the wait was ended.
    """

    def __init__(self, client: Client, patience: float, if_lost: str) -> None:
        self.error: Exception | None = None
        self._client = client
        self._patience = patience
        self._if_lost = if_lost
        self._address = address_of_scheduler(client)
        self._not_ours = set(client.futures)
        self._workers_seen: float | None = None
        self._over = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._look, name="bbclust-watch", daemon=True).start()

    def expect_workers(self) -> None:
        """There were some, so from now on too long without any is an error."""
        self._workers_seen = time.monotonic()

    def stop(self) -> None:
        self._over.set()

    def _look(self) -> None:
        answered, in_vain = time.monotonic(), 0
        while not self._over.wait(self._patience / LOOKS):
            try:
                workers = self._client.sync(
                    self._client.scheduler.ncores, callback_timeout=self._patience / 2
                )
            except Exception:  # of many kinds, some by shorter time-outs of Dask
                in_vain += 1  # once may be since this process was at a standstill
                too_long = in_vain > 1 and time.monotonic() - answered > self._patience
                if too_long and not self._over.is_set():
                    self._hang_up()  # again at the next look, for what was asked meanwhile
                continue
            answered, in_vain = time.monotonic(), 0
            if self._workers_seen is None or self._over.is_set():
                continue
            if workers:
                self._workers_seen = time.monotonic()
            elif time.monotonic() - self._workers_seen > self._patience:
                self._cancel()  # again at the next look, for what was submitted meanwhile

    def _hang_up(self) -> None:
        """Act as if the connection had been cut: then nobody waits for an answer."""
        self.error = ConnectionError(
            f"The scheduler {self._address} has not answered for {format_time(self._patience)}: "
            f"{self._if_lost}."
        )

        async def abort() -> None:
            self._client.rpc.remove(self._address)
            if self._client.scheduler_comm is not None:
                self._client.scheduler_comm.comm.abort()

        with suppress(Exception):  # it is closed meanwhile
            self._client.sync(abort)

    def _cancel(self) -> None:
        """Cancel the tasks of this fit, for which there is no worker."""
        self.error = no_workers(self._address, self._patience)
        ours = [key for key in list(self._client.futures) if key not in self._not_ours]
        with suppress(Exception):
            self._client.cancel([Future(key, self._client) for key in ours])


@contextmanager
def watched(client: Client, if_lost: str) -> Iterator[Watch]:
    """Raise :attr:`Watch.error` in place of what its end of the wait gave rise to."""
    watch = Watch(client, patience(), if_lost)
    watch.start()
    try:
        yield watch
    except Exception as error:
        if watch.error is None:
            raise
        raise watch.error from error
    finally:
        watch.stop()


def patience() -> float:
    """Seconds that are too long: by Dask's settings in this process, five minutes by default."""
    settings = ("distributed.scheduler.no-workers-timeout", "distributed.scheduler.worker-ttl")
    given = (dask.config.get(name, default=None) for name in settings)
    seconds: float = parse_timedelta(next(filter(None, given), "5 minutes"))
    return seconds
