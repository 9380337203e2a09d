"""Bayesian Bagged Clustering: how many clusters are there, and how sure can I be of each point?

>>> from bbclust import BBC
>>> from bbclust.datasets import load_iris
>>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
>>> model.memberships_.shape
(150, 3)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bbclust.version import __version__

if TYPE_CHECKING:
    from bbclust.baselines import gap_statistic
    from bbclust.ensemble.proper_bootstrap import proper_bayesian_bootstrap
    from bbclust.estimators.bagclust import BagClust1, BagClust2
    from bbclust.estimators.bbc import BBC
    from bbclust.estimators.fuzzy_c_means import FuzzyCMeans
    from bbclust.estimators.load_model import load_model
    from bbclust.selection.k_selector import KSelector
    from bbclust.selection.sensitivity import sensitivity
    from bbclust.stages.entropies import entropy, pairwise_entropy

__all__ = [
    "BBC",
    "BagClust1",
    "BagClust2",
    "FuzzyCMeans",
    "KSelector",
    "__version__",
    "entropy",
    "gap_statistic",
    "load_model",
    "pairwise_entropy",
    "proper_bayesian_bootstrap",
    "sensitivity",
]

# Where the names are. They are imported when first used: `bbclust --help` cannot wait for
# scikit-learn.
_HOMES = {
    "BBC": "estimators.bbc",
    "BagClust1": "estimators.bagclust",
    "BagClust2": "estimators.bagclust",
    "FuzzyCMeans": "estimators.fuzzy_c_means",
    "KSelector": "selection.k_selector",
    "entropy": "stages.entropies",
    "gap_statistic": "baselines",
    "load_model": "estimators.load_model",
    "pairwise_entropy": "stages.entropies",
    "proper_bayesian_bootstrap": "ensemble.proper_bootstrap",
    "sensitivity": "selection.sensitivity",
}
_SUBMODULES = ("baselines", "dask", "datasets", "plots", "priors", "report")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
