"""What an analysis says: its summary, and the file made of it."""

import base64
import hashlib
import importlib
import json
import os
import re
import sys
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError

from bbclust import BBC, BagClust1, BagClust2, KSelector, load_model
from bbclust.baselines import KChoice, compare_baselines
from bbclust.datasets import load_iris
from bbclust.diagnostics.row_counts import CLEAR_SHARE, FEWEST_VOTES, possible_dissent
from bbclust.priors import MixturePrior
from bbclust.report import gather, render, summarize, write_report
from bbclust.report.analysis import fingerprint_of
from bbclust.report.k_slider import describe_every_k, keep_colors
from bbclust.report.methods import compare_methods
from bbclust.report.prior_histograms import column_histograms
from bbclust.report.profiles import make_profiles
from bbclust.report.rows import MAX_ROWS, show_rows
from bbclust.report.sentences import (
    answer_sentences,
    headline,
    pair_sentence,
    stability_sentence,
)
from bbclust.report.summary import as_plain
from bbclust.report.theme import DARK, LIGHT, cluster_colors, contrast
from bbclust.selection.sensitivity import Sensitivity, Variation
from bbclust.selection.splits import mean_doubts

DOCS = Path(__file__).parents[2] / "docs"

QUICK = BBC(n_replicas=40, n_init=2, votes="all")


def blobs(n_clusters, n_each=20, d=2, separation=6.0, seed=0):
    generator = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(n_clusters) / n_clusters
    centers = np.zeros((n_clusters, d))
    centers[:, 0] = separation * n_clusters / 4 * np.cos(angles)
    if d > 1:
        centers[:, 1] = separation * n_clusters / 4 * np.sin(angles)
    return generator.normal(size=(n_clusters * n_each, d)) + np.repeat(centers, n_each, axis=0)


def fit(X, n_clusters=3, **parameters):
    settings = {"n_replicas": 40, "votes": "all", "random_state": 0}
    return BBC(n_clusters, **(settings | parameters)).fit(X)


def audited(name):
    """What a command saw of a column, as plain data."""
    finding = {"kind": "label", "sure": False, "reason": name}
    seen = {"column": name, "type": name, "distinct": 0.5, "gaps": 0.0, "part": "set aside"}
    return {**seen, "looks_like": [finding]}


@pytest.fixture(scope="module")
def iris():
    return load_iris()


@pytest.fixture(scope="module")
def selector(iris):
    return KSelector(
        QUICK, k_range=range(2, 6), null_reference=7, n_resamples=3, random_state=0
    ).fit(iris.data)


@pytest.fixture(scope="module")
def full(iris, selector):
    """An analysis with everything that one can have."""
    return gather(
        selector,
        iris.data,
        columns=iris.feature_names,
        original=10 * iris.data,
        scaling="none, but in millimetres",
        ids=[f"flower {i}" for i in range(150)],
        id_name="flower",
        truth=np.array(iris.target_names)[iris.target],
        truth_name="species",
        source="iris.csv",
        set_aside={"colour": "text"},
        audit=[audited("colour")],
        dropped_rows=2,
        baselines=compare_baselines(
            iris.data, range(2, 6), methods=["silhouette", "gap"], n_references=5, random_state=0
        ),
    )


# --- gathering ------------------------------------------------------------------------------------


def test_rows_of_the_fit_have_the_memberships_of_the_fit(iris):
    model = BBC(3, random_state=0).fit(iris.data)
    analysis = gather(model, iris.data)
    assert analysis.is_training
    assert analysis.memberships is model.memberships_
    np.testing.assert_array_equal(analysis.labels, model.labels_)
    np.testing.assert_array_equal(analysis.entropy, model.entropy_)
    assert analysis.columns == ("x1", "x2", "x3", "x4")


@pytest.mark.parametrize("change", ["moved", "fewer", "shuffled"])
def test_other_rows_are_judged_by_the_replicas(iris, change):
    model = BBC(3, random_state=0).fit(iris.data)
    X = {"moved": iris.data + 0.01, "fewer": iris.data[:50], "shuffled": iris.data[::-1]}[change]
    analysis = gather(model, X)
    assert not analysis.is_training
    np.testing.assert_array_equal(analysis.memberships, model.predict_proba(X))
    summary = summarize(analysis)
    assert summary["answer"]["rows"] == "new"
    assert summary["answer"]["mean_entropy_se"] is None
    assert [one["stability"] for one in summary["clusters"]] == [None] * 3
    assert "found again" not in " ".join(summary["answer"]["sentences"])
    assert "a model fitted on other rows" in summary["answer"]["sentences"][0]


def test_rows_of_weight_zero_are_rows_of_the_fit(iris):
    weights = np.ones(150)
    weights[:10] = 0
    model = BBC(3, random_state=0).fit(iris.data, sample_weight=weights)
    analysis = gather(model, iris.data)
    assert analysis.is_training
    mean = summarize(analysis)["answer"]["mean_entropy"]
    assert mean == pytest.approx(model.mean_entropy_, rel=1e-12)


def test_a_selector_brings_its_model(iris, selector):
    analysis = gather(selector, iris.data)
    assert analysis.model is selector.best_estimator_
    assert analysis.selector is selector
    assert set(analysis.settings) == {"BBC", "KSelector"}


def test_names_come_from_the_data_frame_of_the_fit(iris):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(iris.data, columns=iris.feature_names)
    assert gather(fit(frame), frame).columns == iris.feature_names


def test_names_of_rows_go_by_place_whatever_the_index():
    pandas = pytest.importorskip("pandas")
    X = blobs(2, 3)
    names = pandas.Series(list("abcdef"), index=[5, 4, 3, 2, 1, 0])
    rows = summarize(gather(fit(X, 2), X, ids=names, truth=names))["answer"]["most_uncertain"]
    assert [row["id"] for row in rows] == ["abcdef"[row["row"]] for row in rows]


def test_fingerprint_knows_values_shape_names_and_order():
    X = np.arange(6.0).reshape(3, 2)
    names = ["a", "b"]
    others = [
        fingerprint_of(X + 1e-9, names),
        fingerprint_of(X.reshape(2, 3), ["a", "b", "c"]),
        fingerprint_of(X, ["b", "a"]),
        fingerprint_of(X[::-1], names),
        fingerprint_of(X.astype(np.float32), names),
    ]
    mine = fingerprint_of(X, names)
    assert mine not in others
    assert mine == fingerprint_of(np.asfortranarray(X), names)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"columns": ["a"]}, "columns has 1 names and X 4 columns"),
        ({"ids": ["a", "b"]}, "ids has 2 values and X 150 rows"),
        ({"truth": [1]}, "truth has 1 values and X 150 rows"),
        ({"original": [[1.0]]}, r"original has shape \(1, 1\) and X \(150, 4\)"),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(iris, details, message):
    with pytest.raises(ValueError, match=message):
        gather(fit(iris.data), iris.data, **details)


def test_a_model_without_memberships_is_refused(iris):
    model = BagClust2(3, n_replicas=50, random_state=0).fit(iris.data)
    with pytest.raises(TypeError, match="shows memberships, and BagClust2 has none: give a fitted"):
        gather(model, iris.data)


def test_an_estimator_that_is_not_fitted_is_refused(iris):
    with pytest.raises(NotFittedError):
        gather(BBC(), iris.data)


# --- profiles -------------------------------------------------------------------------------------


def test_profiles_by_hand():
    values = np.array([[0.0, 5.0], [2.0, 5.0], [7.0, 5.0]])
    profiles = make_profiles(values, np.array([0, 0, 1]), 3)
    assert profiles.sizes.tolist() == [2, 1, 0]
    np.testing.assert_allclose(profiles.means[:2], [[1, 5], [7, 5]])
    np.testing.assert_allclose(profiles.means_of_rest, [[7, 5], [1, 5], [3, 5]])
    assert np.isnan(profiles.means[2]).all()
    deviation = np.std([0, 2, 7])
    np.testing.assert_allclose(
        profiles.differences, [[-6 / deviation, 0], [6 / deviation, 0], [0, 0]]
    )
    assert profiles.most_telling(0, 5) == [0, 1]


def test_profiles_of_values_far_from_zero_keep_their_digits():
    near = make_profiles(np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 1]), 2)
    far = make_profiles(np.array([[0.0], [1.0], [3.0]]) + 1e9, np.array([0, 1, 1]), 2)
    np.testing.assert_allclose(far.differences, near.differences, rtol=1e-6)


def test_noise_is_in_no_cluster_and_among_the_rest_of_each():
    profiles = make_profiles(np.array([[0.0], [2.0], [7.0]]), np.array([0, 1, -1]), 2)
    assert profiles.sizes.tolist() == [1, 1]
    np.testing.assert_allclose(profiles.means, [[0], [2]])
    np.testing.assert_allclose(profiles.means_of_rest, [[4.5], [3.5]])


def test_one_cluster_has_no_rest():
    profiles = make_profiles(np.array([[1.0], [2.0]]), np.array([0, 0]), 1)
    assert np.isnan(profiles.means_of_rest).all()
    assert profiles.differences.tolist() == [[0.0]]


# --- sentences ------------------------------------------------------------------------------------


CHOICE = {
    "answer": "Use 3 clusters.",
    "reasons": "",
    "doubts": "Some disagree.",
    "has_clusters": True,
    "other_methods": None,
}


def answer_of(**changes):
    answer = {
        "n_clusters": 3,
        "chosen": True,
        "rows": "fitted",
        "choice": CHOICE,
        "votes_per_row": 100,
        "agreed_rows": 90,
        "rows_in_between": 1,
        "noise_rows": 0,
        "worst_pair": {
            "clusters": [0, 2],
            "doubt": 0.25,
            "relative_doubt": 0.61,
            "verdict": "touching",
        },
    }
    return answer | changes


def others(agree, n=4):
    return {"choice": CHOICE | {"other_methods": {"n": n, "agree": agree, "mostly": 7}}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Use 3 clusters."),
        (
            {"chosen": False, "choice": None},
            "The 1,000 rows were divided into 3 clusters, a number that was given; whether there "
            "are clusters at all was not asked.",
        ),
        (
            {"chosen": False, "choice": None, "n_clusters": 1, "worst_pair": None},
            "The 1,000 rows were divided into 1 cluster, a number that was given.",
        ),
        (
            {"rows": "new"},
            "The 1,000 rows were assigned to the 3 clusters of a model fitted on other rows.",
        ),
        (
            {"rows": "same"},
            "The 1,000 rows were assigned to the 3 clusters of a model that was fitted on these "
            "rows; here all its replicas vote on each of them.",
        ),
    ],
)
def test_first_sentence_says_how_many(changes, sentence):
    assert answer_sentences(answer_of(**changes), 1000)[0] == sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Some disagree."),
        (others(2), "Some disagree."),
        (
            others(1),
            "Some disagree. Of 4 other methods 1 agrees; most often they choose 7.",
        ),
        (
            others(0),
            "Some disagree. Of 4 other methods none agrees; most often they choose 7.",
        ),
        (
            others(2, n=9),
            "Some disagree. Of 9 other methods 2 agree; most often they choose 7.",
        ),
    ],
)
def test_what_to_doubt_comes_after_why(changes, sentence):
    answer = answer_of(**changes)
    assert answer_sentences(answer, 1000)[1] == sentence
    answer["choice"] = answer["choice"] | {"reasons": "That is why."}
    assert answer_sentences(answer, 1000)[1:3] == ["That is why.", sentence]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "in 3 clusters"),
        ({"choice": CHOICE | {"has_clusters": None}}, "divided into 3 clusters, not tested"),
        ({"choice": CHOICE | {"has_clusters": False}}, "no clusters shown"),
        ({"n_clusters": 1}, "no clusters shown"),
        ({"chosen": False, "choice": None}, "divided into 3 clusters"),
        ({"rows": "new"}, "in the 3 clusters of a model"),
    ],
)
def test_title_says_no_more_than_was_found(changes, words):
    assert headline(answer_of(**changes)) == words


def test_sentences_on_rows_and_on_the_worst_pair():
    assert answer_sentences(answer_of(), 100)[2:] == [
        "All votes agree on 90 of the rows (90%); 1 (1%) lies in between, where no cluster has "
        "75% of the votes. Votes tell how stable the division is, not how likely a row belongs to "
        "a group.",
        "Clusters 0 and 2, hardest to tell apart, are touching: they leave 0.61 times the doubt of "
        "two halves of one cloud like them.",
    ]
    of_two = pair_sentence(answer_of(n_clusters=2))
    assert of_two.startswith("The two clusters are touching: they leave 0.61 times")


def test_one_vote_a_row_tells_nothing_of_stability():
    pair = answer_of()["worst_pair"] | {"doubt": 0.0}
    one = answer_of(votes_per_row=1.0, agreed_rows=100, rows_in_between=0, worst_pair=pair)
    said = " ".join(answer_sentences(one, 100)[-2:])
    assert "how stable the division is cannot be told" in said
    assert "agree" not in said
    assert "is stable" not in said
    assert "No votes waver" not in said


@pytest.mark.parametrize(("votes", "share"), [(2, "78%"), (5, "45%"), (10, "26%")])
def test_few_votes_that_agree_are_not_called_stable(votes, share):
    few = f"Where {votes} votes agree, up to {share} of others may not (at 95%)"
    all_agree = answer_of(votes_per_row=float(votes), agreed_rows=100)
    assert few in answer_sentences(all_agree, 100)[-2]
    assert "is stable" not in answer_sentences(all_agree, 100)[-2]
    assert few in answer_sentences(answer_of(votes_per_row=float(votes)), 100)[-2]


def test_as_many_votes_as_tell_a_clear_row_from_one_in_between_need_no_caution():
    assert possible_dissent(FEWEST_VOTES) < 1 - CLEAR_SHARE <= possible_dissent(FEWEST_VOTES - 1)
    enough = answer_of(votes_per_row=float(FEWEST_VOTES), agreed_rows=100)
    assert answer_sentences(enough, 100)[-2].endswith("so the division is stable.")


def test_no_row_is_said_in_words():
    said = answer_sentences(answer_of(agreed_rows=0), 100)[-2]
    assert said.startswith("On no row do all votes agree; 1 (1%) lies in between")


def test_nearly_all_rows_are_not_said_to_be_all():
    nearly = answer_of(agreed_rows=19_913, rows_in_between=3)
    assert "19,913 of the rows (99.6%); 3 (0.01%) lie" in answer_sentences(nearly, 20_000)[-2]


def stabilities(*shares, error=0.01):
    return [
        None if share is None else {"recovered": share, "recovered_se": error} for share in shares
    ]


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            (0.9, 0.8, 0.97, 0.41),
            "Cluster 2 is found again in 97% of the random variations of the data, cluster 3 in "
            "41%; the shares of the others lie between these.",
        ),
        (
            (0.5, 0.9, 0.7),
            "Cluster 1 is found again in 90% of the random variations of the data, cluster 0 in "
            "50%; the share of the other lies between these.",
        ),
        (
            (0.5, 0.9),
            "Cluster 1 is found again in 90% of the random variations of the data, cluster 0 in "
            "50%.",
        ),
        # told apart by less than 1.96 errors of their difference, 0.0277
        (
            (0.99, 0.97, 0.98),
            "Every cluster is found again in at least 97% of the random variations of the data.",
        ),
        (
            (1.0, 1.0),
            "Every cluster is found again in all of the random variations of the data.",
        ),
        (
            (1.0, None, 1.0),
            "Every cluster looked at is found again in all of the random variations of the data.",
        ),
        ((1.0,), ""),
        ((None, None), ""),
        ((), ""),
    ],
)
def test_the_sentence_on_clusters_that_are_found_again(shares, sentence):
    assert stability_sentence(stabilities(*shares)) == sentence
    said = answer_sentences(answer_of(), 100, stabilities(*shares))
    assert said[2].endswith(f" not how likely a row belongs to a group. {sentence}".rstrip())
    assert len(said) == 4


def test_nothing_is_found_again_where_one_vote_a_row_repeats_itself():
    one = answer_of(votes_per_row=1.0, agreed_rows=100, rows_in_between=0)
    assert "found again" not in " ".join(answer_sentences(one, 100, stabilities(1.0, 1.0)))


def test_a_pair_that_was_not_compared_has_its_doubt_alone():
    pair = {
        "clusters": [0, 2],
        "doubt": 0.25,
        "relative_doubt": None,
        "verdict": "not compared",
    }
    bits = "0.25 bits of doubt, where 1 is a coin toss."
    several = answer_of(worst_pair=pair)
    assert pair_sentence(several) == f"Clusters 0 and 2, hardest to tell apart, leave {bits}"
    two = answer_of(worst_pair=pair, n_clusters=2)
    assert pair_sentence(two) == f"The two clusters leave {bits}"


def test_sentences_of_an_answer_without_doubt():
    pair = answer_of()["worst_pair"] | {"doubt": 0.0}
    certain = answer_of(agreed_rows=100, rows_in_between=0, worst_pair=pair)
    assert answer_sentences(certain, 100)[2:] == [
        "All votes agree on every row, so the division is stable.",
        "No votes waver between any two clusters.",
    ]
    assert "; none lies in between" in answer_sentences(answer_of(rows_in_between=0), 100)[2]


# --- the summary ----------------------------------------------------------------------------------


def test_summary_holds_what_was_fitted(full, selector):
    summary = json.loads(json.dumps(summarize(full), allow_nan=False))
    answer, model = summary["answer"], selector.best_estimator_
    assert answer["n_clusters"] == selector.best_k_ == summary["selection"]["best_k"]
    assert answer["confidence"] == selector.confidence_[selector.best_k_]
    assert answer["mean_entropy"] == pytest.approx(model.mean_entropy_, rel=1e-12)
    assert answer["mean_entropy_se"] == model.mean_entropy_se_
    assert answer["max_pairwise_entropy"]["value"] == model.max_pairwise_entropy_
    assert tuple(answer["max_pairwise_entropy"]["clusters"]) == model.worst_pair_
    assert answer["sizes"] == np.bincount(model.labels_).tolist()
    assert [row["entropy"] for row in answer["most_uncertain"]] == sorted(
        model.entropy_, reverse=True
    )[:10]
    for row in answer["most_uncertain"]:
        assert row["id"] == f"flower {row['row']}"
        assert row["memberships"] == model.memberships_[row["row"]].tolist()
    assert len(summary["selection"]["curves"]) == 4 * 3
    assert summary["pairs"][0] == answer["worst_pair"]
    assert summary["seed"] == 0
    assert summary["data"]["fingerprint"].startswith("sha256:")
    assert summary["baselines"][0]["name"] == "silhouette"


def test_centres_are_in_the_units_of_the_file(full, iris):
    summary = summarize(full)
    for cluster in summary["clusters"]:
        mine = full.labels == cluster["cluster"]
        np.testing.assert_allclose(cluster["center"], 10 * iris.data[mine].mean(axis=0))
    assert summary["clusters"][0]["profile"][0]["column"] in iris.feature_names


def test_classes_are_counted_by_cluster(full):
    truth = summarize(full)["truth"]
    assert truth["classes"] == ["setosa", "versicolor", "virginica"]
    assert np.sum(truth["contingency"], axis=1).tolist() == [50, 50, 50]
    assert 0.4 < truth["adjusted_rand_index"] < 0.9


def test_rows_without_a_class_are_not_counted():
    X = blobs(2, 3)
    truth = [2, 2, np.nan, 10, "", None]
    summary = summarize(gather(fit(X, 2), X, truth=truth))["truth"]
    assert summary["classes"] == ["2", "10"]
    assert np.sum(summary["contingency"]) == 3
    assert summary["unknown_rows"] == 3
    assert summary["adjusted_rand_index"] == 1


def test_row_numbers_are_those_of_the_file():
    X = blobs(2, 5)
    numbers = np.arange(10) * 7 + 3
    rows = summarize(gather(fit(X, 2), X, row_numbers=numbers))["answer"]["most_uncertain"]
    assert sorted(row["row"] for row in rows) == numbers.tolist()


def paths(value, path=""):
    """Every field of a summary, as the documentation writes it."""
    if isinstance(value, dict):
        free = path in ("settings", "versions", "files", "selection.best_k_by")
        for key, one in value.items():
            name = "{}" if free else key
            here = f"{path}.{name}" if path else name
            yield from [here] if free and path == "settings" else paths(one, here)
    elif isinstance(value, list):
        for one in value:
            yield from paths(one, f"{path}[]")
    else:
        yield path


def test_stability_is_that_of_the_model(full, selector):
    found = selector.best_estimator_.cluster_stability()
    for k, one in enumerate(summarize(full)["clusters"]):
        assert one["stability"] == {
            name: pytest.approx(getattr(found, name)[k])
            for name in ("jaccard", "jaccard_se", "recovered", "recovered_se", "n_replicas")
        }


def test_every_field_is_documented_and_every_documented_field_exists(full):
    documented = set(
        re.findall(r"^\| `([^`]+)` \|", (DOCS / "summary_schema.md").read_text(), re.MULTILINE)
    )
    # Too many K's for the rows and errors of scores are not in every analysis.
    baseline = KChoice("gap", (2,), np.array([1.0]), np.array([0.1]), 2, True)
    varied = Sensitivity((Variation("as chosen", 2, True, (100, 50), 0, 0),), 150)
    summary = summarize(
        replace(
            full,
            baselines=[baseline],
            sensitivity=varied,
            notes=["a warning"],
            files={"a.csv": "some rows"},
        )
    )
    summary["selection"]["impossible_k"] = [7]
    summary["data"]["missing_values"] = [{"column": "a", "count": 3}]
    found = set(paths(summary))
    optional = {
        path for path in documented if any(f.startswith((f"{path}.", f"{path}[")) for f in found)
    }
    assert found - documented == set()
    assert documented - found - optional == set()


def test_what_json_cannot_hold_becomes_none_or_text():
    class Thing:
        pass

    value = {
        1: np.float64("nan"),
        "inf": [np.inf, -np.inf],
        "numpy": (np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a")),
        "array": np.array([[1.0, np.nan]]),
        "day": date(2024, 2, 29),
        "thing": Thing(),
        "function": len,
        "range": range(2),
        "model": BBC(3, prior=MixturePrior([1], [[0.0]], [[[1.0]]])),
    }
    plain = as_plain(value)
    json.dumps(plain, allow_nan=False)
    assert plain["1"] is None
    assert plain["inf"] == [None, None]
    assert plain["numpy"] == [3, 0.5, True, "a"]
    assert plain["array"] == [[1.0, None]]
    assert plain["day"] == "2024-02-29"
    assert plain["thing"] == "Thing"
    assert plain["function"] == "len"
    assert plain["range"] == [0, 1]
    assert plain["model"]["class"] == "BBC"
    assert plain["model"]["prior"] == "MixturePrior(1 components, 1 features)"


def noisy_model():
    X = np.concatenate([blobs(2, 40), [[30.0, 30.0], [-30.0, 30.0], [30.0, -30.0]]])
    model = BBC(2, clusterer=DBSCAN(eps=1.5), n_replicas=80, random_state=0)
    with pytest.warns(UserWarning, match="no vote of any"):
        return model.fit(X), X


def test_noise_is_counted_apart():
    model, X = noisy_model()
    summary = summarize(gather(model, X, truth=[0] * 40 + [1] * 43))
    answer = summary["answer"]
    assert answer["noise_rows"] == (model.labels_ == -1).sum() >= 3
    assert sum(answer["sizes"]) + answer["noise_rows"] == len(X)
    assert np.sum(summary["truth"]["contingency"]) == sum(answer["sizes"])
    assert "in no cluster at all" in answer["sentences"][1]


SHAPES = {
    "one cluster": (blobs(1, 10), 1),
    "two clusters": (blobs(2, 10), 2),
    "seven clusters": (blobs(7, 10), 7),
    "fifteen clusters": (blobs(15, 10), 15),
    "one column": (blobs(3, 10, d=1), 3),
    "fifty columns": (blobs(3, 30, d=50), 3),
    "two rows": (np.array([[0.0, 1.0], [3.0, 1.0]]), 2),
    "one column, two rows": (np.array([[1e9], [1e9 + 1]]), 1),
    "far from zero": (blobs(3, 10) + 1e9, 3),
    "enormous": (blobs(3, 10) * 1e100, 3),
}


@pytest.fixture(params=SHAPES)
def any_shape(request):
    X, n_clusters = SHAPES[request.param]
    return gather(fit(X, n_clusters), X)


def test_any_shape_has_a_summary_without_gaps(any_shape):
    summary = summarize(any_shape)
    json.dumps(summary, allow_nan=False)
    answer, n_clusters = summary["answer"], any_shape.n_clusters
    assert sum(answer["sizes"]) == any_shape.n_rows
    assert len(answer["sentences"]) == 3
    assert len(summary["clusters"]) == n_clusters
    assert len(summary["pairs"]) == n_clusters * (n_clusters - 1) // 2
    assert (answer["worst_pair"] is None) == (n_clusters == 1)


# --- what the page shows --------------------------------------------------------------------------


def test_shown_rows_lie_where_they_are_and_keep_the_most_uncertain():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(20_000, 3))
    analysis = gather(fit(X, 3, n_replicas=20, n_draws=200), X)
    shown = show_rows(analysis, make_profiles(X, analysis.labels, 3))
    assert len(shown.rows) == MAX_ROWS
    least_certain = np.argsort(-analysis.entropy, kind="stable")[: MAX_ROWS // 2]
    assert np.isin(least_certain, shown.rows).all()
    assert list(shown.axes)[:3] == ["pc1", "pc2", "c0"]
    np.testing.assert_allclose(shown.fields["c1"], X[shown.rows, 1], rtol=1e-6)
    np.testing.assert_array_equal(shown.fields["row"], shown.rows)
    shares = np.stack([shown.fields[f"share{place}"] for place in range(3)], axis=1)
    np.testing.assert_allclose(shares, -np.sort(-analysis.memberships[shown.rows], axis=1))
    near = np.hypot(
        *(
            shown.fields[f"simplex_{axis}"]
            - np.einsum("ik,k->i", analysis.memberships[shown.rows], shown.corners[:, a])
            for a, axis in enumerate("xy")
        )
    )
    assert near.max() < 0.061


def test_values_that_four_bytes_would_blur_keep_eight():
    X = np.column_stack([1.7e9 + np.arange(20.0), np.arange(20.0)])
    shown = show_rows(gather(fit(X, 2), X), make_profiles(X, np.zeros(20, dtype=int), 2))
    assert shown.fields["c0"].dtype == np.float64
    assert shown.fields["c1"].dtype == np.float32


def test_many_columns_leave_the_most_telling_to_choose_from():
    X = blobs(3, 30, d=60)
    X[:, 57] = 100 * X[:, 0]
    analysis = gather(fit(X, 3), X)
    shown = show_rows(analysis, make_profiles(X, analysis.labels, 3))
    assert len(shown.axes) == 42
    assert {"c0", "c57"} <= set(shown.axes)


def test_every_k_has_its_partition_and_colours_that_stay(iris, selector):
    labels = selector.best_estimator_.labels_
    every = describe_every_k(selector, iris.data, labels, np.arange(150))
    nearest = describe_every_k(selector, iris.data, labels)
    assert every["k_values"] == [2, 3, 4, 5]
    assert every["k_values"][every["chosen"]] == selector.best_k_
    for k, one, other in zip(every["k_values"], every["by_k"], nearest["by_k"], strict=True):
        assert sorted(set(one["labels"])) == list(range(k))
        assert len(set(one["colors"])) == k
        assert one["labels"] == other["labels"]  # k-means: the nearest centre
        np.testing.assert_allclose(one["doubts"], mean_doubts(selector.grid_, k), atol=5e-4)
    at_best = every["by_k"][every["chosen"]]
    assert at_best["labels"] == labels.tolist()
    assert at_best["colors"] == list(range(selector.best_k_))


def test_colours_are_complete_even_for_clusters_without_shown_rows():
    labels = np.array([0, 0, 1])
    colors = keep_colors(labels, [labels, np.array([0, 0, 0])], [2, 4], chosen=0)
    assert colors[0] == [0, 1]
    assert len(set(colors[1])) == 4


def test_colours_without_any_clustered_row():
    noise = np.array([-1, -1])
    assert keep_colors(noise, [noise], [3], chosen=0) == [[0, 1, 2]]


def test_histograms_are_densities_of_rows_and_of_the_prior(iris):
    model = BBC(3, random_state=0).fit(iris.data)
    histograms = column_histograms(model.prior_, iris.data, [0, 2])
    assert list(histograms) == [0, 2]
    for one in histograms.values():
        width = np.diff(one.edges)
        assert (one.data * width).sum() == pytest.approx(1)
        assert (one.prior * width).sum() == pytest.approx(1, abs=0.01)
    middles = (histograms[2].edges[1:] + histograms[2].edges[:-1]) / 2
    mean = np.average(middles, weights=histograms[2].prior)
    assert mean == pytest.approx(iris.data[:, 2].mean(), abs=0.2)


def test_histogram_of_a_constant_column():
    prior = MixturePrior([1], [[1e20]], [[[0.0]]]).prepare(np.zeros((2, 1)), None, 1.0)
    one = column_histograms(prior, np.full((5, 1), 1e20), [0])[0]
    assert np.isfinite(one.data).all()
    assert (np.diff(one.edges) > 0).all()


def test_methods_side_by_side(full):
    comparison = compare_methods(summarize(full))
    assert comparison.k_values == (1, 2, 3, 4, 5) or comparison.k_values == (2, 3, 4, 5)
    ours = [method for method in comparison.methods if method.is_ours]
    assert [method.best_k for method in ours] == list(
        summarize(full)["selection"]["best_k_by"].values()
    )
    silhouette = next(m for m in comparison.methods if m.name == "silhouette")
    chosen = [score for score in silhouette.scores if score.chosen]
    assert [score.k for score in chosen] == [silhouette.best_k] == [2]
    assert chosen[0].shade == 100
    assert min(score.shade for score in silhouette.scores) == 0
    agree = sum(choice.best_k == full.n_clusters for choice in full.baselines)
    assert comparison.sentence.startswith(f"{agree} of 2 other methods")
    assert compare_methods(summarize(replace(full, baselines=None))) is None


def test_smaller_scores_are_shaded_more_where_smaller_is_better(full):
    choice = KChoice("x", (2, 3, 4), np.array([1.0, 3.0, np.nan]), None, 2, False)
    method = compare_methods(summarize(replace(full, baselines=[choice]))).methods[-1]
    shades = {score.k: (score.shade, score.value) for score in method.scores}
    assert shades[2] == (100, 1.0)
    assert shades[3] == (0, 3.0)
    assert shades[4] == (0, None)


@pytest.mark.parametrize(("best_k", "end"), [(2, ""), (3, " too")])
def test_one_other_method_agrees_or_not(full, best_k, end):
    summary = summarize(full)
    summary["answer"]["n_clusters"] = 3
    summary["baselines"] = [summary["baselines"][0] | {"best_k": best_k}]
    assert compare_methods(summary).sentence == f"The other method chooses {best_k}{end}."


def test_every_colour_can_be_seen_by_day_and_by_night():
    for theme in (LIGHT, DARK):
        for name in ("ink", "muted"):
            assert contrast(theme[name], theme["page"]) >= 4.5
            assert contrast(theme[name], theme["panel"]) >= 4.5
        assert contrast(theme["accent"], theme["page"]) >= 4.5
    assert min(contrast(color, DARK["page"]) for color in cluster_colors(DARK["page"])) >= 3
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


# --- the page -------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags, texts and scripts of a page, as a browser would find them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.scripts, self._open = [], "", [], None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data
        elif self._open != "style":
            self.text += data


@pytest.fixture(scope="module")
def full_page(full):
    return Page(render(full))


EVIL = "</script><script evil>alert(1)</script><img src=x onerror=a()>\"'&{{7*7}}"


def test_texts_of_strangers_are_text(full, full_page):
    strange = replace(
        full,
        columns=tuple(f"{EVIL}{j}" for j in range(4)),
        ids=[EVIL] * 150,
        id_name=EVIL,
        truth=[EVIL] * 150,
        truth_name=EVIL,
        source=EVIL,
        scaling=EVIL,
        set_aside={EVIL: EVIL},
        audit=[audited(EVIL)],
        settings={EVIL: {EVIL: EVIL}},
        versions={**full.versions, EVIL: EVIL},
        fingerprint=EVIL,
    )
    page, plain = Page(render(strange)), full_page
    assert [tag for tag, _ in page.tags].count("script") == 5
    assert "img" not in {tag for tag, _ in page.tags}
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in plain.tags}
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert page.text.count(EVIL) > 20
    for script in page.scripts[:3]:
        json.loads(script)
        assert "<" not in script
    assert page.scripts[3:] == plain.scripts[3:]


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(full_page):
    policy = next(
        found["content"]
        for tag, found in full_page.tags
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy"
    )
    digests = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in full_page.scripts[3:]
    }
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == digests
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_nothing_in_the_page_points_outside(full_page):
    for tag, found in full_page.tags:
        for name in ("src", "href", "action", "data", "srcset"):
            value = found.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, found)


def test_equal_analyses_give_equal_pages(full):
    assert render(full) == render(full, summarize(full))


def test_the_page_says_what_the_summary_says(full, full_page):
    summary = summarize(full)
    text = re.sub(r"\s+", " ", full_page.text)
    for sentence in summary["answer"]["sentences"]:
        assert sentence in text
    for row in summary["answer"]["most_uncertain"]:
        assert row["id"] in text
        assert f"{row['entropy']:.3f}" in text
    assert f"{summary['truth']['adjusted_rand_index']:.3f}" in text
    assert summary["data"]["fingerprint"] in text
    assert "2 rows left out because of missing values" in text
    assert "colour (text)" in text


def test_any_shape_has_a_page(any_shape):
    page = Page(render(any_shape))
    assert f"{any_shape.n_rows:,} rows" in page.text
    json.loads(page.scripts[0], parse_constant=pytest.fail)


def test_noise_new_rows_loaded_models_and_bagclust_have_pages(iris, tmp_path):
    model, X = noisy_model()
    assert "none" in Page(render(gather(model, X))).text
    bagged = BagClust1(3, n_replicas=100, random_state=0).fit(iris.data)
    assert "No prior was used" in Page(render(gather(bagged, iris.data))).text
    kept = fit(iris.data)
    kept.save(tmp_path / "iris.bbc")
    loaded = gather(load_model(tmp_path / "iris.bbc"), iris.data + 0.01)
    assert not loaded.is_training
    assert "a model that does not tell which rows it was fitted on" in Page(render(loaded)).text


def test_a_million_rows_make_a_small_file_that_says_what_it_shows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1_000_000, 3)).astype(np.float32)
    X[:, 0] += 3 * (np.arange(1_000_000) % 3)
    model = BBC(3, n_replicas=20, n_draws=500, votes="all", random_state=0).fit(X[:20_000])
    html = render(gather(model, X, ids=np.arange(1_000_000)))
    assert len(html.encode()) < 3_000_000
    assert "5,000 of the 1,000,000 rows" in html


# --- the file -------------------------------------------------------------------------------------


def test_report_is_written_whole_or_not_at_all(iris, tmp_path, monkeypatch):
    model = fit(iris.data)
    path = write_report(model, iris.data, tmp_path / "report.html", source="Iris & co")
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert os.listdir(tmp_path) == ["report.html"]
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left on the disk")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_report(model, iris.data, path)
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("package", ["bokeh", "jinja2"])
def test_without_its_packages_the_error_says_what_to_install(iris, monkeypatch, package):
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("page", "figures", "inlined"):
        monkeypatch.delitem(sys.modules, f"bbclust.report.{name}", raising=False)
        monkeypatch.delattr(importlib.import_module("bbclust.report"), name, raising=False)
    with pytest.raises(ImportError, match=rf'needs {package}.*pip install "bbclust\[report'):
        render(gather(fit(iris.data), iris.data))
