"""What a fitted ensemble of replicas can be asked.

Estimators inherit from :class:`FittedEnsemble` and only have to fit. Here are predictions, files
and the fitted attributes; questions of one subject each are in ``questions/``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bbclust import validation as check
from bbclust.diagnostics.center_posterior import effective_share, sampling_ratio
from bbclust.ensemble.job import Replicas
from bbclust.estimators.fitted_model import ROWS_AT_ONCE
from bbclust.estimators.notebook_view import ModelInNotebooks
from bbclust.estimators.questions.belonging import BelongingQuestions
from bbclust.estimators.questions.centers import CenterQuestions
from bbclust.estimators.questions.entropies import EntropyQuestions
from bbclust.estimators.questions.partitions import PartitionQuestions
from bbclust.estimators.questions.table import TableQuestions
from bbclust.io.saving import save_model
from bbclust.stages.entropies import MembershipSummary, worst_pair
from bbclust.stages.monte_carlo import (
    Precision,
    as_columns,
    mean_entropy_bias,
    pair_doubt_bias,
    pair_doubt_influence,
    pairwise_entropy_influence,
    standard_error,
)
from bbclust.stages.table import Floats
from bbclust.stages.voting import memberships, nearest_center


class FittedEnsemble(
    ModelInNotebooks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    CenterQuestions,
    EntropyQuestions,
    PartitionQuestions,
    BelongingQuestions,
    TableQuestions,
):
    """Base of the estimators: what replicas answer once they have been run."""

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by the votes of all replicas.

        The name is scikit-learn's. They are shares of the votes, which tell how stable the division
        is, not probabilities of belonging to a component: see :meth:`component_probabilities`.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K)
            Each row sums to one; columns are the clusters, by the numbers of ``labels_``.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.predict_proba([[5.0, 3.4, 1.5, 0.2]])
        array([[0., 1., 0.]])
        """
        return np.concatenate([self._shares(rows, votes) for rows, votes in self._vote_on(X)])

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Memberships of rows, by the votes of all replicas: those of :meth:`predict_proba`.

        For the rows of ``fit`` these may differ from ``memberships_``, where each replica votes
        only on the rows it drew. ``set_output`` makes it a data frame, as everywhere in
        scikit-learn.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        ndarray of shape (n, K)

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> BBC(3, random_state=0).fit(X).transform(X).shape
        (150, 3)
        """
        return self.predict_proba(X)

    def predict(self, X: Any, min_confidence: float | None = None) -> npt.NDArray[np.int64]:
        """Cluster of each row, by the votes of all replicas.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.
        min_confidence : float in [0, 1], optional
            Rows whose largest membership is below it get the label -1; none by default.

        Returns
        -------
        ndarray of shape (n,)
            Numbers of clusters, as in ``labels_``.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> model = BBC(3, random_state=0).fit(load_iris().data)
        >>> model.predict([[5.0, 3.4, 1.5, 0.2], [6.0, 3.0, 4.8, 1.8]], min_confidence=0.5)
        array([1, 0])
        """
        min_confidence = check.check_confidence(min_confidence)
        parts: list[npt.NDArray[np.int64]] = []
        for rows, votes in self._vote_on(X):
            labels = votes.argmax(axis=1)
            if min_confidence is not None or not votes[np.arange(len(votes)), labels].all():
                shares = self._shares(rows, votes)
                labels = shares.argmax(axis=1)
                if min_confidence is not None:
                    labels[shares.max(axis=1) < min_confidence] = -1
            parts.append(labels)
        return np.concatenate(parts)

    def replica_labels(self, X: Any) -> Iterator[npt.NDArray[np.int32]]:
        """Labels by one replica after the other: what each of them thinks of the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows, with the columns of ``fit``.

        Returns
        -------
        iterator of ndarrays of shape (n,)
            B of them, each made when it is asked for; -1 where a replica abstains.

        Examples
        --------
        >>> from bbclust import BBC
        >>> from bbclust.datasets import load_iris
        >>> iris = load_iris().data
        >>> model = BBC(3, random_state=0).fit(iris)
        >>> agreement = [(labels == model.labels_).mean() for labels in model.replica_labels(iris)]
        >>> len(agreement)
        200
        """
        check_is_fitted(self)
        return self._state.predictors.labels(self._in_precision_of_fit(self._check_rows(X)))

    def _vote_on(self, X: Any) -> Iterator[tuple[Floats, npt.NDArray[np.int32]]]:
        """Some rows after the other, few enough to stay in cache, and the votes on them."""
        check_is_fitted(self)
        X = self._check_rows(X)
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = self._in_precision_of_fit(X[start : start + ROWS_AT_ONCE])
            yield rows, self._state.predictors.vote(rows, n_jobs=effective_n_jobs(self.n_jobs))

    def _shares(self, rows: Floats, votes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        if votes.any(axis=1).all():
            return memberships(votes)
        return memberships(votes, nearest_center(rows, self.reference_centers_))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        precision: str = "float64",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to one file, whole or not at all.

        The file holds what is needed to predict and to describe the model, and no row that it was
        fitted to; :func:`bbclust.load_model` reads it. It is checksummed and safe to open:
        arrays and JSON, nothing that could be executed.

        Parameters
        ----------
        path : str or path
            Replaced if it exists.
        precision : {"float64", "float32"}, default="float64"
            Of the replicas' centres, which are most of the file. "float32" halves it, and a row
            as far from two centres to seven digits may then get another vote.
        metadata : dict, optional
            What you want to keep with the model, such as units or the scaling of columns: words,
            numbers, lists and dicts. A loaded model has it as ``metadata_``, and keeps it when it
            is saved again without another.

        Examples
        --------
        >>> import os, tempfile
        >>> from bbclust import BBC, load_model
        >>> from bbclust.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BBC(n_clusters=3, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "iris.bbc")
        ...     model.save(path)
        ...     loaded = load_model(path)
        >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        save_model(path, self, precision=precision, metadata=metadata)

    @property
    def _n_features_out(self) -> int:
        return len(self.reference_centers_)

    @classmethod
    def _saved_as(cls) -> type[FittedEnsemble]:
        """The estimator that a model file is read as."""
        return cls

    def _has_own_prior(self) -> bool:
        """Whether the prior tells what the rows do not."""
        return False

    def _publish_replicas(
        self,
        job: Any,
        n: int,
        replicas: Replicas,
        trace: list[Precision],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Set what does not depend on the votes on every row of the n there are."""
        reference = job.reference
        self.mc_trace_ = as_columns(trace)
        self.n_replicas_ = replicas.n_replicas
        self.replica_centers_ = replicas.centers
        self.replica_n_iter_ = replicas.n_iter
        self.alignment_margin_ = replicas.margin
        self.n_abstentions_ = int((~replicas.occupied).sum())
        self.n_iter_ = max(reference.n_iter, int(replicas.n_iter.max()))
        self.prior_ = job.prior
        self.reference_centers_ = reference.centers
        self.cluster_centers_ = replicas.mean_centers(reference.centers)
        resampling = job.plan.resampling
        self.center_variance_ratio_ = self.variance_ratio_ = resampling.variance_ratio(n)
        self.cluster_rows_ = np.full(reference.n_clusters, np.nan)
        if not (resampling.uses_prior and self._has_own_prior()):
            share = effective_share(weights)
            weight = resampling.prior_weight if resampling.uses_prior else 0.0
            scale = float(getattr(self, "prior_scale", 1.0))
            self.center_variance_ratio_ *= sampling_ratio(weight, scale, share)
            self.cluster_rows_ = reference.shares * n * share
        self.n_abstained_votes_ = int(replicas.abstained.sum())
        self.n_failed_ = len(replicas.failures)

    def _publish_entropies(
        self,
        summary: MembershipSummary,
        trace: list[Precision],
        evaluation_labels: npt.NDArray[np.int16],
        evaluation_votes: npt.NDArray[np.int32],
        evaluation_weights: npt.NDArray[np.float64],
    ) -> None:
        """Set what is said of all rows together, with Monte-Carlo errors by the evaluation rows."""
        self.cluster_shares_ = summary.shares
        self.mean_entropy_ = summary.entropy
        self.mean_entropy_se_ = trace[-1].mean_entropy_se
        self.pairwise_entropy_ = summary.pairwise_entropy
        self.worst_pair_ = worst_pair(self.pairwise_entropy_)
        self.max_pairwise_entropy_ = self.max_pairwise_entropy_se_ = 0.0
        self.max_pair_doubt_ = self.max_pair_doubt_bias_ = self.max_pair_doubt_se_ = 0.0
        self.pair_doubt_ = summary.pair_doubts
        self.mean_entropy_bias_ = mean_entropy_bias(evaluation_votes, evaluation_weights)
        doubtful = worst_pair(self.pair_doubt_)
        if self.worst_pair_ is None or doubtful is None:
            return
        votes = (evaluation_labels, evaluation_votes, evaluation_weights)
        self.max_pairwise_entropy_ = float(self.pairwise_entropy_[self.worst_pair_])
        self.max_pairwise_entropy_se_ = standard_error(
            pairwise_entropy_influence(*votes, self.worst_pair_)
        )
        self.max_pair_doubt_ = float(self.pair_doubt_[doubtful])
        self.max_pair_doubt_bias_ = pair_doubt_bias(*votes[1:], doubtful)
        self.max_pair_doubt_se_ = standard_error(pair_doubt_influence(*votes, doubtful))
