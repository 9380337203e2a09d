"""Centres of 200 replicas around those of the reference."""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots.palette import SERIES

data = make_paper_dataset(1, random_state=0).data
model = BBC(3, random_state=0).fit(data)
figure, axes = plt.subplots(figsize=(5.5, 4))
axes.scatter(*data.T, color="0.8", s=16, label="rows")
for k, center in enumerate(model.reference_centers_):
    axes.scatter(*model.replica_centers_[:, k].T, color=SERIES[k], s=7, alpha=0.6)
    axes.plot(*center, marker="X", color=SERIES[k], markersize=13, markeredgecolor="black")
axes.set(xticks=[], yticks=[], title="Centres of 200 replicas, and of the reference (crosses)")
