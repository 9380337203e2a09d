"""
A fit every day
===============

Yesterday's model is the prior of today's: clusters keep their numbers, and a day with few rows is
steadied by what was found before.
"""

import numpy as np
from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.priors import ModelPrior

generator = np.random.default_rng(0)
groups = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]])
drift = np.array([0.15, 0.05])


def rows_of(day: int, n: int) -> np.ndarray:
    chosen = generator.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return groups[chosen] + day * drift + generator.normal(size=(n, 2))


days = [600, 80, 60, 400, 50, 90]
model = BBC(3, random_state=0).fit(rows_of(0, days[0]))
centers = [model.cluster_centers_]
for day, n in enumerate(days[1:], start=1):
    model = BBC(3, prior=ModelPrior(model), random_state=0).fit(rows_of(day, n))
    centers.append(model.cluster_centers_)
    print(f"day {day}: {n} rows, shares {model.cluster_shares_.round(2)}")

# %%
# The path of every centre; dots are where the groups really are.
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
paths = np.array(centers)
for k in range(3):
    ax.plot(*paths[:, k].T, "o-", label=f"cluster {k}")
    true = groups[((groups - paths[0, k]) ** 2).sum(axis=1).argmin()]
    ax.plot(*(true + np.outer(np.arange(len(days)), drift)).T, "k.", markersize=4)
ax.legend(frameon=False)
plt.show()
