"""Calibration: of the points with a membership around 0.8, how many belong there?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from bbclust import BBC, BagClust1, FuzzyCMeans
from reproduction.markdown import counted, number, percent, table
from reproduction.printed import printed
from reproduction.study import Result, Study
from reproduction.study_context import DATASETS, TRUE_K, StudyContext, paper_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

NAME = "calibration"
METHODS = ("BBC", "BagClust1", "fuzzy c-means", "Gaussian mixture", "true mixture")
TARGETS = ("component", "fresh")
MIDDLES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EDGES = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0001)
N_REPLICAS = 200
N_FRESH = 40


def memberships_by(method: str, X: Array, number: int, random_state: int) -> Array:
    """Memberships at the true K."""
    k = TRUE_K[number]
    if method == "BBC":
        model: Any = BBC(k, n_replicas=N_REPLICAS, random_state=random_state)
    elif method == "BagClust1":
        model = BagClust1(k, n_replicas=N_REPLICAS, random_state=random_state)
    elif method == "fuzzy c-means":
        model = FuzzyCMeans(k, random_state=random_state)
    elif method == "Gaussian mixture":
        mixture = GaussianMixture(k, n_init=5, random_state=random_state).fit(X)
        return np.asarray(mixture.predict_proba(X))
    else:
        return true_memberships(X, number)
    return np.asarray(model.fit(X).memberships_)


def true_memberships(X: Array, number: int) -> Array:
    """Probability of each component given the point, with everything known."""
    recipe = printed()["datasets"][str(number)]
    densities = np.stack(
        [
            size * np.atleast_1d(multivariate_normal(center, recipe["covariance"]).pdf(X))
            for size, center in zip(recipe["sizes"], recipe["centers"], strict=True)
        ],
        axis=1,
    )
    return np.asarray(densities / densities.sum(axis=1, keepdims=True))


def match_components(memberships: Array, target: npt.NDArray[np.int64]) -> Array:
    """Columns in the order of the components, matched so that most points agree."""
    k = memberships.shape[1]
    counts = np.zeros((k, k))
    np.add.at(counts, (target, memberships.argmax(axis=1)), 1)
    return memberships[:, linear_sum_assignment(counts, maximize=True)[1]]


def fresh_shares(X: Array, number: int, draw: int) -> Array:
    """Share of fresh samples whose k-means puts each point into each cluster.

    Clusters of a fresh sample are named after the nearest true centres.
    """
    centers = np.array(printed()["datasets"][str(number)]["centers"])
    shares = np.zeros((len(X), len(centers)))
    for other in range(N_FRESH):
        sample = paper_draw(number, 1_000_000 + N_FRESH * draw + other).data
        found = KMeans(len(centers), n_init=5, random_state=other).fit(sample).cluster_centers_
        _, order = linear_sum_assignment(cdist(centers, found) ** 2)
        nearest = cdist(X, found[order]).argmin(axis=1)
        shares[np.arange(len(X)), nearest] += 1 / N_FRESH
    return shares


def bins_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Points, and sums of truth, by method, target and bin; then errors, accuracy.

    Shape (methods, targets, 3, bins): number of memberships in the bin, their sum, and the sum of
    the truth there. All memberships of all points count that fall into a bin.
    """
    data = paper_draw(number, draw)
    component = np.eye(TRUE_K[number])[data.target]
    truths = (component, fresh_shares(data.data, number, draw))
    counts = np.zeros((len(METHODS), len(TARGETS), 4, len(MIDDLES)))
    for m, method in enumerate(METHODS):
        raw = memberships_by(method, data.data, number, random_state)
        memberships = raw if method == "true mixture" else match_components(raw, data.target)
        place = np.digitize(memberships, EDGES) - 1
        for t, truth in enumerate(truths):
            for b in range(len(MIDDLES)):
                mine = place == b
                counts[m, t, :3, b] = mine.sum(), memberships[mine].sum(), truth[mine].sum()
            error = ((memberships - truth) ** 2).sum(axis=1).mean()
            right = (memberships.argmax(axis=1) == data.target).mean()
            counts[m, t, 3, :2] = error, right
    return counts


def measure(context: StudyContext) -> Result:
    """All methods, pooled over the six data sets."""
    n_draws = context.size(quick=3, full=60)
    found = np.array(context.each_draw("calibration", bins_of_draw, n_draws))
    by_draw = found.reshape(n_draws, len(DATASETS), *found.shape[1:]).sum(axis=1)
    n, said, true = (by_draw[:, :, :, row] for row in range(3))
    in_bin = np.maximum(n.sum(axis=0), 1)
    rates = true.sum(axis=0) / in_bin
    # of a ratio of sums over independent draws
    errors = np.sqrt(((true - rates * n) ** 2).sum(axis=0)) / in_bin
    off = np.abs(true.sum(axis=0) - said.sum(axis=0)).sum(axis=-1) / n.sum(axis=(0, -1))
    scores = found[:, :, :, 3, :2].mean(axis=0)
    return {
        "n_draws": n_draws,
        "n_fresh": N_FRESH,
        "targets": {
            target: {
                method: {
                    "n": n[:, m, t].sum(axis=0).astype(int).tolist(),
                    "said": (said[:, m, t].sum(axis=0) / in_bin[m, t]).tolist(),
                    "rate": rates[m, t].tolist(),
                    "se": errors[m, t].tolist(),
                    "calibration_error": float(off[m, t]),
                    "brier": float(scores[m, t, 0]),
                    "right": float(scores[m, t, 1]),
                }
                for m, method in enumerate(METHODS)
            }
            for t, target in enumerate(TARGETS)
        },
    }


def show_target(methods: Result, last: str) -> str:
    """The table of one truth."""
    rows = []
    for method, mine in methods.items():
        cells = [
            f"{percent(rate)} ± {100 * se:.1f}"
            for rate, se in zip(mine["rate"], mine["se"], strict=True)
        ]
        rows.append([method, *cells, number(mine["calibration_error"]), number(mine["brier"])])
        rows.append(["points", *(f"{n:,}" for n in mine["n"]), "", ""])
    header = ["", *(f"around {middle:g}" for middle in MIDDLES), "off by", last]
    return table(header, rows)


def show(result: Result) -> str:
    """The section of the page."""
    component, fresh = (result["targets"][target] for target in TARGETS)
    at = MIDDLES.index(0.8)
    bbc, mixture = component["BBC"], component["Gaussian mixture"]
    return "\n\n".join(
        [
            "A membership of 0.8 is a share of votes. Is it also a probability? The six data sets "
            f"with the true K, {counted(result['n_draws'], 'draw')} of each, B = {N_REPLICAS}; "
            "clusters are matched with components so that most points agree. *Around 0.8* is 0.75 "
            "to 0.85, and so on; all memberships of all points are counted. *Off by*: mean "
            "difference between membership and rate over the bins, weighted by points. Errors are "
            "standard errors over draws. *True mixture* knows how the data were made and is the "
            "best one can do.",
            f"![Rate against membership for each method.](images/paper/{NAME}.png)",
            "**Among points with such a membership in a cluster, how many were drawn from that "
            "component?**",
            show_target(component, "Brier score"),
            f"Points with a BBC membership around 0.8 belong there in {percent(bbc['rate'][at])} "
            f"of cases, and those around 1 in {percent(bbc['rate'][-1])}; of a fitted Gaussian "
            f"mixture {percent(mixture['rate'][at])} and {percent(mixture['rate'][-1])}. "
            "Memberships of bagged clusterings are not probabilities of a component: clusters that "
            "overlap are cut, and all replicas cut in about the same place. What the votes do "
            "measure is whether the cut would be the same for other data:",
            f"**How many fresh samples (of {result['n_fresh']}), clustered by k-means, put the "
            "point there?**",
            show_target(fresh, "squared error"),
        ]
    )


def draw(result: Result) -> dict[str, Figure]:
    """Rates over memberships, one panel per truth."""
    from matplotlib.figure import Figure

    from bbclust.plots.palette import FAINT, INK, MARKERS, SERIES

    figure = Figure(figsize=(8.8, 4.2), layout="constrained")
    titles = ("drawn from that component", "put there by k-means on fresh samples")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, target, title in zip(panels, TARGETS, titles, strict=True):
        axes.plot((0.45, 1), (0.45, 1), color=FAINT, zorder=0, label="share = membership")
        for m, (method, mine) in enumerate(result["targets"][target].items()):
            style: dict[str, Any] = {"color": INK if method == "true mixture" else SERIES[m]}
            if method == "BagClust1":  # lies on top of BBC
                style |= {"linestyle": "--", "markerfacecolor": "none", "markersize": 9}
            axes.errorbar(
                mine["said"], mine["rate"], mine["se"], marker=MARKERS[m], label=method, **style
            )
        axes.set(xlabel="membership", title=title)
    panels[0].set_ylabel("share")
    panels[1].legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.0))
    return {NAME: figure}


def expect(result: Result) -> dict[str, float]:
    """Brier scores and accuracies of bagged clusterings and fuzzy c-means."""
    return {
        f"{target}, {method}, {name}": methods[method][name]
        for target, methods in result["targets"].items()
        for method in METHODS[:3]
        for name in ("brier", "right")
    }


STUDY = Study(
    name=NAME,
    title="Are memberships probabilities?",
    measure=measure,
    show=show,
    draw=draw,
    expect=expect,
)
