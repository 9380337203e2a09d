"""Peak memory of one large fit: n = 1,000,000, d = 8, float32, K = 5, B = 10, n_init = 1.

python benchmarks/peak_memory.py [--rows 1000000] [--jobs 1]
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from bbclust import BBC


def peak_mib() -> float:
    """Largest resident size of this process so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    X = generator.standard_normal((arguments.rows, 8), dtype=np.float32)
    X += 4 * generator.integers(0, 5, size=(arguments.rows, 1)).astype(np.float32)
    before = peak_mib()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ten replicas are few
        BBC(5, n_replicas=10, n_init=1, n_jobs=arguments.jobs, random_state=0).fit(X)
    seconds = time.perf_counter() - start
    print(f"data                {X.nbytes / 2**20:8.0f} MiB")
    print(f"peak before the fit {before:8.0f} MiB")
    print(f"peak                {peak_mib():8.0f} MiB")
    print(f"time                {seconds:8.1f} s")


if __name__ == "__main__":
    main()
