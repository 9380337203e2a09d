"""Do choices of K agree over seeds as often as ``mc_confidence_`` says?

The same table is given to ``KSelector`` with many values of ``random_state``, for fresh draws of
the six data sets of the paper. Claimed is the mean of ``mc_confidence_[best_k_]``; found is how
often two seeds choose the same K. Seeds differ in everything that is drawn: replicas, whose noise
``mc_confidence_`` is about, the reference partition, and the clouds that clusters are compared
with. Where all agree little is learnt, so the first draws are also given to a selection with much
noise: 15 replicas, one s, and the paper's pairwise criterion. This once more with one reference of
every K for all seeds, so that replicas alone differ.

    python benchmarks/calibrate_confidence.py [--tables 2] [--seeds 40] --json FILE
    python benchmarks/calibrate_confidence.py --table FILE > calibrate_confidence.md
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import Reference
from bbclust.stages.table import Table

FIRST_SEED = 60_000
K_RANGE = range(2, 7)


class OneReference(EngineKMeans):
    """The same k-means, whose reference partition does not depend on the seed of the fit."""

    def find_reference(
        self, table: Table, n_clusters: int, seed: int, *, n_jobs: int = 1
    ) -> Reference:
        return super().find_reference(table, n_clusters, 1, n_jobs=n_jobs)


def choose(
    data: np.ndarray, seed: int, *, noisy: bool, one_reference: bool = False
) -> dict[str, float]:
    """The K that is chosen, and how sure of it the selection claims to be."""
    selector = KSelector(k_range=K_RANGE, refit=False, random_state=seed)
    if noisy:
        clusterer = OneReference(n_init=2) if one_reference else None
        selector.set_params(
            estimator=BBC(n_init=2, n_replicas=15, clusterer=clusterer),
            prior_scales=(1,),
            criterion="pairwise",
            null_reference=0,
        )
    selector.fit(data)
    return {"k": selector.best_k_, "sure": selector.mc_confidence_[selector.best_k_]}


def agreement(chosen: list[int]) -> float:
    """How often two of the seeds choose the same K."""
    counts, n = Counter(chosen).values(), len(chosen)
    return sum(count * (count - 1) for count in counts) / (n * (n - 1))


def print_table(results: dict) -> None:
    print(
        "| table | seeds | K most often chosen, and how often | two seeds agree, claimed | found "
        "|\n|---|---|---|---|---|"
    )
    for one in results["tables"]:
        chosen = [run["k"] for run in one["runs"]]
        mode, count = Counter(chosen).most_common(1)[0]
        claimed = np.mean([run["sure"] for run in one["runs"]])
        print(
            f"| {one['name']} | {len(chosen)} | {mode}, {count / len(chosen):.2f} | "
            f"{claimed:.2f} | {agreement(chosen):.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=2, help="draws of each data set")
    parser.add_argument("--seeds", type=int, default=40, help="of every table")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    parser.add_argument("--table", type=Path, help="print the table of such a file")
    arguments = parser.parse_args()
    if arguments.table is not None:
        print_table(json.loads(arguments.table.read_text()))
        return
    settings = [(draw, False, False) for draw in range(arguments.tables)]
    settings += [(0, True, False), (0, True, True)]
    tables: list[dict] = []
    for draw, noisy, one_reference in settings:
        for number in range(1, 7):
            data = make_paper_dataset(number, random_state=FIRST_SEED + draw).data
            seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
            runs = [choose(data, s, noisy=noisy, one_reference=one_reference) for s in seeds]
            name = f"data set {number}, draw {draw + 1}" + ", 15 replicas" * noisy
            name += ", one reference" * one_reference
            tables.append({"name": name, "runs": runs})
            print(name, file=sys.stderr, flush=True)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps({"tables": tables}) + "\n")
    print_table({"tables": tables})


if __name__ == "__main__":
    main()
