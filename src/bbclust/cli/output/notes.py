"""What the library warned of while a command ran."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bbclust.cli.output.advice import translate


@dataclass
class Notes:
    """Warnings as sentences, each once."""

    sentences: list[str] = field(default_factory=list)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the warnings of the block."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            sentence = translate(str(warning.message))
            if issubclass(warning.category, UserWarning) and sentence not in self.sentences:
                self.sentences.append(sentence)
