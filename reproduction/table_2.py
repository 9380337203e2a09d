"""Table 2: BBC on Iris, over s and omega, as written and with one component of F0 per replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.priors import ElicitedPrior, GaussianMixture, MixturePrior
from reproduction.contingency import Counts, species_by_cluster
from reproduction.markdown import at_least, counted, number, percent, table, with_spread
from reproduction.models import fit_quietly
from reproduction.printed import printed
from reproduction.spread import spread
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext

N_REPLICAS = 200
FEW_REPLICAS = 10
WRITTEN, SINGLE = "as written", "one component per replica"
FIXED, FEW = "the largest component only", "as written, B = 10"
VARIANTS = (WRITTEN, SINGLE, FIXED, FEW)
# Versicolor and virginica; the other cells are setosa's, and virginica beside it, which is empty.
SHOWN = ((1, 0), (1, 1), (1, 2), (2, 1), (2, 2))


class OneComponentPerReplica:
    """The elicited mixture, but all prior draws of a replica come from one component.

    Component j is taken with probability p_j, anew in each replica. Over all replicas the draws
    have the same distribution F0; within a replica they do not.
    """

    def prepare(self, X: Any, reference: Any, scale: float) -> OneComponentPerReplica:
        """Elicit the mixture."""
        self.mixture = ElicitedPrior().prepare(X, reference, scale)
        return self

    def sample(self, n: int, generator: np.random.Generator) -> npt.NDArray[np.float64]:
        """n draws of one component, shape (n, d)."""
        mixture = self.mixture
        j = generator.choice(len(mixture.weights), p=mixture.weights)
        alone = GaussianMixture(np.ones(1), mixture.means[[j]], (mixture.factors[j],))
        return alone.sample(n, generator)


def largest_component(X: npt.NDArray[np.float64], scale: float, random_state: int) -> MixturePrior:
    """The component of the elicited mixture that belongs to the largest cluster, alone."""
    elicited = BBC(3, n_replicas=1, votes="all", prior_scale=scale, random_state=random_state).fit(
        X
    )
    mixture = elicited.prior_
    return MixturePrior([1.0], mixture.means[:1], mixture.covariances[:1])


def table_of_seed(variant: str, scale: float, weight: float, random_state: int) -> Counts:
    """Species by cluster with most votes."""
    X = load_iris().data
    prior: Any = None
    if variant == SINGLE:
        prior = OneComponentPerReplica()
    elif variant == FIXED:
        prior = largest_component(X, scale, random_state)
    model = fit_quietly(
        X,
        3,
        n_replicas=FEW_REPLICAS if variant == FEW else N_REPLICAS,
        prior=prior,
        prior_scale=scale,
        prior_weight=weight,
        random_state=random_state,
    )
    return species_by_cluster(model.labels_)


def measure(context: StudyContext) -> Result:
    """Six tables by all variants, over seeds."""
    n_seeds = context.size(quick=12, full=100)
    settings = printed()["iris_bbc"]
    tasks = [
        (variant, one["prior_scale"], one["prior_weight"], context.random_state(seed))
        for one in settings
        for variant in VARIANTS
        for seed in range(n_seeds)
    ]
    tables = np.array(context.each("BBC on Iris", table_of_seed, tasks))
    tables = tables.reshape(len(settings), len(VARIANTS), n_seeds, 3, 3)
    return {
        "n_seeds": n_seeds,
        "settings": [
            {
                **one,
                "variants": {
                    variant: compare_tables(mine, np.array(one["table"]))
                    for variant, mine in zip(VARIANTS, of_setting, strict=True)
                },
            }
            for one, of_setting in zip(settings, tables, strict=True)
        ],
    }


def compare_tables(tables: Counts, wanted: Counts) -> Result:
    """Cells over the seeds, and how far they are from the printed ones."""
    off = np.abs(tables - wanted).max(axis=(1, 2))
    return {
        **spread(np.moveaxis(tables, 0, -1).astype(np.float64)),
        "farthest": float(np.median(off)),
        "share_setosa_alone": float((tables[:, 0] == wanted[0]).all(axis=1).mean()),
        "share_same": float((off == 0).mean()),
        "share_within_one": float((off <= 1).mean()),
        "share_within_two": float((off <= 2).mean()),
    }


def show(result: Result) -> str:
    """The section of the page."""
    alone = min(
        ours["share_setosa_alone"]
        for one in result["settings"]
        for ours in one["variants"].values()
    )
    parts = [
        "Flowers of versicolor and virginica by cluster, with most votes deciding. (Setosa has its "
        f"own cluster in every printed table, and in {at_least(alone)} seeds of each of ours.) "
        f"Mean ± standard deviation over {counted(result['n_seeds'], 'seed')}, B = {N_REPLICAS} "
        "unless said otherwise. The last columns: how many of the printed cells lie in the central "
        "95% of our seeds, how far the farthest cell is from the printed one in a median seed, and "
        "the share of seeds in which every cell is within two flowers of it.",
        "**2a, the scale s at omega = 0.1, and 2b, the weight omega at s = 1**",
        show_settings(result["settings"]),
        "As written, the weight of the prior hardly moves the table: F0 has its mass where the "
        "clusters are. The printed tables of 2b move with omega as ours do when all prior draws of "
        f"a replica come from a single component of F0 (*{SINGLE}*: component j with probability "
        f"p_j, anew in each replica; *{FIXED}*: always that of the largest cluster, "
        "versicolor's). We cannot know whether that, few replicas or something else is behind "
        "them.",
    ]
    return "\n\n".join(parts)


def show_settings(settings: list[Result]) -> str:
    """Printed and ours, one row each."""
    lines = []
    for one in settings:
        name = f"s = {one['prior_scale']:g}, omega = {one['prior_weight']:g}"
        cells = [str(one["table"][i][j]) for i, j in SHOWN]
        lines.append([f"**{name}** printed", *cells, "", "", ""])
        for variant, ours in one["variants"].items():
            cells = [with_spread(ours["mean"][i][j], ours["sd"][i][j], 1) for i, j in SHOWN]
            lines.append(
                [
                    variant,
                    *cells,
                    f"{count_inside(one['table'], ours)} of {len(SHOWN)}",
                    number(ours["farthest"], 1),
                    percent(ours["share_within_two"]),
                ]
            )
    header = ["", *(f"{('versicolor', 'virginica')[i - 1]} in {j + 1}" for i, j in SHOWN)]
    return table([*header, "inside", "farthest", "within 2"], lines)


def count_inside(wanted: Sequence[Sequence[int]], ours: Result) -> int:
    """How many of the printed cells lie in the central 95% of the seeds."""
    return sum(ours["low"][i][j] <= wanted[i][j] <= ours["high"][i][j] for i, j in SHOWN)


def expect(result: Result) -> dict[str, float]:
    """Mean cells of the tables with many replicas."""
    return {
        f"s = {one['prior_scale']:g}, omega = {one['prior_weight']:g}, {variant}, {i}{j}": (
            one["variants"][variant]["mean"][i][j]
        )
        for one in result["settings"]
        for variant in (WRITTEN, SINGLE)
        for i, j in SHOWN
    }


STUDY = Study(
    name="table-2",
    title="Table 2: BBC on Iris",
    measure=measure,
    show=show,
    expect=expect,
)
