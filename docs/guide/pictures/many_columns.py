"""Three groups in two columns, beside more and more columns of noise."""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from bbclust import BBC

widths = [2, 10, 30, 100, 300, 1000]
found: dict[str, list[float]] = {"all columns": [], "3 principal components": []}
signal, groups = make_blobs(150, centers=[[0, 0], [4, 0], [2, 3.5]], random_state=0)
for width in widths:
    noise = np.random.default_rng(width).normal(size=(150, width - 2))
    X = np.hstack([signal, noise])
    for name, rows in zip(found, (X, PCA(min(3, width)).fit_transform(X)), strict=True):
        labels = BBC(3, n_replicas=60, votes="all", random_state=0).fit(rows).labels_
        found[name].append(adjusted_rand_score(groups, labels))
figure, ax = plt.subplots(figsize=(6, 3.6))
for name, values in found.items():
    ax.plot(widths, values, "o-", label=name)
ax.set(xscale="log", xlabel="columns", ylabel="adjusted Rand index", ylim=(-0.05, 1.05))
ax.legend(frameon=False)
