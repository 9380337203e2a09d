"""Every stochastic test with many seeds: a test that fails for one of them cries wolf.

    python reliability/all_seeds.py [--seeds 0-99] [--minutes 120]

Seeds are run in stretches, all tests each, until the time is up; the record says how far it came.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).parents[1]
AT_ONCE = 5


def run_seeds(first: int, last: int) -> tuple[int, list[str]]:
    """Tests that passed, and the names of those that did not."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "logical", "-p", "no:cacheprovider", "tests"],
        cwd=ROOT,
        env={**os.environ, "BBCLUST_TEST_SEEDS": f"{first}-{last}"},
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
    if done.returncode != 0 and not failed:
        failed = [f"pytest ended with {done.returncode}: {done.stdout[-300:]}"]
    return int(passed[1]) if passed else 0, failed


def main() -> None:
    parser = arguments(__doc__, "all_seeds", minutes=120)
    parser.add_argument("--seeds", default="0-99", help="first and last")
    options = parser.parse_args()
    first, last = (int(end) for end in options.seeds.split("-"))
    record = Record("Every stochastic test, for many seeds")
    end = time.monotonic() + 60 * options.minutes
    for start in range(first, last + 1, AT_ONCE):
        if time.monotonic() > end:
            record.notes.append(f"Time was up before seed {start}.")
            break
        stop = min(start + AT_ONCE - 1, last)
        passed, failed = run_seeds(start, stop)
        record.count("seeds", stop - start + 1)
        record.count("tests passed", passed)
        for name in failed:
            record.fail(name)
        print(f"seeds {start} to {stop}: {passed} passed, {len(failed)} failed", flush=True)
        record.write(options.json)  # what is found stays, should it be ended
    record.write(options.json)
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
