"""The compiled engine, in the widest form this machine can run.

``engine`` is the module itself. The environment variable ``BBCLUST_ISA`` forces one of
``portable``, ``avx2`` and ``avx512``; results agree to rounding between them, and to the bit
within one.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

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


engine: ModuleType = importlib.import_module(f"bbclust._native._engine_{_choose_isa()}")
