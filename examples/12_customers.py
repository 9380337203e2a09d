"""
Customers
=========

A simulated table of customers, with amounts that are very uneven. Are there segments at all? If the
table is one cloud, the answer is 1: a division would be ours, not the data's.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.preprocessing import StandardScaler

from bbclust import KSelector
from bbclust.plots.palette import SERIES

generator = np.random.default_rng(1)
n = 600
regular = generator.random(n) < 0.35
visits = generator.poisson(np.where(regular, 22, 4)) + 1
basket = generator.lognormal(np.where(regular, 3.0, 3.6), 0.35)
customers = pd.DataFrame(
    {
        "visits": visits,
        "spent": visits * basket,
        "days since last visit": generator.gamma(2, np.where(regular, 4, 30)),
    }
)
print(customers.describe().loc[["mean", "50%", "max"]].round(1))

# %%
# Amounts go on a logarithmic scale first: k-means looks at distances, and a few large customers
# would be all that it sees.
X = StandardScaler().fit_transform(np.log(customers))
selector = KSelector(k_range=range(2, 8), random_state=0).fit(X)
print(selector.verdict_.answer())
print(customers.groupby(selector.labels_).median().round(1))

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(customers["visits"], customers["spent"], c=[SERIES[k] for k in selector.labels_], s=12)
ax.set(xlabel="visits", ylabel="spent", xscale="log", yscale="log")
plt.show()

# %%
# The same customers without the regular ones: nothing that would make two groups.
others = StandardScaler().fit_transform(np.log(customers[~regular]))
print(KSelector(k_range=range(2, 8), random_state=0).fit(others).verdict_.answer())
