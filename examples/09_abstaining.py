"""
No answer below a confidence
============================

Rows on which too few replicas agree get the label -1. What is left is right more often, as long as
the doubt is about where to cut.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from bbclust import BBC

iris = load_iris()
known, new, known_kind, new_kind = train_test_split(
    iris.data, iris.target, test_size=0.5, random_state=0, stratify=iris.target
)
model = BBC(3, random_state=0).fit(known)

# the species that most rows of a cluster have
names = np.array([np.bincount(known_kind[model.labels_ == k]).argmax() for k in range(3)])
levels = np.linspace(0.5, 1.0, 11)
answered, right = [], []
for level in levels:
    labels = model.predict(new, min_confidence=level)
    given = labels >= 0
    answered.append(given.mean())
    right.append((names[labels[given]] == new_kind[given]).mean())
print(f"all flowers answered: {right[0]:.0%} right")
print(f"at least {levels[-2]:.0%} of the votes: {answered[-2]:.0%} answered, {right[-2]:.0%} right")

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(levels, answered, "o-", label="share with an answer")
ax.plot(levels, right, "s-", label="right, of those")
ax.set(xlabel="min_confidence", ylim=(0.5, 1.02))
ax.legend(frameon=False)
plt.show()
