"""What properties are tried on: small tables of every kind, and settings of a fit."""

import os

import numpy as np
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bbclust import BBC
from bbclust.validation import RowsTooCloseError

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(count):
    """Settings with a few examples, and five times as many in the thorough profile."""
    return settings(max_examples=count * (5 if THOROUGH else 1))


ROWS = st.integers(2, 24)
DTYPES = st.sampled_from([np.float32, np.float64])
# Multiples of 2^-6 up to 64: ties and duplicates are common, and many sums round nothing.
ON_A_GRID = st.integers(-(2**12), 2**12).map(lambda number: number / 64)
FEW_VALUES = st.integers(-2, 2).map(float)
# Less than 1e-6 is nothing: squares in single precision of what a smaller unit makes of it would
# underflow, and then it is not true that a power of two rounds nothing.
ANY_SIZE = st.floats(-1e6, 1e6).map(lambda number: number if abs(number) > 1e-6 else 0.0)


@st.composite
def tables(draw, *, rows=ROWS, dtypes=DTYPES, values=None):
    """Tables of 1 to 4 columns, some with ties, duplicated rows or a constant column."""
    n, d = draw(rows), draw(st.integers(1, 4))
    kinds = [ON_A_GRID, FEW_VALUES, ANY_SIZE] if values is None else [values]
    kind = draw(st.sampled_from(kinds))
    X = draw(hnp.arrays(np.float64, (n, d), elements=kind))
    if draw(st.booleans()) and n > 3:
        X[n // 2 :] = X[: n - n // 2]
    if draw(st.integers(0, 4)) == 0:
        X[:, 0] = 1.5
    return X.astype(draw(dtypes))


@st.composite
def separated_groups(draw, *, dtypes=DTYPES):
    """Groups whose rows are within 1 of centres 64 apart, in every order, and their labels."""
    K, d, each = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(3, 8))
    labels = draw(st.permutations(np.repeat(np.arange(K), each).tolist()))
    noise = draw(hnp.arrays(np.float64, (K * each, d), elements=st.integers(-64, 64)))
    X = noise / 64
    X[:, 0] += 64 * np.array(labels)
    return X.astype(draw(dtypes)), np.array(labels)


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "resampling": st.sampled_from(["proper", "rubin", "efron"]),
        "weighting": st.sampled_from(["weights", "resample"]),
        "votes": st.sampled_from(["drawn", "all"]),
        "prior_weight": st.sampled_from([0.0, 0.2, 0.9]),
        "prior_scale": st.sampled_from([0.01, 4.0]),
        "n_init": st.integers(0, 2),
        "max_iter": st.integers(1, 300),
        "tol": st.sampled_from([0.0, 1e-2]),
        "random_state": st.integers(0, 2**32 - 1),
    },
)


@st.composite
def weights_of(draw, n):
    """No weights, or whole numbers of which some are zero and at least two are not."""
    if draw(st.booleans()):
        return None
    weights = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 3)))
    weights[: min(2, n)] += 1
    return weights


def fit_or_pass(X, K, *, sample_weight=None, reference_labels=None, **parameters):
    """A small fit; tables with too few rows that can be told apart are passed over."""
    parameters = {"n_replicas": 8, "n_init": 1, "random_state": 0, **parameters}
    try:
        return BBC(K, **parameters).fit(
            X, sample_weight=sample_weight, reference_labels=reference_labels
        )
    except RowsTooCloseError:
        assume(False)
    except ValueError as error:
        # squares beyond the type; a column that is constant but for a rounding
        assume("rescale the columns" not in str(error))
        raise


def arrays_of(model):
    """Everything that a fit publishes, as bytes."""
    published = {
        name: value.tobytes()
        for name, value in vars(model).items()
        if isinstance(value, np.ndarray)
    }
    assert {"memberships_", "labels_", "replica_centers_"} <= published.keys()
    numbers = [model.mean_entropy_, model.mean_entropy_se_, model.max_pair_doubt_]
    return published | {"numbers": np.array(numbers).tobytes()}


def assert_same_bits(first, second):
    first, second = arrays_of(first), arrays_of(second)
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert value == second[name], name
