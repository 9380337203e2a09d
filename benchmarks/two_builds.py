"""Whether one build is slower than another: both run the same work in turn, in one session.

    python benchmarks/two_builds.py before/bin/python after/bin/python

The arguments are interpreters of two environments. The first runs twice, so that its spread against
itself shows what the machine alone does. Figures are processor times of the second build over those
of the first, the median and the quartiles over the rounds; only public names are used.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np


def blobs(n: int, d: int, k: int, dtype: type = float) -> np.ndarray:
    generator = np.random.default_rng([n, d, k])
    centers = generator.normal(scale=3, size=(k, d))
    return (centers[generator.integers(k, size=n)] + generator.normal(size=(n, d))).astype(dtype)


def make_cases() -> dict[str, Callable[[], object]]:
    from sklearn.cluster import KMeans

    from bbclust import BBC, BagClust1, BagClust2, KSelector
    from bbclust.datasets import load_iris
    from bbclust.priors import KernelPrior

    iris, one = load_iris().data, {"random_state": 0}
    small, middle, large = blobs(2_000, 8, 6), blobs(20_000, 16, 8), blobs(200_000, 16, 8)
    single = middle.astype(np.float32)
    fitted = BBC(8, n_replicas=50, **one).fit(middle)
    return {
        "150x4, 2,000 replicas": lambda: BBC(3, n_replicas=2_000, **one).fit(iris),
        "150x4, 20 fits of 50": lambda: [BBC(3, n_replicas=50, **one).fit(iris) for _ in range(20)],
        "2,000x8": lambda: BBC(6, n_replicas=500, **one).fit(small),
        "20,000x16": lambda: BBC(8, n_replicas=60, **one).fit(middle),
        "20,000x16, float32": lambda: BBC(8, n_replicas=100, **one).fit(single),
        "20,000x16, all rows vote": lambda: BBC(8, n_replicas=100, votes="all", **one).fit(middle),
        "200,000x16": lambda: BBC(8, n_replicas=5, **one).fit(large),
        "predict 20,000x16": lambda: [fitted.predict(middle) for _ in range(4)],
        "kernel prior": lambda: BBC(3, n_replicas=300, prior=KernelPrior(), **one).fit(iris),
        "scikit-learn's KMeans": lambda: BBC(
            3, n_replicas=60, clusterer=KMeans(n_init=1), **one
        ).fit(iris),
        "BagClust1": lambda: BagClust1(3, n_replicas=1_000, **one).fit(iris),
        "BagClust2": lambda: BagClust2(6, n_replicas=100, **one).fit(small[:800]),
        "KSelector 150x4": lambda: KSelector(**one).fit(iris),
        "KSelector 2,000x8": lambda: KSelector(k_range=range(2, 8), **one).fit(small),
        "KSelector 20,000x16": lambda: KSelector(k_range=[6, 8], **one).fit(middle),
    }


def work() -> None:
    """Run the cases that are asked for, line by line, and answer with their processor time."""
    warnings.simplefilter("ignore")
    cases = make_cases()
    for case in cases.values():
        case()  # the first time is not counted
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        cases[json.loads(line)]()
        print(time.process_time() - start, flush=True)


class Worker:
    """A process of one build that runs cases."""

    def __init__(self, python: str) -> None:
        command = [python, str(Path(__file__).resolve()), "--work"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        self.cases: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def seconds(self, case: str) -> float:
        assert self._process.stdin is not None
        print(json.dumps(case), file=self._process.stdin, flush=True)
        return float(self._answer())

    def close(self) -> None:
        self._process.communicate()


def quartiles(ratios: list[float]) -> list[float]:
    return [float(q) for q in np.quantile(ratios, [0.25, 0.5, 0.75])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="interpreter of the first build")
    parser.add_argument("after", help="interpreter of the second build")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    workers = [Worker(arguments.before), Worker(arguments.before), Worker(arguments.after)]
    print(f"{'':28}{'second over first':>24}{'first over itself':>24}")
    for case in workers[0].cases:
        rounds = [[worker.seconds(case) for worker in workers] for _ in range(arguments.rounds)]
        change = quartiles([2 * after / (first + again) for first, again, after in rounds])
        itself = quartiles([again / first for first, again, _ in rounds])
        shown = [f"{q[1]:.3f} ({q[0]:.3f}-{q[2]:.3f})" for q in (change, itself)]
        print(f"{case:28}{shown[0]:>24}{shown[1]:>24}", flush=True)
    for worker in workers:
        worker.close()


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
