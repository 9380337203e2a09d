"""Entropies of rows, and between clusters."""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots import EntropyHistogramDisplay, PairwiseHeatmapDisplay

data = make_paper_dataset(1, random_state=0).data
model = BBC(3, random_state=0).fit(data)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
EntropyHistogramDisplay.from_estimator(model, ax=left)
PairwiseHeatmapDisplay.from_estimator(model, ax=right)
