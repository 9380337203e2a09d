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

# At least so many times as fast as the loop over scikit-learn's KMeans, on one thread.
RATIOS = {
    "150x4": {"float32": 300, "float64": 200},
    "2000x8": {"float32": 60, "float64": 40},
    "20000x16": {"float32": 60, "float64": 45},
    "200000x16": {"float32": 60, "float64": 45},
    "50000x64": {"float32": 60, "float64": 45},
    "1000000x8": {"float32": 40, "float64": 30},
}
# Shapes drawn at random: the geometric mean, and the lowest.
RANDOM_MEAN = {"float32": 50, "float64": 35}
RANDOM_LOWEST = {"float32": 15, "float64": 12}
# Times of other instruction sets, in those of the widest.
SLOWER = {"avx2": 1.6, "portable": 4.0}
INERTIA = 1.0005
SHARE_OF_PEAK = {'votes="all"': 0.5, "predict": 0.65}
TWO_THREADS = 1.85
EXPONENTS = {"rows": 1.05, "replicas": 1.02}
MEMORY = 5.0
REPORT_SECONDS = 30
IMPORT_SECONDS, FIRST_FIT_SECONDS = 0.15, 0.05


def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def said(met: bool) -> str:
    return "yes" if met else "**no**"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def load_runs() -> list[dict[str, Any]]:
    """Every run of against_peers.py: none is chosen, because they differ on a shared machine."""
    return [json.loads(file.read_text()) for file in sorted(RESULTS.glob("against_peers_*.json"))]


def spread(values: list[float]) -> str:
    """Median, and the lowest and the highest."""
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def load_grids() -> list[list[dict[str, Any]]]:
    """Every run of random_shapes.py, the shapes of all seeds in one list."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(RESULTS.glob("random_shapes_*_*.json")):
        run = file.stem.split("_")[2]
        runs.setdefault(run, []).extend(json.loads(file.read_text())["found"])
    return list(runs.values())


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def ratio(one: dict[str, Any], isa: str) -> float:
    return float(one["seconds"]["sklearn"] / one["seconds"][isa])


def random_shapes(grids: list[list[dict[str, Any]]]) -> tuple[str, list[str]]:
    """Means and the lowest, then every shape, best to worst."""
    isas = [isa for isa in grids[0][0]["seconds"] if isa != "sklearn"]
    shapes = [list(several) for several in zip(*grids, strict=True)]
    rows, missed = [], []
    for isa in isas:
        for dtype in ("float32", "float64"):
            of_type = [s for s in shapes if s[0]["dtype"] == dtype and isa in s[0]["seconds"]]
            with_isa = [grid for grid in grids if isa in grid[0]["seconds"]]
            means = [
                geometric_mean([ratio(one, isa) for one in grid if one["dtype"] == dtype])
                for grid in with_isa
            ]
            medians = [
                float(np.median([ratio(one, isa) for one in s if isa in one["seconds"]]))
                for s in of_type
            ]
            widest = isa == isas[0]
            cells = [f"{spread(means)}", f"{min(medians):.3g}"]
            wanted = ["", ""]
            if widest:
                limit, lowest = RANDOM_MEAN[dtype], RANDOM_LOWEST[dtype]
                wanted = [str(limit), str(lowest)]
                if np.median(means) < limit:
                    missed.append(f"random shapes, {dtype}: {spread(means)}, {limit} wanted")
                below = sum(m < lowest for m in medians)
                if below:
                    missed.append(
                        f"random shapes, {dtype}: {below} of {len(medians)} below {lowest}, "
                        f"the lowest {min(medians):.3g}"
                    )
            rows.append([isa, dtype, cells[0], wanted[0], cells[1], wanted[1]])
    head = [
        "instruction set",
        "numbers",
        "geometric mean",
        "wanted",
        "lowest",
        "wanted",
    ]
    summary = table(head, rows)
    slower, more = other_isas(grids, isas)
    return "\n\n".join([summary, slower, every_shape(shapes, isas)]), missed + more


def other_isas(grids: list[list[dict[str, Any]]], isas: list[str]) -> tuple[str, list[str]]:
    """Times of other instruction sets over those of the widest."""
    rows, missed = [], []
    for isa in isas[1:]:
        found = [
            one["seconds"][isa] / one["seconds"][isas[0]]
            for grid in grids
            for one in grid
            if isa in one["seconds"]
        ]
        mean = geometric_mean(found)
        if mean > SLOWER[isa]:
            missed.append(
                f"{isa} takes {mean:.2g} times as long as {isas[0]}, {SLOWER[isa]} allowed"
            )
        rows.append([isa, f"{mean:.3g}", f"{max(found):.3g}", str(SLOWER[isa])])
    return table(["instruction set", "times as long", "at most", "wanted"], rows), missed


def every_shape(shapes: list[list[dict[str, Any]]], isas: list[str]) -> str:
    def cell(several: list[dict[str, Any]], isa: str) -> str:
        found = [ratio(one, isa) for one in several if isa in one["seconds"]]
        return spread(found) if isa == isas[0] else f"{np.median(found):.3g}"

    def inertia(several: list[dict[str, Any]]) -> str:
        return f"{max(s['inertia'][isas[0]] / s['inertia']['sklearn'] for s in several):.4f}"

    by_name: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for several in shapes:
        by_name.setdefault(several[0]["shape"], {})[several[0]["dtype"]] = several
    ordered = sorted(
        by_name.items(),
        key=lambda item: -float(np.median([ratio(one, isas[0]) for one in item[1]["float32"]])),
    )
    rows = []
    for name, of in ordered:
        cells = [cell(of[dtype], isa) for isa in isas for dtype in ("float32", "float64")]
        rows.append([name, *cells, inertia(of["float32"]), inertia(of["float64"])])
    types = [f"{isa}, {dtype}" for isa in isas for dtype in ("float32", "float64")]
    return table(["shape", *types, "inertia, float32", "inertia, float64"], rows)


def against_peers(runs: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The main table, and what it does not reach: medians of the runs count."""
    rows, missed = [], []
    for several in zip(*(run["found"] for run in runs), strict=True):
        one = several[0]
        peers = [peer for peer in one["seconds"] if peer != "bbclust"]
        ratio = {p: [r["seconds"][p] / r["seconds"]["bbclust"] for r in several] for p in peers}
        inertia = {
            p: max(r["inertia"]["bbclust"] / r["inertia"][p] for r in several) for p in peers
        }
        goal = RATIOS[one["case"]][one["dtype"]] if one["threads"] == 1 else None
        name = f"{one['case']}, {one['dtype']}, {one['threads']} thread(s)"
        if goal and np.median(ratio["sklearn"]) < goal:
            missed.append(f"{name}: {spread(ratio['sklearn'])} times scikit-learn, {goal} wanted")
        if min(ratio.get("faiss", [2.0])) <= 1:
            missed.append(f"{name}: {spread(ratio['faiss'])} times faiss, more than 1 wanted")
        if max(inertia.values()) > INERTIA:
            missed.append(
                f"{name}: inertia {max(inertia.values()):.4f} times a peer's, {INERTIA} allowed"
            )
        took = np.median([1e3 * r["seconds"]["bbclust"] / r["n_replicas"] for r in several])
        rows.append([
            one["case"].replace("x", " x "), str(one["n_clusters"]), one["dtype"],
            str(one["threads"]), f"{took:.3g}", spread(ratio["sklearn"]), str(goal or ""),
            f"{np.median(ratio['joblib']):.0f}" if "joblib" in ratio else "",
            f"{np.median(ratio['faiss']):.0f}" if "faiss" in ratio else "",
            f"{inertia['sklearn']:.4f}",
            f"{inertia['faiss']:.4f}" if "faiss" in inertia else "",
        ])  # fmt: skip
    head = [
        "rows x features", "K", "numbers", "threads", "ms per replica", "scikit-learn", "wanted",
        "joblib", "faiss", "inertia / scikit-learn", "inertia / faiss",
    ]  # fmt: skip
    return table(head, rows), missed


def two_threads(runs: list[dict[str, Any]]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for several in zip(*(run["threads"] for run in runs), strict=True):
        case, dtype = several[0]["case"], several[0]["dtype"]
        gains = [one["seconds"]["1"] / one["seconds"]["2"] for one in several]
        wanted = int(case.partition("x")[0]) >= 20_000
        if wanted and np.median(gains) < TWO_THREADS:
            missed.append(
                f"{case}, {dtype}: two threads {spread(gains)} times one, {TWO_THREADS} wanted"
            )
        rows.append([
            case.replace("x", " x "), dtype, spread(gains), str(TWO_THREADS) if wanted else "",
        ])  # fmt: skip
    return table(["rows x features", "numbers", "two threads / one", "wanted"], rows), missed


def peak(found: dict[str, Any]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for one in found["found"]:
        product = one["rates"]["matrix product"]
        for name, rate in one["rates"].items():
            share, wanted = rate / product, SHARE_OF_PEAK.get(name)
            if wanted and share < wanted:
                missed.append(
                    f"{name}, {one['threads']} thread(s): {share:.2f} of a matrix product, "
                    f"{wanted} wanted"
                )
            rows.append([
                name, str(one["threads"]), f"{rate:.0f}", f"{share:.2f}", str(wanted or ""),
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


def other(
    found: dict[str, Any], start: dict[str, float], reports: dict[str, Any]
) -> tuple[str, list[str]]:
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
    for kind, one in reports["found"].items():
        seconds = one["processor"]
        lines.append((
            f"`bbclust analyze` of 1,000,000 x 8 rows, {kind}, processor time of all threads (s)",
            spread(seconds),
            REPORT_SECONDS,
            bool(np.median(seconds) <= REPORT_SECONDS),
        ))  # fmt: skip
    missed = [f"{what}: {value}, {limit} allowed" for what, value, limit, met in lines if not met]
    rows = [[what, value, str(limit), said(met)] for what, value, limit, met in lines]
    return table(["what", "found", "allowed", "met"], rows), missed


def same_measure(found: dict[str, Any]) -> tuple[str, list[str]]:
    rows, missed = [], []
    for one in found["found"]:
        values = one["mean_entropy"]
        ours, exhaustive = np.array(values["bbclust"]), np.array(values["exhaustive"])
        error = (ours - exhaustive).std(ddof=1) / np.sqrt(len(ours))
        difference = (ours - exhaustive).mean()
        if abs(difference) > 2 * error:
            missed.append(
                f"mean entropy of {one['case']}, K = {one['n_clusters']} {one['settings']}: "
                f"{difference:+.4f} ± {error:.4f} bits, within two errors wanted"
            )
        rows.append([
            one["case"].replace("x", " x "), str(one["n_true"]), str(one["n_clusters"]),
            one["settings"], f"{exhaustive.mean():.4f}", f"{ours.mean():.4f}",
            f"{difference:+.5f} ± {error:.5f}",
            f"{np.mean(values['monte carlo error']):.4f}",
        ])  # fmt: skip
    head = [
        "rows x features", "clusters", "K", "settings", "all starts run out", "bbclust",
        "difference", "Monte-Carlo error of a fit",
    ]  # fmt: skip
    return table(head, rows), missed


def same_measure_of_shapes(found: dict[str, Any]) -> tuple[str, list[str]]:
    ours, exhaustive = (np.array(values) for values in found["mean_entropy"].values())
    relative = (ours - exhaustive) / exhaustive
    mean, error = relative.mean(), relative.std(ddof=1) / np.sqrt(len(relative))
    text = f"{mean:+.2%} ± {error:.2%}, median {np.median(relative):+.2%}"
    missed = abs(mean) > 2 * error
    wanted = f"mean entropy of {len(ours)} random shapes: {text}, within two errors wanted"
    return text, [wanted] if missed else []


def profile(found: dict[str, dict[str, float]]) -> str:
    stages = list(next(iter(found.values())))
    rows = [[c.replace("x", " x "), *(f"{s[x]:.0%}" for x in stages)] for c, s in found.items()]
    return table(["rows x features", *stages], rows)


def main() -> None:
    """Write the page."""
    runs, grown, grids = load_runs(), load("growth"), load_grids()
    parts = {
        "random": random_shapes(grids),
        "measure": same_measure(load("same_measure")),
        "measure_of_shapes": same_measure_of_shapes(load("same_measure")["drawn"]),
        "peers": against_peers(runs),
        "threads": two_threads(runs),
        "peak": peak(load("share_of_peak")),
        "growth": growth(grown),
        "other": other(grown, load("start_up"), load("file_to_report")),
    }
    missed = [line for _, lines in parts.values() for line in lines]
    consensus = [
        [
            several[0]["case"].replace("x", " x "),
            str(several[0]["n_replicas"]),
            spread([one["seconds"]["pyckmeans"] / one["seconds"]["bbclust"] for one in several]),
        ]
        for several in zip(*(run["consensus"] for run in runs), strict=True)
    ]
    page = (HERE / "README.template.md").read_text()
    filled = {name: text for name, (text, _) in parts.items()} | {
        "isa": runs[0]["instruction set"],
        "runs": str(len(runs)),
        "consensus": table(["rows x features", "replicas", "pyckmeans"], consensus),
        "grid_runs": str(len(grids)),
        "tables": str(len(load("same_measure")["found"][0]["mean_entropy"]["bbclust"])),
        "measured_shapes": str(len(load("same_measure")["drawn"]["mean_entropy"]["bbclust"])),
        "profile": profile(load("profile_stages")),
        "missed": "\n".join(f"- {line}" for line in missed) or "Every line is reached.",
    }
    for name, text in filled.items():
        page = page.replace(f"{{{{ {name} }}}}", text)
    (HERE / "README.md").write_text(page)


if __name__ == "__main__":
    main()
