"""Tables in memory: what a cluster computes is what one machine computes."""

import numpy as np

from bbclust import BBC
from bbclust.dask import DaskBBC
from bbclust.datasets import load_iris

IRIS = load_iris().data


def test_same_bits_as_the_local_twin(client):
    local = BBC(3, n_replicas=60, random_state=0).fit(IRIS)
    mine = DaskBBC(3, n_replicas=60, random_state=0, client=client).fit(IRIS)
    np.testing.assert_array_equal(mine.memberships_, local.memberships_)
    np.testing.assert_array_equal(mine.replica_centers_, local.replica_centers_)
