"""Results appear whole or not at all.

Everything is written beside its destination and moved there when it is complete. A directory OUT
is prepared in OUT.partial, which also keeps the finished parts of a run that did not come to its
end, so that it can be resumed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bbclust.cli.output.errors import CommandError
from bbclust.cli.output.files import foreign_files
from bbclust.io.whole_file import flush, remove_drafts, whole_file

_PARTIAL = ".partial"


@dataclass(frozen=True)
class Workspace:
    """Where a directory of results is prepared.

    Attributes
    ----------
    out : Path
        Where the results go.
    partial : Path
        The directory beside it.
    """

    out: Path
    partial: Path

    @property
    def files(self) -> Path:
        """Where the results are written before they are moved."""
        return self.partial / "files"

    @property
    def parts(self) -> Path:
        """Where workers write what is moved among the results as a whole."""
        return self.partial / "parts"

    @property
    def replaced(self) -> Path:
        """Where earlier results are while the new ones take their place."""
        return self.partial / "replaced"

    @property
    def checkpoint(self) -> Path:
        """Where finished parts are kept."""
        return self.partial / "checkpoint"

    @property
    def identity(self) -> Path:
        """What the finished parts belong to."""
        return self.partial / "run.json"

    def has_finished_parts(self) -> bool:
        """Whether a cell is there; drafts of one, which end alike, are not."""
        return any(path.is_file() for path in self.checkpoint.rglob("[!.]*.cell"))


def workspace_of(out: Path) -> Workspace:
    """Where the results of a directory are prepared."""
    out = Path(os.path.abspath(out))
    return Workspace(out, out.with_name(out.name + _PARTIAL))


@contextmanager
def new_directory(out: Path, *, force: bool, resume: bool = False) -> Iterator[Workspace]:
    """A directory of results, which exists after the block if nothing fails in it.

    If something fails, finished parts are kept in OUT.partial and nothing else is.

    Parameters
    ----------
    out : Path
    force : bool
        Replace an earlier directory of results, and forget an earlier run that did not end.
    resume : bool
        Go on with an earlier run that did not end.
    """
    work = workspace_of(out)
    _bring_back(work)
    _check_replaceable(work.out, force)
    _check_unfinished(work, force, resume)
    parents = _make_parents(work.out.parent)
    try:
        if not resume:
            forget(work)
        work.partial.mkdir(exist_ok=True)
        _remove(work.files, work.parts)
        work.files.mkdir()
        yield work
        for file in work.files.rglob("*"):
            flush(file)
        flush(work.files)
        _move_into_place(work)
    except BaseException:
        _clean_up(work, parents)
        raise
    forget(work)


def forget(work: Workspace) -> None:
    """Remove what was kept of a run, and nothing else; what it belongs to goes last."""
    _remove(work.checkpoint, work.files, work.parts, work.replaced)
    work.identity.unlink(missing_ok=True)
    remove_drafts(work.partial)
    with suppress(OSError):  # not there, or somebody else has something in it
        work.partial.rmdir()


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A file of results: what the block writes to the given path is moved to its place."""
    path = Path(os.path.abspath(path))
    if path.is_dir():
        raise CommandError(f"{path}: this is a directory: give --out a file.")
    if path.exists() and not force:
        raise CommandError(f"{path}: the file exists: say --force to replace it.")
    with whole_file(path) as draft:
        yield draft


def _check_replaceable(out: Path, force: bool) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise CommandError(f"{out}: this is a file: give --out a directory.")
    if not any(out.iterdir()):
        return
    if not force:
        raise CommandError(f"{out}: the directory exists: say --force to replace it, or --out.")
    foreign = foreign_files(out)
    if foreign:
        raise CommandError(
            f"{out}: the directory holds {foreign[0]!r}, which bbclust did not write, so it is not "
            "replaced even with --force: give another directory with --out."
        )


def _check_unfinished(work: Workspace, force: bool, resume: bool) -> None:
    if work.has_finished_parts() and not (force or resume):
        raise CommandError(
            f"{work.partial}: an earlier run did not come to its end: go on with it by --resume, "
            "or start anew with --force."
        )


def _make_parents(parent: Path) -> list[Path]:
    """Make missing directories above the results; those made, the innermost first."""
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    for directory in reversed(missing):
        directory.mkdir()
    return missing


def _move_into_place(work: Workspace) -> None:
    if work.out.exists():
        work.out.rename(work.replaced)
    work.files.rename(work.out)
    flush(work.out.parent)


def _bring_back(work: Workspace) -> None:
    """Earlier results, where a move stopped half-way."""
    if work.replaced.exists() and not work.out.exists():
        work.replaced.rename(work.out)


def _clean_up(work: Workspace, parents: list[Path]) -> None:
    """Leave what was there before and finished parts, and nothing else."""
    _bring_back(work)
    for directory in (work.files, work.parts):
        shutil.rmtree(directory, ignore_errors=True)
    if work.has_finished_parts():
        return
    forget(work)
    for directory in parents:
        with suppress(OSError):
            directory.rmdir()


def _remove(*directories: Path) -> None:
    for directory in directories:
        if directory.exists():
            shutil.rmtree(directory)
