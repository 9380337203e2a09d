"""Bootstrap replicas: Efron, Rubin, and the proper Bayesian bootstrap (Algorithm 1).

With concentration k = n omega / (1 - omega), a replica of the proper Bayesian bootstrap is m draws
from ``(k F0 + n Fn) / (k + n)`` with weights from ``Dirichlet((n + k) / m, ...)``. Rubin's
bootstrap weighs every row by ``Dirichlet(1, ...)``; Efron's draws m rows with equal weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.priors import GaussianMixture, PreparedPrior, check_prepared
from bbclust.stages.random_streams import Stage, root_seed, stream_generator
from bbclust.stages.table import Floats, Table, make_table

RESAMPLINGS = ("proper", "rubin", "efron")
WEIGHTINGS = ("weights", "resample")

# F0 where none is needed: Efron, Rubin, or a prior sampled in Python.
_NO_MIXTURE = GaussianMixture(np.ones(1), np.zeros((1, 1)), (np.zeros((0, 1)),))


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
    weights: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]


def draw_arguments(
    table: Table, prior: PreparedPrior | None, resampling: Resampling, seed: int
) -> dict[str, Any]:
    """Arguments of the engine that describe how replicas are drawn."""
    native = isinstance(prior, GaussianMixture) and resampling.uses_prior
    mixture = prior if native else _NO_MIXTURE
    assert isinstance(mixture, GaussianMixture)
    if native:
        _check_reach(mixture.means - table.center, mixture.largest_factor, table)
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
        "mixture_means": mixture.means - table.center if native else mixture.means,
        "factor_rows": mixture.factor_rows,
        "factor_offsets": mixture.factor_offsets,
    }


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
    table: Table, prior: PreparedPrior | None, resampling: Resampling, seed: int, replicas: range
) -> PriorDraws | None:
    """Sample a prior that the engine does not know; None when it needs no help."""
    if not resampling.uses_prior or isinstance(prior, GaussianMixture):
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


def _check_reach(points: npt.NDArray[np.float64], spread: float, table: Table) -> None:
    """Refuse draws whose squared distances the type of the rows cannot hold."""
    with np.errstate(over="ignore"):
        reach = float(np.abs(points).max(initial=0.0)) + 10 * spread
    limit = float(np.sqrt(np.finfo(table.rows.dtype).max / (256 * table.d)))
    if not reach < limit:
        raise ValueError(
            f"The prior gives points as far as {reach:.3g} from the data, whose squares overflow "
            f"{table.rows.dtype}: give it in the units of the data."
        )


def draw_replica(
    table: Table, prior: PreparedPrior | None, resampling: Resampling, seed: int, replica: int
) -> Replica:
    """One replica, centred like the table; weights sum to the number of draws."""
    given = draw_from_prior(table, prior, resampling, seed, range(replica, replica + 1))
    points, weights, rows = engine.draw_replica(
        **draw_arguments(table, prior, resampling, seed),
        given=None if given is None else given.points,
        replica=replica,
    )
    return Replica(points, weights, rows)


def proper_bayesian_bootstrap(
    X: npt.ArrayLike,
    prior: Any = None,
    *,
    prior_weight: float = 0.5,
    n_replicas: int = 200,
    n_draws: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Iterator[Replica]:
    """Replicas of the proper Bayesian bootstrap (Algorithm 1; Muliere & Secchi 1996).

    Parameters
    ----------
    X : array-like of shape (n, d)
        The sample.
    prior : object, optional
        F0: a prior of :mod:`bbclust.priors` that is not read off a partition, such as
        :class:`~bbclust.priors.MixturePrior`, or anything with ``sample(n, generator)``.
        May be left out when ``prior_weight`` is zero.
    prior_weight : float in [0, 1), default=0.5
        omega = k / (k + n), the share of draws that come from F0.
    n_replicas : int, default=200
        B, the number of replicas.
    n_draws : int, optional
        m, draws per replica; the number of rows by default.
    random_state : int, RandomState instance or None
        Replica b depends on the seed and on b alone.

    Yields
    ------
    Replica
        Points, weights that sum to one, and the row each point is (-1 for draws from F0).
        Repeated draws of a row are merged.

    Notes
    -----
    The weight of a set of probability g under ``(k F0 + n Fn) / (k + n)`` has mean g and variance
    ``g (1 - g) (m + n + k) / (m (n + k + 1))``: at k = 0 it tends to Rubin's only as m grows.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import proper_bayesian_bootstrap
    >>> from bbclust.priors import MixturePrior
    >>> X = np.random.default_rng(0).normal(size=(100, 1))
    >>> prior = MixturePrior([1], [[0.0]], [[[1.0]]])
    >>> means = [r.weights @ r.points[:, 0]
    ...          for r in proper_bayesian_bootstrap(X, prior, n_replicas=500, random_state=0)]
    >>> bool(abs(np.mean(means) - X.mean() / 2) < 0.03)
    True
    """
    X = np.asarray(X)
    X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype == np.float32 else np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have shape (rows, columns) and not be empty, got {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("X holds NaN or infinity: drop or fill such rows first.")
    if not 0 <= prior_weight < 1:
        raise ValueError(f"prior_weight must be at least 0 and below 1, got {prior_weight!r}.")
    n_draws = len(X) if n_draws is None else n_draws
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws}.")
    prepared = _prepare_without_reference(prior, X) if prior_weight > 0 else None
    resampling = Resampling(n_draws=n_draws, prior_weight=prior_weight)
    table = make_table(X)
    seed = root_seed(random_state)
    return (
        _uncentered(draw_replica(table, prepared, resampling, seed, b), table)
        for b in range(n_replicas)
    )


def _uncentered(replica: Replica, table: Table) -> Replica:
    points = (replica.points + table.center).astype(replica.points.dtype)
    return replica._replace(points=points, weights=replica.weights / replica.weights.sum())


def _prepare_without_reference(prior: Any, X: Floats) -> PreparedPrior:
    if prior is None:
        raise ValueError(
            "prior_weight is positive but there is no prior: "
            "pass prior=MixturePrior(...), or prior_weight=0."
        )
    prepared = prior.prepare(X, None, 1.0) if hasattr(prior, "prepare") else prior
    return check_prepared(prepared, X.shape[1])
