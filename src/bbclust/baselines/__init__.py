"""The classical ways of choosing K, on one result type.

Each function scores some K's and says which it would choose: silhouette, Calinski-Harabasz and
Davies-Bouldin (scikit-learn's), the gap statistic, the BIC of Gaussian mixtures, and prediction
strength. :func:`compare_baselines` runs them side by side on the same k-means partitions.

Large tables: Calinski-Harabasz and Davies-Bouldin read every row. The others read a fixed random
sample of the rows above a stated size, because they cost rows x rows (silhouette) or cluster tables
of that size dozens of times. Memory is linear in the rows.
"""

from bbclust.baselines.compare import DEFAULT_METHODS, METHODS, compare_baselines
from bbclust.baselines.gap import gap_statistic
from bbclust.baselines.indices import calinski_harabasz, davies_bouldin, silhouette
from bbclust.baselines.mixture import mixture_bic
from bbclust.baselines.strength import prediction_strength
from bbclust.baselines.study import KChoice

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "KChoice",
    "calinski_harabasz",
    "compare_baselines",
    "davies_bouldin",
    "gap_statistic",
    "mixture_bic",
    "prediction_strength",
    "silhouette",
]
