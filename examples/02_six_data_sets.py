"""
The six data sets of the paper
==============================

One draw of each, and the number of clusters that is found in it. One draw says little:
the pages on *Choosing K* and on *The paper* have hundreds.
"""

from matplotlib import pyplot as plt

from bbclust import KSelector
from bbclust.datasets import make_paper_dataset
from bbclust.plots.palette import SERIES

figure, axes = plt.subplots(2, 3, figsize=(10, 6.5), layout="constrained")
for number, ax in enumerate(axes.flat, start=1):
    table = make_paper_dataset(number, random_state=0)
    selector = KSelector(k_range=range(2, 7), random_state=0).fit(table.data)
    colors = [SERIES[label] for label in selector.labels_]
    ax.scatter(table.data[:, 0], table.data[:, 1], c=colors, s=14)
    true = len(set(table.target))
    ax.set(xticks=[], yticks=[], title=f"data set {number}: {selector.best_k_} found, {true} true")
plt.show()
