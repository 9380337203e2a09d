"""The compiled engine, in the widest form this machine can run.

``engine`` has the functions of one extension module. The environment variable ``BBCLUST_ISA``
forces one of ``portable``, ``avx2`` and ``avx512``, and :func:`using_isa` chooses one for a while;
results agree to rounding between them, and to the bit within one.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from bbclust._native import _engine_portable  # type: ignore[attr-defined]  # compiled

ISAS = ("portable", "avx2", "avx512")


def _choose_isa() -> str:
    best: str = _engine_portable.best_isa()
    forced = os.environ.get("BBCLUST_ISA")
    if not forced:
        return best
    available = ISAS[: ISAS.index(best) + 1]
    if forced not in available:
        raise ImportError(
            f"BBCLUST_ISA={forced!r} cannot be used on this machine: "
            f"set it to one of {', '.join(available)}, or leave it unset."
        )
    return forced


def _module_of(isa: str) -> ModuleType:
    return importlib.import_module(f"bbclust._native._engine_{isa}")


_WIDEST = _module_of(_choose_isa())
_in_use = ContextVar("_in_use", default=_WIDEST)


class _Engine:
    """The extension module of the instruction set in use: every name is looked up there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_in_use.get(), name)


engine = _Engine()


@contextmanager
def kept_memory() -> Iterator[None]:
    """What calls of the engine have used is left for the next ones inside of the ``with``."""
    module = _in_use.get()
    module.keep_memory()
    try:
        yield
    finally:
        module.release_memory()


@contextmanager
def using_isa(isa: str) -> Iterator[None]:
    """Compute with another instruction set, in this thread and inside of the ``with`` only.

    Raises
    ------
    ValueError
        This machine does not have it.
    """
    best: str = _engine_portable.best_isa()
    if ISAS.index(isa) > ISAS.index(best):
        raise ValueError(f"The instruction set {isa} cannot be used here, {best} is the widest.")
    before = _in_use.set(_module_of(isa))
    try:
        yield
    finally:
        _in_use.reset(before)
