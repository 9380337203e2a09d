"""
Another clusterer
=================

Any clusterer of scikit-learn can take the place of k-means. A Gaussian mixture follows groups that
are elongated, where k-means cuts them.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from bbclust import BBC
from bbclust.plots import EntropyMapDisplay

generator = np.random.default_rng(0)
stretch = np.array([[3.0, 0.0], [0.0, 0.6]])
X = np.concatenate([generator.normal(size=(100, 2)) @ stretch + [0, 4 * k] for k in range(3)])
truth = np.repeat(range(3), 100)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, clusterer in zip(
    axes, (None, GaussianMixture(3, init_params="k-means++", n_init=5)), strict=True
):
    model = BBC(3, clusterer=clusterer, n_replicas=100, random_state=0).fit(X)
    name = "k-means" if clusterer is None else "Gaussian mixture"
    print(f"{name}: adjusted Rand index {adjusted_rand_score(truth, model.labels_):.2f}")
    EntropyMapDisplay.from_estimator(model, X, ax=ax)
    ax.set_title(f"{name}, {model.mean_entropy_:.2f} bits")
plt.show()
