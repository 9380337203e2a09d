"""BBC and KSelector on a Dask cluster: more than one machine, tables larger than memory."""

from bbclust.dask.bbc import DaskBBC
from bbclust.dask.k_selector import DaskKSelector

__all__ = ["DaskBBC", "DaskKSelector"]
