"""Files that appear whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DRAFT = ".draft-"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft beside a file, which takes its place once the block has written it.

    It does so only when it is safely on the disk; if anything fails, what was there stays and no
    draft is left. Links stay links. The draft ends as the file does, for writers that go by that.

    Parameters
    ----------
    path : str or path
        Replaced if it exists.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f"{_DRAFT}{secrets.token_hex(8)}-{target.name}")
    try:
        try:
            yield draft
            flush(draft)
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise OSError(
            error.errno,
            f"{path} cannot be written ({error.strerror or error}): choose a place in a folder "
            "that exists and can be written to",
        ) from None


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes into a file, whole or not at all."""
    with whole_file(path) as draft, open(draft, "xb") as file:
        file.write(data)


def remove_drafts(directory: str | os.PathLike[str]) -> None:
    """Remove drafts of writers that were killed."""
    for draft in Path(directory).glob(f"{_DRAFT}*"):
        draft.unlink()


def flush(path: Path) -> None:
    """Ask the disk to keep a file or directory, so that a power cut cannot undo what follows."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot promise this
            raise
    finally:
        os.close(handle)
