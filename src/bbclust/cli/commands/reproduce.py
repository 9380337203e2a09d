"""bbclust reproduce: the tables and figures of the paper."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from bbclust.cli import options as o
from bbclust.cli.output.errors import CommandError, library_sentences
from bbclust.cli.output.progress import Progress, watch
from bbclust.cli.output.results import to_json
from bbclust.cli.output.terminal import say, show_notes

Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="One study, such as table-4; may be repeated."),
]
Full = Annotated[bool, typer.Option("--full/--quick", help="Within an hour, or minutes.")]
Where = Annotated[str, typer.Option("--out", metavar="DIRECTORY", help="Where the page goes.")]


def reproduce(
    only: Only = None,
    full: Full = False,
    out: Where = "bbclust-paper",
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
    force: o.Force = False,
    json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Run the tables and figures of the paper again, and compare them with what is printed.

    Writes paper.md, its pictures, and paper.json with all figures. docs/paper.md is the full run.
    """
    from reproduction.results import run

    directory = Path(out)
    _check_replaceable(directory, force)
    with library_sentences(), watch(quiet=quiet) as progress:
        results = run(
            only,
            effort="full" if full else "quick",
            seed=seed,
            n_jobs=jobs,
            report=_reporter(progress),
        )
        progress.begin("writing the page")
        notes = _write(results, directory)
    if json:
        print(to_json(results))
    elif not quiet:
        say(f"The page is {directory / 'paper.md'}.")
        show_notes(notes)


def _reporter(progress: Progress) -> Any:
    """What tells the progress about each measurement in turn."""
    current: list[str] = []

    def report(title: str, done: int, total: int) -> None:
        if current != [title]:
            current[:] = [title]
            progress.begin(title)
        progress.update(done, total)

    return report


def _own_files() -> set[Path]:
    from reproduction.files import PAGE, PICTURES, RESULTS
    from reproduction.studies import STUDIES

    pictures = {PICTURES / f"{study.name}.png" for study in STUDIES.values() if study.draw}
    return {Path(PAGE), Path(RESULTS), *pictures}


def _check_replaceable(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise CommandError(f"{out}: this is a file: give --out a directory.")
    held = {path.relative_to(out) for path in out.rglob("*") if not path.is_dir()}
    if held and not force:
        raise CommandError(f"{out}: the directory exists: say --force to replace it, or --out.")
    foreign = sorted(held - _own_files())
    if foreign:
        raise CommandError(
            f"{out}: the directory holds {str(foreign[0])!r}, which bbclust did not write, so it "
            "is not replaced even with --force: give another directory with --out."
        )


def _write(results: dict[str, Any], out: Path) -> list[str]:
    """Every file is written beside its place and moved there; notes on what could not be."""
    from reproduction.files import write_all
    from reproduction.pictures import write_pictures

    out.mkdir(parents=True, exist_ok=True)
    notes = []
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=out) as name:
        draft = Path(name)
        written = write_all(results, draft)
        try:
            written += write_pictures(results, draft)
        except ImportError as error:
            notes.append(f"There are no pictures: {error}")
        for path in written:
            place = out / path.relative_to(draft)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
    return notes
