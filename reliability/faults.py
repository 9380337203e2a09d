"""Faults: interrupted, starved, killed, on a full disk, at once, by a clock that goes back.

After every fault the results are those of an undisturbed run, or there is one sentence and
everything is as it was; files are whole, old or new. ``--one TARGET NUMBER`` makes a trial again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from children import SCRATCH, generator_of, limit_time, run_target, serve, told
from record import Record, arguments

CPU_SECONDS = 600  # of one trial: more is an endless loop
# Share of the time, and trials that are made however long they take.
PLAN = {
    "Ctrl-C in a call": (0.25, 100),
    "Ctrl-C in the command": (0.12, 6),
    "too little memory": (0.15, 60),
    "full disk": (0.15, 40),
    "full disk for the command": (0.08, 4),
    "parts of the user that fail": (0.05, 30),
    "killed while saving": (0.05, 20),
    "killed in a selection": (0.08, 20),
    "fifty at once": (0.04, 2),
    "a clock that goes back": (0.03, 2),
}


def child(name: str, seed: int, start: int, until: float, at_least: int) -> None:
    from fault_targets import TARGETS

    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        target = TARGETS[name](Path(folder))

        def attempt(number: int) -> str:
            limit_time(CPU_SECONDS)
            try:
                return target.trial(generator_of(seed, name, number))
            except BaseException as error:
                return told(error)

        try:
            serve(attempt, start, until, at_least)
        finally:
            target.close()


def main() -> int:
    parser = arguments(__doc__, "faults", minutes=8)
    parser.add_argument("--only", choices=list(PLAN), help="one target")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "NUMBER"), help="make one trial again")
    parser.add_argument("--child", nargs=4, metavar=("TARGET", "START", "UNTIL", "AT_LEAST"))
    options = parser.parse_args()
    if options.child:
        name, start, until, at_least = options.child
        child(name, options.seed, int(start), float(until), int(at_least))
        return 0
    if options.one:
        from fault_targets import TARGETS

        name, number = options.one
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            target = TARGETS[name](Path(folder))
            try:
                print(target.trial(generator_of(options.seed, name, int(number))))
            finally:
                target.close()
        return 0
    # Memory that is freed goes back to the system, so that the children feel their limits.
    os.environ.update(MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="65536")
    record = Record("Faults")
    for name, (share, at_least) in PLAN.items():
        if options.only in (None, name):
            part = 1.0 if options.only else share
            seconds = 60 * options.minutes * part
            tried = run_target(record, __file__, name, options.seed, seconds, at_least)
            record.count("trials in all", tried)
            print(f"{name}: {tried:,} trials, {len(record.failures)} failures so far", flush=True)
    from fault_targets import can_mount

    if not can_mount():
        record.notes.append(
            "No small disk could be mounted: files were limited in size instead (RLIMIT_FSIZE)."
        )
    record.write(options.json)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
