"""A suite that never cries wolf: all tests in random order, on a machine that is busy.

    python reliability/under_load.py [--orders 5] [--repeats 50] [--at-once 3] [--resume]

Several runs share the cores with one another and with busy loops, one per core. Every order is that
of a seed of pytest-randomly (``pip install pytest-randomly``). Tests that look at memory, time,
processes or signals (those with the mark ``measures``) are then repeated. A failure is named with
the order that it was found in. ``--resume`` goes on from what an earlier run has written.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).parents[1]
SUITE, SENSITIVE = "the whole suite", "tests of memory, time, processes and signals"


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


def files_with_mark() -> list[str]:
    """Of the tests that are repeated: to collect all others takes longer than to run these."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "measures"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({line.partition("::")[0] for line in listed.splitlines() if "::" in line})


def run_tests(order: int, *options: str) -> tuple[int, list[str]]:
    """Tests that passed, and the names of those that did not."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "-p", "no:cacheprovider"]
    command += [f"--randomly-seed={order}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*)", done.stdout, re.MULTILINE)
    if done.returncode != 0:
        print(done.stdout, done.stderr, flush=True)
        failed = failed or [f"pytest ended with {done.returncode}"]
    return int(passed[1]) if passed else 0, failed


def main() -> None:
    parser = arguments(__doc__, "under_load", minutes=240)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=3, help="runs side by side")
    parser.add_argument("--resume", action="store_true", help="add to what is written")
    options = parser.parse_args()
    if options.resume:
        record = Record.resumed(options.json)
    else:
        record = Record("Tests in random order on a busy machine")
    note = f"{options.at_once} runs side by side, and one busy loop per core."
    record.notes += [note] if note not in record.notes else []
    end = time.monotonic() + 60 * options.minutes
    done_of = {what: record.counts.get(f"orders of {what}", 0) for what in (SUITE, SENSITIVE)}
    jobs: list[tuple[str, tuple[str, ...]]] = [(SUITE, ())] * (options.orders - done_of[SUITE])
    jobs += [(SENSITIVE, ("-m", "measures", *files_with_mark()))] * (
        options.repeats - done_of[SENSITIVE]
    )

    def run(order: int, chosen: tuple[str, ...]) -> tuple[int, list[str]] | None:
        return None if time.monotonic() > end else run_tests(order, *chosen)

    too_late = 0
    with busy_machine(), ThreadPoolExecutor(options.at_once) as pool:
        runs = {
            pool.submit(run, order, chosen): (order, what)
            for order, (what, chosen) in enumerate(jobs, start=options.seed + sum(done_of.values()))
        }
        for done in as_completed(runs):
            order, what = runs[done]
            if (found := done.result()) is None:
                too_late += 1
                continue
            passed, failed = found
            record.count(f"orders of {what}")
            record.count("tests passed", passed)
            for name in failed:
                record.fail(f"{name} (order {order})")
            print(f"order {order}: {passed} passed, {failed}", flush=True)
            record.write(options.json)  # what is found stays, should it be ended
    if too_late:
        record.notes.append(f"Time was up before {too_late} of {len(jobs)} orders.")
    record.write(options.json)
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
