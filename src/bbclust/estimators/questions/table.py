"""What the columns tell about the clusters, and whether the prior fits the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bbclust.diagnostics.variable_importance import VariableImportance, variable_importances
from bbclust.estimators.fitted_model import FittedModel
from bbclust.stages.random_streams import Stage, stream_generator

if TYPE_CHECKING:
    from bbclust.diagnostics.prior_conflict import PriorConflict


class TableQuestions(FittedModel):
    """The clusters beside the columns and beside the prior."""

    def variable_importance(self, X: Any = None) -> VariableImportance:
        """What each variable tells about the clusters, in bits.

        The mutual information between a variable and the memberships, corrected for its bias: 0
        for a variable that the clusters do not depend on, the entropy of the cluster shares for one
        that determines them. Variables that say the same have it twice.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows to look at, with the memberships of ``predict_proba``; those of ``fit`` with
            ``memberships_`` and their weights by default.

        Returns
        -------
        VariableImportance
            ``bits`` and standard errors ``se``, one per variable, and ``cluster_entropy``.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> importance = model.variable_importance()
        >>> importance.bits.round(1), round(importance.cluster_entropy, 1)
        (array([0.9, 0.4, 1.4, 1.2]), 1.6)
        """
        if X is not None:
            shares = self.predict_proba(X)
            others = self._check_rows(X)
            return variable_importances(others, shares, np.ones(len(others)))
        rows = self._rows_of_fit("variable_importance without X").rows
        shares, table = rows.in_table(self.memberships_), rows.table
        return variable_importances(table.rows, shares, table.weights_or_ones())

    def prior_conflict(self) -> PriorConflict:
        """Whether the prior and the data contradict each other, cluster by cluster.

        Rows and a large sample of F0 are compared around each reference centre: where they are, how
        widely they spread and how large their shares are. A difference counts if it is large and
        cannot be chance; see :mod:`bbclust.diagnostics.prior_conflict` for the rules.

        Returns
        -------
        PriorConflict
            ``conflict`` (bool), ``statement`` (text) and ``clusters``, a table with one entry per
            cluster; ``print`` shows all of it.

        Examples
        --------
        >>> import numpy as np
        >>> from bbclust import BBC
        >>> from bbclust.priors import MixturePrior
        >>> X = np.random.default_rng(0).normal(size=(100, 2)) + 8 * (np.arange(100) % 2)[:, None]
        >>> expert = MixturePrior([1, 1], [[0, 0], [8, 5]], [np.eye(2), np.eye(2)])
        >>> print(BBC(2, prior=expert, random_state=0).fit(X).prior_conflict().statement)
        The prior contradicts the data in 1 of 2 clusters.
        Cluster 1: its rows lie 3.1 prior standard deviations from where the prior has them.
        """
        from bbclust.diagnostics.prior_conflict import compare_with_prior, n_prior_draws

        job = self._rows_of_fit("prior_conflict").job
        if job.prior is None:
            raise ValueError(
                "The model was fitted without a prior, so there is nothing to compare: "
                "use BBC with resampling='proper' and prior_weight above 0."
            )
        clustered, reference = job.reference.without_noise()
        count = n_prior_draws(reference.n_clusters, job.table.d)
        draws = job.prior.sample(count, stream_generator(job.plan.seed, Stage.PRIOR_SKETCH))
        return compare_with_prior(
            job.completed_rows()[clustered].astype(np.float64),
            reference.weights,
            reference.centers,
            self.cluster_centers_,
            np.asarray(draws, dtype=np.float64),
        )
