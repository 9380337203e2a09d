"""How often each way of choosing K finds the true one, over many draws of the six data sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bbclust import KSelector
from bbclust.baselines import METHODS, compare_baselines
from reproduction.entropy_tables import measure_entropies
from reproduction.indices import METHODS as TABLED
from reproduction.indices import N_REFERENCES, measure_indices
from reproduction.markdown import counted, rate, table
from reproduction.models import REPLICAS
from reproduction.study import Result, Study
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext, paper_draw

Choices = npt.NDArray[np.int64]

CRITERIA = {
    "KSelector, default rule": "auto",
    "KSelector, max pairwise entropy": "pairwise",
    "KSelector, mean entropy": "mean",
}
OTHERS = tuple(name for name in METHODS if name not in TABLED)
N_SPLITS = 20


def paper_rule(measure: str, n_replicas: int) -> str:
    """Name of a criterion of the paper with a number of replicas."""
    return f"as in the paper: {measure}, s = 1, B = {n_replicas}"


def choices_of_draw(number: int, draw: int, random_state: int) -> dict[str, int]:
    """K by each rule of KSelector and by each classical method that has no table in the paper."""
    X = paper_draw(number, draw).data
    selector = KSelector(k_range=K_VALUES, refit=False, random_state=random_state).fit(X)
    chosen = {name: selector.best_k_by_[criterion] for name, criterion in CRITERIA.items()}
    others = compare_baselines(
        X,
        K_VALUES,
        methods=OTHERS,
        n_references=N_REFERENCES,
        n_splits=N_SPLITS,
        random_state=random_state,
    )
    return {**chosen, **{choice.name: choice.best_k for choice in others}}


def measure(context: StudyContext) -> Result:
    """Counts of draws in which the true K is found, by method and data set."""
    n_draws = context.size(quick=2, full=150)
    found = context.each_draw("finding K", choices_of_draw, n_draws)
    by_method: dict[str, Choices] = {
        name: np.array([choices[name] for choices in found]).reshape(n_draws, len(DATASETS)).T
        for name in found[0]
    }
    by_method.update(tabled_choices(context, n_draws))
    true = np.array([TRUE_K[number] for number in DATASETS])[:, None]
    return {
        "n_draws": n_draws,
        "found": {
            name: (chosen == true).sum(axis=1).tolist() for name, chosen in by_method.items()
        },
    }


def tabled_choices(context: StudyContext, n_draws: int) -> dict[str, Choices]:
    """Choices on the same draws by what Tables 4 to 7 hold, shape (data sets, draws)."""
    K = np.array(K_VALUES)
    entropies, indices = measure_entropies(context), measure_indices(context)
    chosen: dict[str, Choices] = {}
    for m, measure_name in enumerate(("mean entropy", "max pairwise entropy")):
        for b, n_replicas in enumerate(REPLICAS):
            values = np.stack([entropies[number][b, m, :, :n_draws] for number in DATASETS])
            chosen[paper_rule(measure_name, n_replicas)] = K[values.argmin(axis=1)]
    for m, name in enumerate(TABLED):
        values = np.stack([indices[str(number)][m, :, :n_draws] for number in DATASETS])
        chosen[name] = K[values.argmax(axis=1)]
    return chosen


def show(result: Result) -> str:
    """The section of the page."""
    n = result["n_draws"]
    by_mean = sorted(result["found"].items(), key=lambda item: -sum(item[1]))
    rows = [
        [name, *(f"{hits / n:.2f}" for hits in found), rate(sum(found), n * len(DATASETS))]
        for name, found in by_mean
    ]
    header = ["method", *(f"data set {number}" for number in DATASETS), "all (95% interval)"]
    return "\n\n".join(
        [
            f"Share of {counted(n, 'fresh draw')} of each data set in which the true K is found, "
            "K from 2 to 6 (methods that can say K = 1 may). The rules of KSelector average over "
            "s = 1, 1.5 and 2.5 and let replicas vote on all points; they were chosen on other "
            "draws ([choosing_k.md](choosing_k.md)). A share of one data set has a standard error "
            f"of at most {0.5 / n**0.5:.2f}.",
            table(header, rows),
        ]
    )


def expect(result: Result) -> dict[str, float]:
    """Shares found by our rules."""
    n = result["n_draws"] * len(DATASETS)
    return {name: sum(result["found"][name]) / n for name in CRITERIA}


STUDY = Study(
    name="recovery",
    title="How often each method finds the true K",
    measure=measure,
    show=show,
    expect=expect,
)
