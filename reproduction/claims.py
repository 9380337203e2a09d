"""What the paper says, whether it holds, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reproduction.audit_replicas import closest
from reproduction.markdown import at_least, joined, percent, rate
from reproduction.models import REPLICAS
from reproduction.recovery import paper_rule
from reproduction.study import Result
from reproduction.study_context import DATASETS, K_VALUES
from reproduction.table_2 import SHOWN, SINGLE, WRITTEN, count_inside
from reproduction.table_6 import OURS
from reproduction.table_7 import DECIMAL, NATURAL
from reproduction.value_table import count_central

HOLDS, ON_AVERAGE, FAILS = "holds", "holds on average", "does not hold"
IN_PART = "holds in part"
FEW, MANY = (f"ours, B = {b}" for b in REPLICAS)
NEARLY_ALWAYS = 0.95


@dataclass(frozen=True)
class Claim:
    """A statement, our verdict, and the evidence for it.

    ``outcome`` is one of the four words above for what the paper says, under which the beginning
    of the page lists ``topic``.
    """

    said: str
    verdict: str
    evidence: str
    topic: str = ""
    outcome: str = ""


Judge = Callable[..., Claim]


def judge_table_1(result: Result) -> Claim:
    """Is it the same table?"""
    same = result["n_same"] == result["n_seeds"]
    return Claim(
        "Table 1: k-means on Iris",
        "reproduced exactly" if same else "not always the same",
        f"the printed table in {result['n_same']} of {result['n_seeds']} seeds",
        "Table 1" + ", exactly" * same,
        HOLDS if same else IN_PART,
    )


def farthest(result: Result, variant: str, *, weights: bool) -> float:
    """Distance of the farthest cell from the printed one, of a median seed, in Table 2b or 2a."""
    return max(
        float(one["variants"][variant]["farthest"])
        for one in result["settings"]
        if (one["prior_weight"] != 0.1) == weights
    )


def inside(result: Result, variant: str, *, weights: bool) -> str:
    """How many printed cells of Table 2b or 2a lie in the central 95% of the seeds."""
    settings = [one for one in result["settings"] if (one["prior_weight"] != 0.1) == weights]
    n_inside = sum(count_inside(one["table"], one["variants"][variant]) for one in settings)
    return f"{n_inside} of {len(SHOWN) * len(settings)}"


def judge_table_2a(result: Result) -> Claim:
    """Is every cell within two flowers?"""
    off = farthest(result, WRITTEN, weights=False)
    least = min(
        one["variants"][WRITTEN]["share_within_two"]
        for one in result["settings"]
        if one["prior_weight"] == 0.1
    )
    return Claim(
        "Table 2a: BBC on Iris for s = 1, 10, 100; at s = 100 a cluster is lost",
        "reproduced within two flowers" if off <= 2 else "not reproduced",
        f"in a median seed no cell is farther than {off:g} flowers from the printed one; in "
        f"{at_least(least)} seeds none is farther than two. Printed cells in the central 95% of "
        f"our seeds: {inside(result, WRITTEN, weights=False)}",
        "Table 2a" + ", within two flowers" * (off <= 2),
        HOLDS if off <= 2 else FAILS,
    )


def judge_table_2b(result: Result) -> Claim:
    """Is every cell within two flowers, and with one component per replica?"""
    written = farthest(result, WRITTEN, weights=True)
    single = farthest(result, SINGLE, weights=True)
    return Claim(
        "Table 2b: BBC on Iris for omega = 0.3, 0.5, 0.7",
        "reproduced within two flowers" if written <= 2 else "not reproduced as written",
        f"in a median seed the farthest cell is up to {written:g} flowers off as written, and up "
        f"to {single:g} if all prior draws of a replica come from one component of F0. Printed "
        f"cells in the central 95% of our seeds: {inside(result, WRITTEN, weights=True)} as "
        f"written, {inside(result, SINGLE, weights=True)} with one component",
        "Table 2b (how the prior's weight moves the Iris table), by the algorithm as written",
        HOLDS if written <= 2 else FAILS,
    )


def judge_true_k(name: str) -> Judge:
    """Is the averaged curve lowest at the true K, and single ones?"""

    def judge(result: Result) -> Claim:
        rows = result["rows"]
        missed = {
            variant: [
                row["label"]
                for row in rows
                if row["variants"][variant]["choice_of_mean"] != row["true_k"]
            ]
            for variant in (FEW, MANY)
        }
        ours = [row["variants"][MANY] for row in rows]
        shares = [one["n_found"] / one["n_draws"] for one in ours]
        leads = [one["lead"]["mean"] / max(one["lead"]["se"], 1e-9) for one in ours]
        close = leads.index(min(leads))
        always = min(shares) >= NEARLY_ALWAYS
        few = f"all but {joined(missed[FEW])}" if missed[FEW] else "all six"
        many = f"all but {joined(missed[MANY])}" if missed[MANY] else "all six"
        outcome = FAILS if missed[MANY] else HOLDS if always else ON_AVERAGE
        return Claim(
            f"{name} is lowest at the true K on all six data sets, s = 1",
            outcome,
            f"averaged curves are lowest at the true K on {many} at B = {REPLICAS[-1]} and on "
            f"{few} at B = {REPLICAS[0]}; the closest call is data set {rows[close]['label']}, "
            f"ahead of K = {ours[close]['lead']['rival']} by {leads[close]:.1f} standard errors. "
            f"Single draws, data sets 1 to 6: {', '.join(percent(share) for share in shares)}",
            f"{name} is lowest at the true K on all six data sets (in single draws of a data set: "
            f"{percent(min(shares))} to {percent(max(shares))})",
            outcome,
        )

    return judge


def judge_magnitudes(fourth: Result, fifth: Result, replicas: Result) -> Claim:
    """Which number of replicas has these values?"""
    few, many = (
        joined([count_central(result["rows"], variant)[0] for result in (fourth, fifth)])
        for variant in (FEW, MANY)
    )
    low, high = sorted(closest(replicas))
    about = f"about {low}" if low == high else f"{low} to {high}"
    return Claim(
        "The values of Tables 4 and 5",
        f"fit {about} replicas, not {REPLICAS[-1]}",
        f"of the 30 values of each, {few} lie in the central 95% of our draws with "
        f"B = {REPLICAS[0]}, {many} with B = {REPLICAS[-1]}. The paper gives no B; few votes make "
        "entropies small",
        f"the values of Tables 4 and 5 (they fit {about} replicas, not {REPLICAS[-1]})",
        IN_PART,
    )


def judge_failure(name: str, variant: str, labels: tuple[str, ...]) -> Judge:
    """Does a classical index miss the true K there?"""

    def judge(result: Result) -> Claim:
        rows = {row["label"]: row["variants"][variant] for row in result["rows"]}
        plane = result["rows"][-1]["variants"][variant]
        shares = [rows[label]["n_found"] / rows[label]["n_draws"] for label in labels]
        found = "; ".join(
            f"data set {label} in {rate(rows[label]['n_found'], rows[label]['n_draws'])}"
            for label in labels
        )
        said = f"{name} misses the true K on {data_sets(labels)}"
        outcome = FAILS if min(shares) > 0.5 else HOLDS if max(shares) < 0.05 else IN_PART
        return Claim(
            said,
            outcome,
            f"it finds the true K of {found} of draws. The printed row 6 fits two of the three "
            "coordinates (see the audit); there it does so in "
            f"{rate(plane['n_found'], plane['n_draws'])}",
            f"{lowered(said)} (it finds it in {joined([percent(share) for share in shares])} of "
            "draws)",
            outcome,
        )

    return judge


def judge_success(name: str, variant: str, labels: tuple[str, ...]) -> Judge:
    """Does a classical index find the true K there?"""

    def judge(result: Result) -> Claim:
        rows = [row for row in result["rows"] if row["label"] in labels]
        ours = [row["variants"][variant] for row in rows]
        missed = [row["label"] for row, one in zip(rows, ours, strict=True) if _misses(row, one)]
        shares = [one["n_found"] / one["n_draws"] for one in ours]
        often = min(shares) >= NEARLY_ALWAYS
        outcome = IN_PART if missed else HOLDS if often else ON_AVERAGE
        but = f" (not on {data_sets(missed)})" if missed else ""
        said = f"{name} finds the true K on {data_sets(labels)}"
        return Claim(
            said,
            outcome,
            f"averaged over draws its largest value is at the true K on "
            f"{'all of them' if not missed else f'all but {data_sets(missed)}'}. Single draws, in "
            f"this order: {', '.join(percent(share) for share in shares)}",
            lowered(said) + but,
            outcome,
        )

    return judge


def lowered(sentence: str) -> str:
    """Without its capital, to stand inside another."""
    return sentence[0].lower() + sentence[1:]


def _misses(row: Result, ours: Result) -> bool:
    return bool(ours["choice_of_mean"] != row["true_k"])


def data_sets(labels: Sequence[str]) -> str:
    """Data sets by number, in words."""
    return f"data set{'s' * (len(labels) > 1)} {joined(labels)}"


def judge_indices(sixth: Result, seventh: Result) -> Claim:
    """How many values of Tables 6 and 7 are unsuspicious?"""
    silhouettes = count_central(sixth["rows"][:5], OURS)[0]
    row_6, plane = (count_central([sixth["rows"][place]], OURS)[0] for place in (5, 6))
    natural, decimal = (
        count_central(seventh["rows"][:6], variant)[0] for variant in (NATURAL, DECIMAL)
    )
    in_plane = count_central([*seventh["rows"][:5], seventh["rows"][6]], DECIMAL)[0]
    return Claim(
        "The values of Tables 6 and 7",
        IN_PART,
        f"in the central 95% of our draws lie: of Table 6, {silhouettes} of 25 on data sets 1 to "
        f"5, {row_6} of 5 on data set 6, {plane} of 5 on two of its coordinates; of Table 7, "
        f"{natural} of 30 in natural logarithms, {decimal} in decimal ones, {in_plane} with two "
        "coordinates of data set 6",
        "the values of Tables 6 and 7 (those of data set 6 fit two of its three coordinates, the "
        "gaps decimal logarithms)",
        IN_PART,
    )


def judge_curves(
    figure: int, said: str, allowed: tuple[int, ...], exception: float | None = None
) -> Judge:
    """Are the minima of the averaged curves where the caption has them?

    ``exception`` is an s whose printed minimum is elsewhere.
    """

    def judge(result: Result) -> Claim:
        chosen, n = result["choice_of_mean"], result["n_draws"]
        same = result["n_all_at_true"]
        often = same / n >= NEARLY_ALWAYS
        shown = ", ".join(map(str, chosen))
        scales = ", ".join(f"{s:g}" for s in result["scales"])
        agree = all(k in allowed for k in chosen)
        outcome = FAILS if not agree else HOLDS if often else ON_AVERAGE
        at_true = [counts[K_VALUES.index(result["true_k"])] / n for counts in result["n_choosing"]]
        but = ""
        if exception is not None and chosen[result["scales"].index(exception)] in allowed:
            but = f", without the exception at s = {exception:g}"
        return Claim(
            f"Figure {figure}: {said}",
            outcome + but,
            f"minima of the averaged curves at K = {shown} for s = {scales}; in {rate(same, n)} of "
            f"single draws all five are at {result['true_k']} (one by one: "
            f"{', '.join(percent(share) for share in at_true)})",
            f"Figure {figure} (lowest at K = {result['true_k']} for every s; all five in "
            f"{percent(same / n)} of single draws){but}",
            outcome,
        )

    return judge


def judge_against_indices(result: Result) -> Claim:
    """Do the measures of the paper find K more often than silhouette and gap?"""
    n = result["n_draws"] * len(DATASETS)
    found = {name: sum(hits) / n for name, hits in result["found"].items()}
    best = max(found["silhouette"], found["gap"])
    by_b = {
        b: [found[paper_rule(measure, b)] for measure in ("max pairwise entropy", "mean entropy")]
        for b in REPLICAS
    }
    many = dict(zip(("pairwise entropy", "mean entropy"), by_b[REPLICAS[-1]], strict=True))
    better = [name for name, share in many.items() if share > best]
    worse = [name for name in many if name not in better]
    said = "The measures find K more often than silhouette and gap"
    words = [
        f"{joined(names)} {'do' if len(names) > 1 else 'does'}{no}"
        for names, no in ((better, f" at B = {REPLICAS[-1]}"), (worse, " not"))
        if names
    ]
    shown = "; ".join(
        f"B = {b}: {percent(pairwise)} (pairwise), {percent(mean)} (mean)"
        for b, (pairwise, mean) in by_b.items()
    )
    return Claim(
        said,
        "; ".join(words),
        f"true K found over all draws of the six data sets: {shown}; silhouette "
        f"{percent(found['silhouette'])}, gap {percent(found['gap'])}; KSelector's default rule "
        f"{percent(found['KSelector, default rule'])}. One share has a standard error of at most "
        f"{50 / n**0.5:.1f} points",
        f"{lowered(said)} ({'; '.join(words)})",
        IN_PART if better and worse else HOLDS if better else FAILS,
    )


CLAIMS: tuple[tuple[tuple[str, ...], Judge], ...] = (
    (("table-1",), judge_table_1),
    (("table-2",), judge_table_2a),
    (("table-2",), judge_table_2b),
    (("table-4",), judge_true_k("Table 4: mean entropy")),
    (("table-5",), judge_true_k("Table 5: maximum pairwise entropy")),
    (("table-4", "table-5", "audit-replicas"), judge_magnitudes),
    (("table-6",), judge_failure("Silhouette", OURS, ("5", "6"))),
    (("table-7",), judge_failure("The gap statistic", NATURAL, ("6",))),
    (("table-6",), judge_success("Silhouette", OURS, ("1", "2", "3", "4"))),
    (("table-7",), judge_success("The gap statistic", NATURAL, ("1", "2", "3", "4", "5"))),
    (("table-6", "table-7"), judge_indices),
    (("recovery",), judge_against_indices),
    (("figure-3",), judge_curves(3, "on data set 1 mean entropy is lowest at 3 for all s", (3,))),
    (("figure-4",), judge_curves(4, "so is maximum pairwise entropy", (3,))),
    (
        ("figure-6",),
        judge_curves(6, "on data set 5 mean entropy is lowest at 5, but for s = 1.5", (5,), 1.5),
    ),
    (("figure-7",), judge_curves(7, "there pairwise entropy is lowest at 4 or 5", (4, 5))),
)
