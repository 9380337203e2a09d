"""The whole quick reproduction of the paper, with seeds that made no tolerance.

    python reliability/reproduction.py [--minutes 30]

The default suite runs the cheap studies of it with one seed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "paper_quick.json"


def main() -> None:
    options = arguments(__doc__, "reproduction", minutes=30).parse_args()
    sys.path.insert(0, str(ROOT))
    from reproduction import run
    from reproduction.expectations import N_SEEDS, deviations, figures

    expected = json.loads(GOLDEN.read_text())
    record = Record("The quick reproduction of the paper, for seeds that made no tolerance")
    end = time.monotonic() + 60 * options.minutes
    seed = max(options.seed, N_SEEDS + 1)
    while time.monotonic() < end:
        results = run(seed=seed, n_jobs=-1)
        record.count("seeds")
        record.count("figures compared", len(figures(results)))
        for off in deviations(results, expected):
            record.fail(f"seed {seed}: {off}")
        seed += 1
    record.write(options.json)
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
