"""The limit omega to 0: Algorithm 1 has twice the variance of Rubin's bootstrap there."""

from __future__ import annotations

import numpy as np

from bbclust import proper_bayesian_bootstrap
from reproduction.markdown import counted, number, table
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext

N_ROWS = 100
FACTORS = (1, 2, 10)


def variance_of_half(n_draws: int, n_replicas: int, random_state: int) -> float:
    """Variance over replicas of the weight of half of the rows, at omega = 0."""
    X = np.arange(N_ROWS, dtype=np.float64)[:, None]
    replicas = proper_bayesian_bootstrap(
        X, prior_weight=0, n_replicas=n_replicas, n_draws=n_draws, random_state=random_state
    )
    shares = [float(replica.weights[replica.rows < N_ROWS // 2].sum()) for replica in replicas]
    return float(np.var(shares, ddof=1))


def measure(context: StudyContext) -> Result:
    """For several m."""
    n_replicas = context.size(quick=4_000, full=40_000)
    rubin = 0.25 / (N_ROWS + 1)
    tasks = [(factor * N_ROWS, n_replicas, context.random_state(factor)) for factor in FACTORS]
    found = context.each("omega to 0", variance_of_half, tasks)
    return {
        "n_replicas": n_replicas,
        "ratio": [variance / rubin for variance in found],
        "expected": [1 + N_ROWS / (factor * N_ROWS) for factor in FACTORS],
        "se": float(np.sqrt(2 / n_replicas)),
    }


def show(result: Result) -> str:
    """The section of the page."""
    rows = [
        [
            f"m = n = {N_ROWS}" if factor == 1 else f"m = {factor} n",
            f"{number(ratio, 2)} ± {number(ratio * result['se'], 2)}",
            number(expected, 2),
        ]
        for factor, ratio, expected in zip(
            FACTORS, result["ratio"], result["expected"], strict=True
        )
    ]
    return "\n\n".join(
        [
            "The paper says that for k to 0 the proper Bayesian bootstrap falls back on Rubin's. "
            "Algorithm 1 draws points and then weighs them, so both steps add variance: the "
            "weight of a set of probability g has mean g and variance "
            "g(1 - g)(m + n + k) / (m(n + k + 1)). At k = 0 that is Rubin's only as m "
            "grows; at m = n, which the paper uses, it is twice Rubin's. Variance of the weight of "
            "half of the rows, divided by Rubin's, over "
            f"{counted(result['n_replicas'], 'replica')}:",
            table(["", "measured", "1 + n/m"], rows),
            'Rubin\'s bootstrap itself is `resampling="rubin"`.',
        ]
    )


STUDY = Study(
    name="audit-limit",
    title="The limit omega to 0",
    measure=measure,
    show=show,
    expect=lambda result: {
        f"m = {factor} n": ratio for factor, ratio in zip(FACTORS, result["ratio"], strict=True)
    },
)
