"""The proper Bayesian bootstrap by itself, for uses other than clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.priors.contract import PreparedPrior, check_prepared
from bbclust.stages.bootstrap import Replica, Resampling, draw_replica
from bbclust.stages.random_streams import root_seed
from bbclust.stages.table import Floats, Table, make_table


def proper_bayesian_bootstrap(
    X: npt.ArrayLike,
    prior: Any = None,
    *,
    prior_weight: float = 0.5,
    n_replicas: int = 200,
    n_draws: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Iterator[Replica]:
    r"""Replicas of the proper Bayesian bootstrap (Algorithm 1; Muliere & Secchi 1996).

    A replica is m points drawn from the mixture of prior and data, with Dirichlet weights:

    .. math:: x_1, \ldots, x_m \sim \frac{k F_0 + n F_n}{k + n}, \qquad
              w \sim \mathrm{Dirichlet}\left(\frac{n + k}{m}, \ldots, \frac{n + k}{m}\right).

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
        B, the number of replicas; each is drawn when it is asked for.
    n_draws : int, optional
        m, draws per replica; the number of rows by default.
    random_state : int, RandomState instance or None, default=None
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

    References
    ----------
    P. Muliere, P. Secchi (1996). Bayesian nonparametric predictive inference and bootstrap
    techniques. Annals of the Institute of Statistical Mathematics 48, 663-673.

    D. B. Rubin (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.

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
