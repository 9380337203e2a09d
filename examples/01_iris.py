"""
Iris: how sure of each flower
=============================

Fisher's Iris has three species, of which two overlap. Which flowers are in doubt?
"""

from matplotlib import pyplot as plt

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.plots import EntropyMapDisplay, MembershipBarsDisplay

iris = load_iris()
model = BBC(n_clusters=3, random_state=0).fit(iris.data)
print(f"{model.mean_entropy_:.2f} bits of doubt on average, least sure between {model.worst_pair_}")

# %%
# The first species lies apart: all votes agree on its flowers. Between the other two there is a
# strip of flowers that other samples would put on either side.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
EntropyMapDisplay.from_estimator(model, iris.data, columns=(2, 3), ax=left)
MembershipBarsDisplay.from_estimator(model, ax=right)
left.set(xlabel=iris.feature_names[2], ylabel=iris.feature_names[3])
plt.show()

# %%
# The most disputed flowers, with their votes:
for row in model.entropy_.argsort()[::-1][:5]:
    print(f"flower {row:3d}: {model.memberships_[row].round(2)}")
