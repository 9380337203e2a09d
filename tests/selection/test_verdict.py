"""What is said of clusters: never more than was shown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from bbclust import BBC, KSelector
from bbclust.report import gather, render, summarize
from bbclust.report.glossary import WORDS
from bbclust.selection import k_selector
from bbclust.selection.criteria import Evidence
from bbclust.selection.splits import PairTest, mean_doubts
from bbclust.selection.verdict import (
    UNTESTED,
    KVerdict,
    Split,
    Verdict,
    _kind,
    classify_separation,
    most_chosen,
    renumber,
)

QUICK = BBC(n_replicas=60, n_init=2)


def select(X, k_range=(2,), **parameters):
    settings = {"k_range": k_range, "random_state": 0, **parameters}
    return KSelector(clone(QUICK), **settings).fit(X)


def verdict_of(**changes):
    settings = {
        "best_k": 4,
        "tied_k": (4,),
        "tendency": 0.01,
        "confidence": None,
        "n_resamples": 0,
        "smallest_p": 0.001,
        "best_k_by": {"pairwise": 4, "mean": 4},
        "largest_k": 9,
        "n_divisible": 0,
        "pairs": (),
        "by_k": (),
    }
    return Verdict(**(settings | changes))


def pairs_of(**verdicts):
    """Pairs by name, such as ``p01="touching"``."""
    numbers = {"separated": (0.1, 0.01), "touching": (0.9, 0.3), "halves": (1.4, 0.8)}
    return tuple(
        PairTest((int(name[1]), int(name[2])), *numbers[verdict])
        for name, verdict in verdicts.items()
    )


# --- words of a verdict ---------------------------------------------------------------------------


def test_groups_are_clusters_that_are_not_shown_to_be_separated():
    assert verdict_of().groups() == [[0], [1], [2], [3]]
    assert verdict_of(pairs=pairs_of(p02="touching")).groups() == [[0, 2], [1], [3]]
    chain = pairs_of(p01="separated", p13="halves", p23="touching")
    assert verdict_of(pairs=chain).groups() == [[0], [1, 2, 3]]
    # A pair that is separated does not part what two others hold together.
    circle = pairs_of(p01="touching", p12="touching", p02="separated", p03="separated")
    assert verdict_of(pairs=circle).groups() == [[0, 1, 2], [3]]
    two = pairs_of(p03="touching", p12="touching", p01="separated")
    assert verdict_of(pairs=two).groups() == [[0, 3], [1, 2]]
    assert verdict_of(best_k=1).groups() == [[0]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"pairs": pairs_of(p01="separated")},
            "Use 4 clusters: they are separated from one another (p = 0.01).",
        ),
        (
            {"pairs": pairs_of(p01="separated"), "tendency": 1e-5, "smallest_p": 0.0025},
            "Use 4 clusters: they are separated from one another (p < 0.0025).",
        ),
        (
            {"confidence": {3: 0.1, 4: 0.9}, "n_resamples": 10},
            "Use 4 clusters: they are separated from one another (p = 0.01), and 9 of 10 "
            "half-samples of the rows choose 4 as well.",
        ),
        (
            {"confidence": {3: 0.6, 4: 0.4}, "n_resamples": 10},
            "4 clusters fit best and are separated from one another (p = 0.01). But only 4 of 10 "
            "half-samples of the rows choose 4; most often they choose 3.",
        ),
        (
            {"confidence": {3: 0.5, 4: 0.5}, "n_resamples": 10},
            "4 clusters fit best and are separated from one another (p = 0.01). But only 5 of 10 "
            "half-samples of the rows choose 4.",
        ),
        (
            {"tied_k": (4, 5)},
            "4 clusters fit best and are separated from one another (p = 0.01).",
        ),
        (
            {"n_divisible": 2, "confidence": {4: 1.0}, "n_resamples": 10},
            "Of the numbers tried, 4 clusters fit best and are separated from one another "
            "(p = 0.01). 10 of 10 half-samples of the rows choose 4 as well.",
        ),
        (
            {"pairs": pairs_of(p01="separated", p23="touching")},
            "4 clusters fit best, of which 3 groups are shown to be separated (p = 0.01); clusters "
            "{2, 3} touch one another.",
        ),
        (
            {"pairs": pairs_of(p01="touching", p23="touching", p12="separated")},
            "clusters {0, 1} and {2, 3} touch one another.",
        ),
        (
            {"pairs": pairs_of(p01="touching", p12="touching", p23="touching")},
            "4 clusters fit best, and one ellipsoid or box would rarely look like this (p = 0.01); "
            "but no valley between any two groups of them is shown: they touch, one cloud has "
            "corners, or the rows are too few to show it.",
        ),
        (
            {"tendency": None},
            "Whether there are clusters at all was not tested. If there are, 4 fit best.",
        ),
        ({"tendency": 0.2}, "No clusters are shown: one cloud without a gap could look like this"),
        ({"tendency": 0.2, "best_k": 1}, "No clusters: the rows look like one cloud."),
    ],
)
def test_the_answer(changes, sentence):
    verdict = verdict_of(**changes)
    assert sentence in verdict.answer()
    assert verdict.answer().endswith(".")
    assert ".." not in verdict.answer()
    assert str(verdict).splitlines()[0] == verdict.answer()


def test_has_clusters_is_what_the_p_value_says():
    assert [verdict_of(tendency=p).has_clusters for p in (0.05, 0.06, None)] == [True, False, None]


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_clusters_all_in_one_group_are_nowhere_called_separated(n_clusters):
    names = [f"p{a}{a + 1}" for a in range(n_clusters - 1)]
    for kind in ("touching", "halves"):
        verdict = verdict_of(best_k=n_clusters, pairs=pairs_of(**dict.fromkeys(names, kind)))
        assert verdict.has_clusters
        assert verdict.groups() == [list(range(n_clusters))]
        assert "no valley" in verdict.answer()
        assert "separated" not in str(verdict)


@pytest.mark.parametrize("tendency", [0.06, 1.0])
@pytest.mark.parametrize("best_k", [1, 4])
def test_without_a_valley_nothing_is_called_separated(tendency, best_k):
    verdict = verdict_of(tendency=tendency, best_k=best_k, pairs=pairs_of(p01="touching"))
    assert "No clusters" in verdict.answer()
    assert "separated" not in str(verdict)


def test_many_clusters_that_touch_are_counted_not_listed():
    pairs = pairs_of(**{f"p{a}{a + 1}": "touching" for a in range(7)}, p89="separated")
    verdict = verdict_of(best_k=10, pairs=pairs)
    assert "groups are shown to be separated (p = 0.01); 8 of them touch one" in verdict.answer()


def test_no_doubts_when_all_agree():
    assert verdict_of().doubts() == ""
    assert verdict_of().reasons() == ""
    assert str(verdict_of()) == verdict_of().answer()


def k_verdict(k, kind, cut_ratio, splits=()):
    return KVerdict(k, kind, (0, 1), 0.1, 0.01, cut_ratio, 0.1, 0.1, (1 / k,) * k, None, splits)


def test_reasons_say_what_fewer_and_more_clusters_would_do():
    apart, cut = Split(1, (1, 3), 0.1, True), Split(2, (2, 4), 1.47, False)
    by_k = (
        k_verdict(3, "held", 0.2),
        k_verdict(4, "held", 0.3, (apart,)),
        k_verdict(5, "cut", 1.6, (cut, Split(0, (0, 3), 0.7, False))),
    )
    more = (
        " With 5, cluster 2 may well be cut in two: its parts leave 1.5 times the doubt of a cut "
        "through a cluster."
    )
    joined = {
        "separated": "With 3, clusters 1 and 3 would be one, though they are separated.",
        "touching": "With 3, clusters 1 and 3, which touch, would be one.",
        "halves": "With 3, clusters 1 and 3 would be one.",
    }
    for kind, fewer in joined.items():
        assert verdict_of(by_k=by_k, pairs=pairs_of(p13=kind)).reasons() == fewer + more
    unsure = verdict_of(by_k=(*by_k[1:2], k_verdict(5, "cut", 1.6)))
    assert unsure.reasons() == (
        "With 5, a cluster may well be cut in two: the worst pair leaves 1.6 times the doubt of a "
        "cut through a cluster."
    )
    assert verdict_of(by_k=by_k, tendency=0.5).reasons().startswith("With 5")


def test_doubts_name_those_who_disagree():
    other = verdict_of(best_k_by={"pairwise": 2, "mean": 3})
    assert other.doubts() == "The paper's criteria choose 2 (pairwise) and 3 (mean)."
    one = verdict_of(best_k_by={"pairwise": 4, "mean": 2})
    assert one.doubts() == "The paper's criteria choose 2 (mean)."
    cloud = verdict_of(best_k=1, best_k_by={"pairwise": 2, "mean": 3})
    assert cloud.doubts() == (
        "The paper's criteria, which cannot choose 1, choose 2 (pairwise) and 3 (mean)."
    )


def test_doubts_name_ties_and_the_edge():
    verdict = verdict_of(tied_k=(3, 4, 7), largest_k=4)
    assert verdict.doubts() == (
        "K = 3, 7 tied with it within Monte-Carlo error (run more replicas); 4 is the largest K "
        "tried, and more clusters may fit: try k_range='auto'."
    )
    assert "largest" not in verdict_of(best_k=2, largest_k=2, best_k_by={}).doubts()


def test_more_clusters_may_fit_where_those_of_the_largest_k_have_valleys():
    assert verdict_of(largest_k=6, n_divisible=1).beyond() == (
        "1 of the clusters of K = 6, the largest tried, has a valley of its own, so more clusters "
        "may fit: try k_range='auto'"
    )
    several = verdict_of(largest_k=6, n_divisible=3).beyond()
    assert several.startswith("3 of the clusters of K = 6, the largest tried, have valleys")
    assert verdict_of(largest_k=6).beyond() == ""


def test_whole_clusters_are_rarely_said_to_be_several(seed):
    """Twelve tables, 5% each if the level were used up: seven or more are once in 1.6 million."""
    generator = np.random.default_rng(seed)
    found = []
    for i in range(12):
        shapes = generator.normal(size=(3, 3, 3))
        rows = generator.normal(size=(3, 80, 3)) @ shapes + 6.0 * generator.normal(size=(3, 1, 3))
        selector = select(rows.reshape(-1, 3), (2, 3, 6), refit=False, random_state=i)
        found.append(selector.verdict_.n_divisible > 0)
    assert sum(found) <= 6


def test_more_clusters_are_not_looked_for_where_none_are_shown():
    assert "more clusters may fit" in verdict_of(largest_k=4).beyond()
    assert verdict_of(largest_k=4, tendency=0.5).beyond() == ""


def test_beyond_the_range_that_grows_by_itself_a_range_is_given():
    assert verdict_of(best_k=50, largest_k=50).beyond().endswith("try k_range=range(2, 101)")


def test_among_equals_the_chosen_one_is_most_chosen_else_the_smallest():
    shares = {2: 0.4, 3: 0.4, 5: 0.2}
    assert most_chosen(shares, 3) == 3
    assert most_chosen(shares, 2) == 2
    assert most_chosen(shares, 5) == 2
    assert most_chosen({2: 0.1, 3: 0.9}, 2) == 3


@pytest.mark.parametrize(
    ("relative", "cut", "kind", "kind_if_separated"),
    [
        (0.5, 0.3, "held", "held"),
        (0.51, 0.3, "blurred", "held"),
        (1.0, 0.3, "cut", "held"),
        (None, np.nan, "outlier", "outlier"),
        (None, None, UNTESTED, UNTESTED),
    ],
)
def test_kinds_of_k(relative, cut, kind, kind_if_separated):
    assert _kind(relative, cut, separated=False) == kind
    assert _kind(relative, cut, separated=True) == kind_if_separated
    assert {kind, kind_if_separated} <= {*WORDS, UNTESTED}


def test_a_k_in_one_line():
    verdict = KVerdict(3, "held", (0, 2), 0.034, 0.001, 0.21, 0.1, 0.1, (0.5, 0.3, 0.2), None, ())
    assert str(verdict) == (
        "K = 3: held; at worst 0.03 bits of doubt, 0.21 times that of a cut through a cluster, "
        "between clusters 0 and 2."
    )


def test_a_verdict_as_plain_data_says_the_same():
    verdict = verdict_of(pairs=pairs_of(p01="separated", p23="touching"))
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert [pair["verdict"] for pair in plain["pairs"]] == ["separated", "touching"]
    assert plain["groups"] == [[0], [1], [2, 3]]
    assert plain["has_clusters"] is True
    assert plain["best_k"] == 4


# --- verdicts of tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uniform square", "gaussian", "gaussians 2 deviations apart"])
def test_halves_of_one_cloud_are_nowhere_called_separated(kind, draw_without_a_valley):
    X = draw_without_a_valley(kind, np.random.default_rng(0))
    selector = select(X)
    verdict = selector.verdict_
    assert str(verdict).startswith("No clusters")
    assert verdict.has_clusters is False
    assert "separated" not in str(verdict)
    assert "separated" not in json.dumps(verdict.to_dict())
    summary = summarize(gather(selector, X))
    assert "separated" not in json.dumps([summary["answer"], summary["pairs"]])


def test_tables_of_one_cloud_are_rarely_said_to_have_clusters(seed):
    """Twelve tables: with an error of 5% each, seven or more are once in 1.6 million."""
    generator = np.random.default_rng(seed)
    tables = [generator.normal(size=(150, 2)) for _ in range(12)]
    found = [select(X, refit=False, random_state=i) for i, X in enumerate(tables)]
    assert sum(one.verdict_.has_clusters for one in found) <= 6


def far_blobs(n_each=120, seed=0):
    """Three round clusters, 30 deviations from one another."""
    rows = np.random.default_rng(seed).normal(size=(3 * n_each, 2))
    rows[:n_each] += [30.0, 0.0]
    rows[n_each : 2 * n_each] += [15.0, 26.0]
    return rows


def test_far_blobs_are_separated():
    X = far_blobs()
    selector = select(X, range(2, 6))
    verdict = selector.verdict_
    assert selector.best_k_ == 3
    assert verdict.answer().startswith("Use 3 clusters: they are separated from one another (p")
    assert {test.verdict for test in verdict.pairs} == {"separated"}
    assert verdict.groups() == [[0], [1], [2]]
    by_k = {one.n_clusters: one for one in verdict.by_k}
    assert by_k[3].kind == "held"
    assert by_k[4].kind != "held"
    summary = summarize(gather(selector, X))
    assert summary["answer"]["choice"]["has_clusters"] is True
    assert {pair["verdict"] for pair in summary["pairs"]} == {"separated"}
    assert summary["answer"]["sentences"][0] == verdict.answer()


def test_splits_say_which_clusters_of_the_smaller_k_are_several():
    X = far_blobs()
    X[:120] += [0.0, 200.0]  # one is far from the other two
    two, three = select(X, (2, 3), refit=False).verdict_.by_k
    assert two.splits == ()
    (split,) = three.splits
    assert len(split.children) == 2
    assert split.supported
    assert split.cut_ratio <= 0.5
    assert all(three.parents[child] == split.parent for child in split.children)


def test_a_k_between_half_a_cut_and_a_cut_is_held_if_it_is_separated():
    grid = select(far_blobs(40), (2, 4), refit=False).grid_
    cuts = {one.n_clusters: one.doubt / 0.8 for one in classify_separation(grid, Evidence())}
    two, four = classify_separation(grid, Evidence(cuts, separated={4: True}))
    assert two.cut_ratio == four.cut_ratio == pytest.approx(0.8)
    assert (two.kind, four.kind) == ("blurred", "held")


def test_a_small_cluster_beside_large_ones_is_found_by_its_valleys():
    """Sixty rows beside 2,000, six deviations away: more doubt than half a cut leaves."""
    X = np.random.default_rng(0).normal(size=(4060, 2))
    X[:2000, 0] += 9.0
    X[4000:, 1] += 6.0
    selector = select(X, (2, 3, 4), refit=False)
    by_k = {one.n_clusters: one for one in selector.verdict_.by_k}
    assert selector.best_k_ == 3
    assert selector.verdict_.groups() == [[0], [1], [2]]
    assert by_k[3].kind == "held"
    assert 0.5 < by_k[3].cut_ratio < 1
    assert by_k[4].kind == "cut"
    without_clouds = select(X, (2, 3, 4), refit=False, null_reference=0)
    assert without_clouds.best_k_ == 2
    assert without_clouds.verdict_.by_k[1].kind == "blurred"


def test_one_outlier_makes_no_cluster():
    X = np.vstack([far_blobs(), [[500.0, 500.0]]])
    selector = select(X, (3, 4), refit=False)
    assert [one.kind for one in selector.verdict_.by_k][1] == "outlier"
    assert selector.verdict_.by_k[1].cut_ratio is None


def test_all_that_is_said_of_clusters_has_the_numbers_of_the_model(monkeypatch):
    """K is chosen on 300 of 3,000 rows, in which the clusters have another order of size."""
    monkeypatch.setattr(k_selector, "MAX_SAMPLE", 300)
    n = 3000
    rows = np.random.default_rng(0).normal(size=(n, 2))
    cluster = np.searchsorted([0.35, 0.68], np.arange(n) / n, side="right")
    rows[:, 0] += 12.0 * cluster  # on a line: the middle one is a neighbour of both
    orders = set()
    for seed in range(30):
        selector = select(rows, (3,), random_state=seed)
        assert selector.n_sample_ == 300
        (of_grid,) = selector.grid_.references
        centers = selector.best_estimator_.cluster_centers_
        np.testing.assert_allclose(of_grid.centers, centers, atol=1.0)
        (one,) = selector.verdict_.by_k
        assert one.sizes == pytest.approx(of_grid.shares)
        doubts = mean_doubts(selector.grid_, 3)
        assert doubts[one.worst_pair] == doubts.max() == pytest.approx(one.doubt)
        cells = zip(selector.grid_.cells, selector.curves_["worst_pair"], strict=True)
        for cell, pair in cells:
            assert cell.pair_doubts[cell.doubtful_pair] == cell.pair_doubt
            assert cell.worst_pair == tuple(pair)
        place = centers[:, 0].argsort().argsort()
        assert len(selector.verdict_.pairs) == 2
        for test in selector.verdict_.pairs:
            first, second = test.clusters
            assert first < second
            assert abs(place[first] - place[second]) == 1
        orders.add(bool((np.diff(one.sizes) <= 0).all()))
        if orders == {True, False}:
            return
    pytest.fail("Some sample should have another order.")


# --- what a verdict does not depend on ------------------------------------------------------------


def mixed():
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(150, 2))
    rows[:50, 0] += 4.0
    rows[50:100, 1] += 9.0
    return rows


def numbers(selector):
    verdict = selector.verdict_
    return (
        selector.best_k_,
        selector.cluster_tendency_,
        [(test.clusters, test.relative_doubt, test.p_value) for test in verdict.pairs],
    )


def test_same_verdict_for_any_number_of_threads_and_equal_weights():
    X = mixed()
    plain = select(X, (2, 3, 4), n_resamples=2, refit=False)
    for other in (
        select(X, (2, 3, 4), n_resamples=2, refit=False, n_jobs=2),
        KSelector(clone(QUICK), k_range=(2, 3, 4), n_resamples=2, refit=False, random_state=0).fit(
            X, sample_weight=np.full(150, 7.0)
        ),
    ):
        assert other.verdict_ == plain.verdict_
        assert numbers(other) == numbers(plain)


def test_a_row_without_weight_says_nothing():
    X = mixed()
    weights = np.arange(150) % 3 + 1.0
    settings = {"k_range": (2, 3, 4), "refit": False, "random_state": 0}
    plain = KSelector(clone(QUICK), **settings).fit(X, sample_weight=weights)
    more = KSelector(clone(QUICK), **settings).fit(
        np.insert(X, 70, [900.0, -900.0], axis=0), sample_weight=np.insert(weights, 70, 0.0)
    )
    assert more.verdict_ == plain.verdict_
    assert numbers(more) == numbers(plain)


@pytest.mark.parametrize("shift", [-2.5, 1e6])
def test_translation_leaves_the_verdict(shift):
    X = mixed()
    here, there = (select(rows, (2, 3, 4), refit=False) for rows in (X, X + shift))
    assert there.best_k_ == here.best_k_
    assert there.cluster_tendency_ == pytest.approx(here.cluster_tendency_, rel=1e-3)
    assert [one.kind for one in there.verdict_.by_k] == [one.kind for one in here.verdict_.by_k]
    for mine, other in zip(here.verdict_.pairs, there.verdict_.pairs, strict=True):
        assert mine.clusters == other.clusters
        assert other.p_value == pytest.approx(mine.p_value, rel=1e-3)
        assert other.relative_doubt == pytest.approx(mine.relative_doubt, rel=1e-3)


def test_nothing_is_tested_without_clouds():
    X = far_blobs()
    X[:120] += [0.0, 200.0]
    selector = select(X, (2, 3, 4, 5), null_reference=0)
    assert selector.best_k_ == 3  # beside halves of its own clusters, not of clouds
    assert selector.cluster_tendency_ is None
    assert selector.verdict_.pairs == ()
    assert selector.verdict_.has_clusters is None
    assert "was not tested" in selector.verdict_.answer()
    summary = summarize(gather(selector, X))
    assert {pair["verdict"] for pair in summary["pairs"]} == {UNTESTED}
    assert "separated" not in json.dumps(summary["answer"])
    cloud = select(np.random.default_rng(0).normal(size=(100, 2)), null_reference=0)
    assert cloud.best_k_ == 2


@pytest.mark.parametrize("criterion", ["pairwise", "mean"])
def test_the_papers_criteria_find_two_clusters_at_least_and_are_tested_too(criterion):
    X = np.random.default_rng(0).normal(size=(150, 2))
    selector = select(X, (2, 3), criterion=criterion, refit=False)
    assert selector.best_k_ in (2, 3)
    assert 1 not in selector.mc_confidence_
    assert selector.verdict_.answer().startswith("No clusters are shown")
    assert len(selector.verdict_.pairs) >= 1


# --- K = 1 from end to end ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_cloud():
    """Rows that look like one cloud, and what was found: four of ten such tables or so."""
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        selector = select(X, (2, 3), n_resamples=3)
        if selector.best_k_ == 1:
            return X, selector
    pytest.fail("None of forty clouds is one cloud.")


def test_one_cluster_is_a_model(one_cloud):
    X, selector = one_cloud
    assert selector.best_estimator_.n_clusters == 1
    assert set(selector.labels_) == {0}
    assert set(selector.predict(X + 1)) == {0}
    assert selector.predict_proba(X).tolist() == [[1.0]] * len(X)
    assert selector.transform(X).shape == (60, 1)


def test_one_cluster_in_words_and_numbers(one_cloud):
    _, selector = one_cloud
    verdict = selector.verdict_
    assert str(verdict).startswith("No clusters: the rows look like one cloud.")
    assert verdict.pairs == ()
    assert verdict.groups() == [[0]]
    assert verdict.best_k == 1
    assert selector.cluster_tendency_ > 0.05
    assert selector.confidence_ is None
    assert selector.mc_confidence_[1] == 1.0
    assert selector.tied_k_ == (1,)
    assert selector.best_k_by_["auto"] == 1
    assert selector.best_k_by_["pairwise"] > 1
    assert set(selector.scores_) == {2, 3}
    assert [one.n_clusters for one in verdict.by_k] == [2, 3]


def test_one_cluster_has_a_summary_and_a_page(one_cloud):
    X, selector = one_cloud
    analysis = gather(selector, X, truth=np.arange(60) % 2)
    summary = json.loads(json.dumps(summarize(analysis), allow_nan=False))
    assert summary["answer"]["n_clusters"] == summary["selection"]["best_k"] == 1
    assert summary["answer"]["worst_pair"] is None
    assert summary["answer"]["sizes"] == [60]
    assert summary["answer"]["choice"]["groups"] == [[0]]
    assert summary["pairs"] == []
    assert summary["answer"]["sentences"][0].startswith("No clusters: the rows look like one cloud")
    page = render(analysis)
    assert "No clusters: the rows look like one cloud." in page


def test_other_numbers_say_the_same_of_the_same_clusters():
    """Of four blobs on a line, K = 3 is given the numbers 2, 0, 1 for its clusters 0, 1, 2."""
    X = np.repeat([[0.0], [40.0], [100.0], [160.0]], [60, 50, 40, 30], axis=0)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    selector = select(X, (2, 3, 4), refit=False)
    verdict = replace(selector.verdict_, best_k=3)
    pair = PairTest((0, 2), 0.5, 0.01)
    before = replace(verdict, pairs=(pair,))
    numbers = [2, 0, 1]
    doubts = mean_doubts(selector.grid_, 3)
    after = renumber(before, numbers, mean_doubts(selector.grid_.renumbered(3, numbers), 3))
    assert after.pairs == (replace(pair, clusters=(1, 2)),)
    old, new = before.by_k[1], after.by_k[1]
    assert [new.sizes[numbers[i]] for i in range(3)] == list(old.sizes)
    assert [new.parents[numbers[i]] for i in range(3)] == list(old.parents)
    assert new.worst_pair == tuple(sorted(numbers[i] for i in old.worst_pair))
    (split,), (was,) = new.splits, old.splits
    assert split.children == tuple(sorted(numbers[i] for i in was.children))
    assert split.parent == was.parent
    four, was = after.by_k[2], before.by_k[2]
    assert four.parents == tuple(numbers[i] for i in was.parents)
    assert [one.parent for one in four.splits] == [numbers[one.parent] for one in was.splits]
    assert after.by_k[0] == before.by_k[0]
    assert renumber(after, np.argsort(numbers).tolist(), doubts) == before
    tied = renumber(before, numbers, np.zeros((3, 3)))
    assert tied.by_k[1].worst_pair == (0, 1)
