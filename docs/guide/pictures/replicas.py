"""Four replicas of one table; the size of a point is its weight."""

from matplotlib import pyplot as plt

from bbclust import BBC, proper_bayesian_bootstrap
from bbclust.datasets import make_paper_dataset
from bbclust.plots.palette import SERIES

data = make_paper_dataset(1, random_state=0).data
prior = BBC(3, random_state=0).fit(data).prior_
replicas = proper_bayesian_bootstrap(data, prior, n_replicas=4, random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), sharex=True, sharey=True)
for number, (ax, replica) in enumerate(zip(axes, replicas, strict=True)):
    size = 25 * len(data) * replica.weights
    for kind, chosen, color in (
        ("rows", replica.rows >= 0, SERIES[0]),
        ("from the prior", replica.rows < 0, SERIES[1]),
    ):
        points = replica.points[chosen].T
        ax.scatter(*points, s=size[chosen], color=color, alpha=0.6, linewidth=0, label=kind)
    ax.set(xticks=[], yticks=[], title=f"replica {number}")
axes[0].legend(frameon=False, fontsize="small", markerscale=0.7)
