"""
What an expert knows
====================

Two machines make parts of 10 and 10.4 mm. On a day with few parts the groups are hard to see;
the settings of the machines say where they should be.
"""

import numpy as np
from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.priors import MixturePrior

generator = np.random.default_rng(3)
lengths = np.concatenate([generator.normal(10.0, 0.12, 20), generator.normal(10.4, 0.12, 12)])
X = lengths[:, None]

settings = MixturePrior(
    weights=[0.5, 0.5], means=[[10.0], [10.4]], covariances=[[[0.12**2]], [[0.12**2]]]
)
models = {
    "read off the data": BBC(2, random_state=0).fit(X),
    "the machines' settings": BBC(2, prior=settings, random_state=0).fit(X),
}

# %%
# The centres with what the rows and the prior say together, 95%:
for name, model in models.items():
    for center, (low, high) in zip(
        model.cluster_centers_[:, 0], model.centers_interval(0.95)[:, 0], strict=True
    ):
        print(f"prior {name}: {center:.2f} mm, {low:.2f} to {high:.2f}")

# %%
# Does the prior contradict the rows? A difference is named if it is large and cannot be chance.
conflict = models["the machines' settings"].prior_conflict()
print(conflict)

# %%
order = np.argsort(lengths)
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, model in models.items():
    larger = model.cluster_centers_[:, 0].argmax()
    ax.plot(lengths[order], model.memberships_[order, larger], "o-", label=name, markersize=4)
ax.set(xlabel="length, mm", ylabel="votes for the longer parts")
ax.legend(frameon=False, title="prior")
plt.show()
