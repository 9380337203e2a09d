"""
In a pipeline
=============

``BBC`` and ``KSelector`` are estimators of scikit-learn: scaling and principal components go before
them, and data frames keep their names.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bbclust import BBC, KSelector
from bbclust.plots import SelectionCurvesDisplay

wine = load_wine(as_frame=True)
print(f"{wine.data.shape[0]} wines, {wine.data.shape[1]} columns in different units")

# %%
# How many clusters are there?
steps = StandardScaler(), PCA(5, random_state=0)
chosen = make_pipeline(*steps, KSelector(k_range=range(2, 7), random_state=0)).fit(wine.data)
print(chosen[-1].verdict_.answer())
SelectionCurvesDisplay.from_estimator(chosen[-1])
plt.show()

# %%
# The chosen number in a pipeline of its own; memberships come as a data frame.
pipeline = make_pipeline(*steps, BBC(chosen[-1].best_k_, random_state=0))
pipeline.set_output(transform="pandas").fit(wine.data)
agreement = adjusted_rand_score(wine.target, pipeline[-1].labels_)
print(f"adjusted Rand index with the three cultivars: {agreement:.2f}")
print(pipeline.transform(wine.data.head(3)).round(2))
