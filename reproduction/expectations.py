"""Figures of a quick run that hold for any seed within a tolerance.

The data of a run are the same for every seed, so only the random numbers of the methods move its
figures. They are means over many models, hence nearly normal, and their standard deviation over
some seeds gives a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduction.studies import STUDIES

# (figure - mean of n seeds) / (standard deviation of n seeds) is sqrt(1 + 1/n) times Student's t
# with n - 1 degrees of freedom. With n = 20 twelve and more have a probability of 4e-10: one false
# alarm in ten million runs of 250 figures. That leaves room for tails that are not quite normal,
# and `used` shows how much of it is needed: 0.43 over the twenty seeds.
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


def used(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The largest share of its tolerance that a seed uses when the others make the tolerance.

    Normal figures use 0.4 to 0.5 at most among some thousands; more says that a figure has tails.
    """
    shares: dict[str, float] = {}
    for left_out, results in enumerate(runs):
        others = make_tolerances([*runs[:left_out], *runs[left_out + 1 :]])
        for name, value in figures(results).items():
            mean, tolerance = others[name]
            shares[name] = max(shares.get(name, 0.0), abs(value - mean) / tolerance)
    return shares


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
