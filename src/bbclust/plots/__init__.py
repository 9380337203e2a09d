"""Displays of fitted estimators, drawn with matplotlib: ``pip install "bbclust[plot]"``.

Each display follows scikit-learn's: ``from_estimator`` makes and draws one, ``plot`` draws it
again, and ``ax_`` and ``figure_`` are there to be changed or saved.
"""

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        'bbclust.plots draws with matplotlib, which is not installed: pip install "bbclust[plot]".'
    ) from error

from bbclust.plots.alignment_margins import AlignmentMarginsDisplay
from bbclust.plots.data_map import DataMapDisplay
from bbclust.plots.entropy_histogram import EntropyHistogramDisplay
from bbclust.plots.entropy_map import EntropyMapDisplay
from bbclust.plots.membership_bars import MembershipBarsDisplay
from bbclust.plots.membership_edges import MembershipEdgesDisplay
from bbclust.plots.membership_simplex import MembershipSimplexDisplay
from bbclust.plots.pairwise_heatmap import PairwiseHeatmapDisplay
from bbclust.plots.palette import colors_across_k
from bbclust.plots.prior_and_data import PriorAndDataDisplay
from bbclust.plots.selection_curves import SelectionCurvesDisplay

__all__ = [
    "AlignmentMarginsDisplay",
    "DataMapDisplay",
    "EntropyHistogramDisplay",
    "EntropyMapDisplay",
    "MembershipBarsDisplay",
    "MembershipEdgesDisplay",
    "MembershipSimplexDisplay",
    "PairwiseHeatmapDisplay",
    "PriorAndDataDisplay",
    "SelectionCurvesDisplay",
    "colors_across_k",
]
