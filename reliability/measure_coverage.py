"""How much of the package the tests run: at least 95% of lines and 90% of branches.

    python reliability/measure_coverage.py

Also in the programs that tests start. Tests of a full disk are left out: coverage has to write.
Takes two to three times as long as the tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from record import Record, arguments

import bbclust

ROOT = Path(__file__).parents[1]
LINES, BRANCHES = 95.0, 90.0
CONFIGURATION = """\
[run]
branch = True
source = {source}
parallel = True
patch = subprocess
sigterm = True
data_file = {folder}/data

[report]
exclude_also =
    if TYPE_CHECKING:
    ^ *\\.\\.\\.$
"""


def measure(folder: Path) -> tuple[str, dict[str, float]]:
    """What pytest said last, and the totals of coverage."""
    configuration = folder / "configuration"
    source = Path(bbclust.__file__).parent
    configuration.write_text(CONFIGURATION.format(source=source, folder=folder))
    program = [sys.executable, "-m", "coverage"]
    options = [f"--rcfile={configuration}"]
    tests = ["-m", "pytest", "-q", "-n", "logical", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*program, "run", *options, *tests, "-k", "not full_disk"],
        cwd=ROOT,
        env={**os.environ, "COVERAGE_PROCESS_START": str(configuration)},
        capture_output=True,
        text=True,
    )
    # Data of programs that were killed while they wrote are left out.
    subprocess.run([*program, "combine", "-q", *options, str(folder)], cwd=ROOT, check=True)
    found = folder / "found.json"
    subprocess.run([*program, "json", "-q", *options, "-o", str(found)], cwd=ROOT, check=True)
    return done.stdout[-2000:], json.loads(found.read_text())["totals"]


def main() -> None:
    options = arguments(__doc__, "coverage", minutes=60).parse_args()
    record = Record("Lines and branches of the package that tests run")
    with tempfile.TemporaryDirectory() as folder:
        said, totals = measure(Path(folder))
    passed = re.search(r"(\d+) passed", said)
    record.count("tests passed", int(passed[1]) if passed else 0)
    for name in re.findall(r"^(?:FAILED|ERROR) (.*)", said, re.MULTILINE):
        record.fail(name)
    wanted = {"lines": ("statements", "covered_lines", LINES)}
    wanted["branches"] = ("branches", "covered_branches", BRANCHES)
    for what, (number, covered, least) in wanted.items():
        share = 100 * totals[covered] / totals[f"num_{number}"]
        record.count(what, int(totals[f"num_{number}"]))
        record.count(f"{what} that tests run", int(totals[covered]))
        record.notes.append(f"{share:.1f}% of {what}, {least:.0f}% wanted.")
        if share < least:
            record.fail(f"Only {share:.1f}% of {what} are run.")
    record.write(options.json)
    print(record.counts, *record.failures, *record.notes, sep="\n")
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    main()
