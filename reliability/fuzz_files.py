"""Files from strangers: a result or one sentence, nothing run, nothing escaped, memory bounded.

Inputs are tried in child processes with a limit on memory and on the time of every input. An input
is made from the seed, the target's name and its number alone: ``--one "model files" 123`` makes it
again and shows what it raises.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from children import SCRATCH, generator_of, limit_memory, limit_time, run_target, serve, told
from record import Record, arguments

MEMORY = 2**31  # bytes above what a child has before the first input
CPU_SECONDS = 60  # of one input: what is computed, however busy the machine is
# Share of the time, and inputs that are tried however long they take.
PLAN = {
    "model files": (0.2, 1000),
    "checkpoint files": (0.13, 200),
    "damaged tables": (0.25, 1000),
    "hostile tables": (0.15, 1000),
    "bombs and extents": (0.12, 40),
    "reports": (0.05, 20),
    "commands": (0.1, 60),
}
# What nothing that is read may do.
FORBIDDEN = ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn",
             "os.fork", "socket.connect", "ctypes.dlopen")  # fmt: skip


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


def child(name: str, seed: int, start: int, until: float, at_least: int) -> None:
    """Try inputs from number ``start`` on."""
    from fuzz_targets import TARGETS

    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        tempfile.tempdir = folder
        target = TARGETS[name](Path(folder))
        with suppress(Exception):
            target.trial(generator_of(seed, name, 2**40))  # what is imported late
        watch = Watch(Path(folder))
        limit_memory(MEMORY)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        serve(lambda number: _try(target, name, seed, number, watch), start, until, at_least)


def _try(target: Any, name: str, seed: int, number: int, watch: Watch) -> str:
    """In a word what came of an input, or "FAILED" and why."""
    watch.seen.clear()
    limit_time(CPU_SECONDS)
    watch.on = True
    try:
        outcome: str = target.trial(generator_of(seed, name, number))
    except MemoryError:
        # Archives may unpack to two gigabytes, which is more than a child has.
        may = name in ("bombs and extents", "damaged tables")
        outcome = "refused for want of memory" if may else "FAILED for want of memory"
    except BaseException as error:
        outcome = told(error)
    finally:
        watch.on = False
    if watch.seen:
        return f"FAILED by what it made the process do: {watch.seen[0]}"
    return outcome


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
    parser.add_argument("--only", choices=list(PLAN), help="one target")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "NUMBER"), help="try one input again")
    parser.add_argument("--child", nargs=4, metavar=("TARGET", "START", "UNTIL", "AT_LEAST"))
    options = parser.parse_args()
    if options.child:
        name, start, until, at_least = options.child
        child(name, options.seed, int(start), float(until), int(at_least))
        return 0
    if options.one:
        from fuzz_targets import TARGETS

        name, number = options.one
        with tempfile.TemporaryDirectory() as folder:
            target = TARGETS[name](Path(folder))
            limit_memory(MEMORY)
            print(target.trial(generator_of(options.seed, name, int(number))))
        return 0
    record = Record("Files from strangers")
    plan = {options.only: (1.0, 0)} if options.only else PLAN
    for target, (share, at_least) in plan.items():
        seconds = 60 * options.minutes * share
        tried = run_target(record, __file__, target, options.seed, seconds, at_least)
        record.count("inputs in all", tried)
        print(f"{target}: {tried:,} inputs, {len(record.failures)} failures so far", flush=True)
    if not options.only:
        run_browser(record, options.seed, options.pages)
    record.notes.append(
        "Tables that are read have at most 300 columns here: each takes some ten milliseconds, so "
        "that 100,000 would take a quarter of an hour or more."
    )
    record.write(options.json)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
