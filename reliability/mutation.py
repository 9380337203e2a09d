"""Do the tests notice mistakes? Mutations are made one at a time, and each must make a test fail.

A mutation that survives is a test that is missing.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine_build import (
    ROOT,
    build,
    copy_sources,
    environment_of,
    install,
    installed_engine,
)
from mutations import CPP, NATIVE, PYTHON, Mutation
from record import Record, arguments

# One unit of C++ may take a minute beside other work; a mistake may make a test run for ever.
TIME_LIMIT = 300


class Trial:
    """A copy of the sources, in which mistakes are made and tests run."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.objects = folder / "tree", folder / "build"
        copy_sources(self.tree)

    def use_engine_in_place(self) -> None:
        """The compiled engine of this environment, for mistakes in Python."""
        for module in installed_engine():
            install(module, self.tree)

    def compile(self) -> None:
        """The engine from the sources as they are now."""
        install(build(self.tree, self.objects), self.tree)

    def object_of(self, unit: str) -> Path:
        return self.objects / f"CMakeFiles/_engine_portable.dir/{NATIVE}/{unit}.o"

    def passes(self, tests: str) -> bool:
        """Whether pytest ends well; a mistake may also end it by a signal or for lack of time."""
        environment = environment_of(self.tree)
        if any(self.objects.glob("build.ninja")):
            environment["BBCLUST_ISA"] = "portable"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *shlex.split(tests)],
                cwd=self.tree, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        if done.returncode not in (0, 1) and done.returncode > 0:
            raise RuntimeError(f"pytest {tests} did not run any test:\n{done.stdout[-2000:]}")
        return done.returncode == 0

    def survives(self, mutation: Mutation) -> bool:
        path = self.tree / mutation.file
        before = path.read_text()
        if before.count(mutation.old) != 1:
            raise RuntimeError(f"{mutation.file} does not hold {mutation.old!r} once")
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_text(before.replace(mutation.old, mutation.new))
        os.utime(
            path, ns=times
        )  # not newer than what was compiled: ninja makes what is missing only
        kept = [self.object_of(unit) for unit in mutation.units]
        try:
            for compiled in kept:
                compiled.rename(compiled.with_suffix(".kept"))
            if kept:
                self.compile()
            return self.passes(mutation.tests)
        finally:
            path.write_text(before)
            os.utime(path, ns=times)
            for compiled in kept:
                compiled.with_suffix(".kept").replace(compiled)


def main() -> None:
    parser = arguments(__doc__, "mutation", minutes=60)
    parser.add_argument("--only", choices=["python", "cpp"], help="mistakes in one language")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    record = Record("Mistakes in engine and stages that the tests notice")
    with tempfile.TemporaryDirectory() as folder:
        for name, mutations in {"python": PYTHON, "cpp": CPP}.items():
            if options.only in (None, name):
                trial = Trial(Path(folder) / name)
                if name == "python":
                    trial.use_engine_in_place()
                else:
                    trial.compile()
                run(trial, mutations, record, end)
    record.write(options.json)
    print(record.counts, *record.failures, *record.notes, sep="\n")
    sys.exit(bool(record.failures))


def run(trial: Trial, mutations: tuple[Mutation, ...], record: Record, end: float) -> None:
    """All mistakes in one language, each by the tests that should notice it."""
    for number, mutation in enumerate(mutations):
        if time.monotonic() > end:
            record.notes.append(f"No time for {len(mutations) - number} mutations.")
            return
        language = "C++" if mutation.units else "Python"
        record.count(f"mistakes in {language}")
        if trial.survives(mutation):
            record.fail(f"{mutation.file}: no test notices that {mutation.breaks}.")
            print("SURVIVED", end=" ")
        else:
            record.count(f"mistakes in {language} noticed")
        print(f"{mutation.file}: {mutation.breaks}", flush=True)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
