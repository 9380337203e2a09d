"""The answer of the library in the words of the command: how to try other numbers of clusters."""

from __future__ import annotations

import re
from typing import Any

_K_RANGE = re.compile(r"k_range=(?:'(?P<word>\w+)'|range\((?P<first>\d+), (?P<end>\d+)\))")


def name_options(said: Any) -> Any:
    """The same with ``--k`` in all sentences that speak of ``k_range``.

    Parameters
    ----------
    said : plain data
        A sentence, or a list or dict that has some.

    Examples
    --------
    >>> from bbclust.cli.output.choice_words import name_options
    >>> name_options({"sentences": ["Try k_range='auto'.", "Try k_range=range(2, 101)."]})
    {'sentences': ['Try --k auto.', 'Try --k 2:100.']}
    """
    if isinstance(said, str):
        return _K_RANGE.sub(_option, said)
    if isinstance(said, list):
        return [name_options(one) for one in said]
    if isinstance(said, dict):
        return {key: name_options(one) for key, one in said.items()}
    return said


def _option(match: re.Match[str]) -> str:
    return f"--k {match['word'] or '{}:{}'.format(match['first'], int(match['end']) - 1)}"
