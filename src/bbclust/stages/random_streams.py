"""Where randomness comes from: one seed, and a stream of numbers for every stage and replica.

The streams are Philox4x64-10 with key ``(seed, stage | start | replica)``, so a number depends on
what it is for and never on what was drawn before it, on which thread, or in which order.
"""

from __future__ import annotations

from enum import IntEnum, unique

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, Philox, RandomState
from sklearn.utils import check_random_state


@unique
class Stage(IntEnum):
    """What a stream is used for; 1 to 8 and 19 are the numbers of ``_native/random.hpp``."""

    DRAWS = 1
    NORMALS = 2
    WEIGHTS = 3
    RESAMPLING = 4
    SEEDING = 5
    REFERENCE = 6
    EVALUATION = 7
    PRIOR = 8
    GAP = 9
    SPLITS = 10
    CONFIDENCE = 11
    HALVES = 12
    NULL_DATA = 13
    SELECTION_SAMPLE = 14
    CLUSTERER = 15
    PRIOR_SKETCH = 16
    DISPLAY = 17
    REFERENCE_SAMPLE = 18
    MISSING = 19
    MISSING_STARTS = 20
    REFERENCE_SWAPS = 21
    COMPONENTS = 22
    TRIMMING = 23


def root_seed(random_state: int | RandomState | None) -> int:
    """One 63-bit seed from scikit-learn's ``random_state``."""
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


def stream_key(seed: int, stage: Stage, start: int = 0, replica: int = 0) -> np.ndarray:
    """Philox key of a stream, as two 64-bit words."""
    return np.array([seed, stage << 56 | start << 40 | replica], dtype=np.uint64)


def stream_generator(seed: int, stage: Stage, replica: int = 0) -> Generator:
    """NumPy generator on a stream, for stages written in Python."""
    return Generator(Philox(key=stream_key(seed, stage, replica=replica)))


def fixed_sample(
    n: int, at_most: int, seed: int, stage: Stage, replica: int = 0
) -> npt.NDArray[np.int64]:
    """Numbers of all n rows or, if there are more than ``at_most``, of a sample; ascending."""
    if n <= at_most:
        return np.arange(n, dtype=np.int64)
    generator = stream_generator(seed, stage, replica)
    sample = generator.choice(n, at_most, replace=False, shuffle=False)
    return np.sort(sample).astype(np.int64)
