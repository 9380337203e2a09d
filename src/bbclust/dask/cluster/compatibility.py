"""Who the workers are: what they have installed, and whether that fits what the client has."""

from __future__ import annotations

import platform
from typing import Any

import dask
import numpy
import scipy
import sklearn
from distributed import Client

from bbclust._native import ISAS, engine
from bbclust.validation import warn_user
from bbclust.version import BUILD


def describe_process() -> dict[str, str]:
    """What results depend on in this process: versions, and the engine's instruction set."""
    return {
        "bbclust": BUILD,
        "Python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "instruction set": engine.ISA,
    }


def look_at_workers(client: Client) -> dict[str, dict[str, str]]:
    """Descriptions of all workers by their addresses.

    Raises
    ------
    RuntimeError
        There is no worker, or one cannot import bbclust.
    """
    timeout = dask.config.get("distributed.comm.timeouts.connect")
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise RuntimeError(
            f"The cluster at {client.scheduler.address} had no workers for {timeout}: start some, "
            "or scale it up."
        ) from None
    answers: dict[str, Any] = client.run(describe_process, on_error="return")
    for address, answer in list(answers.items()):
        if isinstance(answer, OSError):  # it died meanwhile
            del answers[address]
        elif isinstance(answer, Exception):
            raise RuntimeError(
                f"The worker {address} cannot import bbclust {BUILD} ({answer}): install it there."
            )
    return answers or look_at_workers(client)


def check_versions(here: dict[str, str], workers: dict[str, dict[str, str]]) -> None:
    """Name what the workers have in another version than the client.

    Raises
    ------
    RuntimeError
        A worker has another bbclust.

    Warns
    -----
    UserWarning
        A worker has another Python or another version of a package that results depend on.
    """
    for address, there in workers.items():
        if there["bbclust"] != here["bbclust"]:
            raise RuntimeError(
                f"The worker {address} has bbclust {there['bbclust']} and the client has "
                f"{here['bbclust']}: install the same version on all."
            )
        others = [
            f"{name} {there[name]} (the client {here[name]})"
            for name in ("Python", "numpy", "scipy", "scikit-learn")
            if there[name] != here[name]
        ]
        if others:
            warn_user(
                f"The worker {address} has {', '.join(others)}: results may not be the same bits "
                "as elsewhere; install the same versions on all."
            )


def lowest_isa(here: dict[str, str], workers: dict[str, dict[str, str]]) -> str:
    """The widest instruction set that the client and all workers have."""
    sets = (process["instruction set"] for process in (here, *workers.values()))
    return min(sets, key=ISAS.index)
