"""Print the figures of README.md and joss/paper.md, from what the benchmarks found.

python docs/list_facts.py | python docs/fill_tables.py facts
python docs/list_facts.py answers | python docs/fill_tables.py joss_facts
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from make_readme import geometric_mean, load_grids, ratio  # noqa: E402  # found by the path above

SHOWN = ("auto (default)", "prediction strength", "gap", "Calinski-Harabasz", "silhouette")


def right_answers() -> list[str]:
    """How often methods find the true number of clusters, from the table of choosing_k.md."""
    page = (ROOT / "docs" / "choosing_k.md").read_text(encoding="utf-8")
    table = page[page.index("### All rows with clusters") :]
    found = dict(re.findall(r"^\| (.+?) \| \d+ \| (0\.\d+) \|", table, flags=re.MULTILINE))
    tables = re.search(r"^\| auto \(default\) \| (\d+) \|", table, flags=re.MULTILINE)
    assert tables is not None
    head = f"| true number of clusters found, mean over {tables[1]} kinds of tables | share |"
    names = [name.replace("auto (default)", "**bbclust**") for name in SHOWN]
    return [
        head,
        "|---|---|",
        *(f"| {name} | {float(found[key]):.0%} |" for name, key in zip(names, SHOWN, strict=True)),
    ]


def speeds() -> list[str]:
    """How many times as fast the engine is as a loop over scikit-learn's k-means."""
    grids = load_grids()
    isas = [isa for isa in grids[0][0]["seconds"] if isa != "sklearn"]
    shapes = len([one for one in grids[0] if one["dtype"] == "float64"])
    lines = [
        f"| times as fast as a loop of scikit-learn's `KMeans(n_init=5)` on the same replicas, "
        f"one thread, {shapes} random shapes | float64 | float32 |",
        "|---|---|---|",
    ]
    for isa in isas:
        means = []
        for dtype in ("float64", "float32"):
            chosen = [
                geometric_mean([ratio(one, isa) for one in grid if one["dtype"] == dtype])
                for grid in grids
                if isa in grid[0]["seconds"]
            ]
            means.append(f"{np.median(chosen):.0f}")
        lines.append(f"| {isa} | {' | '.join(means)} |")
    return lines


def list_facts() -> str:
    """Both tables."""
    return "\n".join([*right_answers(), "", *speeds()])


if __name__ == "__main__":
    print("\n".join(right_answers()) if sys.argv[1:] == ["answers"] else list_facts())
