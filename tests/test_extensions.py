"""One new object is enough: a criterion, an executor, a clusterer of the ensemble's own seam.

A toy prior is in ``priors/test_own_prior.py``, a toy output file in ``cli/``, a clusterer compiled
into the engine's loop in ``native/``.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bbclust import BBC, KSelector
from bbclust.datasets import load_iris
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.ensemble.job import join
from bbclust.ensemble.run import run_block
from bbclust.report import gather, summarize
from bbclust.selection.criteria import CRITERIA, Criterion, score_measure

IRIS = load_iris().data


# --- a criterion ----------------------------------------------------------------------------------


@pytest.fixture
def doubt(monkeypatch):
    """The K of the least doubt between two clusters."""
    criterion = Criterion(
        "doubt",
        "bbclust, doubt",
        "The rule: the least doubt between the two clusters worst told apart.",
        lambda grid, evidence: score_measure(grid, "pair_doubt"),
    )
    monkeypatch.setitem(CRITERIA, criterion.name, criterion)
    return criterion


def test_a_criterion_is_one_entry(doubt):
    settings = {"k_range": (2, 3, 4), "null_reference": 0, "random_state": 0}
    selector = KSelector(BBC(n_replicas=60), criterion="doubt", **settings).fit(IRIS)
    doubts = selector.grid_.values("pair_doubt")
    best = 2 + int(np.log(np.maximum(doubts, selector.grid_.floor)).mean(axis=1).argmin())
    assert selector.best_k_ == selector.best_k_by_["doubt"] == best
    others = KSelector(BBC(n_replicas=60), **settings).fit(IRIS)
    assert {k: v for k, v in others.best_k_by_.items() if isinstance(k, str)}.keys() == set(
        CRITERIA
    )


def test_the_report_knows_a_new_criterion(doubt):
    selector = KSelector(
        BBC(n_replicas=60), criterion="doubt", k_range=(2, 3), null_reference=0, random_state=0
    ).fit(IRIS)
    summary = summarize(gather(selector, IRIS))
    assert summary["selection"]["criterion"] == "doubt"
    assert summary["selection"]["best_k_by"]["doubt"] == selector.best_k_


# --- an executor ----------------------------------------------------------------------------------


@dataclass
class Backwards:
    """Runs blocks of three replicas from the last to the first, and grids one by one."""

    n_blocks: int = 0
    n_grids: int = 0

    def run_blocks(self, job, replicas, progress):
        blocks = [
            range(i, min(i + 3, replicas.stop)) for i in range(replicas.start, replicas.stop, 3)
        ]
        found = {block: run_block(job, block) for block in reversed(blocks)}
        self.n_blocks += len(blocks)
        progress(len(replicas))
        return join([found[block] for block in blocks])

    def run_grids(self, grids):
        for grid in grids:
            self.n_grids += 1
            yield grid.run()


def test_an_executor_is_one_object():
    executor = Backwards()

    class BackwardsBBC(BBC):
        @contextmanager
        def _executor(self):
            yield executor

    class BackwardsKSelector(KSelector):
        @contextmanager
        def _executor(self):
            yield executor

    settings = {"n_replicas": 31, "votes": "all", "random_state": 0}
    mine = BackwardsBBC(3, **settings).fit(IRIS)
    theirs = BBC(3, **settings).fit(IRIS)
    assert executor.n_blocks == 11
    assert mine.memberships_.tobytes() == theirs.memberships_.tobytes()
    assert mine.replica_centers_.tobytes() == theirs.replica_centers_.tobytes()
    grown = mine.add_replicas(4)
    assert (
        grown.memberships_.tobytes()
        == BBC(3, n_replicas=35, votes="all", random_state=0).fit(IRIS).memberships_.tobytes()
    )

    choice = {"k_range": (2, 3), "null_reference": 0, "n_resamples": 2, "random_state": 0}
    mine = BackwardsKSelector(BBC(n_replicas=20, votes="all"), **choice).fit(IRIS)
    theirs = KSelector(BBC(n_replicas=20, votes="all"), **choice).fit(IRIS)
    assert executor.n_grids == 3
    assert mine.scores_ == theirs.scores_
    assert mine.labels_.tobytes() == theirs.labels_.tobytes()


# --- a clusterer behind the seam ------------------------------------------------------------------


@dataclass(frozen=True)
class OneMoreStart(EngineKMeans):
    """The engine's k-means with one more start: what a clusterer of one's own may inherit."""

    name = "k-means with one more start"

    def run_block(self, job, replicas, *, n_jobs=1):
        more = replace(self, n_init=self.n_init + 1)
        return EngineKMeans.run_block(more, job, replicas, n_jobs=n_jobs)


def test_a_clusterer_of_the_seam_is_used_as_it_is():
    mine = BBC(3, clusterer=OneMoreStart(n_init=4), random_state=0).fit(IRIS)
    theirs = BBC(3, n_init=5, random_state=0).fit(IRIS)
    assert mine.memberships_.tobytes() == theirs.memberships_.tobytes()
    choice = {"k_range": (2, 3), "null_reference": 2, "random_state": 0}
    selector = KSelector(
        BBC(clusterer=OneMoreStart(n_init=4), n_replicas=20, votes="all"),
        **choice,
    ).fit(IRIS)
    same = KSelector(BBC(n_init=5, n_replicas=20, votes="all"), **choice).fit(IRIS)
    assert selector.scores_ == same.scores_
    assert selector.verdict_ == same.verdict_
