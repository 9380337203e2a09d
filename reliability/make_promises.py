"""Make docs/promises.md: each promise, the tests that prove it, and what long checks counted.

    python reliability/make_promises.py

Tests are counted as pytest collects them now; long checks are what reliability/results/ holds, and
what they found stands in found.md. A test of a promise that does not exist is an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "promises.md"


class Promise(NamedTuple):
    """A sentence, and the tests of it: files, or tests in a file ("file::name")."""

    sentence: str
    tests: tuple[str, ...]


PROMISES = (
    Promise(
        "The same seed gives the same bits for any number of threads, block size and order of "
        "blocks, and after `add_replicas`.",
        ("tests/ensemble/test_same_bits.py",),
    ),
    Promise(
        "A selection that was stopped or killed goes on to the same bits; damaged files are "
        "computed again.",
        ("tests/selection/test_checkpoint.py", "tests/cli/test_cli_resume.py"),
    ),
    Promise(
        "Dask gives the bits of the local twin, also when a worker is lost, or ends with a "
        "sentence.",
        (
            "tests/dask/test_in_memory.py",
            "tests/dask/test_partitioned.py",
            "tests/dask/test_faults.py",
        ),
    ),
    Promise(
        "The engine computes what slow Python from the definitions computes.",
        (
            "tests/stages/test_oracle.py",
            "tests/stages/test_draws.py",
            "tests/stages/test_alignment.py",
            "tests/stages/test_kmeans.py",
            "tests/stages/test_entropy_and_votes.py",
            "tests/native/test_shorts.py",
            "tests/dask/test_cluster_moments.py",
        ),
    ),
    Promise(
        "Random numbers are those of Philox, word for word those of numpy.",
        ("tests/stages/test_rng.py",),
    ),
    Promise(
        "scikit-learn's checks of estimators pass.",
        ("tests/estimators/test_estimator_contract.py",),
    ),
    Promise(
        "Bad input gets a sentence with the value and the remedy.",
        ("tests/estimators/test_bad_input.py", "tests/cli/test_cli_bad_input.py"),
    ),
    Promise(
        "Extreme but valid numbers give a result or a sentence, no NaN and no warning of numpy.",
        ("tests/estimators/test_odd_but_valid_input.py", "tests/estimators/test_numerical_edge.py"),
    ),
    Promise(
        "Memberships sum to one, entropies keep their bounds, and tables that are permuted, "
        "shifted or scaled act as they must.",
        ("tests/properties",),
    ),
    Promise(
        "Ctrl-C ends a fit soon and leaves a model that can be fitted.",
        ("tests/ensemble/test_interrupt.py",),
    ),
    Promise(
        "Model files are whole or not there, come back to the bit, and are safe to open.",
        ("tests/io/test_storage.py", "tests/io/test_hostile_files.py"),
    ),
    Promise(
        "Memory grows with the rows, not with their square.",
        (
            "tests/estimators/test_bbc.py::test_memory_does_not_grow",
            "tests/baselines/test_baselines.py::test_many_rows_take_little_memory",
        ),
    ),
    Promise(
        "A figure has one value, wherever the report, the summary and the terminal say it.",
        ("tests/report/test_one_value.py",),
    ),
    Promise(
        "Every public name is documented, with the defaults of its signature and an example that "
        "runs.",
        ("tests/test_docstrings.py",),
    ),
    Promise(
        "Commands of README and Start run, their figures are those of the benchmarks, links lead "
        "somewhere.",
        ("tests/test_pages.py",),
    ),
    Promise(
        "A prior, a display, a criterion, an executor or a clusterer of one's own is one file.",
        ("tests/skeletons", "tests/test_extensions.py"),
    ),
    Promise(
        "The mistakes that `make mutate` plants fit the sources as they are.",
        ("tests/test_mutations.py",),
    ),
)

HEAD = """# What is promised, and what proves it

Made by `python reliability/make_promises.py`: tests as they are collected, long checks as they last
ran. Long checks have time limits of their own and are not part of the default suite.

## Promises

"""


def collect() -> Counter[str]:
    """Tests of the default suite, by file and by function without its parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    counts: Counter[str] = Counter()
    for line in listed.splitlines():
        file, found, name = line.partition("::")
        if found:
            function = name.partition("[")[0]
            counts.update([file, f"{file}::{function}"])
            counts.update(str(folder) for folder in Path(file).parents)
    return counts


def count_tests(place: str, counts: Counter[str]) -> int:
    """Tests in a folder, a file, or with a name that starts so."""
    if "::" not in place:
        return counts[place]
    return sum(number for name, number in counts.items() if name.startswith(place))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def tell_promises(counts: Counter[str]) -> str:
    rows = []
    for promise in PROMISES:
        numbers = {place: count_tests(place, counts) for place in promise.tests}
        missing = [place for place, number in numbers.items() if number == 0]
        if missing:
            raise SystemExit(f"No test is collected from {', '.join(missing)}.")
        places = ", ".join(f"`{place}`" for place in promise.tests)
        rows.append([promise.sentence, places, f"{sum(numbers.values()):,}"])
    return table(["promise", "tests", "how many"], rows)


def tell_check(found: dict[str, Any]) -> str:
    counted = table(
        ["what", "how often"], [[what, f"{n:,}"] for what, n in found["counts"].items()]
    )
    minutes = f"{found['minutes']:g} minutes, Python {found['python']}, {found['machine']}."
    failed = [f"- {sentence}" for sentence in found["failures"]] or ["Nothing failed."]
    notes = [f"- {note}" for note in found["notes"]]
    parts = [f"### {found['title']}", minutes, counted, "\n".join(failed)]
    return "\n\n".join([*parts, "\n".join(notes)] if notes else parts)


def main() -> None:
    counts = collect()
    records = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    checks = "\n\n".join(tell_check(record) for record in records)
    total = f"\n\n{counts['tests']:,} tests are collected in all.\n\n## Long checks\n\n"
    found = (Path(__file__).parent / "found.md").read_text()
    PAGE.write_text(HEAD + tell_promises(counts) + total + checks + "\n\n" + found)


if __name__ == "__main__":
    main()
