"""The engine's tests on builds with AddressSanitizer, ThreadSanitizer and UBSan: no report.

Needs gcc with its sanitizers. Python itself is not instrumented: what is found is of the engine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine_build import ROOT, build, copy_sources, environment_of, install, run
from record import Record, arguments

# Of UBSan's checks three are left out: of pointers and alignment, since AddressSanitizer sees what
# goes wrong there and they make the compiler take many times as long.
FLAGS = {
    "address": "-fsanitize=address -fno-omit-frame-pointer",
    "thread": "-fsanitize=thread",
    "undefined": "-fsanitize=undefined -fno-sanitize=null,alignment,object-size",
}
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so", "undefined": "libubsan.so"}

# Those with several threads first. Tests that compile C++ or start other programs are left out:
# these would run with the sanitizer's library too.
TESTS = {
    "address": (
        "tests/native/test_engine_arguments.py",
        "tests/stages/test_missing_values.py",
        "tests/stages/test_alignment.py",
        "tests/stages/test_rng.py",
        "tests/stages/test_precision.py",
        "tests/stages/test_trimming.py",
        "tests/stages/test_kmeans.py",
        "tests/stages/test_entropy_and_votes.py",
        "tests/stages/test_draws.py",
        "tests/ensemble/test_same_bits.py -k 'not process and not instruction'",
        "tests/stages/test_oracle.py",
    ),
    "thread": (
        "tests/ensemble/test_same_bits.py -k 'threads'",
        "tests/stages/test_missing_values.py -k 'threads'",
        "tests/stages/test_kmeans.py -k 'threads or scikit or hand'",
        "tests/estimators/test_missing.py -k 'threads'",
        "tests/stages/test_trimming.py -k 'threads'",
        "tests/ensemble/test_interrupt.py",
    ),
}
TESTS["undefined"] = TESTS["address"]

# Clocks of tests mean nothing here.
FILE_LIMIT = 1800


def preload(sanitizer: str) -> str:
    """The library of the sanitizer, and that of C++: Python has none whose throw it could find."""
    names = (LIBRARIES[sanitizer], "libstdc++.so")
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout
        for name in names
    ]
    return " ".join(path.strip() for path in found)


def settings_of(sanitizer: str, reports: Path) -> dict[str, str]:
    """Reports go to files of their own, whatever pytest does with the output."""
    # Memory that Python keeps until it ends is no leak of the engine. More than there is may be
    # asked for: that is refused.
    options = {
        "address": "detect_leaks=0:allocator_may_return_null=1",
        "thread": f"suppressions={ROOT}/reliability/tsan_suppressions.txt:"
        "ignore_noninstrumented_modules=1:allocator_may_return_null=1",
        "undefined": "print_stacktrace=1",
    }
    name = {"address": "ASAN", "thread": "TSAN", "undefined": "UBSAN"}[sanitizer]
    return {f"{name}_OPTIONS": f"{options[sanitizer]}:log_path={reports}/report"}


def environment(sanitizer: str, tree: Path, reports: Path) -> dict[str, str]:
    return {
        **environment_of(tree),
        **settings_of(sanitizer, reports),
        "LD_PRELOAD": preload(sanitizer),
        "PYTHONMALLOC": "malloc",
        "BBCLUST_ISA": "portable",
    }


def notices_a_mistake(sanitizer: str, folder: Path, tree: Path) -> bool:
    """Whether a library with a mistake, called from Python as the engine is, leads to a report."""
    library, reports = folder / "mistake.so", folder / "expected"
    reports.mkdir(exist_ok=True)
    source = ROOT / "reliability" / "mistakes.cpp"
    options = ["-std=c++20", "-O1", "-g", "-pthread", "-shared", "-fPIC"]
    run(["g++", *options, *FLAGS[sanitizer].split(), str(source), "-o", str(library)])
    call = f"import ctypes; ctypes.CDLL({str(library)!r}).{sanitizer}_mistake(100)"
    subprocess.run(
        [sys.executable, "-c", call], env=environment(sanitizer, tree, reports), capture_output=True
    )
    return bool(found_in(reports))


def run_tests(sanitizer: str, tree: Path, reports: Path, record: Record, end: float) -> None:
    """Test files one after the other, until the time is over."""
    for tests in TESTS[sanitizer]:
        if time.monotonic() > end:
            record.notes.append(f"No time for {tests} with the sanitizer of {sanitizer}.")
            continue
        command = f"{sys.executable} -m pytest -q -p no:cacheprovider {tests}"
        try:
            done = subprocess.run(
                command, shell=True, cwd=tree, env=environment(sanitizer, tree, reports),
                capture_output=True, text=True, timeout=FILE_LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            record.fail(f"{tests} with the sanitizer of {sanitizer} did not end.")
            continue
        passed = re.search(r"(\d+) passed", done.stdout)
        record.count(
            f"tests passed with the sanitizer of {sanitizer}", int(passed[1]) if passed else 0
        )
        print(sanitizer, tests, done.stdout.splitlines()[-1:], done.stderr[-300:], flush=True)
        if done.returncode:
            record.fail(f"{tests} with the sanitizer of {sanitizer}: {done.stdout[-1500:]}")


def run_fuzz(sanitizer: str, tree: Path, reports: Path, record: Record) -> None:
    """Calls that do not fit: what reads beyond an array by a little does not crash by itself."""
    script, count = ROOT / "reliability" / "fuzz_engine.py", 5000
    done = subprocess.run(
        [sys.executable, str(script), "--case", "0", "--count", str(count)],
        env=environment(sanitizer, tree, reports), capture_output=True, text=True,
    )  # fmt: skip
    record.count(f"calls that do not fit with the sanitizer of {sanitizer}", count)
    if done.returncode:
        record.fail(f"fuzz_engine.py with the sanitizer of {sanitizer}: {done.stdout[-200:]}")


def found_in(reports: Path) -> list[str]:
    """What sanitizers found, once each; not that a call asked in vain for memory."""
    texts = [file.read_text(errors="replace") for file in sorted(reports.glob("report*"))]
    pattern = re.compile(r"^(?:.*runtime error:.*|SUMMARY: .*)$", flags=re.MULTILINE)
    return list(dict.fromkeys(line for text in texts for line in pattern.findall(text)))


def run_without_python(sanitizer: str, folder: Path, reports: Path, record: Record) -> None:
    """The engine from a table to votes on two threads, with nothing else that a sanitizer sees."""
    source, program = ROOT / "tests" / "native" / "whole_engine.cpp", folder / "whole_engine"
    headers = ROOT / "src" / "bbclust" / "_native"
    options = ["-std=c++20", "-O1", "-g", "-pthread", *FLAGS[sanitizer].split(), f"-I{headers}"]
    run(["nice", "-n", "2", "g++", *options, str(source), "-o", str(program)])
    settings = {**os.environ, **settings_of(sanitizer, reports)}
    done = subprocess.run([str(program)], env=settings, capture_output=True, text=True)
    record.count(f"runs without Python with the sanitizer of {sanitizer}")
    if done.returncode or len(done.stdout.splitlines()) != 4:
        record.fail(f"whole_engine.cpp with the sanitizer of {sanitizer}: {done.stderr[-1500:]}")


def check(sanitizer: str, folder: Path, record: Record, end: float) -> None:
    tree, reports = folder / "tree", folder / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    run_without_python(sanitizer, folder, reports, record)
    if time.monotonic() > end:
        record.notes.append(f"No time for tests with the sanitizer of {sanitizer}.")
    else:
        if not tree.exists():
            copy_sources(tree)
            install(build(tree, folder / "build", flags=FLAGS[sanitizer]), tree)
        record.count("builds with a sanitizer")
        if notices_a_mistake(sanitizer, folder, tree):
            record.count("mistakes on purpose that a sanitizer noticed")
        else:
            record.fail(f"The sanitizer of {sanitizer} does not notice a mistake on purpose.")
        run_fuzz(sanitizer, tree, reports, record)
        run_tests(sanitizer, tree, reports, record, end)
    for line in found_in(reports):
        record.fail(f"{sanitizer}: {line}")


def main() -> None:
    parser = arguments(__doc__, "sanitize", minutes=120)
    parser.add_argument("--only", choices=list(FLAGS), action="append", help="one of the builds")
    parser.add_argument("--folder", type=str, help="keep the builds there")
    options = parser.parse_args()
    started = time.monotonic()
    record = Record("The engine's tests on builds with sanitizers")
    chosen = options.only or list(FLAGS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for number, sanitizer in enumerate(chosen, start=1):
            end = started + 60 * options.minutes * number / len(chosen)
            check(sanitizer, folder / sanitizer, record, end)
    record.write(options.json)
    print(record.counts, *record.failures, *record.notes, sep="\n")
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
