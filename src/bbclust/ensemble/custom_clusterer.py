"""Any clusterer as P: what a scikit-learn clusterer or a function needs in order to be one.

An adapted clusterer gets points in the units of the data. With ``sample_weight`` it gets their
weights; without, each point as often as its weight says, which must then be a whole number. Its
random states are set from the run's seed, so that a replica does not depend on what ran before.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from bbclust.stages.table import Floats


@dataclass(frozen=True)
class ClusteringResult:
    """One clustering: a label per distinct point, -1 for noise, and what can label others."""

    labels: npt.NDArray[np.int64]
    model: Any = None


@dataclass(frozen=True)
class Adapter:
    """A clusterer, and what it can do.

    Attributes
    ----------
    clusterer : object
        Unfitted estimator with ``fit_predict``, or a function of points, and perhaps of
        ``sample_weight``, ``n_clusters`` and ``random_state``, that returns labels.
    count_parameter : str or None
        What takes the number of clusters; None if it finds its own.
    weight_parameter : str or None
        The keyword that takes weights.
    random_parameters : tuple of str
        What takes a seed.
    predicts : bool
        Whether it can label points it was not fitted on.
    """

    clusterer: Any
    count_parameter: str | None
    weight_parameter: str | None
    random_parameters: tuple[str, ...]
    predicts: bool

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return str(getattr(self.clusterer, "__name__", type(self.clusterer).__name__))

    def cluster(
        self, points: Floats, weights: npt.NDArray[np.float64], n_clusters: int, random_state: int
    ) -> ClusteringResult:
        """Cluster weighted points; those of weight zero get -1.

        BLAS runs on one thread: on several, it gives other bits.
        """
        keywords: dict[str, Any] = {}
        if self.weight_parameter is None:
            copies = weights.astype(np.int64)
        else:
            copies = (weights > 0).astype(np.int64)
            keywords[self.weight_parameter] = weights[weights > 0]
        rows = np.repeat(np.arange(len(points)), copies)
        settings: dict[str, Any] = dict.fromkeys(self.random_parameters, random_state)
        if self.count_parameter is not None:
            settings[self.count_parameter] = n_clusters
        model = None
        with threadpool_limits(1):
            if hasattr(self.clusterer, "fit_predict"):
                model = clone(self.clusterer).set_params(**settings)
                given = model.fit_predict(points[rows], **keywords)
            else:
                given = self.clusterer(points[rows], **keywords, **settings)
        given = _whole_labels(given, len(rows), self.name)
        labels = np.full(len(points), -1, dtype=np.int64)
        distinct, first = np.unique(rows, return_index=True)
        labels[distinct] = given[first]
        return ClusteringResult(labels, model if self.predicts else None)


def adapt(clusterer: Any) -> Adapter:
    """What a clusterer can do; a sentence if it is none."""
    if isinstance(clusterer, type):
        raise TypeError(
            f"clusterer must be an object, got the class {clusterer.__name__}: "
            f"pass {clusterer.__name__}(...)."
        )
    if hasattr(clusterer, "fit_predict") and hasattr(clusterer, "get_params"):
        prefix, last = _last_step(clusterer)
        parameters = last.get_params()
        counts = [name for name in ("n_clusters", "n_components") if name in parameters]
        weighted = has_fit_parameter(last, "sample_weight")
        return Adapter(
            clusterer,
            count_parameter=prefix + counts[0] if counts else None,
            weight_parameter=f"{prefix}sample_weight" if weighted else None,
            random_parameters=tuple(
                name
                for name in clusterer.get_params()
                if name == "random_state" or name.endswith("__random_state")
            ),
            predicts=hasattr(clusterer, "predict"),
        )
    if callable(clusterer):
        try:
            known = set(inspect.signature(clusterer).parameters)
        except ValueError:  # some built-in functions have no signature
            known = set()
        return Adapter(
            clusterer,
            count_parameter="n_clusters" if "n_clusters" in known else None,
            weight_parameter="sample_weight" if "sample_weight" in known else None,
            random_parameters=tuple(known & {"random_state"}),
            predicts=False,
        )
    raise TypeError(
        f"clusterer must have fit_predict, as scikit-learn's do, or be a function of the points, "
        f"got {clusterer!r}."
    )


def _last_step(clusterer: Any) -> tuple[str, Any]:
    """The clusterer at the end of a pipeline, and the prefix of its parameters."""
    prefix = ""
    while hasattr(clusterer, "steps"):
        name, clusterer = clusterer.steps[-1]
        prefix += f"{name}__"
    return prefix, clusterer


def _whole_labels(labels: Any, n: int, name: str) -> npt.NDArray[np.int64]:
    given = np.asarray(labels)
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"{name} was given {n} points and returned labels of shape {given.shape} and type "
            f"{given.dtype}: it must return one whole number per point, -1 for noise."
        )
    return given.astype(np.int64)
