"""One look at every partition: a task for each, and a tree that joins what they found.

The tree joins neighbours in the order of the partitions, always the same ones, so that sums are the
same bits for any number of workers. No task ever sees more than one partition and a few results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Future

from bbclust.dask.cluster.session import RETRIES, Session, run_task
from bbclust.version import BUILD

FAN_IN = 16


class Task:
    """A function as a node of a graph, run with the instruction set of the session.

    Parameters
    ----------
    session : Session
    name : str
        What the task does, such as "count-rows": dashboards show it.
    function : callable
    """

    def __init__(self, session: Session, name: str, function: Callable[..., Any]) -> None:
        self._prefix = f"{name}-{uuid4().hex}"
        self._run = delayed(run_task, pure=False)
        self._first = (BUILD, session.isa, function)
        self._count = 0

    def __call__(self, *arguments: Any) -> Delayed:
        key = f"{self._prefix}-{self._count}"
        self._count += 1
        return self._run(*self._first, *arguments, dask_key_name=key)


def shared(name: str, value: Any) -> Delayed:
    """Something that many tasks need, sent to a worker once.

    It is part of the graph and not data on a worker, so that it is not lost when a worker dies.
    """
    return delayed(value, name=f"{name}-{uuid4().hex}", traverse=False)


def each_partition(
    session: Session,
    name: str,
    function: Callable[..., Any],
    rows: da.Array,
    *arguments: Any,
    read: Sequence[Delayed] | None = None,
) -> list[Delayed]:
    """``function(rows of partition i, i, *arguments)`` for all i.

    Reading a partition and looking at it is one task, unless the partitions are given as ``read``
    (:func:`partitions_of`): then several functions can look at what is read once.
    """
    if read is not None:
        task = Task(session, name, function)
        return [task(part, i, *arguments) for i, part in enumerate(read)]
    blocks = rows.map_blocks(
        look_at_block,
        build=BUILD,
        isa=session.isa,
        function=function,
        arguments=list(arguments),
        name=f"{name}-{uuid4().hex}",
        dtype=object,
        meta=np.empty((0, 0), dtype=object),
    )
    return partitions_of(blocks)


def look_at_block(
    rows: Any,
    build: str,
    isa: str,
    function: Callable[..., Any],
    arguments: list[Any],
    block_id: Any = None,
) -> Any:
    """What a function finds in a partition; a task."""
    return run_task(build, isa, function, rows, block_id[0], *arguments)


def partitions_of(rows: da.Array) -> list[Delayed]:
    """Every partition as a node."""
    return list(rows.to_delayed().ravel())


def joined_in_order(
    session: Session, name: str, join: Callable[[list[Any]], Any], parts: Sequence[Delayed]
) -> Delayed:
    """All parts as one: neighbours are joined first, by a tree of fixed shape."""
    task = Task(session, name, join)
    while True:
        parts = [task(list(parts[i : i + FAN_IN])) for i in range(0, len(parts), FAN_IN)]
        if len(parts) == 1:
            return parts[0]


def start(session: Session, nodes: Sequence[Delayed]) -> list[Future]:
    """Start to compute some nodes together: what they have in common is computed once."""
    futures: list[Future] = session.client.compute(list(nodes), retries=RETRIES)
    return futures


def result_of(session: Session, node: Delayed) -> Any:
    """Compute a node and wait for it."""
    return start(session, [node])[0].result()
