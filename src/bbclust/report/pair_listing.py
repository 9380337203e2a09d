"""Which pairs of clusters the page shows, and one sentence for all that are apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.report.sentences import listed

Array = npt.NDArray[np.float64]

LEAST_SHOWN = 0.005  # bits: less would read 0.00
MOST_IN_MATRIX = 20
MOST_LISTED = 10
QUIET = ("separated", "not neighbours")


@dataclass(frozen=True)
class PairListing:
    """What the page shows of the doubt between clusters.

    Attributes
    ----------
    clusters : list of int
        Those that leave doubt with another, in the matrix; empty if they are too many for one.
    matrix : list of lists of float
        Doubt between any two of them.
    listed : list of dict
        Pairs in doubt, and those that are not shown to be apart, the worst first.
    rest : str
        One sentence on all other pairs, empty if there are none.
    """

    clusters: list[int]
    matrix: list[list[float]]
    listed: list[Mapping[str, Any]]
    rest: str


def list_pairs(doubts: Array, pairs: Sequence[Mapping[str, Any]]) -> PairListing:
    """What to show of the doubts of shape (K, K).

    Parameters
    ----------
    doubts : ndarray of shape (K, K)
    pairs : sequence of mappings
        The ``pairs`` of the summary, the worst first; they need not be all.
    """
    n_clusters = len(doubts)
    wavering = [k for k in range(n_clusters) if (doubts[k] >= LEAST_SHOWN).any()]
    in_matrix = wavering if 2 < len(wavering) <= MOST_IN_MATRIX else []
    shown = [pair for pair in pairs if not _is_quiet(pair)][:MOST_LISTED]
    return PairListing(
        in_matrix,
        doubts[np.ix_(in_matrix, in_matrix)].tolist(),
        shown,
        _rest(doubts, pairs, len(shown)),
    )


def _is_quiet(pair: Mapping[str, Any]) -> bool:
    tested = pair["relative_doubt"] is not None
    return pair["doubt"] < LEAST_SHOWN and (pair["verdict"] in QUIET or not tested)


def _rest(doubts: Array, pairs: Sequence[Mapping[str, Any]], n_shown: int) -> str:
    """One sentence on the pairs that are not listed."""
    n_clusters = len(doubts)
    n_rest = n_clusters * (n_clusters - 1) // 2 - n_shown
    if n_rest == 0:
        return ""
    not_listed = [pair for pair in pairs if not _is_quiet(pair)][n_shown:]
    most = max((pair["doubt"] for pair in not_listed), default=float(_largest_quiet(doubts)))
    subject = _subject(n_rest, n_shown)
    verb = "leaves" if n_rest == 1 else "leave"
    if most == 0:
        return f"{subject} {verb} no doubt at all.{_tests(pairs, n_rest)}"
    bound = f"at most {most:.2f}" if most >= LEAST_SHOWN else f"less than {LEAST_SHOWN:g}"
    return f"{subject} {verb} {bound} bits of doubt.{_tests(pairs, n_rest)}"


def _subject(n_rest: int, n_shown: int) -> str:
    other = "other " if n_shown else ""
    if n_rest == 1:
        return f"The {other or 'only '}pair of clusters"
    return (
        f"The {other}{n_rest:,} pairs of clusters"
        if n_shown
        else f"All {n_rest:,} pairs of clusters"
    )


def _largest_quiet(doubts: Array) -> float:
    above = doubts[np.triu_indices(len(doubts), 1)]
    quiet = above[above < LEAST_SHOWN]
    return float(quiet.max()) if len(quiet) else 0.0


def _tests(pairs: Sequence[Mapping[str, Any]], n_rest: int) -> str:
    """What the tests say of quiet pairs, if there were tests and all pairs are known."""
    quiet = [pair for pair in pairs if _is_quiet(pair)]
    counts = Counter(pair["verdict"] for pair in quiet if pair["verdict"] in QUIET)
    if not counts or sum(counts.values()) != n_rest:
        return ""
    if len(counts) == 1 and n_rest == 1:
        return f" The two are {next(iter(counts))}."
    said = [
        f"{counts[verdict]:,} {'is' if counts[verdict] == 1 else 'are'} {verdict}"
        for verdict in QUIET
        if verdict in counts
    ]
    return f" {listed(said)}."
