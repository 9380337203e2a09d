"""Properties on many random tables, and lives of a model: tests/properties with other seeds.

Rounds of the thorough profile of Hypothesis, one test after the other, until the minutes are over:
``python reliability/properties.py --minutes 5 --seed 0``. What is tried depends on the seed alone;
how many rounds there are depends on the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).resolve().parents[1]
TESTS = sorted((ROOT / "tests" / "properties").glob("test_*.py"))


def names_of_tests() -> list[str]:
    """Every test, by the name that pytest knows it by."""
    done = run_pytest(["--collect-only", *map(str, TESTS)], timeout=600)
    return [line for line in done.splitlines() if "::" in line]


def run_pytest(options: list[str], *, timeout: float) -> str:
    """What a run prints; a test that takes longer is ended, and what it tried does not count."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "thorough"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=timeout, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return "out of time"
    return done.stdout


def main() -> int:
    options = arguments(__doc__, "properties", minutes=5).parse_args()
    record = Record("Properties of fits on random tables, and lives of a model")
    end = time.monotonic() + 60 * options.minutes
    names = names_of_tests()
    number, failed = 0, set()
    while time.monotonic() < end:
        seed, name = options.seed + number // len(names), names[number % len(names)]
        number += 1
        printed = run_pytest(
            [f"--hypothesis-seed={seed}", "--hypothesis-show-statistics", name],
            timeout=max(1.0, end - time.monotonic()),
        )
        if printed == "out of time":
            break
        short = name.partition("::")[2].replace("TestLife::runTest", "lives of a model")
        for passed, broken in re.findall(r"(\d+) passing(?: examples)?, (\d+) failing", printed):
            record.count(short, int(passed))
            record.count("examples in all", int(passed) + int(broken))
        if re.search(r"\d+ (failed|error)", printed) and short not in failed:
            failed.add(short)
            record.fail(f"{short} with seed {seed}: {last_words(printed)}")
    record.write(options.json)
    print(record.counts, record.failures, sep="\n")
    return 1 if record.failures else 0


def last_words(printed: str) -> str:
    """The falsifying example, or the last line."""
    example = r"(?:Falsifying example|Failing test case):.*?\n(?:E +)?\)"
    found = re.search(example, printed, re.DOTALL)
    return " ".join(found.group().split()) if found else printed.strip().splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
