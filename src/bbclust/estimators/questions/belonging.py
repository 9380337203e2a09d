"""From which group a row comes, if groups are Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from bbclust import validation as check
from bbclust.diagnostics.component_probabilities import ComponentModel, fit_component_model
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import Job
from bbclust.estimators.fitted_model import ROWS_AT_ONCE, FittedModel
from bbclust.stages.table import Floats


class BelongingQuestions(FittedModel):
    """Probabilities of belonging, which are not votes."""

    _components: tuple[Job, ComponentModel] | None = None

    def component_probabilities(self, X: Any = None) -> npt.NDArray[np.float64]:
        """How probable it is that rows come from each group, if the groups are Gaussian.

        ``memberships_`` are votes: they tell whether other data would be cut in the same place, and
        may agree on a row that two overlapping groups share. These are probabilities of belonging,
        by a mixture of one Gaussian per cluster that is fitted in replicas of the rows, averaged
        over them and calibrated on samples of itself; see
        :mod:`bbclust.diagnostics.component_probabilities`.

        They assume that every group is Gaussian, of any shape and size, and that there are K of
        them. Then the rows with a largest probability of 0.8 are right in about 80% of cases. They
        do not hold for groups of another shape that overlap, nor where a thousand rows or less have
        to tell groups apart that lie within two standard deviations of each other;
        ``benchmarks/calibrate_belonging.py`` measures both.

        The mixtures are fitted to the evaluation rows, at most 4,096, when they are first asked
        for, which takes seconds. They depend on the data, the reference partition and the seed, not
        on the number of replicas nor on ``n_jobs``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows to judge; those of ``fit`` by default.

        Returns
        -------
        ndarray of shape (n, K)
            Each row sums to one; columns are the clusters, by the numbers of ``labels_``.

        Examples
        --------
        >>> import numpy as np
        >>> from bbclust import BBC
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> X[:400, 0] += 2.5  # two groups that overlap
        >>> model = BBC(2, random_state=0).fit(X)
        >>> beyond_the_cut = [[1.3, 0.0]]
        >>> model.predict_proba(beyond_the_cut).round(1)
        array([[0., 1.]])
        >>> model.component_probabilities(beyond_the_cut).round(1)
        array([[0.7, 0.3]])
        """
        rows = self._rows_of_fit("component_probabilities").rows
        others = None if X is None else check.check_table(self, X, reset=False)
        model = self._component_model()
        if others is not None:
            return _probabilities(model, others)
        probabilities: npt.NDArray[np.float64] = rows.scatter_to_all_rows(
            _probabilities(model, rows.table.original()),
            _probabilities(model, rows.zero_weight_rows),
        )
        return probabilities

    def _component_model(self) -> ComponentModel:
        """The mixtures behind ``component_probabilities``, kept once they are fitted."""
        job = self._rows_of_fit("component_probabilities").job
        if self._components is None or self._components[0] is not job:
            if not isinstance(job.plan.clusterer, EngineKMeans):
                raise ValueError(
                    "component_probabilities start from k-means, and clusterer is "
                    f"{job.plan.clusterer.name}: leave clusterer=None."
                )
            if job.table.incomplete is not None:
                n_incomplete = len(job.table.incomplete.rows)
                raise ValueError(
                    f"component_probabilities need complete rows, and {n_incomplete} of "
                    f"{job.table.n} miss values: fill these first."
                )
            model = fit_component_model(
                job.table.part(job.plan.evaluation_rows),
                job.reference.labels[job.plan.evaluation_rows],
                job.n_clusters,
                job.plan.seed,
                n_jobs=effective_n_jobs(self.n_jobs),
            )
            self._components = (job, model)
        return self._components[1]


def _probabilities(model: ComponentModel, rows: Floats) -> npt.NDArray[np.float64]:
    """Probabilities of components, some rows after the other."""
    blocks = range(0, max(len(rows), 1), ROWS_AT_ONCE)
    return np.concatenate([model.probabilities(rows[i : i + ROWS_AT_ONCE]) for i in blocks])
