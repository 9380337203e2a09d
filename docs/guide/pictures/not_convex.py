"""Two tables that k-means cannot divide, and what looks at density does with them."""

from matplotlib import pyplot as plt
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_circles, make_moons

from bbclust import BBC
from bbclust.plots.palette import SERIES

tables = {
    "moons": make_moons(400, noise=0.06, random_state=0)[0],
    "rings": make_circles(400, noise=0.05, factor=0.4, random_state=0)[0],
}
figure, axes = plt.subplots(2, 2, figsize=(8, 6.5))
for column, (name, rows) in zip(axes.T, tables.items(), strict=True):
    model = BBC(2, random_state=0).fit(rows)
    other = HDBSCAN(min_cluster_size=20, copy=True).fit_predict(rows)
    for ax, labels, title in (
        (column[0], model.labels_, f"{name}: BBC, {model.mean_entropy_:.2f} bits"),
        (column[1], other, f"{name}: HDBSCAN"),
    ):
        ax.scatter(*rows.T, c=[SERIES[label] if label >= 0 else "0.8" for label in labels], s=12)
        ax.set(xticks=[], yticks=[], title=title)
