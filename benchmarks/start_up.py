"""What the first use costs: importing bbclust, and the first fit against the second.

Each figure is a median over fresh processes. Import: ``import bbclust`` with its names, once numpy,
scipy.optimize and sklearn.base are there. First fit: BBC on Iris, with 200 replicas.

    python benchmarks/start_up.py [--processes 10] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

IMPORT = """
import time
import numpy, scipy.optimize, sklearn.base
start = time.perf_counter()
import bbclust
from bbclust import BBC, KSelector
print(time.perf_counter() - start)
"""
FIT = """
import time
from bbclust import BBC
from bbclust.datasets import load_iris
X = load_iris().data
seconds = []
for _ in range(2):
    start = time.perf_counter()
    BBC(3, random_state=0).fit(X)
    seconds.append(time.perf_counter() - start)
print(seconds[0] - seconds[1])
"""


def seconds_of(program: str) -> float:
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    programs = {
        "import beyond the others": IMPORT,
        "first fit beyond the second": FIT,
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(arguments.processes):
        for name, program in programs.items():
            seconds[name].append(seconds_of(program))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, value in medians.items():
        print(f"{name:28} {value:.3f} s")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(medians, file, indent=1)


if __name__ == "__main__":
    main()
