"""The answer in three sentences: how many clusters, how sure of the rows, which pair is worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbclust.diagnostics.row_counts import CLEAR_SHARE
from bbclust.selection.criteria import CRISP_BITS

# Above half a bit per vote, the rows of two clusters are nearer to a coin toss than to a decision.
MIXED_BITS = 0.5


def pair_verdict(doubt: float) -> str:
    """What the doubt between two clusters, in bits per vote, means."""
    if doubt <= CRISP_BITS:
        return "well separated"
    if doubt <= MIXED_BITS:
        return "overlapping"
    return "hardly separate"


def answer_sentences(answer: dict[str, Any], n_rows: int) -> list[str]:
    """Three sentences from the numbers of the answer, see :func:`bbclust.report.summarize`."""
    return [_how_many(answer, n_rows), _how_sure(answer, n_rows), _worst_pair(answer)]


def _how_many(answer: dict[str, Any], n_rows: int) -> str:
    k = answer["n_clusters"]
    clusters = "1 cluster" if k == 1 else f"{k} clusters"
    rows = f"{n_rows:,} {'row' if n_rows == 1 else 'rows'}"
    if answer["rows"] == "new":
        return f"The {rows} were assigned to the {clusters} of a model fitted on other rows."
    if not answer["chosen"]:
        return f"The {rows} were divided into {clusters}, a number that was given, not chosen."
    sentence = f"{clusters} fit the {rows} best"
    ties = [str(other) for other in answer["tied_k"] if other != k]
    if ties:
        sentence += f", tied with {listed(ties)} within Monte-Carlo error"
    if answer["confidence"] is not None:
        sentence += f"; half-samples of the rows agree {answer['confidence']:.0%} of the time"
        if answer["half_samples_choose"] != k:
            sentence += f" and mostly choose {answer['half_samples_choose']}"
    tendency = answer["cluster_tendency"]
    if tendency is None:
        return sentence + "."
    if tendency <= 0.05:
        return sentence + f"; data without clusters rarely look like this (p = {tendency:.2g})."
    return (
        sentence + f"; but data without clusters look like this too (p = {tendency:.2g}): take "
        "them as a convenience, not as a finding."
    )


def _how_sure(answer: dict[str, Any], n_rows: int) -> str:
    if answer["n_clusters"] == 1:
        return "All rows belong to the one cluster, without doubt."
    agreed, between, noise = (
        answer[name] for name in ("agreed_rows", "rows_in_between", "noise_rows")
    )
    if agreed == n_rows:
        return "All votes agree on every row."
    some = f"{between:,} ({between / n_rows:.0%})" if between else "none"
    return (
        f"All votes agree on {agreed:,} of the rows ({agreed / n_rows:.0%}); "
        f"{some} {'lies' if between <= 1 else 'lie'} in between, where no cluster has "
        f"{CLEAR_SHARE:.0%} of the votes"
        + (f", {noise:,} of them in no cluster at all." if noise else ".")
    )


def _worst_pair(answer: dict[str, Any]) -> str:
    pair = answer["worst_pair"]
    if pair is None:
        return "There is no second cluster to confuse it with."
    if pair["doubt"] == 0:
        return "No votes waver between any two clusters: all are well separated."
    first, second = pair["clusters"]
    bits = f"{pair['doubt']:.2f} bits of doubt, where 1 is a coin toss"
    if answer["n_clusters"] == 2:
        return f"The two clusters are {pair['verdict']}: {bits}."
    return (
        f"The pair hardest to tell apart, clusters {first} and {second}, is {pair['verdict']}: "
        f"{bits}."
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
