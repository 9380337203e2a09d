"""How exactly the replicas tell the entropies and memberships."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.estimators.fitted_model import FittedModel
from bbclust.stages.monte_carlo import entropy_interval, membership_se, share_interval


class EntropyQuestions(FittedModel):
    """Monte-Carlo errors of what the votes say."""

    def mean_entropy_interval(self, level: float = 0.95) -> tuple[float, float]:
        r"""Where ``mean_entropy_`` would be by ever more replicas.

        With H the mean entropy less its bias, :math:`H e^{\pm t \sqrt{se^2 + bias^2} / H}`, where t
        is the quantile of Student's distribution with B - 1 degrees of freedom.

        ``mean_entropy_`` is too low when replicas are few, by ``mean_entropy_bias_``, which the
        jackknife estimates. The interval is around the corrected value, on the scale of logarithms,
        and as wide as ``mean_entropy_se_`` and the correction together make it: see
        :mod:`bbclust.stages.monte_carlo`, and docs/calibration.md for how often it holds.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability with which the interval should hold it.

        Returns
        -------
        tuple of two floats
            Lower and upper end, in bits. Both are 0 if all votes agree: then dissent is rarer than
            these replicas can show. NaN by one replica.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> low, high = model.mean_entropy_interval()
        >>> low < model.mean_entropy_ - model.mean_entropy_bias_ < high
        True
        """
        return self._entropy_interval("mean_entropy_", level)

    def max_pair_doubt_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where ``max_pair_doubt_`` would be by ever more replicas.

        As :meth:`mean_entropy_interval`. It is of the pair that is worst by these replicas; where
        others are close to it, the largest of several is chosen with their noise.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability with which the interval should hold it.

        Returns
        -------
        tuple of two floats
            Lower and upper end, in bits.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> low, high = model.max_pair_doubt_interval()
        >>> low < model.max_pair_doubt_ < high
        True
        """
        return self._entropy_interval("max_pair_doubt_", level)

    def _entropy_interval(self, name: str, level: float) -> tuple[float, float]:
        check_is_fitted(self)
        level = check.check_level(level)
        value, bias, error = (getattr(self, f"{name}{more}") for more in ("", "bias_", "se_"))
        return entropy_interval(value, bias, error, self.n_replicas_, level)

    @property
    def membership_se_(self) -> npt.NDArray[np.float64]:
        r"""Posterior standard deviation of ``memberships_``, shape (n, K).

        With v votes on a row, a of them for the cluster, and Jeffreys' prior,

        .. math:: \sqrt{\frac{p (1 - p)}{v + K / 2 + 1}}, \qquad p = \frac{a + 1/2}{v + K/2}.

        It is about the computation: other replicas of the same rows.
        """
        return membership_se(self._rows_of_fit("membership_se_").votes)

    def memberships_interval(self, level: float = 0.95) -> npt.NDArray[np.float64]:
        r"""Where the memberships of the rows of ``fit`` would be by ever more replicas.

        Quantiles of :math:`\mathrm{Beta}(a + 1/2, v - a + 1/2)`, with v votes on a row and a of
        them for the cluster; the lower end is 0 if a = 0, the upper end 1 if a = v.

        By Jeffreys' prior, from the votes for and against each cluster: the same as
        ``memberships_`` plus and minus ``membership_se_`` where votes are many, and right where
        they are few. It is about the computation, as ``membership_se_`` is: other replicas of the
        same rows.

        Parameters
        ----------
        level : float between 0 and 1, default=0.95
            Probability with which the interval should hold it.

        Returns
        -------
        ndarray of shape (n, K, 2)
            Lower and upper ends; 0 and 1 of rows without a vote.

        References
        ----------
        L. D. Brown, T. T. Cai, A. DasGupta (2001). Interval estimation for a binomial proportion.
        Statistical Science 16, 101-133.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.memberships_interval()[0].round(1)
        array([[0., 0.],
               [1., 1.],
               [0., 0.]])
        """
        votes = self._rows_of_fit("memberships_interval").votes
        total = votes.sum(axis=1, keepdims=True)
        low, high = share_interval(votes, total, check.check_level(level))
        return np.stack([np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)], axis=2)

    @property
    def max_pairwise_entropy_se_(self) -> float:
        """Spread of ``max_pairwise_entropy_`` over repetitions; deprecated."""
        error = self._max_pairwise_entropy_se
        warnings.warn(
            "max_pairwise_entropy_se_ is not the error of max_pairwise_entropy_, which is too low "
            "by more than that when replicas are few, and will go in 0.2: use max_pair_doubt_ and "
            "max_pair_doubt_interval().",
            FutureWarning,
            stacklevel=2,
        )
        return error

    @max_pairwise_entropy_se_.setter
    def max_pairwise_entropy_se_(self, error: float) -> None:
        self._max_pairwise_entropy_se = error
