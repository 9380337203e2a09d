"""Table 1: k-means on Iris."""

from __future__ import annotations

import numpy as np

from bbclust import BBC
from bbclust.datasets import load_iris
from reproduction.contingency import SPECIES, Counts, species_by_cluster
from reproduction.markdown import counted, table
from reproduction.printed import printed
from reproduction.study import Result, Study
from reproduction.study_context import StudyContext


def table_of_seed(random_state: int) -> Counts:
    """The reference partition: the best of 30 k-means runs."""
    model = BBC(3, n_replicas=1, votes="all", random_state=random_state).fit(load_iris().data)
    return species_by_cluster(model.reference_labels_)


def measure(context: StudyContext) -> Result:
    """One table per seed."""
    n_seeds = context.size(quick=20, full=200)
    tasks = [(context.random_state(seed),) for seed in range(n_seeds)]
    tables = np.array(context.each("k-means on Iris", table_of_seed, tasks))
    same = (tables == np.array(printed()["iris_kmeans"])).all(axis=(1, 2))
    return {
        "printed": printed()["iris_kmeans"],
        "mean": tables.mean(axis=0).tolist(),
        "n_same": int(same.sum()),
        "n_seeds": n_seeds,
    }


def show(result: Result) -> str:
    """The section of the page."""
    rows = [
        [name, *(f"{p} / {m:g}" for p, m in zip(printed_row, mean_row, strict=True))]
        for name, printed_row, mean_row in zip(
            SPECIES, result["printed"], result["mean"], strict=True
        )
    ]
    return "\n\n".join(
        [
            "Iris as it is, not rescaled, K = 3, the best of 30 runs. Printed / ours (mean over "
            f"{counted(result['n_seeds'], 'seed')}):",
            table(["species", "cluster 1", "cluster 2", "cluster 3"], rows),
            f"{result['n_same']} of {counted(result['n_seeds'], 'seed')} give exactly the printed "
            "table.",
        ]
    )


STUDY = Study(
    name="table-1",
    title="Table 1: k-means on Iris",
    measure=measure,
    show=show,
    expect=lambda result: {
        "share of seeds with the printed table": result["n_same"] / result["n_seeds"]
    },
)
