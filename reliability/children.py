"""Trials in child processes: what crashes or hangs a child is noted, and the next one goes on.

A trial is made from the seed, the name of its target and its number alone, so that it can be made
again.
"""

from __future__ import annotations

import os
import resource
import selectors
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from record import Record

HERE = str(Path(__file__).parent)  # for processes that children start
SILENCE = 900  # seconds without a word after which a child counts as hanging
WORST = 25  # failures of a target after which it is given up
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk is worn out


def generator_of(seed: int, target: str, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, *target.encode(), number])


# --- the child ------------------------------------------------------------------------------------


def serve(attempt: Callable[[int], str], start: int, until: float, at_least: int = 0) -> None:
    """Try number after number from ``start`` on; a line on standard output before and after each.

    ``attempt`` says in a word what came of a trial, "FAILED ..." if a promise was broken.
    """
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    number, failed = start, 0
    while (time.time() < until or number < at_least) and failed < WORST:
        out.write(f"begin {number}\n")
        outcome = " ".join(attempt(number).split())[:500]
        out.write(f"end {number} {outcome}\n")
        failed += outcome.startswith("FAILED")
        number += 1


def told(error: BaseException) -> str:
    """What an error says, and where it was raised."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    return f"FAILED {type(error).__name__} at {place}: {error}"


def limit_memory(n_bytes: int) -> None:
    """Allow so many bytes more than this process has now; the hard limit stays."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def limit_time(seconds: int) -> None:
    """Let the system end this process once it has computed for so long from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


# --- the parent -----------------------------------------------------------------------------------


def run_target(
    record: Record, script: str, target: str, seed: int, seconds: float, at_least: int = 0
) -> int:
    """Try one target for so long, in one child after the other; how many trials that were.

    The script is called with ``--child TARGET START UNTIL AT_LEAST`` and has to :func:`serve`.
    """
    until, start, failed = time.time() + seconds, 0, 0
    while (time.time() < until or start < at_least) and failed < WORST:
        under_way = start - 1
        command = [script, "--child", target, str(start), str(until), str(at_least)]
        with _child([*command, "--seed", str(seed)]) as (process, lines):
            for line in lines:
                word, _, rest = line.partition(" ")
                if word == "begin":
                    under_way = int(rest)
                elif word == "end":
                    number, _, outcome = rest.partition(" ")
                    start = int(number) + 1
                    failed += _note(record, target, int(number), outcome)
            code = process.wait()
        if code and failed < WORST:
            why = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
            failed += _note(record, target, under_way, f"FAILED the process {why}")
            if under_way < start:  # not because of a trial
                break
            start = under_way + 1
    return start


def _note(record: Record, target: str, number: int, outcome: str) -> bool:
    if outcome.startswith("FAILED"):
        record.fail(f"{target} {number}: {outcome.removeprefix('FAILED ')}")
        print(record.failures[-1], flush=True)
        return True
    record.count(f"{target}: {outcome}")
    return False


@contextmanager
def _child(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("CHILD_STDERR") else subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "POLARS_MAX_THREADS": "2",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]),
        },
    ) as process:
        try:
            yield process, _lines(process)
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Lines of a child, until it ends or is silent for too long."""
    assert process.stdout is not None
    selector = selectors.DefaultSelector()
    selector.register(process.stdout.fileno(), selectors.EVENT_READ)
    rest = b""
    while True:
        if not selector.select(SILENCE):
            process.kill()
            return
        found = os.read(process.stdout.fileno(), 2**16)
        if not found:
            return
        *lines, rest = (rest + found).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
