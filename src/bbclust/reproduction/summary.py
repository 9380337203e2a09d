"""The beginning of the page: all that follows in two tables."""

from __future__ import annotations

from bbclust.reproduction.claims import CLAIMS, Judge
from bbclust.reproduction.markdown import table
from bbclust.reproduction.open_questions import OPEN_QUESTIONS
from bbclust.reproduction.study import Result


def summarize(studies: Result) -> str:
    """What holds of what the paper says, and what we find where it says nothing."""
    said = _rows(studies, CLAIMS)
    asked = _rows(studies, OPEN_QUESTIONS)
    parts = []
    if said:
        parts += [
            table(["the paper", "here", "evidence"], said, align="lll"),
            "*Holds*: in at least 95% of single draws, too. *Holds on average*: for the mean over "
            "draws, but not in 95% of single ones. *Does not hold*: not for the mean over draws "
            "either. Brackets are 95% intervals.",
        ]
    if asked:
        parts.append(table(["left open", "what we find", "evidence"], asked, align="lll"))
    return "\n\n".join(parts)


def _rows(studies: Result, judges: tuple[tuple[tuple[str, ...], Judge], ...]) -> list[list[str]]:
    claims = [
        judge(*(studies[name] for name in needs))
        for needs, judge in judges
        if all(name in studies for name in needs)
    ]
    return [[claim.said, f"**{claim.verdict}**", claim.evidence] for claim in claims]
