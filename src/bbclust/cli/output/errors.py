"""What goes wrong is told in one sentence on stderr, with exit code 2 and no traceback."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any

from bbclust.cli.output.advice import followable, offering, translate
from bbclust.cli.output.wrapping import fit_line

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130  # what shells give for SIGINT


class CommandError(Exception):
    """A sentence for the person at the keyboard: what was wrong, where, and the way out."""


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn expected failures inside into one sentence and an exit code.

    What is not expected is a mistake of ours and keeps its traceback.
    """
    try:
        yield
    except CommandError as error:
        _leave(followable(str(error)), EXIT_BAD_INPUT)
    except BrokenPipeError:
        _silence_stdout()
        sys.exit(EXIT_BAD_INPUT)  # whoever read our output has left: there is nobody to tell
    except OSError as error:
        _leave(os_sentence(error), EXIT_BAD_INPUT)
    except MemoryError:
        _leave("The memory of this machine does not suffice for this table.", EXIT_BAD_INPUT)
    except KeyboardInterrupt as interrupt:
        _leave(str(interrupt) or "Interrupted.", EXIT_INTERRUPTED)


def handle_errors(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with its expected failures told by :func:`one_sentence`, in its own words."""
    offered = tuple(signature(command).parameters)

    @wraps(command)
    def handled(*arguments: Any, **options: Any) -> None:
        with offering(offered), one_sentence():
            command(*arguments, **options)

    return handled


@contextmanager
def prefix_errors_with(file: str) -> Iterator[None]:
    """Sentences from inside begin with the name of the file that they are about."""
    try:
        yield
    except CommandError as error:
        raise CommandError(f"{file}: {_uncapitalised(str(error))}") from error


@contextmanager
def library_sentences() -> Iterator[None]:
    """Checks of the library inside become sentences of the command."""
    try:
        yield
    except ValueError as error:
        raise CommandError(translate(str(error))) from error


def os_sentence(error: OSError) -> str:
    """What the operating system refused, in words that name the file."""
    where = "" if error.filename is None else f" {str(error.filename)!r}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"The disk is full{' at' + where if where else ''}: free some space and run again."
    if error.errno == errno.EROFS:
        return f"The disk of{where or ' the output'} is read-only: give another place with --out."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"There is no permission to open or write{where}: give another place or ask for it."
    return f"{error.strerror or error}{':' + where if where else ''}."


def printable(text: str) -> str:
    """Without what would move a cursor or change colours: names come from anywhere."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _uncapitalised(sentence: str) -> str:
    first = sentence.split(maxsplit=1)[0]
    return sentence if first.isupper() else sentence[0].lower() + sentence[1:]


def _leave(sentence: str, code: int) -> None:
    line = f"bbclust: {printable(' '.join(sentence.split()))}"
    print(fit_line(line, sys.stderr), file=sys.stderr)
    sys.exit(code)


def _silence_stdout() -> None:
    """Nothing more is written to a pipe without a reader, not even when Python ends."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
