"""The beginning of the page: all that follows in a few lines and two tables."""

from __future__ import annotations

from reproduction.claims import (
    CLAIMS,
    FAILS,
    HOLDS,
    IN_PART,
    MANY,
    ON_AVERAGE,
    Claim,
    Judge,
)
from reproduction.markdown import joined, table
from reproduction.open_questions import OPEN_QUESTIONS
from reproduction.spread import NORMAL_95
from reproduction.study import Result

HEADINGS = {
    HOLDS: "Holds",
    ON_AVERAGE: "Holds for the average over draws, not for every draw",
    IN_PART: "Holds in part",
    FAILS: "Does not hold",
}


def summarize(studies: Result) -> str:
    """What holds of what the paper says, and what we find where it says nothing."""
    said = _judge(studies, CLAIMS)
    asked = _judge(studies, OPEN_QUESTIONS)
    parts = []
    if said:
        parts += [
            "\n".join([*short_lines(said), *how_sure(studies)]),
            "Claim by claim:",
            table(["the paper", "here", "evidence"], _rows(said), align="lll"),
            "*Holds*: in at least 95% of single draws, too. *Holds on average*: for the mean over "
            "draws, but not in 95% of single ones. *Does not hold*: not for the mean over draws "
            "either. *Holds in part*: for some of the values, data sets or measures. Brackets are "
            "95% intervals; B is the number of replicas.",
        ]
    if asked:
        parts.append("Question by question, where the paper is silent:" if said else "")
        parts.append(table(["left open", "what we find", "evidence"], _rows(asked), align="lll"))
    return "\n\n".join(part for part in parts if part)


def short_lines(claims: list[Claim]) -> list[str]:
    """What holds, on average, in part, and what does not."""
    lines = []
    for outcome, heading in HEADINGS.items():
        topics = [claim.topic for claim in claims if claim.outcome == outcome]
        if topics:
            lines += [f"- **{heading}:**", *(f"  - {topic}" for topic in topics)]
    return lines


def how_sure(studies: Result) -> list[str]:
    """How many draws that rests on, if there is all of it."""
    if not {"table-4", "table-5", "figure-3"} <= studies.keys():
        return []
    tables = [
        row["variants"][MANY] for name in ("table-4", "table-5") for row in studies[name]["rows"]
    ]
    n_draws = [tables[0]["n_draws"], studies["figure-3"]["n_draws"]]
    points = [f"{100 * NORMAL_95 * 0.5 / n**0.5:.0f}" for n in n_draws]
    lead = min(one["lead"]["mean"] / max(one["lead"]["se"], 1e-9) for one in tables)
    return [
        f"- **How sure:** tables rest on {n_draws[0]} fresh draws of each data set, figures on "
        f"{n_draws[1]}, so that a share of draws is known to within {joined(points)} points or "
        f"better (95%). On the averaged curves of Tables 4 and 5 the true K is ahead of the next "
        f"one by {lead:.1f} standard errors or more. All of this is about the method as we read "
        "it. Where the paper leaves something open, other readings give other values, and the "
        "audit shows them; which one the authors used we cannot know."
    ]


def _judge(studies: Result, judges: tuple[tuple[tuple[str, ...], Judge], ...]) -> list[Claim]:
    return [
        judge(*(studies[name] for name in needs))
        for needs, judge in judges
        if all(name in studies for name in needs)
    ]


def _rows(claims: list[Claim]) -> list[list[str]]:
    return [[claim.said, f"**{claim.verdict}**", claim.evidence] for claim in claims]
