"""Three long groups side by side."""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.mixture import GaussianMixture

from bbclust import BBC
from bbclust.plots.palette import SERIES

generator = np.random.default_rng(0)
rows = np.concatenate(
    [generator.normal(size=(150, 2)) * [5.0, 0.6] + [0, 4 * group] for group in range(3)]
)
labels = {
    "BBC": BBC(3, random_state=0).fit(rows).labels_,
    "Gaussian mixture": GaussianMixture(
        3, init_params="k-means++", n_init=10, random_state=0
    ).fit_predict(rows),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for ax, (name, found) in zip(axes, labels.items(), strict=True):
    ax.scatter(*rows.T, c=[SERIES[label] for label in found], s=12)
    ax.set(xticks=[], yticks=[], title=name)
