"""The classical ways of choosing K agree with implementations that nobody here wrote."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from bbclust import gap_statistic
from bbclust.baselines import (
    DEFAULT_METHODS,
    METHODS,
    KChoice,
    calinski_harabasz,
    compare_baselines,
    davies_bouldin,
    gap,
    mixture_bic,
    prediction_strength,
    silhouette,
    strength,
    study,
)
from bbclust.datasets import load_iris, make_paper_dataset, make_uniform_square

IRIS = load_iris().data
FUNCTIONS = [
    silhouette,
    calinski_harabasz,
    davies_bouldin,
    gap_statistic,
    mixture_bic,
    prediction_strength,
    compare_baselines,
]
INDICES = {
    silhouette: metrics.silhouette_score,
    calinski_harabasz: metrics.calinski_harabasz_score,
    davies_bouldin: metrics.davies_bouldin_score,
}
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
every_index = pytest.mark.parametrize(
    ("function", "metric"), INDICES.items(), ids=[f.__name__ for f in INDICES]
)


def golden(name):
    return json.loads((Path(__file__).parents[1] / "golden" / f"{name}.json").read_text())


def k_means(X, k):
    return KMeans(k, n_init=30, random_state=0, tol=0).fit(X)


def blobs(n=300, k=4, d=2, distance=10.0, seed=0):
    generator = np.random.default_rng(seed)
    centers = distance * np.stack([np.arange(k) % 2, np.arange(k) // 2], axis=1)
    X = generator.standard_normal((n, d))
    X[:, :2] += centers[np.arange(n) % k]
    return X


def assert_same(first, second):
    assert (first.name, first.k_values, first.best_k) == (
        second.name,
        second.k_values,
        second.best_k,
    )
    np.testing.assert_array_equal(first.scores, second.scores)
    assert (first.errors is None) == (second.errors is None)
    if first.errors is not None:
        np.testing.assert_array_equal(first.errors, second.errors)


# --- silhouette, Calinski-Harabasz, Davies-Bouldin ------------------------------------------------


@every_index
def test_indices_are_those_of_scikit_learn(function, metric):
    choice = function(IRIS, range(2, 7), random_state=0)
    expected = [metric(IRIS, k_means(IRIS, k).labels_) for k in range(2, 7)]
    assert choice.k_values == (2, 3, 4, 5, 6)
    np.testing.assert_allclose(choice.scores, expected, rtol=1e-9)
    assert choice.errors is None
    best = np.argmax(expected) if choice.larger_is_better else np.argmin(expected)
    assert choice.best_k == 2 + best


@every_index
def test_given_partitions_are_scored(function, metric):
    generator = np.random.default_rng(0)
    names = np.array(["b", "a", "d", "c"])
    labels = {k: names[generator.permutation(np.arange(150) % k)] for k in (2, 3, 4)}
    choice = function(IRIS, [2, 3, 4], partitions=labels)
    np.testing.assert_allclose(choice.scores, [metric(IRIS, labels[k]) for k in (2, 3, 4)])


def test_silhouette_of_a_small_case():
    # a = 1 and b = 10.5 or 9.5 for each point of two pairs at 0, 1 and 10, 11
    choice = silhouette([[0.0], [1.0], [10.0], [11.0]], [2], random_state=0)
    np.testing.assert_allclose(choice.scores, [1 - (1 / 10.5 + 1 / 9.5) / 2])
    assert choice.best_k == 2


def test_silhouette_of_a_sample_is_close_to_that_of_all_rows():
    X = blobs(3000, distance=5.0)
    whole = silhouette(X, [3, 4, 5], random_state=0)
    sample = silhouette(X, [3, 4, 5], sample_size=1000, random_state=0)
    # a silhouette has a standard deviation of at most 0.5; seven of its errors
    np.testing.assert_allclose(sample.scores, whole.scores, atol=7 * 0.5 / np.sqrt(1000))
    assert (sample.scores != whole.scores).all()
    assert sample.best_k == whole.best_k == 4


def test_a_sample_within_one_cluster_leaves_that_k_out():
    X = np.random.default_rng(0).standard_normal((500, 2))
    X[0] = 1e4  # alone in its cluster at K = 2, and not in the sample
    choice = silhouette(X, [2, 3], sample_size=20, random_state=0)
    assert choice.k_values == (3,)


# --- gap statistic --------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["box", "pca"])
def test_gap_agrees_with_clus_gap(reference, seed):
    """Gaps and errors of R's cluster::clusGap, whose references are other random tables.

    A bound of 6.5 standard errors of the difference leaves less than 1e-6 for all twelve, the bias
    of 30 starts included (measured: 0.0016 at K = 6, 0.4 errors). It catches the other box, W
    without the logarithm, distances that are not squared, and references centred elsewhere.
    """
    values = golden("gap")
    theirs, n_theirs, n_ours = values[reference], values["n_references"], 300
    choice = gap_statistic(
        values["data"], range(1, 7), n_references=n_ours, reference=reference, random_state=seed
    )
    se = np.array(theirs["SE_sim"])
    error = se * np.sqrt(1 / n_ours + 1 / n_theirs)
    assert (np.abs(choice.scores - theirs["gap"]) < 6.5 * error).all()
    # the logarithm of a standard deviation from 300 normal values has an error of 0.041
    assert (np.abs(np.log(choice.errors / se)) < 6.5 * 0.045).all()


def test_within_cluster_dispersion_agrees_with_clus_gap():
    values = golden("gap")
    begun = study.begin(values["data"], range(1, 7), None, 0, None)
    ours = np.log(list(gap.dispersions(begun).values()))
    np.testing.assert_allclose(ours, np.array(values["box"]["logW"]) + np.log(2), rtol=1e-13)


@pytest.mark.parametrize("reference", ["box", "pca"])
def test_rules_choose_like_those_of_r(reference):
    theirs = golden("gap")[reference]
    found = gap.Gaps(tuple(range(1, 7)), np.array(theirs["gap"]), np.array(theirs["SE_sim"]))
    assert gap.one_standard_error(found) == theirs["one_standard_error"]
    assert found.k_values[int(np.argmax(found.gaps))] == theirs["largest"]


def test_one_standard_error_rule_of_small_cases():
    def chosen(gaps, errors):
        k_values = tuple(range(1, len(gaps) + 1))
        return gap.one_standard_error(gap.Gaps(k_values, np.array(gaps), np.array(errors)))

    assert chosen([0.1, 0.5, 0.4], [0.0, 0.0, 0.0]) == 2
    assert chosen([0.1, 0.5, 0.4], [0.0, 0.4, 0.0]) == 1  # 0.1 >= 0.5 - 0.4
    assert chosen([0.1, 0.2, 0.3], [0.0, 0.05, 0.05]) == 3  # none: the largest
    assert chosen([0.1], [0.0]) == 1


def test_box_and_principal_components_agree_on_data_along_the_axes():
    X = make_uniform_square(200, random_state=0) * [10.0, 1.0]
    X -= X.mean(axis=0)
    # make the columns uncorrelated, so that the axes are the principal components
    X[:, 1] -= X[:, 0] * (X[:, 0] @ X[:, 1]) / (X[:, 0] @ X[:, 0])
    box = gap.reference_box(X, "box")
    turned = gap.reference_box(X, "pca")
    sides = np.sort(turned.high - turned.low)
    np.testing.assert_allclose(sides, np.sort(box.high - box.low), rtol=1e-9)


def test_principal_components_do_not_see_rotations():
    X = np.array(golden("gap")["data"])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    first = gap.reference_box(X - X.mean(axis=0), "pca")
    second = gap.reference_box((X - X.mean(axis=0)) @ turn, "pca")
    np.testing.assert_allclose(first.high - first.low, second.high - second.low, rtol=1e-9)


def test_gaps_of_a_uniform_square_are_small(seed):
    """The data are like the references, but for a box that is smaller by 2 in n on each side.

    6.5 standard errors leave less than 1e-6 for all five; a W of another scale would be seen.
    """
    X = make_uniform_square(200, random_state=seed)
    choice = gap_statistic(X, range(1, 6), random_state=seed)
    assert (np.abs(choice.scores) < 0.05 + 6.5 * choice.errors).all()


@pytest.mark.parametrize("reference", ["box", "pca"])
def test_one_standard_error_rule_finds_no_clusters_in_a_uniform_square(reference):
    X = make_uniform_square(200, random_state=0)
    choice = gap_statistic(X, reference=reference, rule="one-standard-error", random_state=0)
    assert choice.best_k == 1


def test_one_standard_error_rule_starts_at_one_cluster():
    choice = gap_statistic(blobs(), [4, 5], rule="one-standard-error", random_state=0)
    assert choice.k_values == (1, 4, 5)
    assert choice.best_k == 4
    assert gap_statistic(blobs(), [4, 5], random_state=0).k_values == (4, 5)


# --- mixtures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance_type", ["tied", "full", "diag", "spherical"])
def test_bic_agrees_with_scikit_learn_from_its_own_starts(covariance_type):
    X = blobs(300, distance=8.0, d=3)
    choice = mixture_bic(X, [1, 2, 4], covariance_type=covariance_type, random_state=0)
    theirs = [
        GaussianMixture(k, covariance_type=covariance_type, n_init=10, random_state=0).fit(X).bic(X)
        for k in (1, 2, 4)
    ]
    np.testing.assert_allclose(choice.scores, theirs, rtol=1e-3)
    assert choice.best_k == 4
    assert not choice.larger_is_better


def test_bic_of_one_normal_variable():
    x = np.random.default_rng(0).standard_normal(50)[:, None]
    choice = mixture_bic(x, [1])
    expected = 50 * (np.log(2 * np.pi * x.var()) + 1) + 2 * np.log(50)
    np.testing.assert_allclose(choice.scores, [expected], rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_choice_by_bic_does_not_depend_on_the_unit(unit):
    X = blobs(200)
    choice = mixture_bic(X, range(1, 7), random_state=0)
    other = mixture_bic(X * unit, range(1, 7), random_state=0)
    np.testing.assert_allclose(other.scores, choice.scores + 2 * X.size * np.log(unit), rtol=1e-6)
    assert other.best_k == choice.best_k == 4


@pytest.mark.parametrize("covariance_type", ["tied", "full", "diag", "spherical"])
def test_bic_survives_singular_clusters(covariance_type):
    X = np.c_[np.repeat(np.arange(5.0), 10), np.zeros(50)]
    choice = mixture_bic(X, range(1, 7), covariance_type=covariance_type, random_state=0)
    assert choice.k_values == (1, 2, 3, 4, 5)
    assert np.isfinite(choice.scores).all()


# --- prediction strength --------------------------------------------------------------------------


def test_prediction_strength_agrees_with_fpc(seed):
    """Means over splits of R's fpc::prediction.strength, which splits otherwise.

    A bound of 6.5 standard errors leaves less than 1e-6 for all five. It catches the mean instead
    of the weakest cluster, pairs with themselves, and classification by a half's own centres.
    """
    values = golden("prediction_strength")
    choice = prediction_strength(
        values["data"], values["k_values"], n_splits=300, random_state=seed
    )
    assert choice.k_values == (1, *values["k_values"])
    assert choice.scores[0] == 1
    errors = np.hypot(choice.errors[1:], np.array(values["sd"]) / np.sqrt(values["n_splits"]))
    assert (np.abs(choice.scores[1:] - values["mean"]) < 6.5 * errors).all()
    assert choice.best_k == values["optimal_k"]


def test_weakest_cluster_of_a_small_case():
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 2], dtype=np.int32)
    predicted = np.array([0, 0, 1, 1, 1, 2, 2, 0], dtype=np.int32)
    # cluster 0 keeps 1 of 3 pairs, cluster 1 keeps 2 of 6, cluster 2 has no pair
    assert strength.weakest_cluster(labels, predicted, 3) == pytest.approx(1 / 3)
    assert strength.weakest_cluster(labels, labels, 3) == 1


def test_prediction_strength_says_that_there_are_no_clusters():
    generator = np.random.default_rng(0)
    choice = prediction_strength(generator.standard_normal((200, 2)), random_state=0)
    assert choice.best_k == 1


def test_threshold_decides():
    X = make_paper_dataset(1, random_state=0).data
    strict = prediction_strength(X, range(2, 5), threshold=1.0, random_state=0)
    lenient = prediction_strength(X, range(2, 5), threshold=0.01, random_state=0)
    assert (strict.best_k, lenient.best_k) == (1, 4)


def test_halves_with_too_few_distinct_rows_leave_that_k_out():
    X = np.repeat(np.arange(4.0), [10, 10, 10, 1])[:, None]  # one half never has the last value
    assert prediction_strength(X, range(2, 6), random_state=0).k_values == (1, 2, 3)


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 3, 4])
def test_every_method_finds_well_separated_clusters(number):
    X = blobs(240, k=number)
    for choice in compare_baselines(X, range(2, 8), methods=METHODS, random_state=0):
        assert choice.best_k == number, choice.name


def test_comparing_gives_what_each_function_gives_alone():
    X = make_paper_dataset(1, random_state=0).data
    one = {"rule": "one-standard-error"}
    pca = {"reference": "pca"}
    alone = [
        silhouette(X, range(2, 6), random_state=3),
        calinski_harabasz(X, range(2, 6), random_state=3),
        davies_bouldin(X, range(2, 6), random_state=3),
        gap_statistic(X, range(2, 6), random_state=3),
        gap_statistic(X, range(2, 6), random_state=3, **one),
        gap_statistic(X, range(2, 6), random_state=3, **pca),
        gap_statistic(X, range(2, 6), random_state=3, **one, **pca),
        mixture_bic(X, range(2, 6), random_state=3),
        prediction_strength(X, range(2, 6), random_state=3),
    ]
    together = compare_baselines(X, range(2, 6), random_state=3)
    assert tuple(choice.name for choice in together) == DEFAULT_METHODS
    for first, second in zip(together, alone, strict=True):
        assert_same(first, second)


def test_results_are_named_after_their_method():
    X = make_paper_dataset(1, random_state=0).data
    names = [c.name for c in compare_baselines(X, [2, 3], methods=METHODS, n_references=5)]
    assert names == list(METHODS)


def test_each_k_is_clustered_once(monkeypatch):
    clustered = []
    original = study.cluster_reference

    def counted(table, k, *arguments, **options):
        clustered.append(k)
        return original(table, k, *arguments, **options)

    monkeypatch.setattr(study, "cluster_reference", counted)
    compare_baselines(IRIS, range(2, 6), n_references=5, n_splits=5, random_state=0)
    assert clustered == [2, 3, 4, 5]


@pytest.mark.parametrize("n", [150, 5000], ids=["all rows", "sampled"])
def test_same_bits_for_any_number_of_threads(n):
    X = blobs(n, k=3, distance=3.0)
    options = {"n_references": 6, "n_splits": 6, "random_state": 5}
    first = compare_baselines(X, range(1, 5), **options)
    for n_jobs in (2, -1):
        other = compare_baselines(X, range(1, 5), n_jobs=n_jobs, **options)
        for one, two in zip(first, other, strict=True):
            assert_same(one, two)


def test_scores_do_not_depend_on_the_other_k():
    X = make_paper_dataset(3, random_state=0).data
    few = compare_baselines(X, [4, 3], n_references=10, n_splits=10, random_state=0)
    many = compare_baselines(X, range(2, 7), n_references=10, n_splits=10, random_state=0)
    for one, two in zip(few, many, strict=True):
        at = [two.k_values.index(k) for k in one.k_values]
        np.testing.assert_array_equal(one.scores, two.scores[at])


@every_function
def test_seeds_make_the_result(function):
    results = [function(IRIS, [2, 3], random_state=np.random.RandomState(7)) for _ in range(2)]
    for one, two in zip(*(r if isinstance(r, list) else [r] for r in results), strict=True):
        assert_same(one, two)


@every_function
def test_moving_the_data_changes_no_choice(function):
    here, there = (
        function(IRIS, range(2, 5), random_state=0),
        function(IRIS + 100.0, range(2, 5), random_state=0),
    )
    for one, two in zip(*(r if isinstance(r, list) else [r] for r in (here, there)), strict=True):
        np.testing.assert_allclose(one.scores, two.scores, rtol=1e-6)


def test_data_frames_and_single_precision_are_welcome():
    frame = pd.DataFrame(IRIS.astype(np.float32), columns=list("abcd"))
    for one, two in zip(
        compare_baselines(frame, [2, 3, 4], random_state=0),
        compare_baselines(IRIS, [2, 3, 4], random_state=0),
        strict=True,
    ):
        np.testing.assert_allclose(one.scores, two.scores, rtol=1e-3, atol=0.02)
        assert one.best_k == two.best_k


def test_progress_is_reported_after_every_method():
    calls = []
    compare_baselines(
        IRIS, [2, 3], n_references=2, n_splits=2, callbacks=lambda *done: calls.append(done)
    )
    assert calls == [(i, len(DEFAULT_METHODS)) for i in range(1, len(DEFAULT_METHODS) + 1)]


def test_results_cannot_be_changed():
    choice = silhouette(IRIS, [2, 3], random_state=0)
    assert isinstance(choice, KChoice)
    with pytest.raises(AttributeError):
        choice.best_k = 7


@pytest.mark.measures
def test_many_rows_take_little_memory():
    """100,000 rows: an n x n array would take 80 GB, one of 4,000 rows squared 128 MB."""
    pytest.importorskip("resource", reason="peak memory is read from it; Unix only")
    program = """
import resource
import numpy as np
import sklearn.metrics, sklearn.mixture
from bbclust.baselines import compare_baselines

generator = np.random.default_rng(0)
X = generator.standard_normal((100_000, 4))
X[:, 0] += 10 * (np.arange(100_000) % 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
choices = compare_baselines(X, range(2, 5), n_references=10, n_splits=5, random_state=0)
used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
assert used < 300, used
print({choice.best_k for choice in choices})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{3}"


# --- bad and odd input ----------------------------------------------------------------------------


@every_function
def test_an_empty_range_is_refused(function):
    with pytest.raises(ValueError, match="k_values is empty"):
        function(IRIS, range(2, 2))


@every_function
@pytest.mark.parametrize(
    ("k_values", "error", "word"),
    [
        (3, TypeError, "got 3"),
        ("3", TypeError, "'3'"),
        (None, TypeError, "None"),
        ([2, 2.5], TypeError, "2.5"),
        ([0, 2], ValueError, "at least 1, got 0"),
        ([-1], ValueError, "got -1"),
        ([True], TypeError, "True"),
    ],
)
def test_bad_k_values_are_refused(function, k_values, error, word):
    with pytest.raises(error, match="k_values") as raised:
        function(IRIS, k_values)
    assert word in str(raised.value)


@every_function
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_gaps_in_the_data_are_refused(function, value):
    X = IRIS.copy()
    X[7, 2] = value
    with pytest.raises(ValueError, match="row 7, column 2"):
        function(X, [2, 3])


@every_function
def test_bad_numbers_of_threads_are_refused(function):
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        function(IRIS, [2, 3], n_jobs=0)


def test_impossible_k_are_left_out():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], 6, axis=0)
    for choice in compare_baselines(X, range(2, 9), random_state=0):
        # gaps need a W above zero, prediction strength four distinct rows in every half
        most = 3 if choice.name.startswith(("gap", "prediction")) else 4
        assert set(choice.k_values) - {1} == set(range(2, most + 1)), choice.name
        assert np.isfinite(choice.scores).all(), choice.name


def test_as_many_clusters_as_rows_are_left_out():
    X = np.arange(6.0)[:, None] ** 2
    assert silhouette(X, range(1, 9)).k_values == (2, 3, 4, 5)
    assert gap_statistic(X, range(1, 9)).k_values == (1, 2, 3, 4, 5)
    assert mixture_bic(X, range(1, 9)).k_values == (1, 2, 3, 4, 5, 6)
    assert prediction_strength(X, range(1, 9)).k_values == (1, 2, 3)


@pytest.mark.parametrize("function", [silhouette, calinski_harabasz, davies_bouldin])
def test_indices_of_one_cluster_do_not_exist(function):
    with pytest.raises(ValueError, match=r"none of the K's asked for \(1\).*K from 2 on"):
        function(IRIS, [1])


def test_equal_rows_have_nothing_to_choose_from():
    X = np.ones((20, 3))
    with pytest.raises(ValueError, match="20 rows, 1 of them distinct"):
        gap_statistic(X)
    with pytest.raises(ValueError, match="20 rows, 1 of them distinct"):
        silhouette(X)
    assert prediction_strength(X).k_values == (1,)
    assert mixture_bic(X).k_values == (1,)


def test_comparing_leaves_out_methods_that_can_score_nothing():
    names = {choice.name for choice in compare_baselines(IRIS, [1], random_state=0)}
    assert names == {name for name in DEFAULT_METHODS if name[:3] in ("gap", "mix", "pre")}
    with pytest.raises(ValueError, match="silhouette can score none"):
        compare_baselines(IRIS, [1], methods=["silhouette"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gap_statistic(IRIS, reference="cube"), ValueError, ["reference", "'cube'"]),
        (lambda: gap_statistic(IRIS, rule="first"), ValueError, ["rule", "'first'"]),
        (lambda: gap_statistic(IRIS, n_references=1), ValueError, ["n_references", "got 1"]),
        (lambda: gap_statistic(IRIS, sample_size=5), ValueError, ["sample_size", "got 5"]),
        (lambda: mixture_bic(IRIS, covariance_type="x"), ValueError, ["covariance_type", "'x'"]),
        (lambda: prediction_strength(IRIS, n_splits=1), ValueError, ["n_splits", "got 1"]),
        (lambda: prediction_strength(IRIS, threshold=0), ValueError, ["threshold", "got 0"]),
        (lambda: prediction_strength(IRIS, threshold=1.5), ValueError, ["threshold", "1.5"]),
        (lambda: compare_baselines(IRIS, methods=["elbow"]), ValueError, ["methods", "'elbow'"]),
        (lambda: compare_baselines(IRIS, methods=[]), ValueError, ["methods is empty"]),
        (
            lambda: silhouette(IRIS, [2, 3], partitions={2: np.arange(150) % 2}),
            ValueError,
            ["no entry for K=3"],
        ),
        (
            lambda: silhouette(IRIS, [2], partitions={2: np.arange(149) % 2}),
            ValueError,
            ["partitions[2]", "(150,)", "(149,)"],
        ),
        (
            lambda: silhouette(IRIS, [2], partitions={2: np.arange(150) % 3}),
            ValueError,
            ["partitions[2]", "3 clusters"],
        ),
    ],
)
def test_bad_arguments_are_refused(call, error, words):
    with pytest.raises(error) as raised:
        call()
    sentence = str(raised.value)
    assert "\n" not in sentence
    for word in words:
        assert word in sentence
