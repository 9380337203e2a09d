"""Oldest and newest dependencies, on each Python: a quick part of the tests, warnings as errors.

    python reliability/versions.py [--pythons python3.11 python3.13] [--minutes 60]

Each pair gets an environment of its own in a temporary folder, with the packages that
pyproject.toml names, pandas for the tests, and nothing optional. A Python other than this one needs
the engine compiled for it, which takes some minutes: one instruction set, one job at a time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from engine_build import copy_sources, environment_of, install, installed_engine
from record import Record, arguments

ROOT = Path(__file__).parents[1]
SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14")
TESTS = (
    "tests/estimators/test_bbc.py",
    "tests/stages",
    "tests/io/test_storage.py",
    "tests/selection/test_selection.py",
)
TOOLS = ("pytest>=8.2", "pytest-xdist>=3.5", "hypothesis>=6.100", "pandas>=2.0")
BUILD_TOOLS = ("cmake>=3.26", "ninja>=1.11", "nanobind>=2.4")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


class FailedCommandError(Exception):
    """A command that ended with an error: its last words."""


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        ["nice", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise FailedCommandError(" ".join((done.stdout + done.stderr).split())[-400:])
    return done.stdout


def dependencies() -> list[str]:
    """Lines of pyproject.toml such as "numpy>=1.24"; tomllib is not in Python 3.10."""
    text = (ROOT / "pyproject.toml").read_text()
    (listed,) = re.findall(r"^dependencies = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    return re.findall(r'"(.+?)"', listed)


def has_wheel(python: Path, release: str) -> bool:
    command = ["-m", "pip", "install", "--dry-run", "--no-deps", "--only-binary", ":all:"]
    try:
        run(str(python), *command, release)
    except FailedCommandError:
        return False
    return True


def oldest_wheel(python: Path, requirement: str) -> str:
    """The first release within a lower bound of which there is a wheel for a Python."""
    name, bound = requirement.split(">=")
    answer = run(str(python), "-m", "pip", "index", "versions", name, "--only-binary", ":all:")
    offered = re.search(r"Available versions: (.*)", answer)
    if offered is None:
        raise FailedCommandError(f"pip offers no version of {name}")

    def parts(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    releases = [v for v in offered[1].split(", ") if re.fullmatch(r"[\d.]+", v)]
    within = sorted((v for v in releases if parts(v) >= parts(bound)), key=parts)
    # Not every index leaves out what there is no wheel of.
    return next(v for v in within if has_wheel(python, f"{name}=={v}"))


def interpreters(wanted: list[str] | None) -> Iterator[tuple[str, str | None]]:
    """Each Python that is supported, this one first, and where it is; None if it is not here."""
    if wanted:
        for path in wanted:
            yield run(path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip(), path
        return
    for version in sorted(SUPPORTED, key=lambda one: one != THIS):
        homes = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
        candidates = [*map(str, homes), shutil.which(f"python{version}")]
        yield version, sys.executable if version == THIS else next(filter(None, candidates), None)


def make_environment(python: str, folder: Path, which: str) -> Path:
    """A new environment with the oldest or the newest packages; its interpreter."""
    run(python, "-m", "venv", str(folder))
    here = folder / "bin" / "python"
    packages = dependencies()
    if which == "oldest":
        packages = [f"{one.split('>=')[0]}=={oldest_wheel(here, one)}" for one in packages]
    command = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", *packages]
    run(str(here), *command, *TOOLS)
    return here


def sources_for(python: Path, version: str, scratch: Path) -> Path:
    """A tree of sources with an engine that a Python can load beside them."""
    tree = scratch / f"sources-{version}"
    if tree.exists():
        return tree
    copy_sources(tree)
    if version == THIS:
        modules = installed_engine()
    else:
        run(str(python), "-m", "pip", "install", "--quiet", *BUILD_TOOLS)
        build = tree / "build"
        tools = str(python.parent) + os.pathsep + os.environ["PATH"]
        found = run(str(python), "-m", "nanobind", "--cmake_dir").strip()
        settings = [f"-DPython_EXECUTABLE={python}", f"-Dnanobind_DIR={found}"]
        settings += ["-DCMAKE_BUILD_TYPE=Release", "-DBBCLUST_CXX_FLAGS=-O1"]
        run("cmake", "-G", "Ninja", "-S", str(tree), "-B", str(build), *settings, PATH=tools)
        run("cmake", "--build", str(build), "-j1", "--target", "_engine_portable", PATH=tools)
        modules = list(build.glob("_engine_portable.*"))
    for module in modules:
        install(module, tree)
    return tree


def run_tests(python: Path, tree: Path, isa: str | None) -> tuple[int, list[str]]:
    """Tests that passed, by the widest instruction set if none is named; names of the others."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-rfE"]
    done = subprocess.run(
        ["nice", str(python), "-m", "pytest", *options, *TESTS],
        cwd=tree,
        env=environment_of(tree, python) | ({"BBCLUST_ISA": isa} if isa else {}),
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
    if done.returncode and not failed:
        failed = [f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}"]
    return int(passed[1]) if passed else 0, failed


def installed(python: Path) -> str:
    """What was tested, in words."""
    listed = json.loads(run(str(python), "-m", "pip", "list", "--format", "json"))
    versions = {one["name"].lower(): one["version"] for one in listed}
    names = [re.split("[>=]", one)[0] for one in dependencies()]
    return ", ".join(f"{name} {versions[name]}" for name in names)


def main() -> int:
    parser = arguments(__doc__, "versions", minutes=60)
    parser.add_argument("--pythons", nargs="+", help="interpreters; all that are found by default")
    options = parser.parse_args()
    record = Record("Oldest and newest dependencies")
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for version, path in interpreters(options.pythons):
            if path is None:
                record.notes.append(f"Python {version} is not on this machine.")
                continue
            for which in ("oldest", "newest"):
                what = f"Python {version}, {which} dependencies"
                if time.monotonic() > end:
                    record.notes.append(f"{what}: not run, time was up.")
                    continue
                try:
                    python = make_environment(path, scratch / f"{version}-{which}", which)
                    tree = sources_for(python, version, scratch)
                    passed, failed = run_tests(
                        python, tree, None if version == THIS else "portable"
                    )
                    record.notes.append(f"{what}: {installed(python)}.")
                except FailedCommandError as error:
                    passed, failed = 0, [f"could not be set up: {error}"]
                record.count(f"{what}: tests passed", passed)
                for name in failed:
                    record.fail(f"{what}: {name}")
                print(f"{what}: {passed} passed, {len(failed)} failed", flush=True)
                record.write(options.json)
    record.write(options.json)
    for failure in record.failures:
        print(failure)
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
