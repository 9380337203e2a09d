"""What the paper leaves open, in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.audit_replicas import REPLICAS
from reproduction.calibration import MIDDLES
from reproduction.claims import Claim, Judge
from reproduction.dimensions import FOUND
from reproduction.markdown import number, percent
from reproduction.models import REPLICAS as FEW_AND_MANY
from reproduction.study import Result
from reproduction.study_context import DATASETS

LITTLE = 0.05


def found_by(summary: Result) -> list[float]:
    """Share of draws in which each measure finds the true K."""
    n = summary["n_draws"] * len(DATASETS)
    return [sum(hits) / n for hits in summary["n_found"]]


def listed(shares: Mapping[str, Sequence[float]]) -> str:
    """The shares of both measures by name."""
    return "; ".join(
        f"{name}: {percent(first)} and {percent(second)}"
        for name, (first, second) in shares.items()
    )


def answer_units(result: Result) -> Claim:
    """Bits or nats?"""
    pairs = zip(result["mean_entropy"], result["max_pairwise"], strict=True)
    worst = max(abs(first / second - np.log(2)) for first, second in pairs)
    return Claim(
        "Units of the entropies",
        "Table 4 is in nats, Table 5 in bits",
        f"at K = 2 both measures are equal; the printed ones have the ratio ln 2 to within "
        f"{number(worst)} on all six data sets",
    )


def answer_formula(result: Result) -> Claim:
    """The last fraction of S_lm, and 0/0."""
    undefined = result["undefined"][-1][-1]
    zero, left_out = result["found"][-1]
    return Claim(
        "S_lm: its last fraction; points without a vote for either cluster",
        "a slip in print; they count as zero",
        f"as printed it is no entropy; {percent(undefined)} of points and pairs have no vote at "
        f"K = 6. The true K is found in {percent(zero)} of draws with zeros, in "
        f"{percent(left_out)} if they are left out",
    )


def answer_replicas(result: Result) -> Claim:
    """How much does B matter?"""
    columns = result["columns"]
    ten = REPLICAS.index(10)
    biases = [columns[name][ten] / columns[name][-1] - 1 for name in ("S", "S_lm")]
    few, many = (found_by(result["readings"][f"B = {b}"]) for b in (10, REPLICAS[-1]))
    return Claim(
        "Number of replicas B",
        "decides the values, and how often K is found",
        f"at B = 10 mean S is {percent(-biases[0])} and max S_lm {percent(-biases[1])} lower than "
        f"at B = 500; the true K is found in {percent(few[0])} and {percent(few[1])} of draws at "
        f"B = 10, in {percent(many[0])} and {percent(many[1])} at B = 500",
    )


def answer_starts(result: Result) -> Claim:
    """How much does the start matter?"""
    last = list(result["readings"])[-1].rpartition(", ")[2]
    shares = {
        name.removesuffix(f", {last}"): found_by(summary)
        for name, summary in result["readings"].items()
        if name.endswith(last)
    }
    lowest, highest = (extreme(map(sum, shares.values())) / 2 for extreme in (min, max))
    verdict = "matters little" if highest - lowest < LITTLE else "decides whether K is found"
    return Claim(
        "Start of k-means in a replica", verdict, f"true K found by S and S_lm, {listed(shares)}"
    )


def answer_weights(result: Result) -> Claim:
    """How much does the reading of the weights matter?"""
    summaries = result["readings"]
    many = [name for name in summaries if name.endswith(f"B = {FEW_AND_MANY[-1]}")]
    ours, other = (summaries[name] for name in many)
    higher = other["at_other_k"][0] / ours["at_other_k"][0] - 1
    shares = {name: found_by(summaries[name]) for name in many}
    change = np.ptp(np.array(list(shares.values())), axis=0).max()
    return Claim(
        "How the weights enter k-means",
        "changes the values, hardly the choice" if change < LITTLE else "matters",
        f"with a second resampling mean S is {percent(higher)} higher at wrong K. True K found by "
        f"S and S_lm, {listed(shares)}",
    )


def answer_limit(result: Result) -> Claim:
    """Is the limit Rubin's?"""
    return Claim(
        "omega to 0 is Rubin's bootstrap (as the paper says)",
        "only as m grows",
        f"at m = n the variance is {number(result['ratio'][0], 2)} ± "
        f"{number(result['ratio'][0] * result['se'], 2)} times Rubin's",
    )


def answer_dimensions(result: Result) -> Claim:
    """Until which dimension is K found?"""
    n = result["n_draws"]
    reach = {}
    for family, mine in result["families"].items():
        good = [hits[0] / n >= 0.9 for hits in mine["n_found"]]
        n_good = good.index(False) if False in good else len(good)
        reach[family] = f"up to {result['dimensions'][n_good - 1]}" if n_good else "no"
    noise = result["families"]["noise"]["n_found"]
    failing = next((i for i, hits in enumerate(noise) if hits[0] < n / 2), len(noise) - 1)
    rivals = ", ".join(
        f"{name} {percent(hits / n)}" for name, hits in zip(FOUND, noise[failing], strict=True)
    )
    return Claim(
        "Effect of dimension (future work)",
        "noise coordinates hide clusters, informative ones do not",
        "with 33 points per cluster the default rule finds K in 90% of draws or more in "
        f"{reach['noise']} dimensions if two coordinates are informative, in {reach['signal']} if "
        f"all are. With noise at d = {result['dimensions'][failing]}: {rivals}",
    )


def answer_calibration(result: Result) -> Claim:
    """Are memberships probabilities?"""
    at = MIDDLES.index(0.8)
    component, fresh = (
        result["targets"][target]["BBC"]["rate"][at] for target in ("component", "fresh")
    )
    mixture = result["targets"]["component"]["Gaussian mixture"]["rate"][at]
    return Claim(
        "What a membership of 0.8 means",
        "stability of the cut, not the probability of a component",
        f"{percent(component)} of such points were drawn from that component (Gaussian mixture: "
        f"{percent(mixture)}); k-means on fresh samples puts them there in {percent(fresh)} of "
        "cases",
    )


OPEN_QUESTIONS: tuple[tuple[tuple[str, ...], Judge], ...] = (
    (("audit-units",), answer_units),
    (("audit-formula",), answer_formula),
    (("audit-replicas",), answer_replicas),
    (("audit-starts",), answer_starts),
    (("audit-weights",), answer_weights),
    (("audit-limit",), answer_limit),
    (("dimensions",), answer_dimensions),
    (("calibration",), answer_calibration),
)
