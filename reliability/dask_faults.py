"""Faults of a cluster: workers, schedulers and connections that die, freeze, or are cut.

    python reliability/dask_faults.py [--only CASE] [--one CASE ESTIMATOR NUMBER]

Each trial is a process with a cluster of its own: a scheduler and two workers, processes that talk
TCP, through a proxy where connections are cut. It fits undisturbed, and again with a fault at a
random moment. The results are the same bits, or there is one sentence; a trial that takes longer
than its limit hangs. Dask's time-outs are shortened (``SHORTER``).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import dask
from children import SCRATCH, generator_of, told
from dask_fault_cases import CASES, START_LIMIT, SetUpError
from record import Record, arguments

NO_CLUSTER = "no cluster could be started"
LIMIT = 120  # seconds after which a trial hangs: time-outs below add up to a fraction of it
SHORTER = {
    "distributed.scheduler.worker-ttl": "10s",
    "distributed.comm.timeouts.connect": "15s",
}
dask.config.set(SHORTER)
# Workers are forked by their nannies: to import everything anew takes longer than most trials.
dask.config.set({"distributed.worker.multiprocessing-method": "fork"})
ESTIMATORS = ("in memory", "partitioned", "selection")


def run_trial(case: str, estimator: str, number: int, seed: int) -> str:
    """A trial in a session of its own, of which nothing is left afterwards; what came of it."""
    answers, answer = os.pipe()
    process = os.fork()  # with all that is imported, which takes longer than most trials
    if process == 0:
        os.setsid()
        if not os.environ.get("CHILD_STDERR"):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(answer, make_trial(case, estimator, number, seed).encode()[:4000])
        os._exit(0)  # whatever threads of a broken client are up to
    try:
        if not select.select([answers], [], [], START_LIMIT + LIMIT)[0]:
            return f"FAILED it hangs: no end after {LIMIT} seconds"
        return os.read(answers, 4000).decode()
    finally:
        os.close(answers)
        os.close(answer)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # frozen workers too
        os.waitpid(process, 0)


def make_trial(case: str, estimator: str, number: int, seed: int) -> str:
    with tempfile.TemporaryDirectory(dir=SCRATCH, ignore_cleanup_errors=True) as folder:
        draw = generator_of(seed, f"{case} {estimator}", number)
        try:
            return CASES[case](Path(folder), estimator).trial(draw)
        except SetUpError as error:
            return f"{NO_CLUSTER}: {error}"
        except BaseException as error:
            return told(error)


def main() -> int:
    parser = arguments(__doc__, "dask_faults", minutes=15)
    parser.add_argument("--only", choices=list(CASES), help="one case")
    parser.add_argument("--one", nargs=3, metavar=("CASE", "ESTIMATOR", "NUMBER"))
    options = parser.parse_args()
    if options.one:
        case, estimator, number = options.one
        print(run_trial(case, estimator, int(number), options.seed))
        return 0
    record = Record("Faults of a Dask cluster")
    end = time.monotonic() + 60 * options.minutes
    number = 0
    cases = list(CASES) if options.only is None else [options.only]
    while time.monotonic() < end:
        for i, case in enumerate(cases):
            if time.monotonic() > end:
                record.notes.append(f"Time was up in round {number + 1}, before {case}.")
                break
            estimator = ESTIMATORS[(i + number) % len(ESTIMATORS)]
            began = time.monotonic()
            outcome = " ".join(run_trial(case, estimator, number, options.seed).split())
            took = time.monotonic() - began
            record.count("trials in all")
            if outcome.startswith(NO_CLUSTER):
                record.count("trials without a cluster, which say nothing")
            elif outcome.startswith("FAILED"):
                record.fail(f"{case}, {estimator} {number}: {outcome[7:507]}")
            else:
                record.count(f"{case}: {outcome}")
            print(f"{case}, {estimator} {number}: {outcome[:200]} ({took:.0f} s)", flush=True)
            record.write(options.json)
        number += 1
    record.notes.append(
        "Time-outs were shortened: " + ", ".join(f"{k}: {v}" for k, v in SHORTER.items()) + "."
    )
    record.write(options.json)
    for failure in record.failures:
        print(failure)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
