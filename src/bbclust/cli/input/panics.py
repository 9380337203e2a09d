"""What packages written in Rust do when a damaged file surprises them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bbclust.cli.output.errors import CommandError


@contextmanager
def panics_as_sentences(file: str) -> Iterator[None]:
    """Turn a panic inside into a sentence about the kind of file, and keep its report to itself.

    A panic is no ``Exception``, has a class of its own in every package, and writes to standard
    error before anybody can catch it.
    """
    try:
        with _no_standard_error():
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise CommandError(f"The {file} is damaged or cut off ({first_line(error)}).") from None


def first_line(error: BaseException) -> str:
    """What an error says, as a part of a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def _no_standard_error() -> Iterator[None]:
    try:
        kept = os.dup(2)
    except OSError:  # there is none
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
