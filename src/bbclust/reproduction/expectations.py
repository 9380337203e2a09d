"""Figures of a quick run that hold for any seed within a tolerance.

The data of a run are the same for every seed, so only the random numbers of the methods move its
figures. Their standard deviation over some seeds gives a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bbclust.reproduction.studies import STUDIES

# Of Student's distribution with 19 degrees of freedom, twelve standard deviations and more have a
# probability of 3e-10: one false alarm in five million runs of 600 figures.
N_SEEDS = 20
N_DEVIATIONS = 12.0

# Less is not looked at: figures that are counts of few things, or did not move over the seeds.
FLOOR = 0.01
FLOORS = {"table-2": 1.5, "recovery": 0.5, "dimensions": 0.05}

Tolerances = dict[str, tuple[float, float]]


class Deviation(NamedTuple):
    """A figure that is not what is expected."""

    name: str
    value: float
    expected: float
    tolerance: float


def figures(results: Mapping[str, Any]) -> dict[str, float]:
    """All figures to compare, by study and name."""
    found: dict[str, float] = {}
    for name, result in results["studies"].items():
        expect = STUDIES[name].expect
        for figure, value in ({} if expect is None else expect(result)).items():
            found[f"{name}: {figure}"] = float(value)
    return found


def make_tolerances(runs: Sequence[Mapping[str, Any]]) -> Tolerances:
    """Mean of each figure over runs of several seeds, and how far another seed may be from it."""
    each = [figures(results) for results in runs]
    tolerances: Tolerances = {}
    for name in each[0]:
        values = np.array([one[name] for one in each])
        floor = FLOORS.get(name.partition(":")[0], FLOOR)
        tolerances[name] = (
            float(values.mean()),
            max(N_DEVIATIONS * float(values.std(ddof=1)), floor),
        )
    return tolerances


def deviations(
    results: Mapping[str, Any], expected: Mapping[str, Sequence[float]]
) -> list[Deviation]:
    """Figures of a run that are not within their tolerance; NaN never is."""
    off = []
    for name, value in figures(results).items():
        if name not in expected:
            raise ValueError(f"There is no expected value for {name!r}: make them again.")
        mean, tolerance = expected[name]
        if not abs(value - mean) <= tolerance:
            off.append(Deviation(name, value, mean, tolerance))
    return off
