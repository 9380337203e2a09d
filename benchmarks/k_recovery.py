"""How often each way of choosing K finds the true one, over many fresh draws.

Two families of data with known K: the six data sets of the paper (K from 2 to 6 tried), and a
wider one (true K from 2 to 20, 2 to 50 dimensions, 100 to 100,000 rows, equal and unequal sizes,
round and elongated, overlapping and separated, heavy tails). Every draw is given to our rules, in
several settings with ``--settings``, and to the classical indices of ``bbclust.baselines``.

The default rule was chosen on seeds below 1,000 and is judged on seeds from 10,000:

    python benchmarks/k_recovery.py --family paper --seeds 0:60 --settings --no-baselines
    python benchmarks/k_recovery.py --family paper --seeds 10000:10100 --json paper.json
    python benchmarks/k_recovery.py --family wide --seeds 10000:10010 --json wide.json
    python benchmarks/k_recovery.py --table paper.json wide.json > k_recovery.md
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from bbclust import BBC
from bbclust.baselines import compare_baselines
from bbclust.datasets import make_paper_dataset
from bbclust.selection.criteria import DOUBT, MEAN, PAIRWISE, score
from bbclust.selection.grid import Grid, GridJob, GridSettings, GridUnderWay
from bbclust.selection.k_selector import MAX_SAMPLE, default_n_draws
from bbclust.stages.table import make_table

N_REPLICAS = 200
PAPER_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}


# --- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blobs:
    """Clusters whose nearest centres are ``separation`` standard deviations apart."""

    name: str
    difficulty: str
    n_clusters: int
    d: int
    n: int
    separation: float
    unequal: bool = False
    elongation: float = 1.0
    heavy_tails: bool = False
    k_max: int = 10

    def draw(self, seed: int) -> np.ndarray:
        generator = np.random.default_rng([seed, self.n_clusters, self.d, self.n])
        centers = generator.normal(size=(self.n_clusters, self.d))
        gaps = np.linalg.norm(centers[:, None] - centers[None], axis=2)
        centers *= self.separation / gaps[np.triu_indices(self.n_clusters, 1)].min()
        shares = np.ones(self.n_clusters)
        if self.unequal:
            shares = np.geomspace(1, 4, self.n_clusters)
        labels = generator.choice(self.n_clusters, size=self.n, p=shares / shares.sum())
        if self.heavy_tails:
            noise = generator.standard_t(4, size=(self.n, self.d))
        else:
            noise = generator.normal(size=(self.n, self.d))
        noise[:, 0] *= self.elongation
        return centers[labels] + noise


WIDE = [
    Blobs("2 clusters", "easy", 2, 2, 100, 5.0),
    Blobs("4 in 5 dimensions", "easy", 4, 5, 300, 5.0),
    Blobs("10 in 10 dimensions", "easy", 10, 10, 2000, 6.0, k_max=15),
    Blobs("15 in the plane", "easy", 15, 2, 5000, 6.0, k_max=20),
    Blobs("20 in 20 dimensions", "easy", 20, 20, 4000, 6.0, k_max=25),
    Blobs("5 of 100,000 rows", "easy", 5, 8, 100_000, 5.0),
    Blobs("3 unequal", "medium", 3, 2, 200, 4.0, unequal=True),
    Blobs("5 in the plane", "medium", 5, 2, 1000, 3.5),
    Blobs("6 in 10 dimensions", "medium", 6, 10, 500, 4.5),
    Blobs("8 unequal", "medium", 8, 3, 1000, 4.5, unequal=True, k_max=15),
    Blobs("3 in 50 dimensions", "medium", 3, 50, 150, 6.0),
    Blobs("12 in the plane", "medium", 12, 2, 1500, 4.5, k_max=18),
    Blobs("3 overlapping", "hard", 3, 2, 500, 2.7),
    Blobs("3 of 100 rows, overlapping", "hard", 3, 2, 100, 3.0),
    Blobs("5 overlapping in 5 dimensions", "hard", 5, 5, 400, 3.0),
    Blobs("4 elongated", "hard", 4, 3, 400, 6.0, elongation=2.0),
    Blobs("4 with heavy tails", "hard", 4, 3, 500, 6.0, heavy_tails=True),
    Blobs("6 unequal, overlapping", "hard", 6, 4, 800, 3.5, unequal=True),
]


@dataclass(frozen=True)
class Task:
    """One draw of one data set."""

    family: str
    dataset: str
    difficulty: str
    true_k: int
    k_max: int
    seed: int
    draw: Callable[[], np.ndarray]


def make_tasks(family: str, seeds: range) -> list[Task]:
    if family == "paper":
        return [
            Task(
                family,
                f"data set {number}",
                "paper",
                true_k,
                6,
                seed,
                lambda number=number, seed=seed: (
                    make_paper_dataset(number, random_state=100_000 * number + seed).data
                ),
            )
            for seed in seeds
            for number, true_k in PAPER_K.items()
        ]
    return [
        Task(
            family,
            blobs.name,
            blobs.difficulty,
            blobs.n_clusters,
            blobs.k_max,
            seed,
            lambda blobs=blobs, seed=seed: blobs.draw(seed),
        )
        for seed in seeds
        for blobs in WIDE
    ]


# --- rules ----------------------------------------------------------------------------------------


def lowest(grid: Grid, values: np.ndarray) -> int:
    return grid.k_values[int(values.argmin())]


def logs(grid: Grid, measure: str) -> np.ndarray:
    return np.log(np.maximum(grid.values(measure), grid.floor)).mean(axis=1)


def log_log_k(grid: Grid) -> np.ndarray:
    """Logarithm of the largest possible entropy."""
    return np.log(np.log2(grid.k_values))


def bias_corrected(grid: Grid, measure: str) -> np.ndarray:
    """Entropy plus Miller and Madow's term for one more cluster in doubt, (K - 1) / 2B nats."""
    extra = (np.array(grid.k_values) - 1) / (2 * N_REPLICAS * np.log(2))
    present = grid.values(measure) / np.log2(grid.k_values)[:, None]
    corrected = grid.values(measure) + extra[:, None] * present
    return np.log(np.maximum(corrected, grid.floor)).mean(axis=1)


def largest_crisp(grid: Grid, values: np.ndarray, bits: float) -> int:
    crisp = np.flatnonzero(values <= np.log(bits))
    return grid.k_values[int(crisp[-1])] if len(crisp) else lowest(grid, values)


RULES: dict[str, Callable[[Grid], int]] = {
    "auto (default)": lambda grid: score(grid, "auto").best(),
    "pairwise": lambda grid: score(grid, "pairwise").best(),
    "mean": lambda grid: score(grid, "mean").best(),
}

MORE_RULES: dict[str, Callable[[Grid], int]] = {
    "pairwise, first s only": lambda grid: lowest(grid, grid.values(PAIRWISE)[:, 0]),
    "mean, first s only": lambda grid: lowest(grid, grid.values(MEAN)[:, 0]),
    "pairwise, not logarithms": lambda grid: lowest(grid, grid.values(PAIRWISE).mean(axis=1)),
    "mean / log K": lambda grid: lowest(grid, logs(grid, MEAN) - log_log_k(grid)),
    "mean, bias corrected": lambda grid: lowest(grid, bias_corrected(grid, MEAN)),
    "pairwise + mean / 4": lambda grid: lowest(grid, logs(grid, PAIRWISE) + logs(grid, MEAN) / 4),
    "pairwise + mean": lambda grid: lowest(grid, logs(grid, PAIRWISE) + logs(grid, MEAN)),
    "doubt, lowest": lambda grid: lowest(grid, logs(grid, DOUBT)),
    "pairwise, largest crisp (0.05)": lambda grid: largest_crisp(grid, logs(grid, PAIRWISE), 0.05),
    "doubt, largest crisp (0.1)": lambda grid: largest_crisp(grid, logs(grid, DOUBT), 0.1),
    "doubt, largest crisp (0.15)": lambda grid: largest_crisp(grid, logs(grid, DOUBT), 0.15),
    "doubt, largest crisp (0.3)": lambda grid: largest_crisp(grid, logs(grid, DOUBT), 0.3),
}

# name -> (draws from n, prior scales, k-means++ starts)
SETTINGS: dict[str, tuple[Callable[[int], int], tuple[float, ...], int]] = {
    "default": (default_n_draws, (1.0, 1.5, 2.5), 2),
    "m = n": (lambda n: n, (1.0, 1.5, 2.5), 2),
    "m = 100": (lambda n: min(n, 100), (1.0, 1.5, 2.5), 2),
    "s = 1": (default_n_draws, (1.0,), 2),
    "s = 1, 1.5": (default_n_draws, (1.0, 1.5), 2),
    "s = 1, 1.5, 3, 4.5, 6": (default_n_draws, (1.0, 1.5, 3.0, 4.5, 6.0), 2),
    "5 starts": (default_n_draws, (1.0, 1.5, 2.5), 5),
}


def our_choices(X: np.ndarray, task: Task, all_settings: bool) -> dict[str, int]:
    if len(X) > MAX_SAMPLE:
        X = X[np.sort(np.random.default_rng(task.seed).permutation(len(X))[:MAX_SAMPLE])]
    table = make_table(X)
    chosen = {}
    settings = SETTINGS if all_settings else {"default": SETTINGS["default"]}
    for name, (n_draws, scales, n_init) in settings.items():
        replicas = BBC(n_init=n_init)._settings()
        grid_settings = GridSettings(replicas, N_REPLICAS, n_draws(table.n))
        job = GridJob(table, tuple(range(2, task.k_max + 1)), scales, grid_settings, task.seed)
        grid = GridUnderWay(job).run()
        rules = {**RULES, **MORE_RULES} if all_settings and name == "default" else RULES
        for rule, choose in rules.items():
            chosen[rule if name == "default" else f"{rule}, {name}"] = choose(grid)
    return chosen


def run_task(task: Task, all_settings: bool, baselines: bool) -> dict[str, object]:
    X = task.draw()
    chosen = our_choices(X, task, all_settings)
    if baselines:
        for choice in compare_baselines(
            X, range(2, task.k_max + 1), n_references=20, n_splits=20, random_state=task.seed
        ):
            chosen[choice.name] = choice.best_k
    return {
        "family": task.family,
        "dataset": task.dataset,
        "difficulty": task.difficulty,
        "true_k": task.true_k,
        "seed": task.seed,
        "chosen": chosen,
    }


# --- table ----------------------------------------------------------------------------------------


def paired_difference(results: list[dict], method: str) -> str:
    """Share found by the default minus by a method, with the standard error of the paired mean."""
    each = np.array(
        [
            float(r["chosen"]["auto (default)"] == r["true_k"])
            - float(r["chosen"][method] == r["true_k"])
            for r in results
        ]
    )
    return f"{each.mean():+.3f} ± {each.std() / np.sqrt(len(each)):.3f}"


def table_of(results: list[dict]) -> str:
    datasets = list(dict.fromkeys(r["dataset"] for r in results))
    groups = list(dict.fromkeys(r["difficulty"] for r in results))
    columns = datasets if len(groups) == 1 else groups
    key = "dataset" if len(groups) == 1 else "difficulty"
    methods = list(results[0]["chosen"])
    lines = [
        "| method | " + " | ".join(columns) + " | mean | default minus this |",
        "|---" * (len(columns) + 3) + "|",
    ]
    rows = []
    for method in methods:
        found = {d: [] for d in datasets}
        for r in results:
            found[r["dataset"]].append(r["chosen"][method] == r["true_k"])
        rates = {d: np.mean(hits) for d, hits in found.items()}
        cells = [
            np.mean([rates[d] for d in dict.fromkeys(r["dataset"] for r in results if r[key] == c)])
            for c in columns
        ]
        rows.append((np.mean(list(rates.values())), method, cells))
    for mean, method, cells in sorted(rows, key=lambda row: -row[0]):
        shown = " | ".join(f"{cell:.2f}" for cell in cells)
        lines.append(f"| {method} | {shown} | {mean:.3f} | {paired_difference(results, method)} |")
    return "\n".join(lines)


def print_tables(names: list[str]) -> None:
    """One table per family, from all files together."""
    results: list[dict] = []
    for name in names:
        with open(name) as file:
            results += json.load(file)
    for family in dict.fromkeys(r["family"] for r in results):
        mine = [r for r in results if r["family"] == family]
        seeds = sorted({r["seed"] for r in mine})
        print(f"### {family} family: {len(mine)} draws, seeds {seeds[0]} to {seeds[-1]}\n")
        print(table_of(mine) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=("paper", "wide"), default="paper")
    parser.add_argument("--seeds", default="10000:10100", help="first:end")
    parser.add_argument("--only", help="only data sets whose name contains this")
    parser.add_argument("--settings", action="store_true", help="also other settings and rules")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="write every choice to this file")
    parser.add_argument("--table", nargs="+", help="only print the tables of these files")
    arguments = parser.parse_args()
    if arguments.table:
        print_tables(arguments.table)
        return
    first, end = (int(part) for part in arguments.seeds.split(":"))
    tasks = [
        task
        for task in make_tasks(arguments.family, range(first, end))
        if (arguments.only or "") in task.dataset
    ]
    results = []
    start = time.perf_counter()
    jobs = (
        delayed(run_task)(task, arguments.settings, not arguments.no_baselines) for task in tasks
    )
    for result in Parallel(arguments.jobs, return_as="generator")(jobs):
        results.append(result)
        if len(results) % max(1, len(tasks) // 50) == 0:
            seconds = time.perf_counter() - start
            print(
                f"{len(results)} of {len(tasks)} draws, {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file)
    print(table_of(results))


if __name__ == "__main__":
    main()
