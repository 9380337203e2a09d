"""Write a large table of blobs as one Parquet file, row group by row group.

python benchmarks/dask_make_table.py big.parquet [--rows 100000000] [--group 1000000] [--seed 0]

Five Gaussian clusters in four columns of float32, 16 bytes per row. A row group depends on the
seed and its place alone, and no more than one is in memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ("a", "b", "c", "d")
# Neighbours are 3 to 5 standard deviations apart, so that some rows lie in between.
CENTERS = np.array(
    [[0, 0, 0, 0], [3, 0, 0, 0], [0, 4, 0, 0], [0, 0, 5, 0], [2.5, 2.5, 2.5, 2.5]],
    dtype=np.float32,
)
SHARES = (0.3, 0.25, 0.2, 0.15, 0.1)


def make_group(n_rows: int, seed: int, place: int) -> np.ndarray:
    """Rows of one row group, shape (n_rows, 4), float32."""
    generator = np.random.Generator(np.random.Philox(key=[seed, place]))
    rows = generator.standard_normal((n_rows, len(COLUMNS)), dtype=np.float32)
    rows += CENTERS[generator.choice(len(CENTERS), size=n_rows, p=SHARES)]
    return rows


def make_table(path: Path, n_rows: int, group: int, seed: int = 0) -> None:
    """Write the file; it appears when it is complete."""
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS])
    part = path.with_name(f"{path.name}.part")
    said = time.monotonic()
    with pq.ParquetWriter(part, schema, compression="none", use_dictionary=False) as writer:
        for place, first in enumerate(range(0, n_rows, group)):
            rows = make_group(min(group, n_rows - first), seed, place)
            columns = [np.ascontiguousarray(rows[:, j]) for j in range(len(COLUMNS))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=group)
            if time.monotonic() - said > 5:
                print(f"{first + len(rows):,} of {n_rows:,} rows", file=sys.stderr, flush=True)
                said = time.monotonic()
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--group", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.monotonic()
    make_table(arguments.path, arguments.rows, arguments.group, arguments.seed)
    size = arguments.path.stat().st_size / 1e9
    print(f"{arguments.rows:,} rows, {size:.2f} GB, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
