"""Three groups, the k-means partition of them, and its centres."""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots.palette import MARKERS, SERIES

data = make_paper_dataset(1, random_state=0).data
model = BBC(3, random_state=0).fit(data)
figure, axes = plt.subplots(figsize=(5.5, 4))
for k, center in enumerate(model.reference_centers_):
    rows = data[model.reference_labels_ == k]
    axes.scatter(*rows.T, color=SERIES[k], marker=MARKERS[k], s=22, label=f"cluster {k}")
    axes.plot(*center, marker="X", color=SERIES[k], markersize=14, markeredgecolor="black")
axes.set(xticks=[], yticks=[], title="Reference partition, with its centres")
axes.legend(frameon=False)
