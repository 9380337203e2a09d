"""The elicited prior at two scales."""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots import PriorAndDataDisplay

data = make_paper_dataset(1, random_state=0).data
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
for ax, scale in zip(axes, (1.0, 3.0), strict=True):
    model = BBC(3, prior_scale=scale, random_state=0).fit(data)
    PriorAndDataDisplay.from_estimator(model, data, legend=ax is axes[1], ax=ax)
    ax.set_title(f"prior scale s = {scale:g}", loc="left")
