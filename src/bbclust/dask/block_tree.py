"""Blocks of replicas as tasks of a cluster.

Two neighbours that are done are joined by another task, on and on: a tree, so that nobody ever
holds the votes of many blocks. Votes are whole numbers and everything else is joined in the order
of the replicas, so the result is the same bits for any number of workers and any size of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from distributed import Future

from bbclust.dask.cluster.session import LostResult, Session, Shared, Tasks
from bbclust.ensemble.job import Job, Replicas, join
from bbclust.ensemble.run import Progress, block_size, run_block

BLOCKS_PER_THREAD = 4  # so that a slow worker does not keep the others waiting for long


def choose_block_size(job: Job, n_replicas: int, n_threads: int) -> int:
    """Replicas per task: a few tasks per thread, none of them longer than some seconds."""
    at_most = 4 * block_size(job, 1)
    return min(at_most, -(-n_replicas // (BLOCKS_PER_THREAD * n_threads)))


@dataclass(frozen=True)
class BlockNode:
    """A node of the tree over some blocks: 2^level neighbours, fewer at the end.

    Examples
    --------
    >>> list(BlockNode(level=1, index=2).blocks(n_blocks=10))
    [4, 5]
    >>> list(BlockNode(level=2, index=2).blocks(n_blocks=10))
    [8, 9]
    """

    level: int
    index: int

    def blocks(self, n_blocks: int) -> range:
        """Numbers of the blocks below it."""
        first, last = self.index << self.level, (self.index + 1) << self.level
        return range(min(first, n_blocks), min(last, n_blocks))

    @property
    def sibling(self) -> BlockNode:
        return BlockNode(self.level, self.index ^ 1)

    @property
    def parent(self) -> BlockNode:
        return BlockNode(self.level + 1, self.index // 2)


class BlockTree:
    """Blocks under way, and the nodes that are done and wait for their sibling."""

    def __init__(self, session: Session, tasks: Tasks, shared: Shared, blocks: list[range]) -> None:
        self._session = session
        self._tasks = tasks
        self._shared = shared
        self._blocks = blocks
        self._waiting: dict[BlockNode, Future] = {}
        self._done: set[int] = set()

    def reduce(self, progress: Progress) -> Replicas:
        """Run all blocks; or, once ``progress`` says that it is enough, the first that are done."""
        for block in range(len(self._blocks)):
            self._start_block(block)
        while True:
            self._wait(progress)
            nodes = sorted(self._waiting, key=lambda node: self._below(node).start)
            found = [self._session.fetch(self._waiting[node]) for node in nodes]
            if not any(isinstance(part, LostResult) for part in found):
                return join(found)
            for node, part in zip(nodes, found, strict=True):
                if isinstance(part, LostResult):
                    del self._waiting[node]
                    self._start_again(node)

    def _wait(self, progress: Progress) -> None:
        enough = False
        for ended in self._tasks:
            node = ended.purpose
            if isinstance(ended.result, LostResult):
                self._start_again(node)
                continue
            self._shared.reset_send_count()
            if node.level == 0 and node.index not in self._done:
                self._done.add(node.index)
                enough |= progress(sum(len(self._blocks[block]) for block in self._done))
            self._add(node, ended.result)
            if enough:
                self._leave_the_rest()

    def _below(self, node: BlockNode) -> range:
        return node.blocks(len(self._blocks))

    def _start_block(self, block: int) -> None:
        replicas = self._blocks[block]
        name = f"replicas-{replicas.start}-{replicas.stop}"
        self._tasks.start(BlockNode(0, block), name, run_block, self._shared.future(), replicas)

    def _start_again(self, node: BlockNode) -> None:
        self._shared.invalidate_if_lost()
        for block in self._below(node):
            self._start_block(block)

    def _add(self, node: BlockNode, result: Future) -> None:
        """Join a node that is done with its sibling, if that is done too."""
        while node.index and not self._below(node.sibling):
            node = node.parent  # nothing to join it with
        sibling = self._waiting.pop(node.sibling, None)
        if sibling is None:
            self._waiting[node] = result
            return
        parts = (sibling, result) if node.index % 2 else (result, sibling)
        below = self._below(node.parent)
        name = f"votes-sum-{self._blocks[below[0]].start}-{self._blocks[below[-1]].stop}"
        # before blocks that have not begun, so that their votes do not pile up
        self._tasks.start(node.parent, name, _join, *parts, priority=1)

    def _leave_the_rest(self) -> None:
        """Keep the blocks that are done up to the first that is not, if there are any."""
        n_first = next((b for b in range(len(self._blocks)) if b not in self._done), None)
        if not n_first:  # none is missing, or the first
            return
        self._tasks.cancel(lambda node: self._below(node).start >= n_first)
        for node in [p for p in self._waiting if self._below(p).start >= n_first]:
            del self._waiting[node]
        self._done = set(range(n_first))


def _join(first: Replicas, second: Replicas) -> Replicas:
    return join([first, second])
