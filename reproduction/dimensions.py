"""Effects of dimension, which the paper leaves to future work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

from bbclust import BBC, KSelector
from bbclust.baselines import compare_baselines
from reproduction.markdown import counted, number, percent, table
from reproduction.spread import spread
from reproduction.study import Result, Study
from reproduction.study_context import FIRST_DRAW, K_VALUES, StudyContext

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

NAME = "dimensions"
DIMENSIONS = (2, 4, 10, 20, 50, 100, 200)
QUICK_DIMENSIONS = (2, 20, 100)
LAST_WITH_AGREEMENT = 20  # among noise
FAMILIES = {
    "noise": "two informative coordinates, the others noise",
    "signal": "every coordinate informative",
}
N_POINTS, TRUE_K = 99, 3
TRIANGLE = ((1.5, 0.0), (-1.5, 0.0), (0.0, 1.5 * np.sqrt(3)))  # data set 1
FOUND = ("default rule", "max pairwise", "mean", "silhouette", "gap")
VALUES = ("agreement", "entropy", "entropy_elsewhere", "seconds")


def make_points(family: str, d: int, draw: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Data set 1 with more coordinates, and the component of each point.

    "noise" adds coordinates that are noise; "signal" repeats the centres in every further pair of
    coordinates, with fresh noise. At d = 2 both are data set 1.
    """
    target = np.repeat(np.arange(TRUE_K), N_POINTS // TRUE_K)
    generator = np.random.default_rng([FIRST_DRAW, draw, d])
    points = generator.normal(size=(N_POINTS, d))
    informative = d if family == "signal" else 2
    points[:, :informative] += np.tile(np.array(TRIANGLE), informative // 2)[target]
    return points, target


def effects_of_draw(family: str, d: int, draw: int, random_state: int) -> list[float]:
    """Whether each method finds K = 3, then agreement with the truth, entropies and seconds."""
    X, target = make_points(family, d, draw)
    start = time.perf_counter()
    selector = KSelector(
        BBC(n_init=2, n_replicas=100), k_range=K_VALUES, refit=False, random_state=random_state
    ).fit(X)
    seconds = time.perf_counter() - start
    chosen = [selector.best_k_by_[criterion] for criterion in ("auto", "pairwise", "mean")]
    classical = compare_baselines(
        X, K_VALUES, methods=("silhouette", "gap"), n_references=10, random_state=random_state
    )
    chosen += [choice.best_k for choice in classical]
    model = BBC(TRUE_K, n_replicas=100, random_state=random_state).fit(X)
    curves = selector.curves_
    at_one = curves["prior_scale"] == 1
    at_true = curves["n_clusters"] == TRUE_K
    return [
        *(float(k == TRUE_K) for k in chosen),
        float(adjusted_rand_score(target, model.labels_)),
        float(curves["mean_entropy"][at_one & at_true][0]),
        float(curves["mean_entropy"][at_one & ~at_true].min()),
        seconds,
    ]


def measure(context: StudyContext) -> Result:
    """Both families over d."""
    n_draws = context.size(quick=3, full=60)
    dimensions = QUICK_DIMENSIONS if context.effort == "quick" else DIMENSIONS
    result: Result = {"n_draws": n_draws, "dimensions": list(dimensions), "families": {}}
    for family in FAMILIES:
        tasks = [
            (family, d, draw, context.random_state(draw))
            for d in dimensions
            for draw in range(n_draws)
        ]
        found = np.array(context.each(f"dimensions: {family}", effects_of_draw, tasks))
        found = found.reshape(len(dimensions), n_draws, len(FOUND) + len(VALUES))
        medians = np.median(found[:, :, -1], axis=1)
        result["families"][family] = {
            "n_found": found[:, :, : len(FOUND)].sum(axis=1).astype(int).tolist(),
            **{name: spread(found[:, :, len(FOUND) + c]) for c, name in enumerate(VALUES[:-1])},
            "time_ratio": (medians / medians[0]).tolist(),
        }
    return result


def show(result: Result) -> str:
    """The section of the page."""
    n = result["n_draws"]
    parts = [
        "The paper leaves the effect of dimension to future work. Data set 1 (three clusters of 33 "
        "points, K from 2 to 6) in more coordinates, in two ways: further coordinates are noise of "
        "the same variance; or every further pair of coordinates repeats the three centres, so "
        "that the distance between clusters grows with the square root of d. (To spread the same "
        "distance evenly over d coordinates is the first case: k-means does not see rotations.) "
        f"{counted(n, 'draw')} each, B = 100.",
        f"![Recovery and entropy over the dimension.](images/paper/{NAME}.png)",
    ]
    for family, title in FAMILIES.items():
        mine = result["families"][family]
        rows = []
        for i, d in enumerate(result["dimensions"]):
            rows.append(
                [
                    str(d),
                    *(percent(hits / n) for hits in mine["n_found"][i]),
                    number(mine["agreement"]["mean"][i], 2),
                    number(mine["entropy"]["mean"][i]),
                    number(mine["entropy_elsewhere"]["mean"][i]),
                    f"{mine['time_ratio'][i]:.1f}",
                ]
            )
        header = [
            "d",
            *FOUND,
            "agreement",
            "mean S at K = 3",
            "lowest at other K",
            "time",
        ]
        parts += [f"**{title[0].upper()}{title[1:]}**", table(header, rows)]
    parts.append(
        "The first five columns: share of draws in which K = 3 is chosen, by the three rules of "
        "KSelector, silhouette and gap; a share has a standard error of at most "
        f"{50 / result['n_draws'] ** 0.5:.0f} points. *Agreement*: adjusted Rand index of the "
        "labels at K = 3 with the components, 1 when they are the same. Entropies in bits at "
        "s = 1. *Time*: of KSelector, as a multiple of d = 2, median of the draws."
    )
    return "\n\n".join(parts)


def draw(result: Result) -> dict[str, Figure]:
    """Recovery, and entropy at the true K against the best other K."""
    from matplotlib.figure import Figure

    from bbclust.plots.palette import MARKERS, SERIES

    figure = Figure(figsize=(8.6, 6.2), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    d, n = result["dimensions"], result["n_draws"]
    for column, (family, title) in enumerate(FAMILIES.items()):
        mine = result["families"][family]
        top, bottom = grid[0][column], grid[1][column]
        for m, name in enumerate(FOUND):
            share = [hits[m] / n for hits in mine["n_found"]]
            top.plot(d, share, color=SERIES[m], marker=MARKERS[m], label=name, alpha=0.9)
        bottom.plot(d, mine["entropy"]["mean"], color=SERIES[1], marker="o", label="at K = 3")
        other = mine["entropy_elsewhere"]["mean"]
        bottom.plot(d, other, color=SERIES[0], marker="s", label="lowest at another K")
        top.set_title(title)
        top.set_xscale("log")
        top.set_xticks(d, [str(one) for one in d])
        top.minorticks_off()
        bottom.set_xlabel("dimension d")
        bottom.set_ylim(bottom=0)
    hidden = [
        name
        for m, name in enumerate(FOUND)
        if all(hits[m] == n for hits in result["families"]["signal"]["n_found"][1:])
    ]
    if len(hidden) > 1:
        said = f"at 1, on top of each other:\n{', '.join(hidden)}"
        grid[0][1].text(0.03, 0.4, said, transform=grid[0][1].transAxes, fontsize=9, va="top")
    grid[0][0].set(ylabel="K = 3 found", ylim=(-0.03, 1.03))
    grid[1][0].set_ylabel("mean entropy, bits")
    grid[0][0].legend(frameon=False, fontsize=9)
    grid[1][1].legend(frameon=False, fontsize=9)
    return {NAME: figure}


def expect(result: Result) -> dict[str, float]:
    """Entropy, and agreement where there is some."""
    return {
        f"{family}, d = {d}, {name}": mine[name]["mean"][i]
        for family, mine in result["families"].items()
        for i, d in enumerate(result["dimensions"])
        for name in ("agreement", "entropy")
        if name == "entropy" or family == "signal" or d <= LAST_WITH_AGREEMENT
    }


STUDY = Study(
    name=NAME,
    title="Effects of dimension",
    measure=measure,
    show=show,
    draw=draw,
    expect=expect,
)
