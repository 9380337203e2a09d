"""Margins where clusters have names of their own, and where names are arbitrary."""

import numpy as np
from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots import AlignmentMarginsDisplay

tables = {
    "three groups": (3, make_paper_dataset(1, random_state=0).data),
    "one cloud, cut in six": (6, np.random.default_rng(0).normal(size=(99, 2))),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for ax, (name, (n_clusters, rows)) in zip(axes, tables.items(), strict=True):
    model = BBC(n_clusters, random_state=0).fit(rows)
    AlignmentMarginsDisplay.from_estimator(model, ax=ax)
    ax.set_title(name, loc="left")
    ax.set_xlim(0, 0.7)
