"""Rows fade where votes disagree; the disputed ones with their votes."""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import make_paper_dataset
from bbclust.plots import EntropyMapDisplay, MembershipBarsDisplay

data = make_paper_dataset(1, random_state=0).data
model = BBC(3, random_state=0).fit(data)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
EntropyMapDisplay.from_estimator(model, data, ax=left)
MembershipBarsDisplay.from_estimator(model, ax=right)
