"""What a selection shows in a notebook: the verdict, neighbours, and the curves over K."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bbclust import notebook

if TYPE_CHECKING:
    from bbclust.selection.verdict import Verdict

PAIRS = 8  # neighbours that are shown
MEASURES = {
    "max_pairwise_entropy": "maximum pairwise entropy, bits",
    "mean_entropy": "mean entropy, bits",
}


def verdict_parts(verdict: Verdict) -> str:
    """The sentences and the neighbouring clusters."""
    pairs = [
        (" and ".join(map(str, test.clusters)), test.verdict, f"{test.relative_doubt:.2f}")
        for test in verdict.pairs[:PAIRS]
    ]
    return (
        notebook.answer(verdict.answer())
        + notebook.sentences(" ".join(filter(None, (verdict.reasons(), verdict.doubts()))))
        + notebook.table(
            ("neighbours", "verdict", "relative doubt"),
            pairs,
            "Neighbouring clusters, the least apart first",
        )
    )


def curves_of(curves: Mapping[str, Any], chosen: int) -> str:
    """Both measures of the paper over K, at the smallest prior scale."""
    scale = min(curves["prior_scale"])
    here = np.asarray(curves["prior_scale"]) == scale
    k_values = np.asarray(curves["n_clusters"])[here].tolist()
    measures = {words: np.asarray(curves[name])[here].tolist() for name, words in MEASURES.items()}
    caption = f"Entropies by number of clusters at prior scale {scale:g}; {chosen} is chosen."
    return notebook.curve(k_values, measures, chosen, caption)
