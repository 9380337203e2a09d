"""
Missing values
==============

A tenth of the numbers of Iris is taken away. With ``missing="draw"`` every replica fills the gaps
anew, so that a flower is the more in doubt the less is known of it.
"""

import numpy as np
from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import load_iris

X = load_iris().data.copy()
gaps = np.random.default_rng(0).random(X.shape) < 0.1
X[gaps] = np.nan
complete = BBC(3, random_state=0).fit(load_iris().data)
model = BBC(3, missing="draw", random_state=0).fit(X)
same = (model.labels_ == complete.labels_).mean()
print(f"{gaps.sum()} numbers missing; {same:.0%} of the flowers keep their cluster")

# %%
# Doubt by the number of missing values:
missing = gaps.sum(axis=1)
groups = [model.entropy_[missing == count] for count in range(3)]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.bar(range(3), [group.mean() for group in groups], color="0.6")
ax.set(xticks=range(3), xlabel="missing values of a flower", ylabel="mean entropy, bits")
plt.show()
