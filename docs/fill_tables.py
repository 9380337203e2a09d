"""Put generated tables into docs/choosing_k.md, between their markers.

python docs/fill_tables.py k_recovery < recovery.md
python docs/fill_tables.py k_calibration < calibration.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "choosing_k.md"


def main() -> None:
    """Read a table and write the page."""
    marker, table = sys.argv[1], sys.stdin.read().strip()
    page = PAGE.read_text()
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- end -->)", re.DOTALL)
    filled, count = pattern.subn(lambda found: f"{found[1]}{table}\n{found[2]}", page)
    if count != 1:
        sys.exit(f"{PAGE.name} has no place marked <!-- {marker} -->.")
    PAGE.write_text(filled)


if __name__ == "__main__":
    main()
