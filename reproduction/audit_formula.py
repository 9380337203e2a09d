"""The formula of S_lm: a slip in its last fraction, and points with no vote for either cluster."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from bbclust import pairwise_entropy
from reproduction.markdown import number, percent, table
from reproduction.models import REPLICAS, fit_each_k, read_while_growing
from reproduction.readings import on_the_six
from reproduction.study import Result, Study
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext

Array = npt.NDArray[np.float64]

EXAMPLES = ((0.5, 0.5), (0.8, 0.2), (0.2, 0.8), (1.0, 0.0), (0.0, 1.0))
LEFT_OUT = "points without a vote for either are left out"
ZERO = "they count as zero (ours)"


def as_printed(first: float, second: float) -> float:
    """S_lm with the last fraction as it is printed, u_l / (u_m + u_m)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        u, v = np.float64(first), np.float64(second)
        return float(-(u / (u + v) * np.log2(u / (u + v)) + v / (u + v) * np.log2(u / (v + v))))


def both_conventions(memberships: Array) -> tuple[float, float, float]:
    """Maximum mean S_lm with zeros, and without undefined points; the share of the latter."""
    as_zero = pairwise_entropy(memberships)
    voted = (memberships[:, :, None] + memberships[:, None, :]) > 0
    pairs = np.triu_indices(memberships.shape[1], k=1)
    defined = voted.mean(axis=0)[pairs]
    alone = np.divide(as_zero[pairs], defined, out=np.zeros(len(defined)), where=defined > 0)
    return float(as_zero[pairs].max()), float(alone.max()), float(1 - defined.mean())


def conventions_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Both conventions and the undefined share, shape (replicas, 3, K)."""
    models = fit_each_k(number, draw, n_replicas=REPLICAS[0], random_state=random_state)
    return read_while_growing(models, REPLICAS, lambda model: both_conventions(model.memberships_))


def measure(context: StudyContext) -> Result:
    """The printed formula on a few points, and both conventions on the six data sets."""
    n_draws = context.size(quick=3, full=60)
    values = on_the_six(context, "S_lm without votes", conventions_of_draw, n_draws)
    true = np.array([TRUE_K[number] for number in DATASETS])[:, None]
    hits = np.array(K_VALUES)[values[:, :2].argmin(axis=3)] == true
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        slips = [as_printed(*pair) for pair in EXAMPLES]
    return {
        "n_draws": n_draws,
        "examples": [list(pair) for pair in EXAMPLES],
        "as_printed": [None if not np.isfinite(slip) else slip for slip in slips],
        "as_meant": [float(pairwise_entropy([pair], pair=(0, 1))[0]) for pair in EXAMPLES],
        "undefined": values[:, 2].mean(axis=(1, 3)).tolist(),
        "found": hits.mean(axis=(2, 3)).tolist(),
    }


def show(result: Result) -> str:
    """The section of the page."""
    examples = [
        [
            f"({first:g}, {second:g})",
            "undefined or infinite" if slip is None else number(slip),
            number(meant),
        ]
        for (first, second), slip, meant in zip(
            result["examples"], result["as_printed"], result["as_meant"], strict=True
        )
    ]
    undefined, found = (
        [[f"B = {b}", *map(percent, shares)] for b, shares in zip(REPLICAS, rows, strict=True)]
        for rows in (result["undefined"], result["found"])
    )
    return "\n\n".join(
        [
            "The last fraction of S_lm is printed as u_l / (u_m + u_m). Taken at its word the "
            "formula is no entropy: it is not symmetric, exceeds one bit, and has no value for "
            "points that are certain. Table 5 has finite values and equals Table 4 at K = 2, so "
            "the tables were computed with u_m / (u_l + u_m), as we do.",
            table(["(u_l, u_m)", "as printed, bits", "u_m / (u_l + u_m), bits"], examples),
            "Where a point has no vote for either cluster, S_lm is 0/0 and the paper does not say "
            "what it is then. This is common: share of points and pairs without a value,",
            table(["", *(f"K = {k}" for k in K_VALUES)], undefined),
            "We let such a point count as zero: it is not undecided between the two. The other "
            "choice is to leave it out of the mean. Share of draws in which the minimum is at the "
            f"true K ({result['n_draws']} draws of each of the six data sets):",
            table(["", ZERO, LEFT_OUT], found),
        ]
    )


STUDY = Study(
    name="audit-formula",
    title="S_lm: a slip in its formula, and 0/0",
    measure=measure,
    show=show,
    expect=lambda result: {
        f"B = {b}, K = {k}, undefined": share
        for b, shares in zip(REPLICAS, result["undefined"], strict=True)
        for k, share in zip(K_VALUES, shares, strict=True)
    },
)
