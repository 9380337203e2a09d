"""Figure 1: memberships of points without clusters, in the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bbclust.datasets import make_uniform_square
from reproduction.markdown import counted, percent
from reproduction.models import fit_quietly
from reproduction.spread import spread
from reproduction.study import Result, Study
from reproduction.study_context import FIRST_DRAW, StudyContext

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

NAME = "figure-1"
N_POINTS = 500
N_CLUSTERS = 3
N_REPLICAS = 200


def memberships_of_draw(draw: int, random_state: int) -> Array:
    """Memberships of uniform points, shape (500, 3)."""
    X = make_uniform_square(N_POINTS, random_state=FIRST_DRAW + draw)
    model = fit_quietly(X, N_CLUSTERS, n_replicas=N_REPLICAS, random_state=random_state)
    return np.asarray(model.memberships_)


def describe(memberships: Array) -> list[float]:
    """Shares of points at a corner, on an edge, inside, and with a largest membership below 0.9."""
    present = (memberships > 0).sum(axis=1)
    shares = [(present == 1), (present == 2), (present == 3), memberships.max(axis=1) < 0.9]
    return [float(share.mean()) for share in shares]


def measure(context: StudyContext) -> Result:
    """Memberships of one draw, and where the points of many lie."""
    n_draws = context.size(quick=12, full=200)
    tasks = [(draw, context.random_state(draw)) for draw in range(n_draws)]
    found = context.each("uniform points", memberships_of_draw, tasks)
    shares = np.array([describe(memberships) for memberships in found]).T
    names = ("corner", "edge", "inside", "below_0.9")
    return {
        "n_draws": n_draws,
        "memberships": found[0].round(3).tolist(),
        "shares": {name: spread(values) for name, values in zip(names, shares, strict=True)},
    }


def show(result: Result) -> str:
    """The section of the page."""
    shares = result["shares"]
    corner, edge, inside, doubtful = (
        f"{percent(shares[name]['mean'])} (standard deviation {100 * shares[name]['sd']:.0f})"
        for name in ("corner", "edge", "inside", "below_0.9")
    )
    return (
        f"![{N_POINTS} uniform points in the simplex of three clusters.]"
        f"(images/paper/{NAME}.png)\n\n"
        f"{N_POINTS} uniform points in the unit square, K = {N_CLUSTERS}, B = {N_REPLICAS}, s = 1, "
        f"omega = 0.5: one draw in the picture. Over {counted(result['n_draws'], 'draw')}: "
        f"{corner} of the points at a corner (all votes agree), {edge} on an edge (two clusters "
        f"share the votes), {inside} inside (three do). {doubtful} have a largest membership below "
        "0.9. The paper says of its figure that points in the worst case are assigned with "
        "uncertainty to more than one cluster."
    )


def draw(result: Result) -> dict[str, Figure]:
    """The simplex."""
    from matplotlib.figure import Figure

    from bbclust.plots import MembershipSimplexDisplay

    figure = Figure(figsize=(5.6, 4.4), layout="constrained")
    memberships = np.array(result["memberships"])
    memberships /= memberships.sum(axis=1, keepdims=True)  # they were rounded
    MembershipSimplexDisplay(memberships=memberships).plot(figure.add_subplot())
    return {NAME: figure}


def expect(result: Result) -> dict[str, float]:
    """Shares of points that are certain and doubtful; those inside are few, and far from normal."""
    return {name: result["shares"][name]["mean"] for name in ("corner", "below_0.9")}


STUDY = Study(
    name=NAME,
    title="Figure 1: 500 uniform points in the simplex",
    measure=measure,
    show=show,
    draw=draw,
    expect=expect,
)
