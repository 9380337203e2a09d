"""F0 as an earlier model left it: yesterday's posterior is today's prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from bbclust.priors.contract import check_features
from bbclust.priors.covariances import ClusterMoments, semidefinite_factor, weighted_gram
from bbclust.priors.elicited import ElicitedPrior
from bbclust.priors.gaussian import GaussianMixture
from bbclust.priors.matching import completed, nearest_pairs, pairs_within_spread
from bbclust.priors.storage import PlainData, require, stored_as
from bbclust.stages.kmeans import Partition, partition_from_labels
from bbclust.stages.random_streams import Stage, stream_generator
from bbclust.stages.table import Array, Floats, make_table

SKETCH_DRAWS = 10_000
_IMPOSSIBLE = "its prior is of an impossible kind"
SMALLEST_SHARE = 1e-6  # a cluster that won no vote is still a cluster


@stored_as("CarriedMixture")
@dataclass(frozen=True)
class CarriedMixture(GaussianMixture):
    """A Gaussian mixture carried over from an earlier model; component j belongs to cluster j.

    Attributes
    ----------
    weights, means, factors
        As of :class:`GaussianMixture`.
    matched : dict of int to int, optional
        Cluster of the earlier model that each cluster continues.
    new_clusters : tuple of int, default=()
        Clusters that continue none; their components are elicited from the data.
    vanished_clusters : tuple of int, default=()
        Clusters of the earlier model that no cluster continues.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.priors import ModelPrior
    >>> X = np.random.default_rng(0).normal(size=(100, 1)) + 9 * (np.arange(100) % 2)[:, None]
    >>> monday = BBC(2, random_state=0).fit(X)
    >>> carried = BBC(2, prior=ModelPrior(monday), random_state=0).fit(X).prior_
    >>> carried.describe().splitlines()[-3:]
    ['Carried over: 0 from 0, 1 from 1', 'New: none', 'Vanished: none']
    """

    matched: dict[int, int] = field(default_factory=dict)
    new_clusters: tuple[int, ...] = ()
    vanished_clusters: tuple[int, ...] = ()

    @property
    def notice(self) -> str | None:
        """New and vanished clusters in a sentence, which ``fit`` shows as a warning; else None."""
        parts = []
        if self.new_clusters:
            are = "is" if len(self.new_clusters) == 1 else "are"
            parts.append(f"{_clusters(self.new_clusters)} {are} new")
        if self.vanished_clusters:
            have = "has" if len(self.vanished_clusters) == 1 else "have"
            parts.append(
                f"{_clusters(self.vanished_clusters)} of the earlier model {have} vanished"
            )
        if not parts:
            return None
        sentence = " and ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}: see prior_.describe()."

    def to_plain_data(self) -> PlainData:
        """The mixture, and what became of the earlier clusters, for model files.

        Returns
        -------
        PlainData
        """
        details = {
            "matched": [[int(new), int(old)] for new, old in self.matched.items()],
            "new_clusters": [int(k) for k in self.new_clusters],
            "vanished_clusters": [int(k) for k in self.vanished_clusters],
        }
        return PlainData(super().to_plain_data().arrays, details)

    @classmethod
    def from_plain_data(cls, data: PlainData, n_features: int) -> CarriedMixture:
        """The mixture that a file describes; ValueError if it is an impossible one.

        Parameters
        ----------
        data, n_features
            As of :meth:`bbclust.priors.StorablePrior.from_plain_data`.

        Returns
        -------
        CarriedMixture
        """
        core = super().from_plain_data(data, n_features)
        matched = data.details["matched"]
        require(isinstance(matched, list), _IMPOSSIBLE)
        pairs = [_cluster_numbers(pair) for pair in matched]
        require(all(len(pair) == 2 for pair in pairs), _IMPOSSIBLE)
        return CarriedMixture(
            core.weights,
            core.means,
            core.factors,
            matched={pair[0]: pair[1] for pair in pairs},
            new_clusters=_cluster_numbers(data.details["new_clusters"]),
            vanished_clusters=_cluster_numbers(data.details["vanished_clusters"]),
        )

    def describe(self) -> str:
        """The mixture in words, and what became of the earlier clusters.

        Returns
        -------
        str
        """
        kept = [f"{k} from {old}" for k, old in sorted(self.matched.items())]
        lines = [
            f"Earlier model, {self.describe_components()}",
            f"Carried over: {', '.join(kept) or 'none'}",
            f"New: {', '.join(map(str, self.new_clusters)) or 'none'}",
            f"Vanished: {', '.join(map(str, self.vanished_clusters)) or 'none'}",
        ]
        return "\n".join(lines)


def _cluster_numbers(numbers: Any) -> tuple[int, ...]:
    plain = isinstance(numbers, list) and all(type(k) is int and k >= 0 for k in numbers)
    require(plain, _IMPOSSIBLE)
    return tuple(numbers)


def _clusters(numbers: tuple[int, ...]) -> str:
    if len(numbers) == 1:
        return f"cluster {numbers[0]}"
    return f"clusters {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


class ModelPrior:
    """What an earlier model found is the prior, and its clusters keep their numbers.

    F0 has one component per cluster of the earlier model: its posterior centre
    (``cluster_centers_``) and share (``cluster_shares_``), with the covariance of its component in
    ``prior_``. Only these are kept, not the model, so that chains of models do not grow.

    Clusters of the new reference partition are paired with those of the earlier model, by the
    least sum of squared distances from the earlier centres in units of the earlier spread. A
    cluster continues an earlier one if a row at its centre would not be an outlier there, at the
    0.1% level of a Gaussian whose covariance is three quarters the earlier cluster's and a quarter
    the average variance of all.

    - A cluster that **continues** an earlier one keeps its number, if that is below the new number
      of clusters, and F0 has the earlier component for it.
    - A **new** cluster gets a number that is free, and F0 has its elicited component, with its
      share of the data as weight (the earlier components divide the rest).
    - A **vanished** cluster is left out of F0: with draws where no cluster is any more, replicas
      would spend one of their centres there.

    ``prior_.matched``, ``prior_.new_clusters`` and ``prior_.vanished_clusters`` say which is which,
    and ``fit`` warns if there are any of the last two kinds. Clusters whose earlier number is too
    large, and new ones, fill the free numbers in this order, the larger clusters first.

    Parameters
    ----------
    model : fitted BBC
        Or a model loaded from a file. It must have been fitted with a prior, which
        ``resampling="proper"`` with ``prior_weight`` above 0 has.

    Notes
    -----
    Covariances are those of the first model of a chain, or of the day a cluster first appeared:
    replicas tell where centres are, not how wide clusters are. Fit without ModelPrior to elicit
    them anew; ``prior_conflict()`` tells when that is due.

    A component of ``prior_`` belongs to the cluster whose reference centre it is nearest to (least
    sum over all). Clusters without a component get the average of all. A prior without components
    (a function, a kernel density) is described by the covariances of draws nearest to each centre.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.priors import ModelPrior
    >>> generator = np.random.default_rng(0)
    >>> def one_day(first, second):
    ...     around_5, around_9 = generator.normal(5, size=first), generator.normal(9, size=second)
    ...     return np.concatenate([around_5, around_9])[:, None]
    >>> monday = BBC(2, random_state=0).fit(one_day(60, 40))
    >>> monday.cluster_centers_.round()
    array([[5.],
           [9.]])

    On Tuesday the second cluster is the larger one, and still number 1:

    >>> tuesday = BBC(2, prior=ModelPrior(monday), random_state=0).fit(one_day(40, 60))
    >>> tuesday.cluster_centers_.round()
    array([[5.],
           [9.]])
    >>> tuesday.prior_.matched
    {0: 0, 1: 1}
    """

    needs_rows = False

    def __init__(self, model: Any) -> None:
        self.mixture = _carry(model)

    def __repr__(self) -> str:
        clusters, d = self.mixture.means.shape
        return f"ModelPrior({clusters} clusters, {d} features)"

    def number_clusters(self, reference: Partition) -> npt.NDArray[np.int64]:
        """Which cluster gets which number, so that clusters keep those of the earlier model.

        Parameters
        ----------
        reference : Partition
            Clusters numbered by decreasing size, as of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        ndarray of shape (K,)
            Present number of the cluster that gets number 0, 1, and so on.
        """
        check_features(self.mixture.n_features, reference.centers.shape[1])
        pairs = pairs_within_spread(reference.centers, self.mixture)
        return _order(pairs, reference.n_clusters)

    def prepare(
        self, X: Floats | ClusterMoments, reference: Partition | None, scale: float
    ) -> GaussianMixture:
        """The earlier components, in the order of the clusters; all of them without a reference.

        Parameters
        ----------
        X, reference, scale
            As of :meth:`bbclust.priors.Prior.prepare`.

        Returns
        -------
        CarriedMixture, or GaussianMixture without a reference
        """
        if reference is None:
            return self.mixture
        check_features(self.mixture.n_features, X.shape[1])
        pairs = pairs_within_spread(reference.centers, self.mixture)
        together = completed(self.mixture, pairs, ElicitedPrior().prepare(X, reference, scale))
        earlier = range(len(self.mixture.weights))
        return CarriedMixture(
            weights=together.weights,
            means=together.means,
            factors=together.factors,
            matched=pairs,
            new_clusters=tuple(k for k in range(reference.n_clusters) if k not in pairs),
            vanished_clusters=tuple(j for j in earlier if j not in pairs.values()),
        )


def _order(pairs: dict[int, int], n_clusters: int) -> npt.NDArray[np.int64]:
    """Matched clusters at their earlier numbers, the others in the gaps."""
    order = np.full(n_clusters, -1, dtype=np.int64)
    homeless = []
    for cluster, number in pairs.items():
        if number < n_clusters:
            order[number] = cluster
        else:
            homeless.append(cluster)
    new = [cluster for cluster in range(n_clusters) if cluster not in pairs]
    order[order < 0] = sorted(homeless) + new
    return order


def _carry(model: Any) -> GaussianMixture:
    """The posterior of a model as a mixture, one component per cluster."""
    for name in ("cluster_centers_", "reference_centers_"):
        if not hasattr(model, name):
            raise TypeError(f"ModelPrior needs a fitted BBC, got {model!r}: fit it first.")
    try:
        prior = model.prior_
    except AttributeError as error:  # loaded from a file that does not hold it
        raise ValueError(f"The earlier model has no prior to carry over: {error}") from None
    if prior is None:
        raise ValueError(
            "The earlier model was fitted without a prior, so it says nothing of how wide its "
            "clusters are: fit it with resampling='proper' and prior_weight above 0."
        )
    reference = np.asarray(model.reference_centers_, dtype=np.float64)
    components = _one_per_cluster(_components(prior, reference), reference)
    shares = np.array(getattr(model, "cluster_shares_", components.weights), dtype=np.float64)
    shares = np.maximum(shares, SMALLEST_SHARE)
    centers = np.array(model.cluster_centers_, dtype=np.float64)
    return GaussianMixture(shares / shares.sum(), centers, components.factors)


def _one_per_cluster(mixture: GaussianMixture, centers: Array) -> GaussianMixture:
    """The component of each centre; the average of all where there are too few."""
    pairs = nearest_pairs(centers, mixture.means)
    chosen = [pairs.get(cluster, -1) for cluster in range(len(centers))]
    factors = list(mixture.factors)
    weights = mixture.weights
    if -1 in chosen:
        grams = [weighted_gram(factor, np.ones(len(factor))) for factor in factors]
        factors.append(semidefinite_factor(np.einsum("k,kij->ij", weights, np.stack(grams))))
        weights = np.append(weights, weights.mean())
    return GaussianMixture(weights[chosen], centers, tuple(factors[j] for j in chosen))


def _components(prior: Any, centers: Array) -> GaussianMixture:
    """The prior's own components, or those that a sample of it shows around the centres."""
    if all(hasattr(prior, name) for name in ("weights", "means", "factors")):
        return GaussianMixture(prior.weights, prior.means, prior.factors)
    draws = prior.sample(SKETCH_DRAWS, stream_generator(0, Stage.PRIOR_SKETCH))
    return _sketch(np.asarray(draws, dtype=np.float64), centers)


def _sketch(draws: Array, centers: Array) -> GaussianMixture:
    """Shares, means and covariances of the draws nearest to each centre that has any."""
    nearest = cdist(draws, centers).argmin(axis=1)
    labels = np.unique(nearest, return_inverse=True)[1].astype(np.int32)
    return ElicitedPrior().prepare(draws, partition_from_labels(make_table(draws), labels), 1.0)
