"""The engine on processors that are not this one: compiled for them, run by an emulator."""

import shutil
import subprocess

import numpy as np
import pytest
from native_code import COMPILER, HEADERS, HERE

ARM_COMPILER, ARM = "aarch64-linux-gnu-g++", "qemu-aarch64"


def found(compiler, folder, *run, options=()):
    """What the program prints, a line for each of its cases."""
    program = folder / compiler.rsplit("/", 1)[-1]
    command = [compiler, "-std=c++20", "-O1", "-pthread", *options, f"-I{HEADERS}"]
    subprocess.run([*command, str(HERE / "whole_engine.cpp"), "-o", str(program)], check=True)
    output = subprocess.run([*run, str(program)], check=True, capture_output=True, text=True).stdout
    return [np.array(line.split(), dtype=float) for line in output.splitlines()]


@pytest.mark.skipif(
    COMPILER is None or not shutil.which(ARM_COMPILER) or not shutil.which(ARM),
    reason=f"needs a compiler, {ARM_COMPILER} and {ARM}",
)
def test_aarch64_finds_what_this_processor_finds(tmp_path):
    here = found(COMPILER, tmp_path)
    there = found(ARM_COMPILER, tmp_path, ARM, options=["-static"])
    assert len(here) == len(there) == 4
    for one, other in zip(here, there, strict=True):
        # draws from the prior are rounded to single precision, by other instructions
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)
