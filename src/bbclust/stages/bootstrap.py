"""Bootstrap replicas: Efron, Rubin, and the proper Bayesian bootstrap (Algorithm 1).

With concentration k = n omega / (1 - omega), a replica of the proper Bayesian bootstrap is m draws
from ``(k F0 + n Fn) / (k + n)`` with weights from ``Dirichlet((n + k) / m, ...)``. Rubin's
bootstrap weighs every row by ``Dirichlet(1, ...)``; Efron's draws m rows with equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.stages.missing_values import MissingDraws
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Array, Floats, Table, largest_distance

RESAMPLINGS = ("proper", "rubin", "efron")
WEIGHTINGS = ("weights", "resample")


class Sampler(Protocol):
    """What drawing needs of a prepared prior.

    With a method ``engine_mixture()`` that gives :class:`MixtureArrays` it is drawn by the engine,
    and ``sample`` is not called.
    """

    def sample(self, n: int, generator: np.random.Generator) -> Array: ...


@dataclass(frozen=True)
class MixtureArrays:
    """A Gaussian mixture as the engine draws from it.

    Attributes
    ----------
    cumulative_weights : ndarray of shape (components,)
        The last is one.
    means : ndarray of shape (components, d)
        In the units of the data.
    factor_rows : ndarray of shape (rows, d)
        Factors of the covariances, one below the other: the covariance of component j is A'A, with
        A the rows from ``factor_offsets[j]`` up to ``factor_offsets[j + 1]``.
    factor_offsets : ndarray of shape (components + 1,), int64
    largest_factor : float
        A bound on all standard deviations.
    """

    cumulative_weights: Array
    means: Array
    factor_rows: Array
    factor_offsets: npt.NDArray[np.int64]
    largest_factor: float


# F0 where none is needed: Efron, Rubin, or a prior sampled in Python.
_NO_MIXTURE = MixtureArrays(
    np.ones(1), np.zeros((1, 1)), np.zeros((0, 1)), np.zeros(2, dtype=np.int64), 0.0
)


@dataclass(frozen=True)
class Resampling:
    """How replicas are drawn.

    Attributes
    ----------
    n_draws : int
        m, draws per replica; Rubin's bootstrap weighs all n rows instead.
    prior_weight : float
        omega, the share of draws that come from F0.
    kind : {"proper", "rubin", "efron"}
    weighting : {"weights", "resample"}
        Dirichlet weights as sample weights, or as probabilities of a second resampling.
    """

    n_draws: int
    prior_weight: float = 0.5
    kind: str = "proper"
    weighting: str = "weights"

    def concentration(self, n: int) -> float:
        """k, the weight of the prior in units of rows."""
        return n * self.prior_weight / (1 - self.prior_weight)

    @property
    def uses_prior(self) -> bool:
        return self.kind == "proper" and self.prior_weight > 0

    def variance_ratio(self, n: int) -> float:
        """Variance of a mean over the replicas, divided by that under the posterior.

        The weight of a set of mass g has variance v g (1 - g). Under the posterior v is
        1 / (n + k + 1); for Efron's bootstrap, which has none, it is the 1 / n of a sample mean.
        """
        m, k = self.n_draws, self.concentration(n) if self.kind == "proper" else 0.0
        if self.kind == "efron":
            return n / m
        posterior = 1 / (n + k + 1)
        if self.kind == "rubin":
            m, replicas = n, posterior
        else:
            replicas = (m + n + k) / m * posterior
        if self.weighting == "resample":  # m more draws
            replicas = replicas * (1 - 1 / m) + 1 / m
        return replicas / posterior


class Replica(NamedTuple):
    """A weighted sample: distinct rows of the table and draws from the prior.

    Attributes
    ----------
    points : ndarray of shape (r, d)
    weights : ndarray of shape (r,)
        Weights of repeated draws of a row are added up.
    rows : ndarray of shape (r,)
        Row of the table each point is, -1 for draws from the prior.
    """

    points: Floats
    weights: Array
    rows: npt.NDArray[np.int64]


def draw_arguments(
    table: Table,
    prior: Sampler | None,
    resampling: Resampling,
    seed: int,
    missing: MissingDraws | None = None,
) -> dict[str, Any]:
    """Arguments of the engine that describe how replicas are drawn."""
    mixture = _engine_mixture(prior) if resampling.uses_prior else None
    if mixture is None:
        mixture = _NO_MIXTURE
    else:
        mixture = replace(mixture, means=mixture.means - table.center)
        _check_reach(mixture.means, mixture.largest_factor, table)
    cumulative = None
    if table.weights is not None:
        cumulative = np.cumsum(table.weights)
        cumulative /= cumulative[-1]
    return {
        "seed": seed,
        "resampling": RESAMPLINGS.index(resampling.kind),
        "weighting": WEIGHTINGS.index(resampling.weighting),
        "n_draws": resampling.n_draws,
        "prior_weight": resampling.prior_weight,
        "rows": table.rows,
        "row_weights": table.weights,
        "row_cumulative": cumulative,
        "n_whole": table.n if table.n_whole is None else table.n_whole,
        "row_numbers": table.numbers,
        "mixture_cumulative": mixture.cumulative_weights,
        "mixture_means": mixture.means,
        "factor_rows": mixture.factor_rows,
        "factor_offsets": mixture.factor_offsets,
        "missing": None if missing is None else missing.for_engine(table.center),
    }


def _engine_mixture(prior: Sampler | None) -> MixtureArrays | None:
    """The arrays of a prior that the engine draws from; None if it is sampled in Python."""
    arrays = getattr(prior, "engine_mixture", None)
    return None if arrays is None else arrays()


def drawn_rows(resampling: Resampling, n: int, seed: int, replicas: range) -> npt.NDArray[np.int64]:
    """Rows, in ascending order, that some of the replicas draw from a table of n equal rows."""
    prior_weight = resampling.prior_weight if resampling.uses_prior else 0.0
    drawn = [engine.drawn_rows(seed, b, resampling.n_draws, prior_weight, n) for b in replicas]
    return np.unique(np.concatenate(drawn))


class PriorDraws(NamedTuple):
    """Draws from F0 made in Python, for several replicas one after the other."""

    points: Floats
    offsets: npt.NDArray[np.int64]


def draw_from_prior(
    table: Table, prior: Sampler | None, resampling: Resampling, seed: int, replicas: range
) -> PriorDraws | None:
    """Sample a prior that the engine does not know; None when it needs no help."""
    if not resampling.uses_prior or _engine_mixture(prior) is not None:
        return None
    assert prior is not None
    blocks: list[Floats] = []
    for replica in replicas:
        count = engine.count_prior_draws(seed, replica, resampling.n_draws, resampling.prior_weight)
        generator = stream_generator(seed, Stage.PRIOR, replica)
        points = np.asarray(prior.sample(count, generator), dtype=np.float64)
        if points.shape != (count, table.d):
            raise ValueError(
                f"The prior was asked for {count} draws of {table.d} features and gave an array "
                f"of shape {points.shape}: its sample(n, generator) must return shape (n, d)."
            )
        if not np.isfinite(points).all():
            raise ValueError(
                "The prior gave draws that hold NaN or infinity (inf): "
                "its sample(n, generator) must return finite numbers."
            )
        points = points - table.center  # not in place: the prior may keep its draws
        _check_reach(points, 0.0, table)
        blocks.append(points.astype(table.rows.dtype))
    offsets = np.cumsum([0] + [len(block) for block in blocks], dtype=np.int64)
    return PriorDraws(np.concatenate(blocks), offsets)


def _check_reach(points: Array, spread: float, table: Table) -> None:
    """Refuse draws whose squared distances the type of the rows cannot hold."""
    with np.errstate(over="ignore"):
        reach = float(np.abs(points).max(initial=0.0)) + 10 * spread
    if not reach < largest_distance(table.rows.dtype, table.d):
        raise ValueError(
            f"The prior gives points as far as {reach:.3g} from the data, whose squares overflow "
            f"{table.rows.dtype}: give it in the units of the data."
        )


def draw_replica(
    table: Table,
    prior: Sampler | None,
    resampling: Resampling,
    seed: int,
    replica: int,
    missing: MissingDraws | None = None,
) -> Replica:
    """One replica, centred like the table; weights sum to the number of draws."""
    given = draw_from_prior(table, prior, resampling, seed, range(replica, replica + 1))
    points, weights, rows = engine.draw_replica(
        **draw_arguments(table, prior, resampling, seed, missing),
        given=None if given is None else given.points,
        replica=replica,
    )
    return Replica(points, weights, rows)
