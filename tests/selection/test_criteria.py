"""From measures and evidence to one K: hand-made grids."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bbclust.selection.criteria import (
    HOLDS,
    N_DOUBTFUL_PAIRS,
    NO_EVIDENCE,
    Evidence,
    Scores,
    gather_evidence,
    score,
    tied,
)
from bbclust.selection.grid import Cell, Grid
from bbclust.selection.p_values import LEVEL

FLOOR = 1e-6
N_REPLICAS = 100


def cell(k, scale, pairwise, doubt, mean, noise):
    influence = noise / np.sqrt(N_REPLICAS) * np.random.default_rng(k).normal(size=N_REPLICAS)
    return Cell(
        n_clusters=k,
        prior_scale=scale,
        mean_entropy=mean,
        max_pairwise_entropy=pairwise,
        worst_pair=(0, 1),
        pair_doubt=doubt,
        doubtful_pair=(0, 1),
        mean_entropy_influence=mean * influence,
        max_pairwise_entropy_influence=pairwise * influence,
        pair_doubt_influence=doubt * influence,
        pair_doubts=np.full((k, k), doubt),
        merged_mean_entropy=mean,
    )


def grid_of(pairwise, doubts=None, means=None, *, scales=(1.0,), noise=0.0):
    """A grid over K = 2, 3, ... whose measures are the same at every s."""
    doubts = pairwise if doubts is None else doubts
    means = pairwise if means is None else means
    k_values = tuple(range(2, 2 + len(pairwise)))
    cells = tuple(
        cell(k, scale, *measures, noise)
        for k, *measures in zip(k_values, pairwise, doubts, means, strict=True)
        for scale in scales
    )
    references = tuple(SimpleNamespace(n_clusters=k) for k in k_values)
    return Grid(k_values, scales, cells, references, FLOOR)


def evidence_of(*cuts, **others):
    return Evidence(dict(enumerate(cuts, start=2)), **others)


# --- the rule -------------------------------------------------------------------------------------

# K = 4 has the lowest entropy between two clusters; K = 2 and 5 to 7 have more.
PAIRWISE = [0.3, 0.4, 0.1, 0.2, 0.3, 0.5]


def test_without_evidence_it_is_the_lowest_pairwise_entropy():
    grid = grid_of(PAIRWISE, doubts=[1e-3] * 6)
    assert score(grid).best() == 4
    assert score(grid, "auto", NO_EVIDENCE).best() == score(grid, "pairwise").best()


def test_it_goes_up_to_the_largest_whose_doubt_is_at_most_half_that_of_a_cut():
    grid = grid_of(PAIRWISE, doubts=[0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    assert HOLDS == 0.5
    assert score(grid, "auto", evidence_of(*[0.3] * 6)).best() == 4
    assert score(grid, "auto", evidence_of(0.3, 0.3, 0.3, 0.41, 0.41, 0.39)).best() == 6
    assert score(grid, "auto", evidence_of(0.3, 0.3, 0.3, 0.41, 0.39, 0.41)).best() == 7
    assert score(grid, "auto", evidence_of(*[0.41] * 6)).best() == 7


def test_it_never_goes_down():
    grid = grid_of(PAIRWISE, doubts=[0.01, 0.01, 0.9, 0.9, 0.9, 0.9])
    assert score(grid, "auto", evidence_of(*[0.8] * 6)).best() == 4


def test_a_refused_number_is_skipped():
    grid = grid_of(PAIRWISE, doubts=[0.1] * 6)
    cuts = [0.5] * 6
    assert score(grid, "auto", evidence_of(*cuts, apart={7: False, 6: True})).best() == 6
    refused = {7: False, 6: False, 5: False}
    assert score(grid, "auto", evidence_of(*cuts, apart=refused)).best() == 4
    # The start itself is not refused: something must be said.
    assert score(grid, "auto", evidence_of(*cuts, apart=refused | {4: False})).best() == 4


def test_a_separated_number_holds_up_to_a_whole_cut_though_refused():
    grid = grid_of(PAIRWISE, doubts=[0.2] * 6)
    assert score(grid, "auto", evidence_of(*[0.21] * 6)).best() == 4
    assert score(grid, "auto", evidence_of(*[0.21] * 6, separated={6: True})).best() == 6
    refused = {7: False, 6: False}
    said = evidence_of(*[0.21] * 6, apart=refused, separated={6: True})
    assert score(grid, "auto", said).best() == 6
    assert score(grid, "auto", evidence_of(*[0.19] * 6, separated={6: True})).best() == 4
    # Of the larger ones it says nothing.
    assert score(grid, "auto", evidence_of(*[0.41] * 6, separated={6: True})).best() == 7


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ({"cuts": {3: 0.4}}, 0.2),
        ({"cuts": {3: 0.4}, "apart": {3: True}}, 0.2),
        ({"cuts": {3: 0.4}, "apart": {3: False}}, None),
        ({"cuts": {3: 0.4}, "separated": {3: True}}, 0.4),
        ({"cuts": {3: 0.4}, "apart": {3: False}, "separated": {3: True}}, 0.4),
        ({"cuts": {3: 0.4}, "apart": {2: False}, "separated": {2: True}}, 0.2),
        ({"cuts": {3: 0.4}, "separated": {3: False}}, 0.2),
        ({"cuts": {3: np.nan}}, None),
        ({"cuts": {2: 0.4}}, None),
        ({}, None),
    ],
)
def test_the_doubt_up_to_which_a_number_holds(said, limit):
    found = Evidence(**said).limit(3)
    if limit is None:
        assert 0 < found < 1e-300  # so that it has a logarithm, below that of any doubt
    else:
        assert found == pytest.approx(limit)


def test_clusters_too_small_for_halves_never_hold():
    grid = grid_of(PAIRWISE, doubts=[1e-6] * 6)
    nan = np.nan
    assert score(grid, "auto", evidence_of(0.5, 0.5, 0.5, 0.5, nan, nan)).best() == 5
    assert score(grid, "auto", evidence_of(nan, nan, nan, nan, nan, nan)).best() == 4


def test_of_several_without_any_entropy_it_starts_at_the_largest():
    grid = grid_of([0.0, 0.0, 0.0, 0.2, 0.1, 0.1])
    assert score(grid, "auto", evidence_of(*[np.nan] * 6)).best() == 4
    assert score(grid, "pairwise").best() == 4


def test_logarithms_are_averaged_over_the_scales():
    grid = grid_of([0.1, 0.1], scales=(1.0, 2.0))
    # At one s nothing, at the other much: their geometric mean is below that of K = 2.
    uneven = tuple(
        replace(one, max_pairwise_entropy=value) if one.n_clusters == 3 else one
        for one, value in zip(grid.cells, (0, 0, 0.001, 0.9), strict=True)
    )
    assert score(replace(grid, cells=uneven), "pairwise").best() == 3


# --- K = 1 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tendency", "relative_doubt", "is_one"),
    [
        (0.3, 1.0, True),
        (0.3, 0.99, False),
        (0.05, 2.0, False),
        (0.051, 2.0, True),
        (None, 2.0, False),
        (0.3, None, False),
    ],
)
def test_one_cloud_is_one_cluster(tendency, relative_doubt, is_one):
    evidence = evidence_of(*[0.3] * 6, tendency=tendency, relative_doubt=relative_doubt)
    assert evidence.is_one_cloud is is_one
    scores = score(grid_of(PAIRWISE, noise=0.01), "auto", evidence)
    wins = scores.bootstrap_win_rates(0)
    assert sum(wins.values()) == pytest.approx(1)
    assert np.isfinite(scores.difference_se()).all()
    if is_one:
        assert scores.best() == 1
        assert wins[1] == 1.0
        assert set(wins) == {1, 2, 3, 4, 5, 6, 7}
        assert tied(1, wins) == (1,)
    else:
        assert scores.best() == 4
        assert 1 not in wins


@pytest.mark.parametrize("criterion", ["pairwise", "mean"])
def test_the_papers_criteria_take_no_evidence(criterion):
    grid = grid_of(PAIRWISE, doubts=[1e-3] * 6, means=[0.5, 0.1, 0.2, 0.3, 0.4, 0.6], noise=0.1)
    one = evidence_of(*[0.9] * 6, tendency=1.0, relative_doubt=3.0)
    assert one.is_one_cloud
    best = {"pairwise": 4, "mean": 3}[criterion]
    assert score(grid, criterion).best() == score(grid, criterion, one).best() == best
    without, given = (score(grid, criterion, said) for said in (NO_EVIDENCE, one))
    assert without.bootstrap_win_rates(0) == given.bootstrap_win_rates(0)
    assert 1 not in given.bootstrap_win_rates(0)


# --- noise ----------------------------------------------------------------------------------------


def test_noise_decides_whether_a_larger_number_holds():
    """The doubt of K = 3 is at its limit: it holds about as often as not."""
    grid = grid_of([0.1, 0.2], doubts=[0.1, 0.2], noise=0.2)
    wins = score(grid, "auto", evidence_of(0.4, 0.4)).bootstrap_win_rates(1)
    assert 0.3 < wins[3] < 0.7
    sure = score(grid, "auto", evidence_of(0.4, 0.9)).bootstrap_win_rates(1)
    assert sure[3] > 0.95
    never = score(grid, "auto", evidence_of(0.4, 0.9, apart={3: False}))
    assert never.bootstrap_win_rates(1)[2] > 0.95


def test_the_choice_of_a_score_by_hand():
    values, moves = np.array([1.0, 0.0, 2.0, 3.0]), np.zeros((4, 5))
    doubts = np.array([-9.0, -9.0, -1.0, -3.0])
    limits = np.array([0.0, 0.0, -2.0, -2.0])
    scores = Scores((2, 3, 5, 9), values, moves, doubts, moves, limits)
    assert scores.best() == 9
    assert replace(scores, limits=np.full(4, -5.0)).best() == 3
    assert replace(scores, limits=np.full(4, -np.inf)).best() == 3
    assert replace(scores, one=True).best() == 1
    assert replace(scores, one=True).difference_se().tolist() == [0.0] * 4


# --- other numbers of draws -----------------------------------------------------------------------


def test_doubts_of_cuts_go_with_the_root_of_the_draws():
    evidence = evidence_of(
        *(0.2, 0.6, np.nan),
        apart={3: False},
        separated={2: True},
        tendency=0.1,
        relative_doubt=2.0,
    )
    quarter = evidence.for_draws(0.25)
    assert quarter.cuts[2] == quarter.limit(2) == pytest.approx(0.4)
    assert quarter.cuts[3] == 1.0
    assert np.isnan(quarter.cuts[4])
    assert replace(quarter, cuts=evidence.cuts) == evidence
    assert evidence.for_draws(4.0).cuts[2] == pytest.approx(0.1)


# --- what is asked of clouds ----------------------------------------------------------------------


class AskedSplits:
    """Answers by hand, and what was asked; halves are one number, or one for each K."""

    def __init__(self, halves, apart=(), separated=(), cuts=np.inf):
        self.halves, self.cuts = halves, cuts
        self.apart, self.separated = apart, separated
        self.asked, self.levels = [], {}

    def doubt_of_halves(self, partition):
        return self.halves[partition.n_clusters] if isinstance(self.halves, dict) else self.halves

    def doubt_of_cuts(self, partition):
        return self.cuts

    def is_apart(self, grid, partition, at_most):
        assert at_most == N_DOUBTFUL_PAIRS
        self.asked.append(partition.n_clusters)
        return partition.n_clusters in self.apart

    def is_separated(self, grid, partition, level):
        self.levels[partition.n_clusters] = level
        return partition.n_clusters in self.separated


def found_by(grid, splits):
    """The evidence, and the K chosen by it."""
    evidence = gather_evidence(grid, splits)
    return evidence, score(grid, "auto", evidence).best()


def test_clouds_are_asked_from_the_largest_down_until_one_holds():
    grid = grid_of(PAIRWISE, doubts=[0.1] * 6)
    splits = AskedSplits(0.5, apart=[6, 5])
    evidence, best = found_by(grid, splits)
    assert splits.asked == [7, 6]
    assert list(splits.levels) == [7]
    assert evidence.apart == {7: False, 6: True}
    assert evidence.separated == {}
    assert set(evidence.cuts) == set(grid.k_values)
    assert evidence.tendency is None
    assert best == 6


def test_clouds_are_not_asked_of_what_would_not_be_chosen():
    grid = grid_of(PAIRWISE, doubts=[0.1, 0.1, 0.1, 0.1, 0.6, 0.1])
    splits = AskedSplits(0.5)
    assert found_by(grid, splits)[1] == 4
    assert splits.asked == list(splits.levels) == [7, 5]
    splits = AskedSplits(np.nan)
    assert found_by(grid, splits)[1] == 4
    assert splits.asked == list(splits.levels) == []


# K = 5 to 7 leave between half the doubt of a cut and that of a cut.
BETWEEN = [0.1, 0.1, 0.1, 0.3, 0.3, 0.3]


@pytest.mark.parametrize(("separated", "best"), [([], 4), ([5], 5), ([6], 6), ([5, 6, 7], 7)])
def test_between_half_a_cut_and_a_cut_a_number_holds_if_it_is_separated(separated, best):
    splits = AskedSplits(0.5, apart=[5, 6, 7], separated=separated)
    evidence, found = found_by(grid_of(PAIRWISE, doubts=BETWEEN), splits)
    assert found == best
    assert splits.asked == []  # half a cut is what that is asked of
    assert evidence.separated == ({best: True} if separated else {})


def test_a_number_that_is_not_apart_holds_if_it_is_separated():
    grid = grid_of(PAIRWISE, doubts=[0.1] * 6)
    evidence, best = found_by(grid, AskedSplits(0.5, separated=[6]))
    assert best == 6
    assert evidence.apart == {7: False, 6: False}
    assert evidence.separated == {6: True}
    assert evidence.cuts[6] == 0.5


def test_with_more_doubt_than_its_own_halves_a_number_is_not_asked_and_does_not_hold():
    every = [5, 6, 7]
    splits = AskedSplits(0.29, apart=every, separated=every)
    evidence, best = found_by(grid_of(PAIRWISE, doubts=BETWEEN), splits)
    assert best == 4
    assert splits.asked == list(splits.levels) == []
    assert evidence.apart == evidence.separated == {}


def test_neither_the_start_nor_what_is_below_it_is_asked():
    grid = grid_of(PAIRWISE, doubts=[0.1, 0.1, 0.1, 0.9, 0.9, 0.9])
    splits = AskedSplits(0.5, apart=[2, 3, 4], separated=[2, 3, 4])
    assert found_by(grid, splits)[1] == 4
    assert splits.asked == list(splits.levels) == []


@pytest.mark.parametrize("told_apart", [[7, 6, 5], [7, 5], [6]])
def test_the_level_is_shared_among_the_numbers_it_is_asked_of(told_apart):
    splits = AskedSplits({k: 0.31 if k in told_apart else 0.29 for k in range(2, 8)})
    gather_evidence(grid_of(PAIRWISE, doubts=BETWEEN), splits)
    assert splits.levels == dict.fromkeys(told_apart, pytest.approx(LEVEL / len(told_apart)))


def test_the_level_is_not_shared_anew_where_the_largest_holds():
    splits = AskedSplits(0.5, separated=[5, 6, 7])
    gather_evidence(grid_of(PAIRWISE, doubts=BETWEEN), splits)
    assert splits.levels == {7: pytest.approx(LEVEL / 3)}


def test_what_is_separated_is_held_against_its_own_halves_not_the_cuts_of_the_start():
    """Best cuts of the start leave 0.15 bits: half of that is less than the doubt of all three."""
    grid = grid_of(PAIRWISE, doubts=[0.1] * 6)
    splits = AskedSplits(0.5, apart=[5, 6, 7], cuts=0.15)
    evidence, best = found_by(grid, splits)
    assert best == 4
    assert splits.asked == []
    assert evidence.cuts == {2: 0.5, 3: 0.5, 4: 0.5, 5: 0.15, 6: 0.15, 7: 0.15}
    evidence, best = found_by(grid, AskedSplits(0.5, cuts=0.15, separated=[6]))
    assert best == 6
    assert evidence.cuts == {2: 0.5, 3: 0.5, 4: 0.5, 5: 0.15, 6: 0.5, 7: 0.15}
    # Also where the doubt is between one cut of the start and one of its own clusters.
    evidence, best = found_by(grid, AskedSplits(0.5, cuts=0.05, separated=[6]))
    assert (best, evidence.limit(6)) == (6, 0.5)


def test_the_larger_of_one_that_is_separated_and_one_that_is_apart_is_taken():
    grid = grid_of(PAIRWISE, doubts=[0.1, 0.1, 0.1, 0.1, 0.3, 0.3])
    splits = AskedSplits(0.5, apart=[5], separated=[6])
    assert found_by(grid, splits)[1] == 6
    assert splits.asked == []
    grid = grid_of(PAIRWISE, doubts=[0.1, 0.1, 0.1, 0.3, 0.1, 0.3])
    splits = AskedSplits(0.5, apart=[6], separated=[5])
    assert found_by(grid, splits)[1] == 6
    assert list(splits.levels) == [7]
