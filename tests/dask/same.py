"""What it means for two fitted estimators to be the same."""

import numpy as np

from bbclust.selection.checkpoint import digest


def assert_same_fit(mine, local):
    """Every fitted attribute has the same bits."""
    names = {name for name in vars(local) if name.endswith("_") or name == "_votes"}
    assert names == {name for name in vars(mine) if name.endswith("_") or name == "_votes"}
    assert len(names) > 5
    for name in sorted(names):
        left, right = getattr(mine, name), getattr(local, name)
        if isinstance(right, np.ndarray):
            assert left.dtype == right.dtype, name
            assert left.tobytes() == right.tobytes(), name
        elif name == "best_estimator_":
            assert_same_fit(left, right)
        elif not callable(getattr(right, "sample", None)):  # priors are compared by what they do
            assert repr(left) == repr(right) if name == "verdict_" else same(left, right), name


def same(left, right):
    if isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in right)
    return digest(left) == digest(right)
