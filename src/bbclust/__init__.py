"""Bayesian Bagged Clustering: how many clusters are there, and how sure can I be of each point?

>>> from bbclust import BBC
>>> from bbclust.datasets import load_iris
>>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
>>> model.memberships_.shape
(150, 3)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bbclust.version import __version__

if TYPE_CHECKING:
    from bbclust.bagclust import BagClust1, BagClust2
    from bbclust.baselines import gap_statistic
    from bbclust.bbc import BBC
    from bbclust.bootstrap import proper_bayesian_bootstrap
    from bbclust.entropy import entropy, pairwise_entropy
    from bbclust.fuzzy import FuzzyCMeans
    from bbclust.selection import KSelector
    from bbclust.storage import load_model

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
]

# Where the names are. They are imported when first used: `bbclust --help` cannot wait for
# scikit-learn.
_HOMES = {
    "BBC": "bbc",
    "BagClust1": "bagclust",
    "BagClust2": "bagclust",
    "FuzzyCMeans": "fuzzy",
    "KSelector": "selection",
    "entropy": "entropy",
    "gap_statistic": "baselines",
    "load_model": "storage",
    "pairwise_entropy": "entropy",
    "proper_bayesian_bootstrap": "bootstrap",
}
_SUBMODULES = ("baselines", "dask", "datasets", "plots", "priors", "report")


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # `import bbclust.entropy` sets the name to the module, and it belongs to the function.
        if isinstance(value, ModuleType) and name in _HOMES:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted([*__all__, *_SUBMODULES])


sys.modules[__name__].__class__ = _Package
