"""The command: ``python -m reproduction [--only table-4] [--full] [--out DIR]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.files import RESULTS, check_replaceable, write_all
from reproduction.pictures import write_pictures
from reproduction.results import read_results, run, updated
from reproduction.studies import STUDIES


def main(argv: Sequence[str] | None = None) -> int:
    """Run studies, or make the page of a run again.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        0, or 2 after one sentence on stderr.
    """
    arguments = _parser().parse_args(argv)
    try:
        results = _results(arguments)
        written = write_all(results, arguments.out, again=arguments.page is not None)
        try:
            written += write_pictures(results, arguments.out)
        except ImportError as error:
            print(f"There are no pictures: {error}", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(results, indent=2, allow_nan=False))
    elif not arguments.quiet:
        print(*written, sep="\n")
    return 0


def _results(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.page is not None:
        return read_results(arguments.page)
    effort = "full" if arguments.full else "quick"
    before = (
        _to_update(arguments.out / RESULTS, effort, arguments.seed) if arguments.update else None
    )
    check_replaceable(arguments.out, force=arguments.force or arguments.update)
    after = run(
        arguments.only,
        effort=effort,
        seed=arguments.seed,
        n_jobs=arguments.jobs,
        report=None if arguments.quiet else Progress(),
    )
    return after if before is None else updated(before, after)


def _to_update(path: Path, effort: str, seed: int) -> dict[str, Any]:
    """Earlier results, of the same effort and seed."""
    before = read_results(path)
    for name, wanted in (("effort", effort), ("seed", seed)):
        if before["about"][name] != wanted:
            raise ValueError(
                f"{path} is of {name} {before['about'][name]} and cannot be updated with {wanted}: "
                "run all studies, without --update."
            )
    return before


class Progress:
    """Says how far a run is: one line that changes on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def __call__(self, title: str, done: int, total: int) -> None:
        """Report a title and how much of it is done."""
        line = f"{title}: {done} of {total}"
        if self._live:
            end = "\n" if done == total else ""
            print(f"\r\x1b[K{line}", end=end, file=sys.stderr, flush=True)
        elif done == total or 4 * done // total > 4 * (done - 1) // total:
            print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run the tables and figures of the paper, its audit, and what goes beyond it.",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"only this study; may be repeated. One of: {', '.join(STUDIES)}",
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="few draws, minutes (default)")
    effort.add_argument("--full", action="store_true", help="many draws, within an hour")
    parser.add_argument(
        "--out", type=Path, default=Path("paper"), metavar="DIR", help="where to write"
    )
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="processes; all by default"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random numbers")
    parser.add_argument("--force", action="store_true", help="replace earlier results")
    parser.add_argument(
        "--update", action="store_true", help="with --only: keep the other studies of the results"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="only make the page of this paper.json again"
    )
    return parser
