"""C++ of the tests, compiled against the headers of the engine alone."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEADERS = HERE.parents[1] / "src" / "bbclust" / "_native"
COMPILERS = filter(shutil.which, filter(None, [os.environ.get("CXX"), "c++", "g++", "clang++"]))
COMPILER = next(COMPILERS, None)


def compiled(source: str, folder: Path, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The functions of a file beside this one."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler: neither $CXX nor c++, g++, clang++")
    library = folder / Path(source).with_suffix(".so")
    options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", f"-I{HEADERS}", *flags]
    subprocess.run([COMPILER, *options, str(HERE / source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))
