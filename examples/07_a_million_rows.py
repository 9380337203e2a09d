"""
A million rows
==============

On large tables fewer draws than rows are enough: each replica is 10,000 points, and its centres
vote on all rows.
"""

import time

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from bbclust import BBC
from bbclust.plots import EntropyMapDisplay

X, _ = make_blobs(1_000_000, n_features=4, centers=5, cluster_std=1.5, random_state=1)
X = X.astype(np.float32)

began = time.perf_counter()
model = BBC(5, n_replicas=100, n_draws=10_000, n_jobs=-1, random_state=0).fit(X)
print(f"{len(X):,} rows, 100 replicas of 10,000 draws: {time.perf_counter() - began:.0f} s")
print("shares:", model.cluster_shares_.round(2))

# %%
# Rows on which the replicas differ:
print(f"{(model.memberships_.max(axis=1) < 0.9).mean():.1%} of the rows have no 90% of the votes")

# %%
# Pictures show the rows in doubt and a sample of the others.
EntropyMapDisplay.from_estimator(model, X)
plt.show()

# %%
# Tables that do not fit into memory, or on several machines: ``bbclust.dask``, see *Large data*.
