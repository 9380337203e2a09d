"""Seeds of stochastic tests, and how many examples properties are tried on.

Each stochastic test must pass for any seed: ``BBCLUST_TEST_SEEDS=0-99 pytest`` runs these tests
alone, with all of 0 to 99; the default is every test, with seed 0. ``HYPOTHESIS_PROFILE=thorough``
tries properties on many more examples (``make properties``).
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The default suite tries the same examples every time: whoever changes something is not told of a
# mistake that was there before. New ones are for make properties. No deadline: how long an example
# takes is up to whoever else uses the machine.
settings.register_profile(
    "quick", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck)
)
# Threads of OpenMP and BLAS wait for each other by turning round and round: scikit-learn's k-means
# on a few hundred rows then takes ten times as long as on one thread, and more where others work.
# Set before numpy is imported, and for the programs that tests start. The engine has its own.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

_FIRST, _, _LAST = os.environ.get("BBCLUST_TEST_SEEDS", "0").partition("-")


def pytest_configure(config):
    # A shell starts what it runs in the background without Ctrl-C, and programs that tests start
    # inherit that: tests of Ctrl-C would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: tests wait for clusters and browsers a quarter of the time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


def pytest_collection_modifyitems(config, items):
    if not _LAST:
        return
    stochastic = [item for item in items if "seed" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(stochastic)])
    items[:] = stochastic


@pytest.fixture(params=range(int(_FIRST), int(_LAST or _FIRST) + 1))
def seed(request):
    return request.param


@pytest.fixture
def without_a_screen():
    """Pyplot that draws into memory, and forgets its figures afterwards."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture
def draw_without_a_valley():
    """Tables of thousands of rows of which no two halves are separated, by kind and generator."""

    def draw(kind, generator):
        if kind == "uniform square":
            return generator.uniform(size=(5000, 2))
        rows = generator.normal(size=(6000, 2))
        if kind == "gaussians 2 deviations apart":
            rows[::2, 0] += 2
        return rows

    return draw
