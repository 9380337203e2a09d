"""Kill one analysis at random moments, resume it each time, and compare the results.

python benchmarks/kill_and_resume.py [--kills 20] [--rows 2000] [--seed 0]

One `bbclust analyze` runs uninterrupted. Another gets SIGKILL again and again, each time after a
random share of the time that is left, and is continued by `--resume`. All files must come out the
same, byte for byte.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OPTIONS = ["--k", "2:8", "--n-resamples", "10", "--null-reference", "5", "--quiet"]


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bbclust", "analyze", "rows.npy", "--out", "out", *OPTIONS]
    return subprocess.Popen([*command, *options], cwd=folder)


def finish(folder: Path, *options: str) -> float:
    """Run to the end; the seconds it took."""
    began = time.monotonic()
    code = start(folder, *options).wait()
    if code != 0:
        sys.exit(f"The analysis ended with code {code}.")
    return time.monotonic() - began


def kill_at_random(folder: Path, seconds: float, dice: random.Random, resume: bool) -> str | None:
    """Start or resume, and kill after a random time; what was found then, None if it had ended."""
    program = start(folder, *(["--resume"] if resume else []))
    moment = dice.uniform(0, seconds)
    try:
        program.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        program.kill()
    code = program.wait()
    if code == 0:
        return None
    if code != -signal.SIGKILL:
        sys.exit(f"The analysis ended with code {code}.")
    cells = len(list(folder.rglob("[!.]*.cell")))
    place = "results in place, " if (folder / "out").exists() else ""
    return f"{moment:6.2f} s: {place}{cells} cells kept"


def differing(whole: Path, resumed: Path) -> list[str]:
    names = sorted(path.name for path in whole.iterdir())
    if names != sorted(path.name for path in resumed.iterdir()):
        return ["the names of the files"]
    return [name for name in names if (whole / name).read_bytes() != (resumed / name).read_bytes()]


def resume_and_compare(resumed: Path, copy: Path, whole: Path) -> list[str]:
    """Resume a copy to its end; in what it differs from the uninterrupted run."""
    shutil.copytree(resumed, copy)
    finish(copy, "--resume")
    different = differing(whole / "out", copy / "out")
    if sorted(path.name for path in copy.iterdir()) != ["out", "rows.npy"]:
        different.append("what is left beside them")
    shutil.rmtree(copy)
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    generator = np.random.default_rng(arguments.seed)
    X = generator.normal(size=(arguments.rows, 4))
    X += 3 * generator.integers(0, 4, size=(arguments.rows, 1))
    with tempfile.TemporaryDirectory() as temporary:
        whole, resumed = Path(temporary, "whole"), Path(temporary, "resumed")
        for folder in (whole, resumed):
            folder.mkdir()
            np.save(folder / "rows.npy", X)
        seconds = finish(whole)
        print(f"uninterrupted {seconds:.1f} s")
        kills = bad = 0
        while kills < arguments.kills:
            # the first kills come early and the last ones late, so that all steps are met
            share = (kills + 1) / arguments.kills
            found = kill_at_random(resumed, share * seconds, dice, resume=kills > 0)
            if found is not None:
                kills += 1
                print(f"kill {kills:3d} after {found}", flush=True)
                different = resume_and_compare(resumed, Path(temporary, "copy"), whole)
                bad += bool(different)
                if different:
                    print(f"  resumed to the end, {', '.join(different)} differ", flush=True)
            if (resumed / "out").exists():  # nothing is left to kill: once more from the start
                shutil.rmtree(resumed / "out")
    print(f"{arguments.kills} kills, {bad} final results differ from the uninterrupted one")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
