"""Advice that can be followed: sentences in the words of the command that was typed.

The library speaks of parameters in Python, and one sentence serves several commands. Here
parameters become options, and a way out that the command does not offer is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# What a parameter of the library is called by the commands, where the names differ.
_OTHER_NAMES = {"n_clusters": "k", "k_range": "k", "n_jobs": "jobs", "random_state": "seed"}
_PARAMETERS = (
    *_OTHER_NAMES,
    *("n_replicas", "n_init", "n_draws", "prior_scales", "prior_scale", "prior_weight"),
    *("resampling", "weighting", "votes", "criterion", "null_reference", "n_resamples"),
    *("min_confidence", "memory_limit"),
)
_PARAMETER = re.compile(
    rf"(?<![\w.'\"-])({'|'.join(_PARAMETERS)})"
    r"(?:=('[^']*'|\"[^\"]*\"|range\(\d+, \d+\)|[^\s,:;()]*[^\s,:;().]))?"
    r"(?![\w'\"])"
)
_RANGE = re.compile(r"range\((?P<first>\d+), (?P<end>\d+)\)")
_OPTION = re.compile(r"(?<![\w'\"-])--([a-z][a-z-]*)")
_TABLE = re.compile(r"(?<!['\"\w])X(?= (?:has|holds|is)\b)|(?<= of )X(?!['\"\w])")

_offered: ContextVar[frozenset[str] | None] = ContextVar("offered", default=None)


@contextmanager
def offering(options: Collection[str]) -> Iterator[None]:
    """Say what the command that runs inside offers: the names of its parameters."""
    before = _offered.set(frozenset(options))
    try:
        yield
    finally:
        _offered.reset(before)


def translate(sentence: str) -> str:
    """A sentence of the library in the words of the command that runs."""
    return speak_of_options(sentence, _offered.get())


def followable(sentence: str) -> str:
    """A sentence without ways out that the command that runs does not offer."""
    offered = _offered.get()
    return sentence if offered is None else drop_other_options(sentence, offered)


def speak_of_options(sentence: str, offered: Collection[str] | None) -> str:
    """Options instead of parameters of Python.

    Parameters
    ----------
    sentence : str
    offered : collection of str, or None
        Names of the command's parameters; None stands for all.

    Examples
    --------
    >>> said = "Memberships are coarse: raise n_replicas, or set votes='all'."
    >>> speak_of_options(said, {"n_replicas", "votes"})
    'Memberships are coarse: raise --n-replicas, or set --votes all.'
    >>> speak_of_options(said, {"n_replicas"})
    'Memberships are coarse: raise --n-replicas.'
    >>> speak_of_options("n_clusters=9 is more than the 4 distinct rows of X.", {"k"})
    '--k 9 is more than the 4 distinct rows of the table.'
    >>> speak_of_options("More may fit: try k_range=range(2, 101).", None)
    'More may fit: try --k 2:100.'
    """
    said = _PARAMETER.sub(_as_option, sentence)
    said = re.sub(r"leave (--[a-z-]+) None\b", r"leave \1 out", said)
    said = _TABLE.sub("the table", said)
    said = said[:1].upper() + said[1:] if sentence[:1].isupper() else said
    return said if offered is None else drop_other_options(said, offered)


def drop_other_options(sentence: str, offered: Collection[str]) -> str:
    """Leave out advice after the last colon that needs an option that is not offered.

    Examples
    --------
    >>> drop_other_options("Row 2 holds 'x': correct it, or --exclude the column.", {"file"})
    "Row 2 holds 'x': correct it."
    """
    fact, colon, advice = sentence.rpartition(": ")
    if not colon or all(_offers(offered, name) for name in _OPTION.findall(advice)):
        return sentence
    clauses = advice.rstrip(".").split(", or ")
    kept = [
        clause
        for clause in clauses
        if all(_offers(offered, name) for name in _OPTION.findall(clause))
    ]
    return f"{fact}: {', or '.join(kept)}." if kept else f"{fact}."


def _offers(offered: Collection[str], option: str) -> bool:
    name = option.replace("-", "_")
    return name in offered or name.removeprefix("no_") in offered


def _as_option(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    option = f"--{_OTHER_NAMES.get(name, name).replace('_', '-')}"
    if value is None:
        return option
    numbers = _RANGE.fullmatch(value)
    if numbers is not None:
        return f"{option} {numbers['first']}:{int(numbers['end']) - 1}"
    return f"{option} {value.strip(chr(39) + chr(34))}"
