"""Parts of the page by themselves: words, pairs, splits, pulls, histograms."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

from bbclust import BBC
from bbclust.priors import MixturePrior
from bbclust.report import gather, render
from bbclust.report.glossary import WORDS, explained, with_names
from bbclust.report.pair_listing import MOST_LISTED, list_pairs
from bbclust.report.prior_histograms import column_histograms
from bbclust.report.profiles import make_profiles
from bbclust.report.row_pulls import describe_columns, rivals_and_pulls
from bbclust.report.split_tree import (
    MOST_CIRCLES,
    MOST_LEVELS,
    choose_levels,
    draw_split_tree,
)

# --- words ----------------------------------------------------------------------------------------


def three_blobs(n_each=30, gap=4.0, seed=0):
    generator = np.random.default_rng(seed)
    centers = gap * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return generator.normal(size=(3 * n_each, 3)) + np.repeat(centers, n_each, axis=0)


@pytest.fixture(scope="module")
def fitted():
    X = three_blobs(gap=3.0)
    return X, BBC(3, n_replicas=60, votes="all", random_state=0).fit(X)


def test_a_meaning_stands_once_on_the_page(fitted):
    X, model = fitted
    text = re.sub(r"\s+", " ", re.sub(r"<script.*?</script>", "", render(gather(model, X))))
    for word in WORDS.values():
        assert text.count(word.meaning.replace("'", "&#39;")) == 1, word.title


def test_a_text_is_explained_once_and_stays_a_text():
    marked = explained("<b>doubt</b>, doubt and relative doubt; undoubted, prior-like")
    assert marked.count('href="#word-doubt"') == 1
    assert marked.count('href="#word-relative-doubt"') == 1
    assert "word-prior" not in marked
    assert "<b>" not in marked


def test_numbers_of_clusters_can_be_named_wherever_they_stand():
    marked = with_names(explained("Clusters 0 and 2 are apart; clusters {1, 3} & 4 clusters, 7"))
    assert re.findall(r'data-name="(\d+)"', marked) == ["0", "2", "1", "3"]


# --- pairs ----------------------------------------------------------------------------------------


def pair(first, second, doubt, verdict="not compared", relative=None):
    return {
        "clusters": [first, second],
        "doubt": doubt,
        "verdict": verdict,
        "relative_doubt": relative,
    }


def doubts_of(pairs, n_clusters):
    doubts = np.zeros((n_clusters, n_clusters))
    for one in pairs:
        a, b = one["clusters"]
        doubts[a, b] = doubts[b, a] = one["doubt"]
    return doubts


def all_pairs(n_clusters, **of_first):
    names = [(a, b) for a in range(n_clusters) for b in range(a + 1, n_clusters)]
    return [
        pair(*names[0], **({"doubt": 0.0} | of_first)),
        *(pair(a, b, 0.0) for a, b in names[1:]),
    ]


def test_pairs_that_are_apart_are_one_sentence():
    pairs = all_pairs(12)
    listing = list_pairs(doubts_of(pairs, 12), pairs)
    assert listing.clusters == []
    assert listing.listed == []
    assert listing.rest == "All 66 pairs of clusters leave no doubt at all."


def test_what_was_tested_is_in_the_sentence():
    pairs = [
        pair(0, 1, 0.2, "touching", 0.5),
        pair(0, 2, 0.0, "separated", 0.0),
        pair(1, 2, 0.0, "not neighbours"),
    ]
    listing = list_pairs(doubts_of(pairs, 3), pairs)
    assert [one["clusters"] for one in listing.listed] == [[0, 1]]
    assert listing.rest == (
        "The other 2 pairs of clusters leave no doubt at all. "
        "1 are separated and 1 are not neighbours."
    ).replace("1 are", "1 is")


def test_a_pair_without_votes_between_it_that_is_not_separated_is_listed():
    pairs = [pair(0, 1, 0.0, "touching", 0.0)]
    listing = list_pairs(doubts_of(pairs, 2), pairs)
    assert listing.listed == pairs
    assert listing.rest == ""


def test_forty_clusters_in_doubt_show_the_worst_pairs_and_bound_the_rest():
    pairs = sorted(
        (pair(k, k + 1, 0.01 * (k + 1)) for k in range(39)), key=lambda one: -one["doubt"]
    )
    listing = list_pairs(doubts_of(pairs, 40), pairs)
    assert listing.clusters == []
    assert listing.listed == pairs[:MOST_LISTED]
    assert listing.rest == "The other 770 pairs of clusters leave at most 0.29 bits of doubt."


def test_the_matrix_has_only_clusters_in_doubt():
    pairs = [pair(0, 5, 0.3), pair(5, 7, 0.2)]
    listing = list_pairs(doubts_of(pairs, 9), pairs)
    assert listing.clusters == [0, 5, 7]
    assert listing.matrix == [[0, 0.3, 0], [0.3, 0, 0.2], [0, 0.2, 0]]


# --- K side by side -------------------------------------------------------------------------------


def test_the_tree_says_which_cluster_splits_into_which():
    two = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    three = np.array([2, 2, 0, 0, 0, 0, 1, 1])
    four = np.array([2, 2, 0, 0, 3, 3, 3, 1])
    tree = draw_split_tree([two, three, four], [2, 3, 4], [[0, 1], [0, 1, 2], [0, 1, 2, 3]], 1, 16)
    root = ElementTree.fromstring(tree.svg)
    assert root.find("desc").text == (
        "From 2 to 3 clusters: 0 splits into 0 (67%) and 2 (33%). "
        "From 3 to 4 clusters: 0 splits into 0 (50%) and 3 (50%); 3 takes rows of 0 and 1."
    )
    assert len(root.findall("g")) == 9
    assert len(root.findall("path")) == 3 + 5
    assert root.findall("g")[0].find("title").text == "K = 2, cluster 0: 75% of the rows"
    assert tree.note == ""


def test_children_stand_below_their_parents():
    generator = np.random.default_rng(0)
    fine = generator.integers(0, 8, size=400)
    partitions = [fine // 4, fine // 2, fine]
    tree = draw_split_tree(partitions, [2, 4, 8], [range(2), range(4), range(8)], 0, 16)
    root = ElementTree.fromstring(tree.svg)
    x = [float(node.find("circle").get("cx")) for node in root.findall("g")]
    assert x[:2] == sorted(x[:2])
    assert x[2:6] == sorted(x[2:6])
    assert x[6:] == sorted(x[6:])


@pytest.mark.parametrize("k_values", [range(2, 11), range(2, 51), (10, 40, 50, 200), (400, 500)])
def test_circles_never_overlap_and_what_is_left_out_is_said(k_values):
    k_values = list(k_values)
    generator = np.random.default_rng(0)
    partitions = [generator.integers(0, k, size=3_000) for k in k_values]
    for part, k in zip(partitions, k_values, strict=True):
        part[:k] = np.arange(k)
    colors = [range(k) for k in k_values]
    tree = draw_split_tree(partitions, k_values, colors, 1, 16)
    levels = choose_levels(k_values, 1)
    if k_values[1] > MOST_CIRCLES:
        assert tree is None
        return
    assert len(levels) <= MOST_LEVELS
    assert sum(k_values[i] for i in levels) <= MOST_CIRCLES
    assert ("would crowd" in tree.note) == (len(levels) < len(k_values))
    by_level = {}
    for node in ElementTree.fromstring(tree.svg).findall("g"):
        circle = node.find("circle")
        place = float(circle.get("cx")), float(circle.get("r"))
        by_level.setdefault(circle.get("cy"), []).append(place)
    for places in by_level.values():
        ordered = np.array(sorted(places))
        assert (np.diff(ordered[:, 0]) >= ordered[1:, 1] + ordered[:-1, 1] - 0.2).all()


def test_one_number_of_clusters_has_no_tree():
    assert draw_split_tree([np.array([0, 1])], [2], [[0, 1]], 0, 16) is None


# --- opened rows ----------------------------------------------------------------------------------


def test_pulls_of_the_columns_add_up_to_the_difference_of_squared_distances(fitted):
    X, model = fitted
    original = 10 * X[:, [0, 1, 2]] * [1, -2, 0.5] + 3
    analysis = gather(model, X, original=original)
    rows = np.arange(len(X))
    about = describe_columns(analysis, make_profiles(original, analysis.labels, 3), rows, [0, 1, 2])
    found = rivals_and_pulls(analysis, rows)
    order = np.argsort(-model.memberships_, axis=1, kind="stable")
    first, second = order[:, 0], found["rival"]
    disputed = np.sort(model.memberships_, axis=1)[:, -2] > 0
    assert disputed.any()
    np.testing.assert_array_equal(second[disputed], order[disputed, 1])
    centers, weights = np.array(about["centers"]), np.array(about["weights"])
    pulls = weights * ((original - centers[second]) ** 2 - (original - centers[first]) ** 2)
    np.testing.assert_allclose(pulls.sum(axis=1), found["pull"], rtol=1e-4, atol=1e-4)
    distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        found["pull"], distances[rows, second] - distances[rows, first], rtol=1e-9, atol=1e-9
    )
    agreed = np.flatnonzero(~disputed)
    nearest_two = np.argsort(distances[agreed], axis=1)[:, :2]
    assert all(second[i] in two for i, two in zip(agreed, nearest_two, strict=True))


def test_pulls_are_left_out_where_they_would_not_be_true(fitted):
    X, model = fitted
    rows = np.arange(len(X))
    curved = gather(model, X, original=np.exp(X))
    profiles = make_profiles(np.exp(X), curved.labels, 3)
    assert describe_columns(curved, profiles, rows, [0, 1, 2])["centers"] is None
    other = BBC(3, clusterer=AgglomerativeClustering(), n_replicas=200, random_state=0).fit(X)
    analysis = gather(other, X)
    assert "pull" not in rivals_and_pulls(analysis, rows)
    assert describe_columns(analysis, profiles, rows, [0])["centers"] is None
    assert render(analysis).startswith("<!doctype html>")


def test_wide_and_long_tables_make_small_pages():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40_000, 50)).astype(np.float32)
    X[:, 0] += 9 * (np.arange(40_000) % 3)
    model = BBC(3, n_replicas=20, n_draws=500, votes="all", random_state=0).fit(X)
    assert len(render(gather(model, X)).encode()) < 4_000_000
    wide = generator.normal(size=(200, 2_000))
    model = BBC(3, n_replicas=20, votes="all", random_state=0).fit(wide)
    assert len(render(gather(model, wide)).encode()) < 2_500_000


# --- prior against data ---------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1.0, 0.1, 0.1 / 0.83, 250.0])
@pytest.mark.parametrize("n", [60, 400, 5_000])
def test_no_bin_is_empty_between_values_that_were_rounded(step, n):
    possible = np.arange(23)
    values = step * np.resize(possible, n)
    prior = MixturePrior([1], [[values.mean()]], [[[values.var()]]]).prepare(
        values[:, None], None, 1.0
    )
    one = column_histograms(prior, values[:, None], [0])[0]
    middles = (one.edges[1:] + one.edges[:-1]) / 2
    among = (middles > values.min()) & (middles < values.max())
    assert (one.data[among] > 0).all()
    assert (one.data * np.diff(one.edges)).sum() == pytest.approx(1)
    draws = (one.prior * np.diff(one.edges)).sum()
    assert draws == pytest.approx(1, abs=0.01)


def test_few_rows_have_few_bins():
    values = np.random.default_rng(0).normal(size=(20, 1))
    prior = MixturePrior([1], [[0.0]], [[[1.0]]]).prepare(values, None, 1.0)
    assert len(column_histograms(prior, values, [0])[0].data) <= 30
