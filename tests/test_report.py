"""What an analysis says: its summary, and the file made of it."""

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bbclust import BBC, KSelector
from bbclust.baselines import KChoice, compare_baselines
from bbclust.datasets import load_iris
from bbclust.priors import MixturePrior
from bbclust.report import Analysis, gather, summarize
from bbclust.report.analysis import fingerprint_of
from bbclust.report.profiles import make_profiles
from bbclust.report.sentences import answer_sentences, pair_verdict
from bbclust.report.summary import as_plain

DOCS = Path(__file__).parents[1] / "docs"

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


@pytest.fixture(scope="module")
def iris():
    return load_iris()


@pytest.fixture(scope="module")
def selector(iris):
    return KSelector(QUICK, k_range=range(2, 6), n_resamples=3, random_state=0).fit(iris.data)


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
        dropped_rows=2,
        seconds={"choosing K": 1.5},
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


def test_one_cluster_has_no_rest():
    profiles = make_profiles(np.array([[1.0], [2.0]]), np.array([0, 0]), 1)
    assert np.isnan(profiles.means_of_rest).all()
    assert profiles.differences.tolist() == [[0.0]]


# --- sentences ------------------------------------------------------------------------------------


def answer_of(**changes):
    answer = {
        "n_clusters": 3,
        "chosen": True,
        "rows": "fitted",
        "tied_k": [3],
        "confidence": None,
        "cluster_tendency": None,
        "agreed_rows": 90,
        "rows_in_between": 1,
        "worst_pair": {"clusters": [0, 2], "doubt": 0.25, "verdict": "overlapping"},
    }
    return answer | changes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "3 clusters fit the 1,000 rows best."),
        (
            {"tied_k": [2, 3, 4], "confidence": 0.9},
            "3 clusters fit the 1,000 rows best, tied with 2 and 4 within Monte-Carlo error; "
            "half-samples of the rows agree 90% of the time.",
        ),
        (
            {"cluster_tendency": 0.05},
            "3 clusters fit the 1,000 rows best, and data without clusters rarely look like this "
            "(p = 0.05).",
        ),
        (
            {"cluster_tendency": 0.3},
            "3 clusters fit the 1,000 rows best, but data without clusters look like this too "
            "(p = 0.3): take them as a convenience, not as a finding.",
        ),
        (
            {"chosen": False},
            "The 1,000 rows were divided into 3 clusters, a number that was given, not chosen.",
        ),
    ],
)
def test_first_sentence_says_how_many(changes, sentence):
    assert answer_sentences(answer_of(**changes), 1000)[0] == sentence


def test_second_and_third_sentence():
    assert answer_sentences(answer_of(), 100)[1:] == [
        "All votes agree on 90 of the rows (90%); 1 (1%) lies in between, where no cluster has "
        "75% of the votes.",
        "The pair hardest to tell apart, clusters 0 and 2, is overlapping: 0.25 bits of doubt, "
        "where 1 is a coin toss.",
    ]


@pytest.mark.parametrize(
    ("doubt", "verdict"),
    [
        (0.0, "well separated"),
        (0.18, "well separated"),
        (0.19, "overlapping"),
        (0.5, "overlapping"),
        (0.51, "hardly separate"),
        (1.0, "hardly separate"),
    ],
)
def test_a_pair_is_judged_by_its_doubt(doubt, verdict):
    assert pair_verdict(doubt) == verdict


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
        free = path in ("settings", "versions", "seconds", "selection.best_k_by")
        for key, one in value.items():
            name = "{}" if free else key
            here = f"{path}.{name}" if path else name
            yield from [here] if free and path == "settings" else paths(one, here)
    elif isinstance(value, list):
        for one in value:
            yield from paths(one, f"{path}[]")
    else:
        yield path


def test_every_field_is_documented_and_every_documented_field_exists(full):
    documented = set(
        re.findall(r"^\| `([^`]+)` \|", (DOCS / "summary_schema.md").read_text(), re.MULTILINE)
    )
    # Too many K's for the rows and errors of scores are not in every analysis.
    baseline = KChoice("gap", (2,), np.array([1.0]), np.array([0.1]), 2, True)
    summary = summarize(replace(full, baselines=[baseline]))
    summary["selection"]["impossible_k"] = [7]
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


SHAPES = [
    (blobs(1, 10), 1),
    (blobs(2, 10), 2),
    (blobs(7, 10), 7),
    (blobs(15, 10), 15),
    (blobs(3, 10, d=1), 3),
    (blobs(3, 30, d=50), 3),
    (np.array([[0.0, 1.0], [3.0, 1.0]]), 2),
]


@pytest.mark.parametrize(("X", "n_clusters"), SHAPES, ids=lambda value: str(np.shape(value)))
def test_any_shape_has_a_summary_without_gaps(X, n_clusters):
    analysis = gather(fit(X, n_clusters), X)
    summary = summarize(analysis)
    json.dumps(summary, allow_nan=False)
    answer = summary["answer"]
    assert sum(answer["sizes"]) == len(X)
    assert len(answer["sentences"]) == 3
    assert len(summary["clusters"]) == n_clusters
    assert len(summary["pairs"]) == n_clusters * (n_clusters - 1) // 2
    assert (answer["worst_pair"] is None) == (n_clusters == 1)
    assert isinstance(analysis, Analysis)
