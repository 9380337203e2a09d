"""A suite that never cries wolf: all tests in random order, on a machine that is busy.

    python reliability/under_load.py [--orders 5] [--repeats 50] [--minutes 240]

Busy loops run beside the tests, one per core. Every order is that of a seed of pytest-randomly
(``pip install pytest-randomly``). Tests that look at memory, time, processes or signals are then
repeated. A failure is named with the order that it was found in.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).parents[1]
MEASURING = (
    "tests/baselines/test_baselines.py::test_many_rows_take_little_memory",
    "tests/cli/test_cli_bad_input.py",
    "tests/cli/test_cli_resume.py",
    "tests/cli/test_cli_terminal.py",
    "tests/dask/test_faults.py",
    "tests/ensemble/test_interrupt.py",
    "tests/ensemble/test_same_bits.py",
    "tests/estimators/test_anytime.py",
    "tests/estimators/test_bbc.py::test_memory_does_not_grow_with_the_number_of_blocks",
    "tests/io/test_hostile_files.py",
    "tests/selection/test_checkpoint.py",
    "tests/test_imports.py",
)


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_machine() -> Iterator[None]:
    """One loop per core that does nothing but compute."""
    loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.terminate()


def run_tests(*options: str) -> tuple[int, list[str]]:
    """Tests that passed, and the names of those that did not."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
    if done.returncode != 0 and not failed:
        failed = [f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}"]
    return int(passed[1]) if passed else 0, failed


def main() -> None:
    parser = arguments(__doc__, "under_load", minutes=240)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    record = Record("Tests in random order on a busy machine")
    end = time.monotonic() + 60 * options.minutes
    jobs = [("the whole suite", ())] * options.orders
    jobs += [("tests of memory, time, processes and signals", MEASURING)] * options.repeats
    with busy_machine():
        for order, (what, tests) in enumerate(jobs, start=options.seed):
            if time.monotonic() > end:
                record.notes.append(f"Time was up before order {order}, of {len(jobs)}.")
                break
            passed, failed = run_tests(f"--randomly-seed={order}", *tests)
            record.count(f"orders of {what}")
            record.count("tests passed", passed)
            for name in failed:
                record.fail(f"{name} (order {order})")
            print(f"order {order}: {passed} passed, {failed}", flush=True)
            record.write(options.json)  # what is found stays, should it be ended
    record.write(options.json)
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
