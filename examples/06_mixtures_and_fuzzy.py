"""
Votes, probabilities, fuzzy memberships
=======================================

Three kinds of numbers that sum to one for every row, on two Gaussian groups that overlap. Votes say
whether other samples would cut elsewhere, probabilities of a mixture where a row comes from, and
fuzzy c-means how near the two centres are.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.mixture import GaussianMixture

from bbclust import BBC, FuzzyCMeans

X = np.random.default_rng(0).normal(size=(1000, 1))
X[:500] += 2.5
model = BBC(2, random_state=0).fit(X)
grid = np.linspace(-3, 6, 200)[:, None]


def right(memberships: np.ndarray) -> np.ndarray:
    """The column of the group on the right."""
    return memberships[:, memberships[-1].argmax()]


lines = {
    "votes (memberships)": model.predict_proba(grid),
    "component_probabilities": model.component_probabilities(grid),
    "GaussianMixture": GaussianMixture(2, random_state=0).fit(X).predict_proba(grid),
    "FuzzyCMeans": FuzzyCMeans(2, random_state=0).fit(X).predict_proba(grid),
}
true = 1 / (1 + np.exp(-2.5 * (grid[:, 0] - 1.25)))

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(grid, true, color="0.7", linewidth=6, label="true probability")
for name, memberships in lines.items():
    ax.plot(grid, right(memberships), label=name)
    error = np.abs(np.interp(X[:, 0], grid[:, 0], right(memberships) - true)).mean()
    print(f"{name}: {error:.2f} from the true probability on average over the rows")
ax.set(xlabel="x", ylabel="right group")
ax.legend(frameon=False)
plt.show()
