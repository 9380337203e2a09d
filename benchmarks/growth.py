"""How the time of ``BBC.fit`` grows with rows, replicas, clusters, features; and its peak memory.

One quantity grows, the others stay: 100,000 rows of 16 features, 10 clusters, 10 replicas, float32,
one thread. Sizes take turns, best of several. The exponent is the slope of a straight line through
the logarithms. Small sizes also pay what every fit costs, so the exponent from the smallest to the
largest size can be below one.

Memory: a fit of 1,000,000 x 16 rows of float32, 10 clusters, on two threads, in a process of its
own; what is counted is the peak above what imports and the data took.

    python benchmarks/growth.py [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from bbclust import BBC
from bbclust._native import engine

USUAL = {"rows": 100_000, "replicas": 10, "clusters": 10, "features": 16}
SIZES = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "replicas": (10, 30, 100, 300),
    "clusters": (5, 10, 20, 40),
    "features": (4, 8, 16, 32, 64),
}


def blobs(rows: int, features: int, clusters: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(clusters, features)) * 4 / np.sqrt(features / 2)
    noise = generator.standard_normal((rows, features), dtype=np.float32)
    return (centers[generator.integers(clusters, size=rows)] + noise).astype(np.float32)


def fit(X: np.ndarray, clusters: int, replicas: int, n_jobs: int = 1) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few replicas
        BBC(clusters, n_replicas=replicas, n_jobs=n_jobs, random_state=0).fit(X)
    return time.perf_counter() - start


def grow(quantity: str, rounds: int) -> dict[str, Any]:
    """Seconds for every size of one quantity."""
    seconds = dict.fromkeys(SIZES[quantity], np.inf)
    for _ in range(rounds):
        for size in SIZES[quantity]:
            case = USUAL | {quantity: size}
            if quantity == "replicas":
                case["rows"] = 10_000
            X = blobs(case["rows"], case["features"], case["clusters"])
            seconds[size] = min(seconds[size], fit(X, case["clusters"], case["replicas"]))
    slope = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]
    return {"seconds": seconds, "exponent": float(slope)}


def peak_mib() -> float:
    """Largest resident size of this process so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(rows: int) -> dict[str, float]:
    X = blobs(rows, 16, 10)
    fit(X[:10_000], 10, 2)  # what is loaded when it is first used
    before, data = peak_mib(), X.nbytes / 2**20
    fit(X, 10, 10, n_jobs=2)
    return {"data": data, "above": peak_mib() - before, "ratio": (peak_mib() - before) / data}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print(json.dumps(measure_memory(arguments.memory)))
        return
    command = [sys.executable, __file__, "--memory", "1000000"]
    memory = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(f"memory: {memory['above']:.0f} MiB above {memory['data']:.0f} MiB of data", flush=True)
    found = {}
    for quantity in SIZES:
        found[quantity] = grow(quantity, arguments.rounds)
        times = " ".join(f"{size}: {s:.3f}" for size, s in found[quantity]["seconds"].items())
        print(f"{quantity:9} exponent {found[quantity]['exponent']:.3f}  {times}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {"instruction set": engine.ISA, "growth": found, "memory": memory}, file, indent=1
            )


if __name__ == "__main__":
    main()
