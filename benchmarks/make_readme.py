"""Make benchmarks/README.md from the figures in benchmarks/results/.

make bench                        # measures again, on a quiet machine
python benchmarks/make_readme.py  # the page alone
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE / "results"

# At least so many times as fast as the loop over scikit-learn's KMeans, with the same threads.
RATIOS = {
    "150x4": 300,
    "2000x8": 50,
    "20000x16": 20,
    "200000x16": 30,
    "50000x64": 12,
    "1000000x8": 30,
}
SHARE_OF_PEAK = 0.5
TWO_THREADS = 1.8
EXPONENTS = {"rows": 1.05, "replicas": 1.02}
MEMORY = 5.0
IMPORT_SECONDS, FIRST_FIT_SECONDS = 0.15, 0.05


def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def said(met: bool) -> str:
    return "yes" if met else "**no**"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def against_peers(peers: dict[str, Any]) -> tuple[str, list[str]]:
    """The main table, and what it does not reach."""
    rows, missed = [], []
    for one in peers["found"]:
        seconds, inertia = one["seconds"], one["inertia"]
        ratio = {name: s / seconds["bbclust"] for name, s in seconds.items()}
        goal = RATIOS[one["case"]]
        name = f"{one['case']}, {one['dtype']}, {one['threads']} thread(s)"
        if ratio["sklearn"] < goal:
            missed.append(f"{name}: {ratio['sklearn']:.3g} times scikit-learn, {goal} wanted")
        if ratio.get("faiss", 2) <= 1:
            missed.append(f"{name}: {ratio['faiss']:.2f} times faiss, more than 1 wanted")
        worst = max(
            inertia["bbclust"] / other for peer, other in inertia.items() if peer != "bbclust"
        )
        if worst > 1.001:
            missed.append(f"{name}: inertia {worst:.4f} times a peer's, 1.001 allowed")
        rows.append([
            one["case"].replace("x", " x "), str(one["n_clusters"]), one["dtype"],
            str(one["threads"]), f"{1e3 * seconds['bbclust'] / one['n_replicas']:.3g}",
            f"{ratio['sklearn']:.3g}", str(goal),
            f"{ratio['joblib']:.0f}" if "joblib" in ratio else "",
            f"{ratio['faiss']:.1f}" if "faiss" in ratio else "",
            f"{inertia['bbclust'] / inertia['sklearn']:.4f}",
            f"{inertia['bbclust'] / inertia['faiss']:.4f}" if "faiss" in inertia else "",
        ])  # fmt: skip
    head = [
        "rows x features", "K", "numbers", "threads", "ms per replica", "scikit-learn", "wanted",
        "joblib", "faiss", "inertia / scikit-learn", "inertia / faiss",
    ]  # fmt: skip
    return table(head, rows), missed


def two_threads(peers: dict[str, Any]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for one in peers["threads"]:
        case, dtype = one["case"], one["dtype"]
        gain = one["seconds"]["1"] / one["seconds"]["2"]
        wanted = int(case.partition("x")[0]) >= 20_000
        if wanted and gain < TWO_THREADS:
            missed.append(
                f"{case}, {dtype}: two threads {gain:.2f} times one, {TWO_THREADS} wanted"
            )
        rows.append([
            case.replace("x", " x "), dtype, str(one["n_replicas"]), f"{gain:.2f}",
            str(TWO_THREADS) if wanted else "",
        ])  # fmt: skip
    head = ["rows x features", "numbers", "replicas", "two threads / one", "wanted"]
    return table(head, rows), missed


def peak(found: dict[str, Any]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for one in found["found"]:
        product = one["rates"]["matrix product"]
        for name, rate in one["rates"].items():
            share, wanted = rate / product, name in ('votes="all"', "predict")
            if wanted and share < SHARE_OF_PEAK:
                missed.append(
                    f"{name}, {one['threads']} thread(s): {share:.2f} of a matrix product"
                )
            rows.append([
                name, str(one["threads"]), f"{rate:.0f}", f"{share:.2f}",
                str(SHARE_OF_PEAK) if wanted else "",
            ])  # fmt: skip
    head = ["pass", "threads", "billion multiply-adds a second", "share", "wanted"]
    return table(head, rows), missed


def growth(found: dict[str, Any]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for quantity, one in found["growth"].items():
        limit = EXPONENTS.get(quantity)
        if limit and one["exponent"] > limit:
            missed.append(f"time grows as {quantity}^{one['exponent']:.2f}, {limit} allowed")
        times = ", ".join(f"{int(size):,}: {s:.3g} s" for size, s in one["seconds"].items())
        rows.append([quantity, f"{one['exponent']:.2f}", str(limit or ""), times])
    return table(["quantity", "exponent", "allowed", "times"], rows), missed


def other(found: dict[str, Any], start: dict[str, float]) -> tuple[str, list[str]]:
    memory = found["memory"]["ratio"]
    more = start["import beyond the others"]
    first = start["first fit beyond the second"]
    lines = [
        (
            "peak memory at 1,000,000 x 16 float32 beyond the data, in sizes of the data",
            f"{memory:.1f}",
            MEMORY,
            memory <= MEMORY,
        ),
        (
            "`BBC` and `KSelector` imported, beyond numpy, scipy.optimize, sklearn.base (s)",
            f"{more:.3f}",
            IMPORT_SECONDS,
            more <= IMPORT_SECONDS,
        ),
        (
            "first fit beyond the second (s)",
            f"{first:.3f}",
            FIRST_FIT_SECONDS,
            first <= FIRST_FIT_SECONDS,
        ),
    ]
    missed = [f"{what}: {value}, {limit} allowed" for what, value, limit, met in lines if not met]
    rows = [[what, value, str(limit), said(met)] for what, value, limit, met in lines]
    return table(["what", "found", "allowed", "met"], rows), missed


def same_measure(found: dict[str, Any]) -> str:
    rows = []
    for one in found["found"]:
        values = one["mean_entropy"]
        ours, exhaustive = np.array(values["bbclust"]), np.array(values["exhaustive"])
        error = (ours - exhaustive).std(ddof=1) / np.sqrt(len(ours))
        rows.append([
            one["case"].replace("x", " x "), str(one["n_true"]), str(one["n_clusters"]),
            f"{exhaustive.mean():.4f}", f"{ours.mean():.4f}",
            f"{(ours - exhaustive).mean():+.4f} ± {error:.4f}",
            f"{np.mean(values['monte carlo error']):.4f}",
        ])  # fmt: skip
    head = [
        "rows x features", "clusters", "K", "all starts run out", "bbclust", "difference",
        "Monte-Carlo error of a fit",
    ]  # fmt: skip
    return table(head, rows)


def profile(found: dict[str, dict[str, float]]) -> str:
    stages = list(next(iter(found.values())))
    rows = [[c.replace("x", " x "), *(f"{s[x]:.0%}" for x in stages)] for c, s in found.items()]
    return table(["rows x features", *stages], rows)


def main() -> None:
    """Write the page."""
    peers, grown = load("against_peers"), load("growth")
    parts = {
        "peers": against_peers(peers),
        "threads": two_threads(peers),
        "peak": peak(load("share_of_peak")),
        "growth": growth(grown),
        "other": other(grown, load("start_up")),
    }
    missed = [line for _, lines in parts.values() for line in lines]
    consensus = [
        [
            one["case"].replace("x", " x "),
            str(one["n_replicas"]),
            f"{one['seconds']['pyckmeans'] / one['seconds']['bbclust']:.0f}",
        ]
        for one in peers["consensus"]
    ]
    page = (HERE / "README.template.md").read_text()
    filled = {name: text for name, (text, _) in parts.items()} | {
        "isa": peers["instruction set"],
        "consensus": table(["rows x features", "replicas", "pyckmeans"], consensus),
        "measure": same_measure(load("same_measure")),
        "profile": profile(load("profile_stages")),
        "missed": "\n".join(f"- {line}" for line in missed) or "Every line is reached.",
    }
    for name, text in filled.items():
        page = page.replace(f"{{{{ {name} }}}}", text)
    (HERE / "README.md").write_text(page)


if __name__ == "__main__":
    main()
