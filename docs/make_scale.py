"""Fill the tables of docs/scale.md with what benchmarks/dask_scale.py has measured.

python docs/make_scale.py benchmarks/results/dask_scale.json

The cost model of the page is computed here: a stage takes ``fixed + per_row * n / W`` seconds on W
workers. Both numbers come from two of the sizes that were measured, and are checked against the
others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fill_tables import fill

Figures = dict[str, Any]

STAGES = ("count", "sample", "passes", "moments and draws", "replicas", "votes, written")
NAMES = {
    "count": "count and check",
    "sample": "sample and starts",
    "passes": "one Lloyd pass",
    "moments and draws": "moments and draws",
    "replicas": "replicas",
    "votes, written": "votes, written",
}

# What the extrapolation supposes.
ROWS, WORKERS, PARTITION_ROWS = 10**9, 100, 10**6
PASSES = 3
SECONDS_PER_TASK = 1e-3
BYTES_PER_SECOND = 100e6
# Tasks for every partition: of reading and looking, of picking, of votes and files.
TASKS = {
    "count": 2,
    "sample": 2,
    "passes": 2,
    "moments and draws": 4,
    "replicas": 0,
    "votes, written": 7,
}


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def seconds(value: float) -> str:
    """A time, in as many digits as it deserves."""
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


def megabytes(value: float) -> str:
    """A number of bytes."""
    return f"{value / 2**20:,.0f} MiB"


def stage_seconds(size: Figures, stage: str) -> float | None:
    """Seconds of a stage, of one pass for the passes; None if there were none."""
    if stage == "passes":
        passes = size["lloyd_passes"]
        return size["seconds"]["passes"] / passes if passes else None
    return float(size["seconds"][stage])


def measured(sizes: Figures) -> str:
    """Time of every stage by the number of rows."""
    rows = [
        (
            f"{size['rows']:,}",
            str(size["partitions"]),
            *(_or_dash(stage_seconds(size, stage), seconds) for stage in STAGES),
            str(size["lloyd_passes"]),
            seconds(sum(size["seconds"].values())),
            megabytes(max(size["peak_bytes"])),
            megabytes(size["moved_bytes"]),
        )
        for size in sizes["by_rows"]
    ]
    headers = ("rows", "partitions", *(NAMES[stage] for stage in STAGES), "passes", "in all")
    return table((*headers, "peak of a worker", "moved between workers"), rows)


def _or_dash(value: float | None, show: Callable[[float], str]) -> str:
    return "" if value is None else show(value)


def calibrate(sizes: Figures) -> dict[str, tuple[float, float]]:
    """For every stage the seconds that are fixed, and those per row on one worker.

    From the smallest and the last but one of the sizes at which the stage was run.
    """
    found = {}
    for stage in STAGES:
        times = [
            (size["rows"], spent)
            for size in sizes["by_rows"]
            if (spent := stage_seconds(size, stage)) is not None
        ]
        (small, first), (large, last) = times[0], times[max(len(times) - 2, 0)]
        if stage == "replicas":  # they do not see n
            found[stage] = (last, 0.0)
            continue
        if small == large:
            found[stage] = (0.0, last * sizes["workers"] / large)
            continue
        per_row = max(last - first, 0.0) / (large - small)
        found[stage] = (max(first - per_row * small, 0.0), per_row * sizes["workers"])
    return found


def check(sizes: Figures) -> str:
    """What the model says against what was measured."""
    model, rows = calibrate(sizes), []
    for size in sizes["by_rows"]:
        counts = dict.fromkeys(STAGES, 1) | {"passes": size["lloyd_passes"]}
        predicted = sum(
            counts[stage] * (fixed + per_row * size["rows"] / sizes["workers"])
            for stage, (fixed, per_row) in model.items()
        )
        actual = sum(size["seconds"].values())
        ratio = f"{predicted / actual - 1:+.0%}"
        rows.append((f"{size['rows']:,}", seconds(predicted), seconds(actual), ratio))
    return table(("rows", "model", "measured", "difference"), rows)


def rates(sizes: Figures) -> str:
    """The numbers of the model."""
    rows = [
        (NAMES[stage], seconds(fixed), f"{1e9 * per_row:,.0f} ns")
        for stage, (fixed, per_row) in calibrate(sizes).items()
    ]
    return table(("stage", "fixed", "per row on one worker"), rows)


def extrapolation(sizes: Figures) -> str:
    """Seconds of every stage for 10^9 rows on 100 workers."""
    model, partitions = calibrate(sizes), ROWS // PARTITION_ROWS
    read = ROWS * sizes["columns"] * sizes["bytes_per_number"] / (WORKERS * BYTES_PER_SECOND)
    rows, totals = [], [0.0] * 4
    for stage, (fixed, per_row) in model.items():
        times = PASSES if stage == "passes" else 1
        if stage == "replicas":
            compute = fixed * sizes["workers"] / WORKERS
            parts = [compute, 0.0, sizes["replicas"] * SECONDS_PER_TASK]
        else:
            compute = times * (fixed + per_row * ROWS / WORKERS)
            parts = [compute, times * read, times * TASKS[stage] * partitions * SECONDS_PER_TASK]
        parts.append(sum(parts))
        totals = [total + part for total, part in zip(totals, parts, strict=True)]
        name = f"{times} Lloyd passes" if stage == "passes" else NAMES[stage]
        rows.append((name, *map(seconds, parts)))
    rows.append(("**in all**", *map(seconds, totals)))
    return table(("stage", "workers", "storage", "scheduler", "sum"), rows)


def shown(figures: Figures) -> str:
    """What large tables, deaths and clusters were seen to do."""
    rows = []
    if large := figures.get("large"):
        what = f"{large['rows']:,} rows, two workers of {large['memory_limit']}: "
        rows += [
            (f"{what}workers killed for memory", f"{large['workers_killed']}"),
            (f"{what}peak of a worker", megabytes(max(large["peak_bytes"]))),
            (
                f"{what}fit, memberships written",
                f"{seconds(large['fit_seconds'])}, {seconds(large['write_seconds'])}",
            ),
            (
                f"{what}rows of a sample of {large['sampled_rows']:,} whose memberships are not "
                "those that the same centres give in memory",
                f"{large['different_memberships']}",
            ),
        ]
    for kind in ("partitioned", "in memory"):
        if one := figures.get("kills", {}).get(kind):
            rows.append(
                (
                    f"a worker killed at {one['kills']} random moments, {one['rows']:,} rows "
                    f"{kind}: results that are the undisturbed one",
                    f"{one['same_results']} of {one['kills']}",
                )
            )
    if workers := figures.get("workers"):
        what = f"two workers against one, {workers['rows']:,} rows, best of 3"
        rows.append((what, f"{workers['speed_up']:.2f} times as fast"))
    if overhead := figures.get("overhead"):
        what = f"two workers against two threads, {overhead['rows']:,} rows in memory, best of 3"
        rows.append((what, f"{overhead['overhead']:+.0%} time"))
    if parts := figures.get("partitions"):
        for one in parts["by_partitions"]:
            what = f"{one['partitions']:,} partitions of {parts['rows_per_partition']:,} rows"
            rows.append((f"{what}: peak of a worker", megabytes(max(one["peak_bytes"]))))
    return table(("what", "measured"), rows)


def machine(sizes: Figures) -> str:
    """What was measured, and where."""
    one = sizes["machine"]
    return (
        f"Measured on {one['cores']} cores of an {one['cpu']} with {one['instruction_set']}, "
        f"Python {one['python']}, Dask {one['dask']}; "
        f"d = {sizes['columns']} columns of float32, K = {sizes['clusters']}, "
        f"B = {sizes['replicas']}, m = {sizes['draws']:,}, "
        f"{sizes['workers']} workers of one thread and 1 GiB."
    )


def main() -> None:
    """Read the figures and write the page."""
    figures = json.loads(Path(sys.argv[1]).read_text())
    sizes = figures["sizes"]
    fill("scale_machine", machine(sizes))
    fill("scale_shown", shown(figures))
    fill("scale_stages", measured(sizes))
    fill("scale_rates", rates(sizes))
    fill("scale_check", check(sizes))
    fill("scale_extrapolation", extrapolation(sizes))


if __name__ == "__main__":
    main()
