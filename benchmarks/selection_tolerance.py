"""What the tolerance of replicas does to the choice of K.

``KSelector`` once stopped its replicas at scikit-learn's tolerance, which is coarser than what
resampling does to the centres. Both are run on the same draws of the paper's data sets:

    python benchmarks/selection_tolerance.py --json benchmarks/results/selection_tolerance.json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import Job

TRUE_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
FIRST_SEED = 20_000


@dataclass(frozen=True)
class LooseKMeans(EngineKMeans):
    """Replicas that stop as the reference does."""

    def replica_tolerance(self, job: Job) -> float:
        return self.reference_tolerance(job.plan.mean_variance)


CLUSTERERS = {"loose": LooseKMeans(n_init=2), "mended": EngineKMeans(n_init=2)}


def select(clusterer: EngineKMeans, X: np.ndarray, seed: int) -> tuple[KSelector, float]:
    selector = KSelector(
        BBC(clusterer=clusterer), k_range=range(2, 7), refit=False, random_state=seed
    )
    start = time.process_time()
    selector.fit(X)
    return selector, time.process_time() - start


def measure(number: int, n_draws: int) -> dict[str, object]:
    """Shares of draws in which the true K is found, and how the curves differ."""
    found: dict[str, list[int]] = {name: [] for name in CLUSTERERS}
    seconds = dict.fromkeys(CLUSTERERS, 0.0)
    ratios: dict[str, list[float]] = {"mean_entropy": [], "max_pairwise_entropy": []}
    for draw in range(n_draws):
        seed = FIRST_SEED + draw
        X = make_paper_dataset(number, random_state=seed).data
        curves = {}
        for name, clusterer in CLUSTERERS.items():
            selector, taken = select(clusterer, X, seed)
            found[name].append(selector.best_k_)
            seconds[name] += taken
            curves[name] = selector.curves_
        for measure_name, values in ratios.items():
            before, after = (curves[name][measure_name] for name in ("loose", "mended"))
            values.append(float(after.sum() / before.sum()))
    return {
        "data set": number,
        "true K": TRUE_K[number],
        "draws": n_draws,
        "found": {
            name: float(np.mean(np.array(values) == TRUE_K[number]))
            for name, values in found.items()
        },
        "same choice": float(np.mean(np.array(found["loose"]) == np.array(found["mended"]))),
        "entropy, mended over loose": {
            name: [float(np.mean(values)), float(np.std(values) / np.sqrt(len(values)))]
            for name, values in ratios.items()
        },
        "processor time, mended over loose": seconds["mended"] / seconds["loose"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = []
    for number in TRUE_K:
        results.append(measure(number, arguments.draws))
        print(json.dumps(results[-1]), flush=True)
    for name in CLUSTERERS:
        print(name, np.mean([one["found"][name] for one in results]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
