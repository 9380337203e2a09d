"""A copy of the sources with an engine of its own: with a sanitizer, with mistakes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind

import bbclust._native

ROOT = Path(__file__).parents[1]
MODULE = f"_engine_portable{sysconfig.get_config_var('EXT_SUFFIX')}"


def build(sources: Path, folder: Path, *, flags: str = "") -> Path:
    """The engine for the portable instruction set, from a tree of sources; the module's path.

    One job at a time and at a low priority: such builds run beside other work. A second call with
    the same folder compiles what has changed.
    """
    if not (folder / "build.ninja").exists():
        options = {
            "CMAKE_BUILD_TYPE": "RelWithDebInfo",  # names of functions, and not stripped
            "CMAKE_CXX_FLAGS": flags,
            "BBCLUST_CXX_FLAGS": "-O1",
            "Python_EXECUTABLE": sys.executable,
            "nanobind_DIR": nanobind.cmake_dir(),
        }
        settings = [f"-D{name}={value}" for name, value in options.items()]
        run(["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(folder), *settings])
    run(["nice", "-n", "2", "cmake", "--build", str(folder), "-j1", "--target", "_engine_portable"])
    return folder / MODULE


def run(command: list[str]) -> None:
    """A command whose output is shown only if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


def copy_sources(to: Path) -> None:
    """Everything that a build and the tests need, without compiled modules."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__", ".hypothesis")
    for folder in ("src", "tests", "reproduction"):
        shutil.copytree(ROOT / folder, to / folder, ignore=ignored)
    for file in ("CMakeLists.txt", "pyproject.toml", "README.md", "Makefile"):
        shutil.copy(ROOT / file, to / file)


def install(module: Path, tree: Path) -> None:
    """Put a built module where the package of a copied tree finds it."""
    shutil.copy(module, tree / "src" / "bbclust" / "_native")


def installed_engine() -> list[Path]:
    """The compiled modules of this environment, one for each instruction set."""
    return list(Path(bbclust._native._engine_portable.__file__).parent.glob("_engine_*"))


# An editable install finds its package before PYTHONPATH is looked at.
NO_EDITABLE_INSTALL = """\
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable_")
]
"""


def environment_of(tree: Path, python: Path | str = sys.executable) -> dict[str, str]:
    """Variables with which a Python takes the package from a copied tree and from nowhere else."""
    sources = tree / "src"
    (sources / "sitecustomize.py").write_text(NO_EDITABLE_INSTALL)
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    show = "import importlib.util; print(importlib.util.find_spec('bbclust').origin)"
    done = subprocess.run(
        [str(python), "-c", show], env=environment, capture_output=True, text=True, check=True
    )
    if not Path(done.stdout.strip()).is_relative_to(sources):
        raise RuntimeError(f"{python} takes the package from {done.stdout.strip()}, not {sources}")
    return environment
