"""Runs that did not come to their end, and how they are continued."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bbclust.cli.output.errors import CommandError, os_sentence
from bbclust.cli.output.files import SUMMARY
from bbclust.cli.output.results import to_json
from bbclust.cli.output.workspace import Workspace, forget, new_directory, workspace_of
from bbclust.io.whole_file import write_whole
from bbclust.version import BUILD, RESULTS, __version__


def identity_of(settings: dict[str, Any], fingerprint: str) -> dict[str, Any]:
    """All that a result depends on: the program, the settings and the data."""
    return {
        "bbclust": __version__,
        "results_version": RESULTS,
        "settings": settings,
        "fingerprint": fingerprint,
    }


@contextmanager
def resumable(
    out: Path, identity: dict[str, Any], *, force: bool, resume: bool
) -> Iterator[Workspace]:
    """A new directory of results; an interrupt says how to go on."""
    work = workspace_of(out)
    if resume:
        _check_same(work, identity)
    try:
        with new_directory(out, force=force, resume=resume) as work:
            # whole: a kill in between must not part the finished cells from what they belong to
            write_whole(work.identity, to_json(identity).encode())
            yield work
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted{_how_to_resume(work) or '.'}") from None
    except OSError as error:
        hint = _how_to_resume(work)
        if not hint:
            raise
        raise CommandError(os_sentence(error).rstrip(".") + hint) from error


def finished_summary(out: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The summary of results that are already there; None if there are none.

    Refuses results of another bbclust, of other data, or of other settings.
    """
    path = out / SUMMARY
    if not path.is_file():
        return None
    try:
        summary = dict(json.loads(path.read_text(encoding="utf-8")))
        found = {
            "bbclust": summary["versions"]["bbclust"],
            "results_version": summary.get("results_version"),
            "settings": summary["settings"],
            "fingerprint": summary["data"]["fingerprint"],
        }
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return None  # not ours, or an earlier version's: left to the checks of the directory
    if not _has_settings(found):
        return None
    maker = _other_maker(found)
    if maker:
        raise CommandError(
            f"{out}: the results there were made by {maker}: say --force to replace them, or give "
            "another directory with --out."
        )
    difference = _difference(found, identity)
    if difference:
        raise CommandError(
            f"{out}: the results there are complete and have {difference}: give the same file and "
            "options, another directory with --out, or --force to replace them."
        )
    work = workspace_of(out)
    left = _identity_in(work)
    if not left or not (_other_maker(left) or _difference(left, identity)):
        forget(work)  # the run was stopped while it cleaned up
    return summary


def _check_same(work: Workspace, identity: dict[str, Any]) -> None:
    """Refuse to go on with a run of another bbclust, on other data, or with other settings."""
    if not work.has_finished_parts():
        return
    before = _identity_in(work)
    maker = _other_maker(before)
    if maker:
        raise CommandError(
            f"{work.partial}: the run that did not end was begun by {maker}: start anew with "
            "--force, or give another directory with --out."
        )
    difference = _difference(before, identity)
    if difference:
        raise CommandError(
            f"{work.partial}: the run that did not end had {difference}: give the same file and "
            "options, or start anew with --force."
        )


def _identity_in(work: Workspace) -> dict[str, Any]:
    """What was written when the run began; empty if there is none, or none that can be read."""
    try:
        found = dict(json.loads(work.identity.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    return found if _has_settings(found) else {}


def _has_settings(identity: dict[str, Any]) -> bool:
    """Whether the settings are there to be compared; a file may have been edited."""
    settings = identity.get("settings")
    return isinstance(settings, dict) and all(
        isinstance(settings.get(name), dict) for name in ("command", "scaling")
    )


def _other_maker(identity: dict[str, Any]) -> str:
    """In words, the bbclust that made a run, unless it gives the same results as this one."""
    version, number = identity.get("bbclust"), identity.get("results_version")
    if (version, number) == (__version__, RESULTS):
        return ""
    made = "a bbclust that did not number its results"
    if number is not None:
        made = f"bbclust {version} with results {number}"
    return f"{made}, and this is bbclust {BUILD}"


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """In what two runs differ, in words; empty if in nothing."""
    then = before["settings"]["command"]
    for name, value in now["settings"]["command"].items():
        if then.get(name) != value:
            option = name.replace("_", "-")
            return f"another --{option} ({_shown(then.get(name))}, now {_shown(value)})"
    if before["settings"]["scaling"].get("kind") != now["settings"]["scaling"]["kind"]:
        return "another --scale"
    if before.get("fingerprint") != now["fingerprint"]:
        return "other data"
    return ""


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _how_to_resume(work: Workspace) -> str:
    if not work.has_finished_parts():
        return ""
    return f"; what is finished is kept in {work.partial}: go on by the same command and --resume."
