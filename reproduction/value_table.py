"""Tables 4 to 7: one value for each data set and K, printed and over many draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reproduction.markdown import counted, number, percent, rate, table, with_spread
from reproduction.spread import share_below, spread
from reproduction.study import Result
from reproduction.study_context import K_VALUES

Array = npt.NDArray[np.float64]


def compare_row(
    label: str,
    true_k: int,
    printed: Sequence[float],
    variants: Mapping[str, Array],
    *,
    lowest: bool,
) -> Result:
    """One data set: printed values, and ours of shape (number of K's, draws) for each variant."""
    sign = 1 if lowest else -1
    return {
        "label": label,
        "true_k": true_k,
        "printed": list(printed),
        "printed_choice": K_VALUES[int(np.argmin(sign * np.array(printed)))],
        "variants": {
            name: {
                **spread(values),
                "printed_at": share_below(values, np.array(printed)).tolist(),
                "choice_of_mean": K_VALUES[int(np.argmin(sign * values.mean(axis=1)))],
                "lead": lead_of_true_k(sign * values, true_k),
                "n_found": int((_choices(sign * values) == true_k).sum()),
                "n_draws": values.shape[1],
            }
            for name, values in variants.items()
        },
    }


def lead_of_true_k(values: Array, true_k: int) -> Result:
    """By how much the true K beats the best other K on average, paired by draw; low is good."""
    true = K_VALUES.index(true_k)
    others = np.delete(np.arange(len(K_VALUES)), true)
    rival = others[int(values[others].mean(axis=1).argmin())]
    lead = values[rival] - values[true]
    return {
        "rival": K_VALUES[int(rival)],
        "mean": float(lead.mean()),
        "se": float(lead.std(ddof=1) / np.sqrt(len(lead))),
    }


def _choices(values: Array) -> npt.NDArray[np.int64]:
    return np.asarray(np.array(K_VALUES)[values.argmin(axis=0)])


def count_central(rows: Sequence[Result], variant: str) -> tuple[int, int]:
    """How many printed values lie in the central 95% of the draws, and of how many."""
    inside = [
        low <= value <= high
        for row in rows
        for value, low, high in zip(
            row["printed"],
            row["variants"][variant]["low"],
            row["variants"][variant]["high"],
            strict=True,
        )
    ]
    return sum(inside), len(inside)


def show_rows(rows: Sequence[Result], measure: str) -> str:
    """The table: for each data set what is printed, and each variant with its spread."""
    lines = []
    for row in rows:
        chosen = row["printed_choice"]
        cells = [
            f"**{number(value)}**" if k == chosen else number(value)
            for k, value in zip(K_VALUES, row["printed"], strict=True)
        ]
        lines.append([f"**{row['label']}** printed", *cells, str(chosen), ""])
        for name, ours in row["variants"].items():
            pairs = zip(K_VALUES, ours["mean"], ours["sd"], strict=True)
            cells = [
                f"**{with_spread(mean, sd)}**"
                if k == ours["choice_of_mean"]
                else with_spread(mean, sd)
                for k, mean, sd in pairs
            ]
            found = rate(ours["n_found"], ours["n_draws"])
            lines.append([name, *cells, str(ours["choice_of_mean"]), found])
            places = [percent(share) for share in ours["printed_at"]]
            lines.append(["printed lies at", *places, "", ""])
    header = [f"data set, {measure}", *(f"K = {k}" for k in K_VALUES), "choice", "true K found"]
    return table(header, lines)


def how_to_read(rows: Sequence[Result], best: str) -> str:
    """What the columns are."""
    n = next(iter(rows[0]["variants"].values()))["n_draws"]
    return (
        f"Ours: mean ± standard deviation over {counted(n, 'fresh draw')} of each data set. "
        f"*Printed lies at*: the share of our draws below the printed value; from 2.5% to 97.5% it "
        f"is an unsuspicious draw. *Choice*: the K of the {best} value (bold), of the printed row "
        "and of our averaged curve. *True K found*: share of single draws whose own choice is the "
        "true K, with a 95% interval."
    )


def expect_rows(rows: Sequence[Result], detailed: Sequence[str] = ()) -> dict[str, float]:
    """Means of all of a variant; of ``detailed`` ones at the true K and elsewhere by data set, too.

    Not cell by cell: a mean over many models is nearly normal, and chance moves it less.
    """
    figures: dict[str, float] = {
        f"all data sets, {name}": float(np.mean([row["variants"][name]["mean"] for row in rows]))
        for name in rows[0]["variants"]
    }
    for row in rows:
        for name in detailed:
            label = f"data set {row['label']}, {name}"
            means = row["variants"][name]["mean"]
            figures.update(at_true_k_and_elsewhere(label, means, row["true_k"]))
    return figures


def at_true_k_and_elsewhere(label: str, values: Sequence[float], true_k: int) -> dict[str, float]:
    """The value at the true K, and the mean of the others."""
    true = K_VALUES.index(true_k)
    return {
        f"{label}, true K": float(values[true]),
        f"{label}, other K": float(np.mean(np.delete(values, true))),
    }
