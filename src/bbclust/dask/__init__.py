"""BBC and KSelector on a Dask cluster: more than one machine, tables larger than memory."""

from bbclust.dask.estimators import DaskBBC, DaskKSelector

__all__ = ["DaskBBC", "DaskKSelector"]
