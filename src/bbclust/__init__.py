"""Bayesian Bagged Clustering: how many clusters are there, and how sure can I be of each point?

>>> from bbclust import BBC
>>> from bbclust.datasets import load_iris
>>> model = BBC(n_clusters=3, random_state=0).fit(load_iris().data)
>>> model.memberships_.shape
(150, 3)
"""

from bbclust.baselines import gap_statistic
from bbclust.bbc import BBC
from bbclust.bootstrap import proper_bayesian_bootstrap
from bbclust.entropy import entropy, pairwise_entropy
from bbclust.fuzzy import FuzzyCMeans
from bbclust.selection import KSelector

__version__ = "0.1.0"

__all__ = [
    "BBC",
    "FuzzyCMeans",
    "KSelector",
    "__version__",
    "entropy",
    "gap_statistic",
    "pairwise_entropy",
    "proper_bayesian_bootstrap",
]
