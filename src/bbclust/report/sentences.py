"""The answer in sentences: how many clusters, why, what to doubt, the rows, the worst pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

from bbclust.diagnostics.row_counts import CLEAR_SHARE, FEWEST_VOTES, possible_dissent
from bbclust.percentages import percent

# Rows that a model judges without its votes in the fit, and what model that is.
_JUDGED = {
    "new": "a model fitted on other rows",
    "same": "a model that was fitted on these rows; here all its replicas vote on each of them",
    "unknown": "a model that does not tell which rows it was fitted on",
}


def answer_sentences(
    answer: dict[str, Any],
    n_rows: int,
    stabilities: Sequence[Mapping[str, Any] | None] = (),
) -> list[str]:
    """Sentences from the numbers of the answer, see :func:`bbclust.report.summarize`.

    First what to do and how firm that is, then why, then what to doubt; then how stable the
    division of the rows and its clusters are, and the pair that is hardest to tell apart.
    """
    said = [_how_many(answer, n_rows), _why(answer), _what_to_doubt(answer)]
    stable = [_how_sure(answer, n_rows)]
    # One vote a row repeats itself, and votes that all agree have been spoken of.
    if answer["votes_per_row"] >= 2 and answer["agreed_rows"] < n_rows:
        stable.append(stability_sentence(stabilities))
    return [*filter(None, said), " ".join(filter(None, stable)), pair_sentence(answer)]


def headline(answer: dict[str, Any]) -> str:
    """What to call the result, in a few words after the name of the data."""
    k = answer["n_clusters"]
    clusters = "1 cluster" if k == 1 else f"{k} clusters"
    if answer["rows"] in _JUDGED:
        return f"in the {clusters} of a model"
    if not answer["chosen"]:
        return f"divided into {clusters}"
    shown = answer["choice"]["has_clusters"]
    if k == 1 or shown is False:
        return "no clusters shown"
    return f"in {clusters}" if shown else f"divided into {clusters}, not tested"


def _how_many(answer: dict[str, Any], n_rows: int) -> str:
    k = answer["n_clusters"]
    clusters = "1 cluster" if k == 1 else f"{k} clusters"
    rows = f"{n_rows:,} {'row' if n_rows == 1 else 'rows'}"
    if answer["rows"] in _JUDGED:
        return f"The {rows} were assigned to the {clusters} of {_JUDGED[answer['rows']]}."
    if not answer["chosen"]:
        asked = "" if k == 1 else "; whether there are clusters at all was not asked"
        return f"The {rows} were divided into {clusters}, a number that was given{asked}."
    return str(answer["choice"]["answer"])


def _why(answer: dict[str, Any]) -> str:
    return str(answer["choice"]["reasons"]) if _is_chosen(answer) else ""


def _what_to_doubt(answer: dict[str, Any]) -> str:
    if not _is_chosen(answer):
        return ""
    choice, k = answer["choice"], answer["n_clusters"]
    said, others = choice["doubts"], choice["other_methods"]
    if others is not None and others["mostly"] != k and 2 * others["agree"] < others["n"]:
        said += (
            f" Of {others['n']} other methods {others['agree'] or 'none'} "
            f"{'agrees' if others['agree'] <= 1 else 'agree'}; "
            f"most often they choose {others['mostly']}."
        )
    return str(said).strip()


def _is_chosen(answer: dict[str, Any]) -> bool:
    return bool(answer["chosen"]) and answer["rows"] not in _JUDGED


def _how_sure(answer: dict[str, Any], n_rows: int) -> str:
    if answer["n_clusters"] == 1:
        return "All rows are in the one cluster."
    agreed, between, noise = (
        answer[name] for name in ("agreed_rows", "rows_in_between", "noise_rows")
    )
    votes = answer["votes_per_row"]
    if votes < 2:
        return (
            "A row has one vote, which nothing can contradict: how stable the division is cannot "
            "be told (run more replicas)."
        )
    if agreed == n_rows and votes < FEWEST_VOTES:
        return f"All votes agree on every row, but they are few.{_caution(votes)}"
    if agreed == n_rows:
        return "All votes agree on every row, so the division is stable."
    some = f"{between:,} ({percent(between / n_rows)})" if between else "none"
    all_agree = f"All votes agree on {agreed:,} of the rows ({percent(agreed / n_rows)})"
    return (
        f"{all_agree if agreed else 'On no row do all votes agree'}; "
        f"{some} {'lies' if between <= 1 else 'lie'} in between, where no cluster has "
        f"{percent(CLEAR_SHARE)} of the votes"
        + (f", {noise:,} of them in no cluster at all." if noise else ".")
        + " Votes tell how stable the division is, not how likely a row belongs to a group."
        + _caution(votes)
    )


def _caution(votes: float) -> str:
    """How little it says that so few votes agree on a row; empty if they are many enough."""
    if votes >= FEWEST_VOTES:
        return ""
    return (
        f" Where {votes:g} votes agree, up to {percent(possible_dissent(votes))} of others may not "
        "(at 95%): run more replicas."
    )


def stability_sentence(stabilities: Sequence[Mapping[str, Any] | None]) -> str:
    """In how many replicas clusters are found again: the most and the least stable one.

    One share for all where the replicas do not tell these two apart, by the errors of both shares
    at 95%. Nothing of one cluster, and of clusters of which nothing is known.

    Examples
    --------
    >>> from bbclust.report.sentences import stability_sentence
    >>> stability_sentence([{"recovered": share, "recovered_se": 0.03} for share in (0.97, 0.41)])
    'Cluster 0 is found again in 97% of the random variations of the data, cluster 1 in 41%.'
    """
    known = [(k, one) for k, one in enumerate(stabilities) if one is not None]
    if len(known) < 2:
        return ""
    least, lowest = min(known, key=lambda pair: pair[1]["recovered"])
    most, highest = max(known, key=lambda pair: pair[1]["recovered"])
    variations = "of the random variations of the data"
    error = hypot(lowest["recovered_se"], highest["recovered_se"])
    if highest["recovered"] - lowest["recovered"] <= 1.96 * error:
        every = "Every cluster" if len(known) == len(stabilities) else "Every cluster looked at"
        share = "all" if lowest["recovered"] == 1 else f"at least {percent(lowest['recovered'])}"
        return f"{every} is found again in {share} {variations}."
    others = {2: "", 3: "; the share of the other lies between these"}.get(
        len(known), "; the shares of the others lie between these"
    )
    return (
        f"Cluster {most} is found again in {percent(highest['recovered'])} {variations}, cluster "
        f"{least} in {percent(lowest['recovered'])}{others}."
    )


def pair_sentence(answer: dict[str, Any]) -> str:
    """Which two clusters are hardest to tell apart, and how hard."""
    pair = answer["worst_pair"]
    if pair is None:
        return "There is no second cluster to confuse it with."
    if answer["votes_per_row"] < 2:
        return "Nor can it be told which clusters are hard to tell apart."
    if pair["doubt"] == 0:
        return "No votes waver between any two clusters."
    first, second = pair["clusters"]
    two = answer["n_clusters"] == 2
    of = "The two clusters" if two else f"Clusters {first} and {second}, hardest to tell apart,"
    if pair["relative_doubt"] is None:
        return f"{of} leave {pair['doubt']:.2f} bits of doubt, where 1 is a coin toss."
    return (
        f"{of} are {pair['verdict']}: they leave {pair['relative_doubt']:.2g} times the doubt of "
        "two halves of one cloud like them."
    )


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    Examples
    --------
    >>> from bbclust.report.sentences import listed
    >>> listed(["2", "3", "4"])
    '2, 3 and 4'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
