"""What other methods say of K, side by side with our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bbclust.selection.criteria import CRITERIA


@dataclass(frozen=True)
class Score:
    """What one method says of one K; ``shade`` is 0 for its worst score and 100 for its best."""

    k: int
    value: float | None
    shade: int
    chosen: bool


@dataclass(frozen=True)
class Method:
    """One row of the comparison."""

    name: str
    is_ours: bool
    best_k: int
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Comparison:
    """All methods over the same K's, and in a sentence how many agree with our choice."""

    k_values: tuple[int, ...]
    methods: tuple[Method, ...]
    sentence: str


def compare_methods(summary: Mapping[str, Any]) -> Comparison | None:
    """The comparison that a summary holds; None without other methods."""
    others, selection = summary["baselines"], summary["selection"]
    if not others:
        return None
    own = {} if selection is None else dict(selection["best_k_by"])
    tried = [] if selection is None else [one["n_clusters"] for one in selection["by_k"]]
    k_values = tuple(
        sorted(
            {*tried, *own.values()}.union(*([*one["k_values"], one["best_k"]] for one in others))
        )
    )
    k = summary["answer"]["n_clusters"]
    agree = sum(one["best_k"] == k for one in others)
    methods = [
        Method(
            CRITERIA[name].title, True, best, _scores(k_values, _own(selection, name), best, True)
        )
        for name, best in own.items()
    ]
    for one in others:
        known = dict(zip(one["k_values"], one["scores"], strict=True))
        scores = _scores(k_values, known, one["best_k"], one["larger_is_better"])
        methods.append(Method(one["name"], False, one["best_k"], scores))
    sentence = (
        f"{agree} of {len(others)} other methods {'chooses' if agree == 1 else 'choose'} {k} too."
    )
    if len(others) == 1:
        sentence = f"The other method chooses {others[0]['best_k']}{' too' if agree else ''}."
    return Comparison(k_values, tuple(methods), sentence)


def _own(selection: Mapping[str, Any], criterion: str) -> dict[int, float]:
    """How often each K wins when the replicas' noise is resampled, for the criterion in use."""
    if criterion != selection["criterion"]:
        return {}
    return {one["n_clusters"]: one["mc_confidence"] for one in selection["by_k"]}


def _scores(
    k_values: Sequence[int],
    known: Mapping[int, float | None],
    best_k: int,
    larger_is_better: bool,
) -> tuple[Score, ...]:
    values = {k: value for k, value in known.items() if value is not None}
    shades = _shades(list(values.values()), larger_is_better)
    shade_of = dict(zip(values, shades, strict=True))
    return tuple(Score(k, values.get(k), shade_of.get(k, 0), k == best_k) for k in k_values)


def _shades(values: Sequence[float], larger_is_better: bool) -> list[int]:
    """From 0 for the worst to 100 for the best, by size."""
    scores = np.array(values) * (1 if larger_is_better else -1)
    if len(scores) == 0 or np.ptp(scores) == 0:
        return [0] * len(scores)
    return [int(shade) for shade in np.round(100 * (scores - scores.min()) / np.ptp(scores))]
