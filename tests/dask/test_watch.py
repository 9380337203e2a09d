"""When a cluster is given up, by what the scheduler answers."""

import time
from types import SimpleNamespace

import pytest

from bbclust.dask.cluster.watch import Watch

PATIENCE = 0.1


class Scheduler:
    """A client whose scheduler answers, or is silent for longer than anyone has patience."""

    def __init__(self, *silent):
        self.silent = list(silent)
        self.scheduler = SimpleNamespace(address="tcp://somewhere:1", ncores=None)
        self.futures = {}
        self.scheduler_comm, self.status = None, "running"
        self.hung_up = self.answers = 0

    def sync(self, function, callback_timeout=None):
        if callback_timeout is None:
            self.hung_up += 1
        elif self.silent and self.silent.pop(0):
            time.sleep(1.5 * PATIENCE)
            raise TimeoutError
        else:
            self.answers += 1
        return {"tcp://worker:1": 1}


def watch_until(client, done):
    watch = Watch(client, PATIENCE, "start it again")
    watch.start()
    for _ in range(6000):  # a minute, should it be waited for in vain
        if done():
            break
        time.sleep(0.01)
    watch.stop()
    assert done()
    return watch.error


@pytest.mark.measures
def test_one_look_in_vain_may_be_a_standstill_of_this_process():
    client = Scheduler(True, False, True)
    assert watch_until(client, lambda: client.answers >= 3) is None
    assert client.hung_up == 0


@pytest.mark.measures
def test_two_looks_in_vain_end_the_wait():
    client = Scheduler(False, True, True)
    error = watch_until(client, lambda: client.hung_up)
    assert str(error) == (
        "The scheduler tcp://somewhere:1 has not answered for 100.00 ms: start it again."
    )
