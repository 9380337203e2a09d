"""The two measures of the paper, and where it prints them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reproduction.printed import printed


class Measure(NamedTuple):
    """A measure: its table in the paper, the unit of that table, and one bit in this unit."""

    name: str
    table: int
    key: str
    unit: str
    per_bit: float

    def printed_bits(self, dataset: int) -> npt.NDArray[np.float64]:
        """The printed row of a data set in bits, shape (K,)."""
        return np.array(printed()[self.key][str(dataset)]) / self.per_bit


MEASURES = {  # by the attribute of BBC, which is in bits
    "mean_entropy_": Measure("mean entropy", 4, "mean_entropy", "nats", float(np.log(2))),
    "max_pairwise_entropy_": Measure(
        "maximum pairwise entropy", 5, "max_pairwise_entropy", "bits", 1.0
    ),
}
