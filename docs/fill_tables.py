"""Put a generated table into the page of docs/, README.md or joss/paper.md that has its markers.

python docs/fill_tables.py k_recovery < recovery.md
python docs/fill_tables.py k_and_n < k_and_n.md
python docs/fill_tables.py answer_cost < answer_cost.md
python docs/fill_tables.py k_calibration < calibration.md
python docs/fill_tables.py calibrate_confidence < calibrate_confidence.md
python docs/fill_tables.py bagging_accuracy < bagging.md
python docs/list_options.py | python docs/fill_tables.py options
python docs/list_files.py | python docs/fill_tables.py files
python docs/list_facts.py | python docs/fill_tables.py facts
python docs/list_facts.py answers | python docs/fill_tables.py joss_facts
python docs/fill_tables.py any_clusterer < any_clusterer.md
python docs/fill_tables.py missing_values < missing.md
python docs/fill_tables.py calibrate_belonging < belonging.md
python docs/fill_tables.py reference_search < reference_search.md
python docs/fill_tables.py trimming < trimming.md
python docs/fill_tables.py calibrate_errors < errors.md
python docs/fill_tables.py calibrate_stability < stability.md
python docs/fill_tables.py unanimous_rows < unanimous.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def fill(marker: str, table: str) -> None:
    """Write the page that has the marker."""
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- end -->)", re.DOTALL)
    others = [FOLDER.parent / "README.md", FOLDER.parent / "joss" / "paper.md"]
    candidates = [*others, *sorted(FOLDER.glob("*.md"))]
    pages = [page for page in candidates if pattern.search(page.read_text())]
    if len(pages) != 1:
        sys.exit(f"{len(pages)} pages have a place marked <!-- {marker} -->.")
    filled = pattern.sub(
        lambda found: f"{found[1]}{table.strip()}\n{found[2]}", pages[0].read_text()
    )
    pages[0].write_text(filled)


if __name__ == "__main__":
    fill(sys.argv[1], sys.stdin.read())
