"""Which Dask workers do the work of a command, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bbclust.cli import options as o
from bbclust.cli.output.advice import translate
from bbclust.cli.output.errors import CommandError

if TYPE_CHECKING:
    from distributed import Client

LEAST_MEMORY = 512 * 2**20  # Python, its libraries, and room for a partition


@dataclass(frozen=True)
class ClusterOptions:
    """Which workers do the work, as the options give it."""

    workers: o.Workers = None
    memory_limit: o.MemoryLimit = None
    scheduler: o.Scheduler = None

    @property
    def memory_bytes(self) -> int | None:
        """The limit of each worker; refuses what is no size, or too small to begin with."""
        from dask.utils import parse_bytes

        if self.memory_limit is None:
            return None
        try:
            limit = parse_bytes(self.memory_limit)
        except ValueError:
            raise CommandError(
                f"--memory-limit {self.memory_limit!r} is not understood: give a size such as 1GiB."
            ) from None
        if limit < LEAST_MEMORY:
            raise CommandError(
                f"--memory-limit {self.memory_limit} is less than the 512 MiB that a worker needs "
                "for itself and a partition: give more, and fewer workers if need be."
            )
        return int(limit)

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.scheduler is None:
            _ = self.memory_bytes
            return
        for option, value in (("--workers", self.workers), ("--memory-limit", self.memory_limit)):
            if value is not None:
                raise CommandError(
                    f"{option} is for workers that are started here, and those of --scheduler run "
                    "already: leave one of the two out."
                )


def refuse_cluster_options(options: ClusterOptions) -> None:
    """These options mean nothing to the local engine."""
    for name, value in asdict(options).items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} is for --engine dask: say that too, or leave it out.")


@contextmanager
def _cluster_sentences() -> Iterator[None]:
    """What goes wrong on a cluster, in the sentences that the library has for it."""
    from bbclust.dask.cluster.client import NobodyAnswersError

    try:
        yield
    except NobodyAnswersError as error:
        raise CommandError(translate(str(error))) from error
    except ConnectionError as error:  # how to go on is told by the command
        raise ConnectionError(str(error).rpartition(": ")[0]) from error
    except (MemoryError, RuntimeError, ImportError) as error:
        if not str(error):
            raise
        raise CommandError(translate(str(error))) from error


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Client]:
    """A client of the workers; those that are started here end with it."""
    from bbclust.dask.cluster.client import open_client

    with (
        _cluster_sentences(),
        open_client(
            options.scheduler, n_workers=options.workers, memory_limit=options.memory_bytes
        ) as client,
    ):
        yield client
