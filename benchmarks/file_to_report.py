"""What ``bbclust analyze`` costs on 1,000,000 x 8 rows, from the file to the report.

Each run is a program of its own, on all cores, with every default. Its processor time counts, of
all threads, because how long it takes is up to who else uses the machine; both are written down.

    python benchmarks/file_to_report.py [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bbclust._native import engine

ROWS, COLUMNS, CLUSTERS = 1_000_000, 8, 5


def write_tables(folder: Path) -> list[Path]:
    """Gaussian clusters that overlap a little, as CSV and as Parquet."""
    generator = np.random.default_rng(0)
    centers = 2 * generator.normal(size=(CLUSTERS, COLUMNS))
    rows = centers[generator.integers(CLUSTERS, size=ROWS)]
    rows += generator.normal(size=rows.shape)
    table = pl.DataFrame({f"x{column}": rows[:, column].round(4) for column in range(COLUMNS)})
    table.write_csv(folder / "table.csv")
    table.write_parquet(folder / "table.parquet")
    return [folder / "table.csv", folder / "table.parquet"]


def analyze(file: Path) -> tuple[float, float]:
    """Seconds of processor time, and of waiting."""
    command = [sys.executable, "-m", "bbclust", "analyze", str(file), "--force"]
    command += ["--out", str(file.parent / "out")]
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after, waited = os.times(), time.perf_counter() - start
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, waited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = write_tables(Path(folder))
        for _ in range(arguments.rounds):
            for file in files:
                processor, waited = analyze(file)
                of_kind = found.setdefault(file.suffix[1:], {"processor": [], "waited": []})
                of_kind["processor"].append(processor)
                of_kind["waited"].append(waited)
                print(f"{file.suffix[1:]:8} {processor:6.1f} s of processor time", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as target:
            json.dump({"instruction set": engine.ISA, "found": found}, target, indent=1)


if __name__ == "__main__":
    main()
