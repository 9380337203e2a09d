"""
Counts of genes in cells
========================

Simulated counts, such as single-cell sequencing gives: many columns, most of them noise, and cells
that were read more or less deeply. They are normalised, put on a logarithmic scale and brought to a
few principal components before they are clustered.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from bbclust import KSelector
from bbclust.plots import DataMapDisplay

generator = np.random.default_rng(0)
n_genes, sizes = 800, [220, 150, 90, 40]
base = generator.lognormal(-1.0, 1.0, n_genes)
profiles = []
for _ in sizes:
    profile = base.copy()
    marker = generator.choice(n_genes, 30, replace=False)
    profile[marker] *= generator.lognormal(1.6, 0.4, len(marker))
    profiles.append(profile)
kind = np.repeat(range(len(sizes)), sizes)
depth = generator.lognormal(0, 0.4, len(kind))
counts = generator.poisson(np.array(profiles)[kind] * depth[:, None])

# %%
per_cell = np.median(counts.sum(axis=1)) / counts.sum(axis=1, keepdims=True)
X = PCA(10, random_state=0).fit_transform(np.log1p(counts * per_cell))
selector = KSelector(k_range=range(2, 9), random_state=0).fit(X)
print(selector.verdict_.answer())
print(f"adjusted Rand index with the true kinds: {adjusted_rand_score(kind, selector.labels_):.2f}")

# %%
DataMapDisplay.from_estimator(selector, X)
plt.show()

# %%
# Which clusters are found again in variations of the data, also the small ones?
stability = selector.best_estimator_.cluster_stability()
for k, (share, jaccard) in enumerate(zip(stability.recovered, stability.jaccard, strict=True)):
    print(f"cluster {k}: found again in {share:.0%} of the variations, Jaccard {jaccard:.2f}")
