"""Run studies; results as plain data, and as a file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from bbclust import __version__
from reproduction.studies import choose_studies
from reproduction.study_context import Report, StudyContext

SIGNIFICANT_DIGITS = 5


def run(
    only: Iterable[str] | None = None,
    *,
    effort: str = "quick",
    seed: int = 0,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> dict[str, Any]:
    """Run the studies of the paper.

    Parameters
    ----------
    only : iterable of str, optional
        Names of studies, such as "table-4"; all by default.
    effort : {"quick", "full"}, default="quick"
        Minutes, or the better part of an hour.
    seed : int, default=0
        Changes the random numbers of all methods; the data are the same for every seed.
    n_jobs : int, optional
        Processes; the result does not depend on it, except for measured times.
    report : callable, optional
        Called as ``report(title, done, total)``.

    Returns
    -------
    dict
        ``about`` the run, and ``studies``: a result by name. Plain data with numbers of five
        digits, equal to what :func:`read_results` reads back.

    Examples
    --------
    >>> results = run(["table-1"])
    >>> results["studies"]["table-1"]["n_same"]
    20
    """
    chosen = choose_studies(only)
    context = StudyContext(effort, seed=seed, n_jobs=n_jobs, report=report)
    start = time.perf_counter()
    studies = {study.name: study.measure(context) for study in chosen}
    about = {
        "bbclust": __version__,
        "effort": effort,
        "seed": seed,
        "n_jobs": context.n_jobs,
        "minutes": (time.perf_counter() - start) / 60,
    }
    return cast(dict[str, Any], shortened({"about": about, "studies": studies}))


def updated(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Results with the studies of a later run in the place of their earlier ones; minutes add up.

    Examples
    --------
    >>> first = {"about": {"minutes": 2.0}, "studies": {"a": 1, "b": 1}}
    >>> then = {"about": {"minutes": 1.0}, "studies": {"b": 2}}
    >>> updated(first, then)
    {'about': {'minutes': 3.0}, 'studies': {'a': 1, 'b': 2}}
    """
    minutes = before["about"]["minutes"] + after["about"]["minutes"]
    return {
        "about": after["about"] | {"minutes": shortened(minutes)},
        "studies": before["studies"] | after["studies"],
    }


def shortened(value: Any) -> Any:
    """The same data with numbers of five significant digits.

    Examples
    --------
    >>> shortened({"pi": [3.14159265]})
    {'pi': [3.1416]}
    """
    if isinstance(value, dict):
        return {str(key): shortened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return value


def write_results(results: dict[str, Any], path: Path) -> None:
    """One line per study."""
    studies = ",\n".join(
        f"{json.dumps(name)}: {_compact(result)}" for name, result in results["studies"].items()
    )
    text = f'{{"about": {_compact(results["about"])},\n"studies": {{\n{studies}\n}}}}\n'
    path.write_text(text, encoding="utf-8", newline="\n")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def read_results(path: Path) -> dict[str, Any]:
    """What :func:`write_results` wrote."""
    results = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(results, dict) or not {"about", "studies"} <= results.keys():
        raise ValueError(
            f"{path} holds no results of a reproduction: pass the paper.json that one wrote."
        )
    return cast(dict[str, Any], results)
