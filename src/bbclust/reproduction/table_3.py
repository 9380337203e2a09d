"""Table 3: the six data sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bbclust.reproduction.markdown import counted, number, table
from bbclust.reproduction.printed import printed
from bbclust.reproduction.study import Result, Study
from bbclust.reproduction.workshop import DATASETS, TRUE_K, Workshop, paper_draw

Array = npt.NDArray[np.float64]


class Moments(NamedTuple):
    """Of the components: shapes (K,), (K, d), (d, d)."""

    sizes: npt.NDArray[np.int64]
    centers: Array
    covariance: Array


def moments(number: int, n_draws: int) -> Moments:
    """Sizes, centres and pooled covariance of the components over many draws together."""
    draws = [paper_draw(number, draw) for draw in range(n_draws)]
    target = draws[0].target
    points = np.stack([draw.data for draw in draws])
    sizes = np.bincount(target)
    centers = np.array([points[:, target == j].mean(axis=(0, 1)) for j in range(len(sizes))])
    noise = (points - centers[target]).reshape(-1, points.shape[2])
    return Moments(sizes, centers, np.einsum("ij,ik->jk", noise, noise) / len(noise))


def compare_dataset(number: int, n_draws: int) -> Result:
    """How far the data are from their description, in standard errors."""
    wanted = printed()["datasets"][str(number)]
    sizes, centers, covariance = moments(number, n_draws)
    sigma = np.array(wanted["covariance"])
    variances = np.diag(sigma)
    center_error = np.sqrt(variances / (n_draws * sizes[:, None]))
    # of a sample covariance of Gaussians: (s_ij^2 + s_ii s_jj) / n
    covariance_error = np.sqrt(
        (sigma**2 + np.outer(variances, variances)) / (n_draws * sizes.sum())
    )
    return {
        "number": number,
        "sizes": sizes.tolist(),
        "sizes_as_printed": sizes.tolist() == wanted["sizes"],
        "d": centers.shape[1],
        "center_z": float(np.abs((centers - wanted["centers"]) / center_error).max()),
        "covariance_z": float(np.abs((covariance - sigma) / covariance_error).max()),
        "n_values": int(centers.size + sigma.size),
    }


def measure(workshop: Workshop) -> Result:
    """All data sets."""
    n_draws = workshop.size(quick=50, full=1000)
    tasks = [(number, n_draws) for number in DATASETS]
    return {"n_draws": n_draws, "rows": workshop.each("data sets", compare_dataset, tasks)}


def show(result: Result) -> str:
    """The section of the page."""
    rows = [
        [
            str(row["number"]),
            str(row["d"]),
            str(TRUE_K[row["number"]]),
            ", ".join(map(str, row["sizes"])),
            "yes" if row["sizes_as_printed"] else "no",
            number(row["center_z"], 1),
            number(row["covariance_z"], 1),
        ]
        for row in result["rows"]
    ]
    n_values = sum(row["n_values"] for row in result["rows"])
    return "\n\n".join(
        [
            f"Drawn from the printed description. Centres and covariances of "
            f"{counted(result['n_draws'], 'draw')} together are compared with the printed ones: "
            f"the largest deviation, in standard errors (of {n_values} values in all, the largest "
            "stays below 3.4 in 95% of cases).",
            table(
                [
                    "data set",
                    "dimensions",
                    "K",
                    "sizes",
                    "sizes as printed",
                    "centres",
                    "covariance",
                ],
                rows,
            ),
        ]
    )


STUDY = Study(
    name="table-3",
    title="Table 3: the data sets",
    measure=measure,
    show=show,
)
