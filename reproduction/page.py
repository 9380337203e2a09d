"""The page, from results alone."""

from __future__ import annotations

from typing import Any

from reproduction.studies import CHAPTERS
from reproduction.summary import summarize

INTRODUCTIONS = {
    "The tables": "",
    "The figures": "",
    "The audit": (
        "What a reader needs to run the method and does not find in the paper, or finds in two "
        "ways; what we chose, and what difference it makes."
    ),
    "Beyond the paper": "",
}


def render(results: dict[str, Any]) -> str:
    """The page in Markdown; the same bytes for the same results."""
    about, studies = results["about"], results["studies"]
    parts = [
        "# The paper, reproduced and audited",
        "F. M. Quetti, S. Figini and E. Ballante: *A Bayesian Approach to Clustering via the "
        "Proper Bayesian Bootstrap: the Bayesian Bagged Clustering (BBC) algorithm*. Every table "
        "and figure, run again over many draws, next to what is printed; then what the paper "
        "leaves open, and three questions that go beyond it.",
        f"This page is generated: `python -m reproduction --{about['effort']}` "
        f"(bbclust {about['bbclust']}, seed {about['seed']}, {about['minutes']:.0f} minutes on "
        f"{about['n_jobs']} processes) measures and writes it, and "
        "`--page paper.json` makes it again from the stored results. `--only table-4` runs one "
        "part.",
        "## What holds, what does not, and how sure that is",
        summarize(studies),
    ]
    for chapter, members in CHAPTERS.items():
        mine = [study for study in members if study.name in studies]
        if mine:
            parts += [f"## {chapter}", INTRODUCTIONS[chapter]]
        for study in mine:
            parts += [f"### {study.title}", study.show(studies[study.name])]
    return "\n\n".join(part for part in parts if part) + "\n"
