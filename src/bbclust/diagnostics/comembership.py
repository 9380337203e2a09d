"""How often two rows share a cluster."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


def comembership_rates(
    replica_labels: Iterable[npt.NDArray[np.integer]],
    first: npt.NDArray[np.integer],
    second: npt.NDArray[np.integer],
) -> npt.NDArray[np.float64]:
    """Share of replicas that put rows ``first[p]`` and ``second[p]`` together, shape (p,).

    A replica counts where it labels both rows, -1 being no label; NaN where none does.
    """
    together = np.zeros(len(first), dtype=np.int64)
    compared = np.zeros(len(first), dtype=np.int64)
    for labels in replica_labels:
        one, other = labels[first], labels[second]
        both = (one >= 0) & (other >= 0)
        compared += both
        together += both & (one == other)
    shares: npt.NDArray[np.float64] = np.full(len(first), np.nan)
    np.divide(together, compared, out=shares, where=compared > 0)
    return shares
