"""What a long check found: one JSON file per check in reliability/results/.

``make_promises.py`` puts the files together into docs/promises.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

import bbclust

RESULTS = Path(__file__).parent / "results"


@dataclass
class Record:
    """Counts of one check, and what failed.

    ``counts`` says what was tried and how often, in words that stand in a table
    ("model files opened": 20000). ``failures`` are sentences, each of one thing that broke a
    promise; an empty list is what is wanted. ``notes`` say what could not be run, and why.
    """

    title: str
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic, repr=False)

    @classmethod
    def resumed(cls, path: Path) -> Record:
        """What an earlier run has written, to add to."""
        found = json.loads(path.read_text())
        started = time.monotonic() - 60 * found["minutes"]
        kept = {name: found[name] for name in ("title", "counts", "failures", "notes")}
        return cls(**kept, started=started)

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + times

    def fail(self, sentence: str) -> None:
        self.failures.append(sentence)

    def write(self, path: Path) -> None:
        found = {
            "title": self.title,
            "counts": self.counts,
            "failures": self.failures,
            "notes": self.notes,
            "minutes": round((time.monotonic() - self.started) / 60, 1),
            "bbclust": bbclust.__version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
        }
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=2) + "\n")


def arguments(doc: str | None, name: str, *, minutes: float) -> argparse.ArgumentParser:
    """The options that every check has: how long it may take, its seed, and where it writes."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=minutes, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULTS / f"{name}.json")
    return parser
