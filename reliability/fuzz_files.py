"""Files from strangers: a result or one sentence, nothing run, nothing escaped, memory bounded.

Inputs are tried in child processes with a limit on memory and on the time of every input. An input
is made from the seed, the target's name and its number alone: ``--one "model files" 123`` makes it
again and shows what it raises.
"""

from __future__ import annotations

import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from record import Record, arguments

MEMORY = 2**31  # bytes above what a child has before the first input
CPU_SECONDS = 60  # of one input: what is computed, however busy the machine is
SILENCE = 900  # seconds without computing after which a child is given up
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk is worn out
WORST = 25  # failures of a target after which it is given up
SHARES = {
    "model files": 0.2,
    "checkpoint files": 0.15,
    "damaged tables": 0.25,
    "hostile tables": 0.15,
    "bombs and extents": 0.1,
    "reports": 0.05,
    "commands": 0.1,
}
# What nothing that is read may do.
FORBIDDEN = ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn",
             "os.fork", "socket.connect", "ctypes.dlopen")  # fmt: skip


def generator_of(seed: int, target: str, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, *target.encode(), number])


# --- the child ------------------------------------------------------------------------------------


class Watch:
    """Notes what an input makes the process do that reading must not."""

    def __init__(self, allowed: Path) -> None:
        self.allowed, self.seen, self.on = str(allowed), [], False
        sys.addaudithook(self.hear)

    def hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in FORBIDDEN:
            self.seen.append(f"{event} {details!r:.200}")
        elif event == "open" and isinstance(details[0], str) and _writes(details):
            path = os.path.abspath(details[0])
            if not path.startswith((self.allowed, os.devnull)):
                self.seen.append(f"writes {path!r:.200}")


def _writes(details: tuple[Any, ...]) -> bool:
    mode, flags = details[1], details[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR))


def child(target_name: str, seed: int, start: int, until: float) -> None:
    """Try inputs from number ``start`` on; a line before and a line after each."""
    from fuzz_targets import TARGETS

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        tempfile.tempdir = folder
        target = TARGETS[target_name](Path(folder))
        with suppress(Exception):
            target.trial(generator_of(seed, target_name, 2**40))  # what is imported late
        watch = Watch(Path(folder))
        _limit_memory()
        number = start
        while time.time() < until:
            out.write(f"begin {number}\n")
            out.write(f"end {number} {_try(target, target_name, seed, number, watch)}\n")
            number += 1
        out.write("done\n")


def _try(target: Any, name: str, seed: int, number: int, watch: Watch) -> str:
    """In a word what came of an input, or "FAILED" and why."""
    watch.seen.clear()
    _limit_time()
    watch.on = True
    try:
        outcome = target.trial(generator_of(seed, name, number))
    except MemoryError:
        # Archives may unpack to two gigabytes, which is more than a child has.
        may = name in ("bombs and extents", "damaged tables")
        outcome = "refused for want of memory" if may else "FAILED for want of memory"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        outcome = f"FAILED {type(error).__name__} at {place}: {error}"
    finally:
        watch.on = False
    if watch.seen:
        outcome = f"FAILED by what it made the process do: {watch.seen[0]}"
    return " ".join(outcome.split())[:500]


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


# --- the parent -----------------------------------------------------------------------------------


def run_target(record: Record, target: str, seed: int, seconds: float) -> int:
    """Try inputs of one target for so long, in one child after the other; how many."""
    until, start, failed = time.time() + seconds, 0, 0
    while time.time() < until and failed < WORST:
        under_way = start - 1
        with _child(target, seed, start, until) as (process, lines):
            for line in lines:
                word, _, rest = line.partition(" ")
                if word == "begin":
                    under_way = int(rest)
                elif word == "end":
                    number, _, outcome = rest.partition(" ")
                    start = int(number) + 1
                    failed += _note(record, target, int(number), outcome)
                    if failed >= WORST:
                        process.kill()
            code = process.wait()
        if code and failed < WORST:
            why = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
            failed += _note(record, target, under_way, f"FAILED the process {why}")
            if under_way < start:  # not because of an input
                break
            start = under_way + 1
    return start


def _note(record: Record, target: str, number: int, outcome: str) -> bool:
    if outcome.startswith("FAILED"):
        record.fail(f"{target} {number}: {outcome.removeprefix('FAILED ')}")
        return True
    record.count(f"{target}: {outcome}")
    return False


@contextmanager
def _child(
    target: str, seed: int, start: int, until: float
) -> Iterator[tuple[subprocess.Popen[str], Iterator[str]]]:
    command = [sys.executable, __file__, "--child", target, str(start), str(until)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "--seed", str(seed)],
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("FUZZ_STDERR") else subprocess.DEVNULL,
        text=True,
        env=environment,
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
    os.set_blocking(process.stdout.fileno(), False)
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


# --- the browser ----------------------------------------------------------------------------------


def run_browser(record: Record, seed: int, n_pages: int) -> None:
    """Open reports in Chromium, use them as a reader would, and look for what was planted."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))
    try:
        from browser_page import CHROMIUM, DRIVER, open_file
        from selenium import webdriver
    except ImportError as error:
        record.notes.append(f"No page was opened in a browser: {error}.")
        return
    if not (CHROMIUM and DRIVER):
        record.notes.append("No page was opened in a browser: there is no Chromium here.")
        return
    from fuzz_targets import Reports

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--host-resolver-rules=MAP * ~NOTFOUND"):  # fmt: skip
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=DRIVER)
    browser = webdriver.Chrome(options=options, service=service)
    try:
        with tempfile.TemporaryDirectory() as folder:
            reports = Reports(Path(folder))
            for number in range(n_pages):
                page = Path(folder) / f"{number}.html"
                draw = generator_of(seed, "browser", number)
                page.write_text(reports.page(draw), encoding="utf-8")
                open_file(browser, page)
                hacked = browser.execute_script(USE_THE_PAGE)
                if hacked:
                    record.fail(f"browser {number}: {hacked}")
                record.count("pages opened in Chromium: nothing planted was run")
    finally:
        browser.quit()


USE_THE_PAGE = """
  for (const row of [...document.querySelectorAll("#row-table tbody tr")].slice(0, 10)) row.click();
  for (const one of document.querySelectorAll("button, summary")) {
    if (!one.closest("a")) one.click();
  }
  for (const one of document.querySelectorAll("select")) {
    one.selectedIndex = one.options.length - 1;
    one.dispatchEvent(new Event("change", {bubbles: true}));
  }
  if (window.hacked !== undefined) return "a script of a stranger was run";
  const strange = document.querySelectorAll(
      "img:not([src^='data:']):not([src^='blob:']), iframe, [onerror], [onload]");
  return strange.length ? "markup of a stranger stands on the page" : null;
"""


def main() -> int:
    parser = arguments(__doc__, "fuzz_files", minutes=8)
    parser.add_argument("--pages", type=int, default=36, help="reports opened in Chromium")
    parser.add_argument("--only", choices=list(SHARES), help="one target")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "NUMBER"), help="try one input again")
    parser.add_argument("--child", nargs=3, metavar=("TARGET", "START", "UNTIL"))
    options = parser.parse_args()
    if options.child:
        name, start, until = options.child
        child(name, options.seed, int(start), float(until))
        return 0
    if options.one:
        from fuzz_targets import TARGETS

        name, number = options.one
        with tempfile.TemporaryDirectory() as folder:
            target = TARGETS[name](Path(folder))
            _limit_memory()
            print(target.trial(generator_of(options.seed, name, int(number))))
        return 0
    record = Record("Files from strangers")
    shares = {options.only: 1.0} if options.only else SHARES
    for target, share in shares.items():
        tried = run_target(record, target, options.seed, 60 * options.minutes * share)
        record.count("inputs in all", tried)
        print(f"{target}: {tried:,} inputs, {len(record.failures)} failures so far", flush=True)
    if not options.only:
        run_browser(record, options.seed, options.pages)
    record.write(options.json)
    for failure in record.failures:
        print(failure)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
