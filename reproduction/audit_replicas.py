"""The number of replicas, which the paper does not give: magnitudes, bias, and undrawn points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bbclust import BBC, entropy, pairwise_entropy
from reproduction.markdown import number, percent, table
from reproduction.models import both_measures, fit_each_k, read_while_growing
from reproduction.readings import (
    expect_readings,
    on_the_six,
    printed_bits,
    reading_note,
    show_readings,
    summarize_by_replicas,
)
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

NAME = "audit-replicas"
REPLICAS = (5, 6, 8, 10, 15, 20, 50, 100, 200, 500)
PRIOR_WEIGHT = 0.5
COLUMNS = ("S", "S_lm", "undrawn", "votes", "S by votes alone", "S_lm by votes alone")


def chance_of_being_drawn(n: int) -> float:
    """That a replica of n draws, half of them from the data, holds a given row."""
    return float(1 - (1 - (1 - PRIOR_WEIGHT) / n) ** n)


def by_votes_alone(memberships: Array, n_replicas: int, generator: np.random.Generator) -> Array:
    """Both measures if fewer predictors drew their votes from these memberships, in bits.

    What remains of the memberships of many replicas when a few of them are asked: the bias of an
    entropy that is computed from few votes.
    """
    n = len(memberships)
    n_votes = np.maximum(generator.binomial(n_replicas, chance_of_being_drawn(n), n), 1)
    votes = generator.multinomial(n_votes, memberships) / n_votes[:, None]
    return np.array([entropy(votes).mean(), pairwise_entropy(votes).max()])


def what_votes_say(model: BBC) -> list[float]:
    """The first four columns."""
    return [
        *both_measures(model),
        model.n_undrawn_ / len(model.n_votes_),
        float(np.median(model.n_votes_)),
    ]


def growth_of_draw(number: int, draw: int, random_state: int) -> Array:
    """Columns for each number of replicas, shape (replicas, columns, K)."""
    generator = np.random.default_rng(random_state)
    models = list(fit_each_k(number, draw, n_replicas=REPLICAS[0], random_state=random_state))
    grown = read_while_growing(models, REPLICAS, what_votes_say)
    alone = [
        [by_votes_alone(model.memberships_, b, generator) for b in REPLICAS] for model in models
    ]
    return np.concatenate([grown, np.moveaxis(np.array(alone), 0, -1)], axis=1)


def measure(context: StudyContext) -> Result:
    """All numbers of replicas on the six data sets."""
    n_draws = context.size(quick=3, full=100)
    values = on_the_six(context, "number of replicas", growth_of_draw, n_draws)
    means = values.mean(axis=(2, 3, 4))
    return {
        "n_draws": n_draws,
        "readings": summarize_by_replicas(values[:, :2], REPLICAS),
        "columns": {name: means[:, c].tolist() for c, name in enumerate(COLUMNS)},
        "printed": printed_bits().mean(axis=(1, 2)).tolist(),
        "undrawn_expected": [
            float(
                np.mean([(1 - chance_of_being_drawn(n)) ** b for n in (99, 198, 99, 99, 330, 264)])
            )
            for b in REPLICAS
        ],
    }


def closest(result: Result) -> tuple[int, int]:
    """The numbers of replicas at which our values are nearest to those of Tables 4 and 5."""
    ratios = np.array([summary["ratio"] for summary in result["readings"].values()])
    first, second = (REPLICAS[int(row)] for row in np.abs(np.log(ratios)).argmin(axis=0))
    return first, second


def show(result: Result) -> str:
    """The section of the page."""
    columns = result["columns"]
    rows = []
    for row, b in enumerate(REPLICAS):
        cells = [number(columns["votes"][row], 1)]
        cells += [f"{100 * columns['undrawn'][row]:.2f}%"]
        cells += [f"{100 * result['undrawn_expected'][row]:.2f}%"]
        for name in ("S", "S_lm"):
            bias = columns[name][row] / columns[name][-1] - 1
            alone = columns[f"{name} by votes alone"][row] / columns[name][-1] - 1
            cells += [number(columns[name][row]), f"{100 * bias:+.0f}%", f"{100 * alone:+.0f}%"]
        rows.append([f"B = {b}", *cells])
    header = [
        "",
        "median votes",
        "undrawn",
        "expected",
        "mean S",
        "bias",
        "by votes alone",
        "max S_lm",
        "bias",
        "by votes alone",
    ]
    first, second = closest(result)
    rise = columns["S_lm"][-1] / columns["S_lm"][-2] - 1
    return "\n\n".join(
        [
            f"The paper does not say how many replicas it ran. {result['n_draws']} draws of each "
            "of the six data sets, K from 2 to 6, s = 1, the same models grown from 5 to 500 "
            "replicas:",
            show_readings("replicas", result["readings"]),
            reading_note(result["readings"]),
            f"The printed magnitudes are those of few replicas: ours are nearest to Table 4 at "
            f"B = {first}, to Table 5 at B = {second}. The reason is the bias of an entropy "
            "computed from few votes. A replica votes on the points it drew, which with omega = "
            "0.5 is 39% of them. *Bias* is against B = 500; *by votes alone* is what follows if "
            "that many votes are drawn at random from the memberships at B = 500. Mean S settles; "
            f"max S_lm still rises by {percent(rise)} from B = 200 to B = 500, because a point "
            "counts fully towards S_lm as soon as both clusters have a vote, however few.",
            f"![Both measures over the number of replicas.](images/paper/{NAME}.png)",
            table(header, rows),
            "*Undrawn*: points that none of the replicas drew, so that no membership is defined "
            "for them; *expected* is the mean of ((1 - 1/2n)^n)^B. The paper does not say what "
            "happens to them. Here the centres of all replicas vote on them, with a warning.",
        ]
    )


def draw(result: Result) -> dict[str, Figure]:
    """Both measures over B, and the level of the printed tables."""
    from matplotlib.figure import Figure

    from bbclust.plots.palette import BLUE, INK, ORANGE

    figure = Figure(figsize=(6.4, 3.9), layout="constrained")
    axes = figure.add_subplot()
    for m, (name, color, marker) in enumerate((("S", BLUE, "o"), ("S_lm", ORANGE, "s"))):
        label = ("mean entropy S", "max pairwise entropy S_lm")[m]
        style: dict[str, Any] = {"color": color, "linewidth": 1.6}
        axes.plot(REPLICAS, result["columns"][name], marker=marker, label=label, **style)
        alone = result["columns"][f"{name} by votes alone"]
        axes.plot(REPLICAS, alone, linestyle=":", label=f"{name}, by votes alone", **style)
        axes.axhline(result["printed"][m], linestyle="--", label=f"{name}, printed", **style)
    axes.set_xscale("log")
    axes.set_xticks((5, 10, 20, 50, 100, 200, 500), ("5", "10", "20", "50", "100", "200", "500"))
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set(xlabel="replicas B", ylabel="bits, mean over data sets and K")
    axes.set_title("More replicas, larger entropies", color=INK)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower right")
    return {NAME: figure}


STUDY = Study(
    name=NAME,
    title="The number of replicas is not given",
    measure=measure,
    show=show,
    draw=draw,
    expect=lambda result: expect_readings(result["readings"]),
)
