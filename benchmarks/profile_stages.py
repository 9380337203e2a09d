"""Where the engine's time goes, stage by stage, as sampled by Linux's ``perf``.

    python benchmarks/profile_stages.py [--cases 150x4 ...] [--json FILE]

The engine must have the names of its functions: an installed one has none, one that is built with
``CMAKE_BUILD_TYPE=RelWithDebInfo`` has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from against_peers import CASES, job_of

from bbclust.ensemble.run import run_replicas

# The first that a function's name contains is its stage.
STAGES = (
    ("drawing", ("Drawer", "normals_from", "Gammas", "Mixture", "philox", "RowsToPanels")),
    ("seeding", ("Seeder",)),
    ("assignment", ("nearest_", "score_tile", "for_nearest", "Margins", "assign_", "Short")),
    ("sums of clusters", ("ClusterSums", "Lloyd", "total_square")),
    ("which starts go on", ("KMeans", "Starts", "Sorted", "weigh_costs", "compare_costs")),
    ("aligning and voting", ("Align", "ReplicaWorker", "run_replicas")),
)


def work(name: str, seconds: float) -> None:
    """Replicas of a case, again and again."""
    (case,) = (case for case in CASES if case.name == name)
    job = job_of(case, case.data(np.float64))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        run_replicas(job, range(case.n_replicas))


def profile(name: str, seconds: float) -> dict[str, float]:
    """Shares of the engine's samples."""
    with tempfile.TemporaryDirectory() as folder:
        samples = str(Path(folder) / "perf.data")
        command = [sys.executable, __file__, "--work", name, "--seconds", str(seconds)]
        record = ["perf", "record", "-q", "-o", samples, *command]
        subprocess.run(record, check=True, capture_output=True)
        report = ["perf", "report", "-i", samples, "--stdio", "--no-children", "--sort", "dso,sym"]
        lines = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    shares = dict.fromkeys([stage for stage, _ in STAGES], 0.0) | {"rest": 0.0}
    for line in lines.splitlines():
        if "_engine_" not in line or "%" not in line:
            continue
        share = float(line.split("%")[0])
        symbol = line.partition("[.]")[2]
        stage = next((s for s, words in STAGES if any(w in symbol for w in words)), "rest")
        shares[stage] += share
    total = sum(shares.values())
    if shares["rest"] > 0.9 * total:
        raise SystemExit("The engine has no names of functions: build it as RelWithDebInfo.")
    return {stage: share / total for stage, share in shares.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="+", default=names, choices=names)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--work", choices=names, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.seconds)
        return
    found = {}
    for name in arguments.cases:
        found[name] = profile(name, arguments.seconds)
        print(name, {stage: round(share, 2) for stage, share in found[name].items()}, flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
