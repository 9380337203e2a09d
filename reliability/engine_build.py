"""The compiled engine, built apart from the installed one: with a sanitizer, or with mistakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind

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
    shutil.copy(module, tree / "src" / "bbclust" / "_native" / MODULE)
