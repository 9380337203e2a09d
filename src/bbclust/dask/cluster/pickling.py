"""Whether objects of the user can be sent to the workers, asked before the work begins."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from bbclust.dask.cluster.session import Session

MAX_BYTES = 1_000_000  # larger ones are not sent twice


def check_sendable(session: Session, what: str, thing: Any) -> None:
    """Refuse a prior or a clusterer that does not come out of a pickle on the workers.

    Raises
    ------
    TypeError
        It cannot be pickled.
    RuntimeError
        A worker cannot read the pickle, most often since it lacks the module of its class.
    """
    if thing is None:
        return
    try:
        pickled = cloudpickle.dumps(thing)
    except Exception as error:
        raise TypeError(
            f"The {what} cannot be sent to the workers, since it cannot be pickled ({error}): use "
            "another, or the local estimator."
        ) from None
    if len(pickled) > MAX_BYTES:
        return
    answers: dict[str, Any] = session.client.run(_why_not, pickled, on_error="return")
    for address, answer in answers.items():
        if isinstance(answer, str):
            raise RuntimeError(
                f"The worker {address} cannot load the {what} ({answer}): install there what it is "
                "made of, or define it in the script itself."
            )


def _why_not(pickled: bytes) -> str | None:
    try:
        pickle.loads(pickled)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
