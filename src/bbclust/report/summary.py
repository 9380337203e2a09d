"""summarize: an analysis as plain data, which is also what ``summary.json`` holds.

``docs/summary_schema.md`` describes every field. A field that is taken away or changes its meaning
raises :data:`SCHEMA`; new fields do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import adjusted_rand_score

from bbclust.baselines import KChoice
from bbclust.report.analysis import Analysis, Findings
from bbclust.report.profiles import Profiles, make_profiles
from bbclust.report.sentences import answer_sentences
from bbclust.selection.criteria import CRITERIA
from bbclust.selection.k_selector import KSelector
from bbclust.selection.splits import PairTest, mean_doubts
from bbclust.selection.verdict import UNTESTED, most_chosen
from bbclust.stages.entropies import mean_pairwise_entropy, pair_doubts, worst_pair
from bbclust.version import RESULTS

Array = npt.NDArray[np.float64]

SCHEMA = 3
N_UNCERTAIN = 10
N_TELLING = 10
N_PAIRS = 200


def summarize(findings: Findings) -> dict[str, Any]:
    """All that was found, as numbers, strings, lists and dicts that JSON can hold.

    Numbers that do not exist (the standard error for rows that were not fitted, the mean of a
    cluster without rows) are None. There is no NaN and no infinity.

    Parameters
    ----------
    findings : Analysis, or Findings
        The latter have no clusters, and their summary nothing that is about clusters.

    Returns
    -------
    dict
        Its keys are described in ``docs/summary_schema.md``.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import gather, summarize
    >>> iris = load_iris()
    >>> model = BBC(3, random_state=0).fit(iris.data)
    >>> summary = summarize(gather(model, iris.data, columns=iris.feature_names))
    >>> summary["answer"]["sizes"]
    [61, 50, 39]
    >>> print(summary["answer"]["sentences"][0])  # doctest: +NORMALIZE_WHITESPACE
    The 150 rows were divided into 3 clusters, a number that was given; whether there are clusters
    at all was not asked.
    """
    summary: dict[str, Any] = as_plain(
        {
            "schema": SCHEMA,
            "results_version": RESULTS,
            "data": _data(findings),
            **(_clustering(findings) if isinstance(findings, Analysis) else _choice(findings)),
            "selection": None
            if findings.selector is None
            else summarize_selection(findings.selector, _shares(findings)),
            "settings": findings.settings,
            "seed": _seed(findings),
            "versions": findings.versions,
            "files": findings.files,
            "notes": findings.notes,
        }
    )
    return summary


def as_plain(value: Any) -> Any:
    """The same as JSON can hold it; what is neither number nor text becomes text."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value  # numpy's strings too
    if isinstance(value, np.bool_ | np.ndarray):
        return as_plain(value.tolist())
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): as_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset | range):
        return [as_plain(one) for one in value]
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, **as_plain(value.get_params(deep=False))}
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    text = str(value)
    return type(value).__name__ if " at 0x" in text else text


def uncertain_order(analysis: Analysis) -> npt.NDArray[np.int64]:
    """Rows from the least to the most certain; among equals the first row first."""
    return np.argsort(-analysis.entropy, kind="stable")


def _data(findings: Findings) -> dict[str, Any]:
    return {
        "source": findings.source,
        "n_rows": findings.n_rows,
        "sampled_rows": None if len(findings.X) == findings.n_rows else len(findings.X),
        "dropped_rows": findings.dropped_rows,
        "missing_values": _missing_values(findings),
        "first_row": findings.first_row,
        "columns": findings.columns,
        "set_aside": [
            {"column": column, "reason": reason} for column, reason in findings.set_aside.items()
        ],
        "audit": findings.audit,
        "id_column": None if findings.ids is None else findings.id_name,
        "scaling": findings.scaling,
        "fingerprint": findings.fingerprint,
    }


def _missing_values(findings: Findings) -> list[dict[str, Any]]:
    """How many values each column misses, if it misses any."""
    counts = np.isnan(findings.X).sum(axis=0).tolist()
    by_column = zip(findings.columns, counts, strict=True)
    return [{"column": column, "count": count} for column, count in by_column if count]


def _choice(findings: Findings) -> dict[str, Any]:
    """The answer when K was chosen and nothing was clustered."""
    selector = findings.selector
    if selector is None:
        raise ValueError("Nothing was clustered and no K chosen: there is nothing to summarize.")
    verdict = selector.verdict_
    return {
        "answer": {
            "sentences": [
                sentence
                for sentence in (verdict.answer(), verdict.reasons(), verdict.doubts())
                if sentence
            ],
            "n_clusters": selector.best_k_,
            "chosen": True,
            "tied_k": selector.tied_k_,
        }
    }


def _clustering(analysis: Analysis) -> dict[str, Any]:
    """The answer, and what is to be said of the clusters."""
    weights = analysis.row_weights()
    doubts = cluster_doubts(analysis)
    entropies = mean_pairwise_entropy(analysis.memberships, weights)
    profiles = make_profiles(analysis.values, analysis.labels, analysis.n_clusters)
    clusters = _clusters(analysis, profiles)
    answer = _answer(analysis, doubts, entropies, weights)
    answer["sentences"] = answer_sentences(
        answer, analysis.n_rows, [one["stability"] for one in clusters]
    )
    return {
        "answer": answer,
        "clusters": clusters,
        "pairs": _pairs(doubts, entropies, _pair_tests(analysis)),
        "truth": _truth(analysis),
        "baselines": _baselines(analysis),
        "sensitivity": _sensitivity(analysis),
    }


def cluster_doubts(analysis: Analysis) -> Array:
    """Doubt between every two clusters, in bits, shape (K, K).

    If K was chosen, that of the selection, by which the pairs were judged and the worst one named;
    else that of the memberships.
    """
    selector, k = analysis.selector, analysis.n_clusters
    if selector is not None and k in selector.grid_.k_values:
        return mean_doubts(selector.grid_, k)
    return pair_doubts(analysis.memberships, analysis.row_weights())


def _shares(findings: Findings) -> list[float] | None:
    """Shares of the clusters of the final division, if these rows were divided."""
    if not isinstance(findings, Analysis) or not findings.is_training:
        return None
    return [size / findings.n_rows for size in findings.count_rows().sizes.tolist()]


def _votes_per_row(analysis: Analysis) -> float:
    """Votes that half of the rows have at most."""
    if analysis.is_training and analysis.whole is None:
        return float(np.median(analysis.model.n_votes_))
    return float(analysis.model.n_replicas_)  # all of them vote


def _mean_entropy(analysis: Analysis, weights: Array | None) -> float:
    if analysis.whole is not None:
        return float(analysis.whole.entropies.sum() / analysis.whole.n_rows)
    return float(np.average(analysis.entropy, weights=weights))


def _answer(
    analysis: Analysis, doubts: Array, entropies: Array, weights: Array | None
) -> dict[str, Any]:
    counts, k = analysis.count_rows(), analysis.n_clusters
    answer: dict[str, Any] = {
        "n_clusters": k,
        "chosen": analysis.selector is not None,
        "rows": _whose_rows(analysis),
        **_confidence(analysis.selector, k),
        "choice": _words_of_choice(analysis),
        "sizes": counts.sizes,
        "noise_rows": int((analysis.labels < 0).sum()),
        "votes_per_row": _votes_per_row(analysis),
        "agreed_rows": counts.agreed_rows,
        "rows_in_between": counts.rows_in_between,
        "mean_entropy": _mean_entropy(analysis, weights),
        "mean_entropy_se": _error_of_fit(analysis, "mean_entropy_se_"),
        "mean_entropy_interval": _entropy_interval(analysis),
        "largest_possible_entropy": float(np.log2(k)),
        "max_pairwise_entropy": None,
        "worst_pair": None,
        "most_uncertain": [
            _row(analysis, int(row)) for row in uncertain_order(analysis)[:N_UNCERTAIN]
        ],
    }
    widest, worst = worst_pair(entropies), worst_pair(doubts)
    if widest is not None and worst is not None:
        answer["max_pairwise_entropy"] = {
            "value": entropies[widest],
            "clusters": widest,
        }
        answer["worst_pair"] = _pair(worst, doubts, entropies, _pair_tests(analysis))
    return answer


def _whose_rows(analysis: Analysis) -> str:
    if analysis.is_training:
        return "fitted"
    return {True: "same", False: "new", None: "unknown"}[analysis.same_rows]


def _confidence(selector: KSelector | None, k: int) -> dict[str, Any]:
    """How sure it is that there are K clusters; None for what was not asked."""
    sure: dict[str, Any] = {
        "confidence": None,
        "half_samples_choose": None,
        "mc_confidence": None,
        "tied_k": [k],
        "cluster_tendency": None,
    }
    if selector is None:
        return sure
    sure["mc_confidence"] = selector.mc_confidence_[selector.best_k_]
    sure["tied_k"] = selector.tied_k_
    sure["cluster_tendency"] = selector.cluster_tendency_
    shares = selector.confidence_
    if shares is not None:
        sure["confidence"] = shares[selector.best_k_]
        sure["half_samples_choose"] = most_chosen(shares, selector.best_k_)
    return sure


def _words_of_choice(analysis: Analysis) -> dict[str, Any] | None:
    """How K was chosen, in words, and what other methods choose; None if it was given."""
    if analysis.selector is None:
        return None
    others, verdict = analysis.baselines, analysis.selector.verdict_
    choices = [] if others is None else [choice.best_k for choice in others]
    return {
        "answer": verdict.answer(),
        "reasons": verdict.reasons(),
        "doubts": verdict.doubts(),
        "has_clusters": verdict.has_clusters,
        "groups": verdict.groups(),
        "other_methods": None
        if not choices
        else {
            "n": len(choices),
            "agree": choices.count(verdict.best_k),
            "mostly": max(sorted(set(choices)), key=choices.count),
        },
    }


def _error_of_fit(analysis: Analysis, name: str) -> float | None:
    """A Monte-Carlo error of the model, which is about the rows of its fit only."""
    error: float | None = getattr(analysis.model, name, None) if analysis.is_training else None
    return error


def _entropy_interval(analysis: Analysis) -> tuple[float, float] | None:
    """Where the mean entropy of the rows of the fit would be by ever more replicas."""
    if not analysis.is_training or not hasattr(analysis.model, "mean_entropy_bias_"):
        return None
    low, high = analysis.model.mean_entropy_interval()
    return None if np.isnan(low) else (low, high)


def _row(analysis: Analysis, row: int) -> dict[str, Any]:
    return {
        "row": int(analysis.number_rows(np.array(row))),
        "id": None if analysis.ids is None else _name(analysis.ids[row]),
        "cluster": analysis.labels[row],
        "entropy": analysis.entropy[row],
        "memberships": analysis.memberships[row],
    }


def _name(value: Any) -> Any:
    """An id or a class as it is written: a number, a text, or None for what is missing."""
    name = as_plain(value)
    return name if name is None or isinstance(name, str | int | float) else str(name)


def _clusters(analysis: Analysis, profiles: Profiles) -> list[dict[str, Any]]:
    counts = analysis.count_rows()
    stabilities = _stabilities(analysis)
    return [
        {
            "cluster": k,
            "size": size,
            "share": size / analysis.n_rows,
            "mean_entropy": counts.entropies[k] / size if size else None,
            "stability": stabilities[k],
            "center": profiles.means[k],
            "profile": [
                {
                    "column": analysis.columns[j],
                    "mean": profiles.means[k, j],
                    "mean_of_rest": profiles.means_of_rest[k, j],
                    "difference": profiles.differences[k, j],
                }
                for j in profiles.most_telling(k, N_TELLING)
            ],
        }
        for k, size in enumerate(counts.sizes.tolist())
    ]


def _stabilities(analysis: Analysis) -> list[dict[str, Any] | None]:
    """How often each cluster is found again; None where the model cannot say it of these rows."""
    if not (analysis.is_training and analysis.model.has_rows_of_fit):
        return [None] * analysis.n_clusters
    found = analysis.model.cluster_stability()
    names = ("jaccard", "jaccard_se", "recovered", "recovered_se", "n_replicas")
    return [
        as_plain({name: getattr(found, name)[k] for name in names}) if found.n_replicas[k] else None
        for k in range(analysis.n_clusters)
    ]


def _pair_tests(analysis: Analysis) -> dict[tuple[int, int], PairTest] | None:
    """Pairs that were compared with one cloud; None if K was not chosen or nothing compared."""
    selector = analysis.selector
    if selector is None or not selector.verdict_.pairs:
        return None
    return {test.clusters: test for test in selector.verdict_.pairs}


def _pairs(
    doubts: Array, entropies: Array, tests: dict[tuple[int, int], PairTest] | None
) -> list[dict[str, Any]]:
    """Pairs of clusters, the worst told apart first."""
    first, second = np.triu_indices(len(doubts), 1)
    order = np.argsort(-doubts[first, second], kind="stable")
    pairs = ((int(first[i]), int(second[i])) for i in order)
    return [_pair(pair, doubts, entropies, tests) for pair in islice(pairs, N_PAIRS)]


def _pair(
    pair: tuple[int, int],
    doubts: Array,
    entropies: Array,
    tests: dict[tuple[int, int], PairTest] | None,
) -> dict[str, Any]:
    test = None if tests is None else tests.get(pair)
    untested = UNTESTED if tests is None else "not neighbours"
    return {
        "clusters": pair,
        "doubt": doubts[pair],
        "entropy": entropies[pair],
        "relative_doubt": None if test is None else test.relative_doubt,
        "p_value": None if test is None else test.p_value,
        "verdict": untested if test is None else test.verdict,
    }


def summarize_selection(
    selector: KSelector, shares: Sequence[float] | None = None
) -> dict[str, Any]:
    """How K was chosen, see ``selection`` in ``docs/summary_schema.md``.

    ``shares``: those of the clusters of the chosen K, if all rows were divided into these.
    """
    curves = selector.curves_
    return {
        "best_k": selector.best_k_,
        "criterion": selector.criterion,
        "best_k_by": {name: selector.best_k_by_[name] for name in CRITERIA},
        "n_draws": selector.n_draws_,
        "n_sample": selector.n_sample_,
        "impossible_k": selector.impossible_k_,
        "by_k": [
            {
                "n_clusters": verdict.n_clusters,
                "kind": verdict.kind,
                "verdict": str(verdict),
                "score": selector.scores_[verdict.n_clusters],
                "score_difference_se": selector.scores_se_[verdict.n_clusters],
                "mc_confidence": selector.mc_confidence_[verdict.n_clusters],
                "confidence": None
                if selector.confidence_ is None
                else selector.confidence_[verdict.n_clusters],
                "worst_pair": verdict.worst_pair,
                "doubt": verdict.doubt,
                "doubt_se": verdict.doubt_se,
                "cut_ratio": verdict.cut_ratio,
                "splits": [asdict(split) for split in verdict.splits],
                "mean_entropy": verdict.mean_entropy,
                "merged_mean_entropy": verdict.merged_mean_entropy,
                "shares": verdict.sizes
                if shares is None or verdict.n_clusters != selector.best_k_
                else shares,
                "parents": verdict.parents,
            }
            for verdict in selector.verdict_.by_k
        ],
        "curves": [
            {name: column[cell] for name, column in curves.items()}
            for cell in range(len(curves["n_clusters"]))
        ],
    }


def _truth(analysis: Analysis) -> dict[str, Any] | None:
    """Known classes against clusters, over the rows whose class is known."""
    if analysis.truth is None:
        return None
    names = [_name(value) for value in analysis.truth]
    known = np.array([name not in (None, "") for name in names])
    labels = analysis.labels[known]
    # Numbers by size, then texts.
    classes = sorted({n for n in names if n not in (None, "")}, key=lambda n: (type(n) is str, n))
    numbers = {name: code for code, name in enumerate(classes)}
    codes = np.array([numbers[name] for name in names if name in numbers], dtype=np.int64)
    counts = np.zeros((len(classes), analysis.n_clusters + 1), dtype=np.int64)
    np.add.at(counts, (codes, labels + 1), 1)
    return {
        "column": analysis.truth_name,
        "classes": [str(name) for name in classes],
        "contingency": counts[:, 1:],
        "unknown_rows": int((~known).sum()),
        "adjusted_rand_index": float(adjusted_rand_score(codes, labels)) if len(labels) else None,
    }


def _baselines(analysis: Analysis) -> list[dict[str, Any]] | None:
    if analysis.baselines is None:
        return None
    return [summarize_choice(choice) for choice in analysis.baselines]


def _sensitivity(analysis: Analysis) -> dict[str, Any] | None:
    found = analysis.sensitivity
    if found is None:
        return None
    return {"statement": found.statement(), "settings": [asdict(one) for one in found.variations]}


def summarize_choice(choice: KChoice) -> dict[str, Any]:
    """What another method says, see ``baselines`` in ``docs/summary_schema.md``."""
    fields = ("name", "best_k", "larger_is_better", "k_values", "scores", "errors")
    return {field: getattr(choice, field) for field in fields}


def _seed(findings: Findings) -> int | None:
    """The ``random_state`` that repeats the analysis, if it was a number."""
    model = findings.model if isinstance(findings, Analysis) else None
    estimator = model if findings.selector is None else findings.selector
    seed = getattr(estimator, "random_state", None)
    return int(seed) if isinstance(seed, Integral) else None
