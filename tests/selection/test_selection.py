"""Choosing K: the grid, the scores, the choice, and how sure it is."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import BBC, KSelector, entropy, pairwise_entropy
from bbclust.datasets import load_iris, make_paper_dataset, make_uniform_square
from bbclust.ensemble.job import Job
from bbclust.ensemble.run import run_replicas
from bbclust.priors import ElicitedPrior
from bbclust.selection.criteria import HOLDS, Evidence, Scores, score, tied
from bbclust.selection.grid import (
    GridJob,
    GridSettings,
    GridUnderWay,
    entropy_floor,
    join_grids,
    merge,
)
from bbclust.selection.half_samples import HALF_REPLICAS
from bbclust.selection.k_selector import MAX_SAMPLE, default_n_draws
from bbclust.stages.entropies import pair_doubts
from bbclust.stages.monte_carlo import pair_doubt_influence, standard_error
from bbclust.stages.table import make_table
from bbclust.stages.voting import count_votes, memberships

QUICK = BBC(n_replicas=60, n_init=2)


def blobs(n_clusters, n_each, separation, seed=0, d=2):
    generator = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_clusters)))
    centers = np.array([[i % side, i // side] for i in range(n_clusters)], dtype=float)
    noise = generator.normal(size=(n_clusters * n_each, d))
    noise[:, :2] += separation * np.repeat(centers, n_each, axis=0)
    return noise


def select(X, **parameters):
    settings = {"k_range": range(2, 6), "null_reference": 0, "refit": False, "random_state": 0}
    return KSelector(clone(QUICK), **settings).set_params(**parameters).fit(X)


def grid_of(X, k_values=(2, 3, 4), scales=(1.0, 2.0), n_draws=60, n_replicas=80, seed=3, n_jobs=1):
    job = grid_job(X, k_values, scales, n_draws, n_replicas, seed)
    return GridUnderWay(job).run(n_jobs=n_jobs)


def grid_job(X, k_values=(2,), scales=(1.0,), n_draws=60, n_replicas=80, seed=3):
    settings = GridSettings(BBC(n_init=2)._settings(), n_replicas, n_draws)
    return GridJob(make_table(X), k_values, scales, settings, seed)


# --- the grid -------------------------------------------------------------------------------------


def test_cells_measure_the_votes_of_all_rows():
    X = make_paper_dataset(1, random_state=0).data
    grid = grid_of(X)
    table = make_table(X)
    plan = replace(grid_job(X).plan, votes="all")
    for i, cell in enumerate(grid.cells):
        reference = grid.references[i // 2]
        prior = ElicitedPrior().prepare(X, reference, cell.prior_scale)
        replicas = run_replicas(Job(table, reference, prior, plan), range(80))
        u = memberships(replicas.votes)
        assert cell.mean_entropy == pytest.approx(entropy(u).mean(), rel=1e-9)
        pairwise = pairwise_entropy(u)
        assert cell.max_pairwise_entropy == pytest.approx(pairwise.max(), rel=1e-9)
        assert pairwise[cell.worst_pair] == pairwise.max()
        assert cell.pair_doubt == pytest.approx(pair_doubts(u).max(), rel=1e-9)


def test_same_bits_for_any_company_order_and_number_of_threads():
    X = make_paper_dataset(5, random_state=1).data
    alone = grid_of(X, k_values=(4,))
    among = grid_of(X, k_values=(6, 4, 2), n_jobs=5)
    for scale in (1.0, 2.0):
        mine, other = alone.cell(4, scale), among.cell(4, scale)
        assert mine.mean_entropy == other.mean_entropy
        assert (mine.max_pairwise_entropy_influence == other.max_pairwise_entropy_influence).all()
        assert (mine.pair_doubts == other.pair_doubts).all()


def test_grids_join():
    X = make_paper_dataset(1, random_state=1).data
    joined = join_grids(grid_of(X, (2, 3)), grid_of(X, (4,)))
    whole = grid_of(X, (2, 3, 4))
    assert joined.k_values == whole.k_values
    assert (joined.values("mean_entropy") == whole.values("mean_entropy")).all()


def test_floor_is_one_dissenting_vote_on_one_point():
    assert entropy_floor(100, 50) == pytest.approx(oracle.entropy([0.01, 0.99]) / 50)


def test_merging_adds_memberships():
    shares = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    assert merge(shares, (0, 2)).tolist() == [[0.7, 0.3], [1.0, 0.0]]


# --- doubt ----------------------------------------------------------------------------------------


def test_doubt_equals_its_definition():
    generator = np.random.default_rng(0)
    u = memberships(generator.integers(0, 9, size=(40, 4)).astype(np.int32) + 1)
    weights = generator.uniform(size=40)
    doubts = pair_doubts(u, weights)
    for a in range(4):
        assert doubts[a, a] == 0
        for b in range(a):
            together = u[:, a] + u[:, b]
            each = np.array([oracle.pairwise_entropy(row, a, b) for row in u])
            expected = (weights * together * each).sum() / (weights * together).sum()
            assert doubts[a, b] == doubts[b, a] == pytest.approx(expected)
            assert doubts[a, b] <= 1


def test_doubt_does_not_depend_on_how_many_other_clusters_there_are():
    pair = np.array([[0.5, 0.5], [0.9, 0.1]])
    far = np.zeros((20, 5))
    far[np.arange(20), 2 + np.arange(20) % 3] = 1
    u = np.vstack([np.hstack([pair, np.zeros((2, 3))]), far])
    assert pair_doubts(u)[0, 1] == pytest.approx(pair_doubts(pair)[0, 1])


def test_error_of_doubt_matches_the_spread_over_repetitions():
    """Ratio of stated error to true spread, 1,500 repetitions: 20% is ten standard errors."""
    generator = np.random.default_rng()
    probabilities = np.array([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.9, 0.05, 0.05]] * 4)
    weights = np.linspace(1, 2, 12)
    values, errors = [], []
    for _ in range(1500):
        u = generator.uniform(size=(150, 12, 1))
        labels = (u > np.cumsum(probabilities, axis=1)).sum(axis=2).clip(max=2).astype(np.int16)
        counts = count_votes(labels, 3)
        values.append(pair_doubts(memberships(counts), weights)[0, 1])
        errors.append(standard_error(pair_doubt_influence(labels, counts, weights, (0, 1))))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)


# --- the choice -----------------------------------------------------------------------------------


def scores(values, limit=-10.0, noise=0.0):
    generator = np.random.default_rng(0)
    moves = noise / np.sqrt(100) * generator.normal(size=(len(values), 100))
    values = np.array(values)
    limits = np.full(len(values), limit)
    return Scores(tuple(range(2, 2 + len(values))), values, moves, values, moves, limits)


def test_lowest_score_wins_and_exact_ties_go_to_the_smallest():
    assert scores([3.0, 1.0, 2.0]).best() == 3
    assert scores([3.0, 1.0, 1.0]).best() == 3


def test_the_largest_that_holds_wins():
    assert scores([-5.0, -2.0, -1.5, 0.0], limit=-1.0).best() == 4


def test_noise_wins_sum_to_one_and_follow_the_gap():
    clear = scores([0.0, 3.0, 3.0], noise=0.1).bootstrap_win_rates(1)
    assert clear[2] == 1.0
    close = scores([0.0, 0.01, 3.0], noise=0.5).bootstrap_win_rates(1)
    assert sum(close.values()) == pytest.approx(1)
    assert 0.2 < close[3] < 0.8
    assert tied(2, close) == (2, 3)
    assert tied(2, clear) == (2,)


def test_scores_are_mean_logarithms():
    grid = grid_of(make_paper_dataset(1, random_state=0).data)
    for criterion, measure in (("mean", "mean_entropy"), ("pairwise", "max_pairwise_entropy")):
        expected = np.log(np.maximum(grid.values(measure), grid.floor)).mean(axis=1)
        np.testing.assert_allclose(score(grid, criterion).values, expected)
    auto = score(grid, "auto", Evidence({2: 0.3, 3: np.nan}, apart={2: True}))
    np.testing.assert_allclose(auto.doubts, np.log(grid.values("pair_doubt")).mean(axis=1))
    np.testing.assert_allclose(auto.values, score(grid, "pairwise").values)
    never = np.log(np.finfo(float).tiny)
    np.testing.assert_allclose(auto.limits, [np.log(HOLDS * 0.3), never, never])
    separated = score(grid, "auto", Evidence({2: 0.3}, apart={2: False}, separated={2: True}))
    np.testing.assert_allclose(separated.limits, [np.log(0.3), never, never])


# --- the selector ---------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        KSelector(
            BBC(n_replicas=80, n_init=1, missing=missing),
            k_range=(2, 3),
            prior_scales=(1.0,),
            null_reference=0,
        )
        for missing in ("error", "draw")
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": (
            "a duplicate is one more row that random numbers are drawn for, as for BBC"
        )
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_separated_blobs_are_counted(n_clusters):
    selector = select(blobs(n_clusters, 50, 8.0), k_range=range(2, 9))
    assert selector.best_k_ == n_clusters
    assert selector.mc_confidence_[n_clusters] > 0.9
    assert sum(selector.mc_confidence_.values()) == pytest.approx(1)


def test_fifteen_blobs_of_five_thousand_points():
    X = blobs(15, 334, 8.0)[:5000]
    assert select(X, k_range=range(12, 19)).best_k_ == 15


def test_auto_range_grows_until_the_curve_has_turned():
    selector = select(blobs(12, 40, 8.0), k_range="auto")
    assert selector.best_k_ == 12
    assert selector.curves_["n_clusters"].max() >= 26


def test_auto_range_goes_on_while_the_largest_k_cuts_no_cluster():
    """Rows of five blobs: a few of the coarse divisions are stable too, and 20 is too few."""
    selector = select(blobs(25, 40, 6.0), k_range="auto")
    assert selector.best_k_ == 25
    few = select(blobs(25, 40, 6.0), k_range=range(2, 11), null_reference=7)
    assert few.best_k_ < 10
    assert "more clusters may fit: try k_range='auto'" in few.verdict_.doubts()


def test_curves_are_a_table_of_the_grid():
    selector = select(load_iris().data, prior_scales=(1, 3))
    curves = selector.curves_
    assert curves["n_clusters"].tolist() == [2, 2, 3, 3, 4, 4, 5, 5]
    assert curves["prior_scale"].tolist() == [1, 3] * 4
    assert curves["worst_pair"].shape == (8, 2)
    assert (curves["mean_entropy_se"] >= 0).all()
    at_two = curves["n_clusters"] == 2
    np.testing.assert_allclose(
        curves["mean_entropy"][at_two], curves["max_pairwise_entropy"][at_two], rtol=1e-9
    )
    assert set(selector.best_k_by_) == {
        key
        for criterion in ("auto", "pairwise", "mean")
        for key in (criterion, (criterion, 1.0), (criterion, 3.0))
    }
    assert curves["mean_entropy"][5] == selector.grid_.cell(4, 3.0).mean_entropy
    assert [partition.n_clusters for partition in selector.grid_.references] == [2, 3, 4, 5]


def test_same_bits_for_any_order_threads_and_wider_range():
    X = make_paper_dataset(2, random_state=0).data
    first = select(X, k_range=(2, 3, 4))
    second = select(X, k_range=(4, 6, 2, 3), n_jobs=2)
    kept = np.isin(second.curves_["n_clusters"], (2, 3, 4))
    for name, column in first.curves_.items():
        assert (column == second.curves_[name][kept]).all()


def test_refit_delegates_to_the_best_estimator():
    X = blobs(3, 40, 8.0)
    selector = select(X, k_range=(2, 3, 4), refit=True)
    assert selector.best_estimator_.n_clusters == selector.best_k_ == 3
    assert (selector.labels_ == selector.best_estimator_.labels_).all()
    assert (selector.predict(X) == selector.best_estimator_.predict(X)).all()
    assert selector.transform(X).shape == selector.predict_proba(X).shape == (120, 3)
    with pytest.raises(AttributeError, match="refit=True"):
        select(X).predict(X)


def test_confidence_is_the_share_of_half_samples():
    selector = select(blobs(3, 60, 8.0), n_resamples=5)
    assert sum(selector.confidence_.values()) == pytest.approx(1)
    assert selector.confidence_[3] == 1.0
    assert select(blobs(3, 60, 8.0)).confidence_ is None


def test_half_samples_are_run_at_one_scale_with_few_replicas(monkeypatch):
    jobs = []
    run = GridUnderWay.run

    def watch(self, **keywords):
        jobs.append(self.job)
        return run(self, **keywords)

    monkeypatch.setattr(GridUnderWay, "run", watch)
    X = blobs(3, 60, 8.0)
    select(X, estimator=BBC(n_replicas=90, n_init=1), prior_scales=(1, 2, 3), n_resamples=2)
    whole, *halves = jobs
    assert (whole.table.n, whole.prior_scales, whole.settings.n_replicas) == (180, (1, 2, 3), 90)
    assert len(halves) == 2
    for half in halves:
        assert (half.table.n, half.prior_scales) == (90, (2,))
        assert (half.settings.n_replicas, half.settings.n_draws) == (HALF_REPLICAS, 90)


def test_tendency_of_separated_blobs_is_small():
    clustered = select(blobs(3, 100, 30.0), null_reference=19, prior_scales=(1.0,))
    assert clustered.cluster_tendency_ < 0.05
    assert clustered.verdict_.has_clusters
    assert clustered.verdict_.tendency == clustered.cluster_tendency_


def test_without_null_reference_the_verdict_says_that_one_cluster_was_not_tested():
    nothing = select(make_uniform_square(120, random_state=1), prior_scales=(1.0,))
    assert nothing.cluster_tendency_ is None
    assert "was not tested" in str(nothing.verdict_)


def test_clouds_are_compared_with_by_default():
    assert KSelector().null_reference == 19


def test_verdict_says_which_pair_is_ill_separated_and_what_merging_does():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(240, 2))
    X[80:160] += [0.5, 0.0]  # overlaps the first
    X[160:] += [0.0, 30.0]  # far from both
    selector = select(
        X,
        k_range=(2, 3),
        prior_scales=(1.0,),
        null_reference=19,
        estimator=BBC(n_replicas=300),
    )
    by_k = {verdict.n_clusters: verdict for verdict in selector.verdict_.by_k}
    assert by_k[2].kind == "held"
    assert by_k[2].parents is None
    assert by_k[3].kind in ("blurred", "cut")
    a, b = by_k[3].worst_pair
    far = 3 - a - b
    assert by_k[3].parents[a] == by_k[3].parents[b] != by_k[3].parents[far]
    assert by_k[3].merged_mean_entropy < by_k[3].mean_entropy / 10
    (split,) = by_k[3].splits
    assert split.children == (a, b)
    assert not split.supported
    as_dict = selector.verdict_.to_dict()
    assert as_dict["best_k"] == 2
    assert as_dict["by_k"][0]["kind"] == "held"
    assert f"between clusters {a} and {b}." in str(selector.verdict_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_model_knows_the_names_that_the_selector_saw(kind):
    rows = blobs(2, 40, 8.0)
    frame = pytest.importorskip(kind).DataFrame({"length": rows[:, 0], "width": rows[:, 1]})
    selector = KSelector(clone(QUICK), k_range=(2, 3), null_reference=0, random_state=0)
    scaler = StandardScaler().set_output(transform=kind)
    pipeline = make_pipeline(scaler, selector)
    labels = pipeline.fit(frame).predict(frame)  # a warning about names would be an error
    memberships = pipeline.transform(frame)
    np.testing.assert_array_equal(selector.predict_proba(scaler.transform(frame)), memberships)
    framed = pipeline.set_output(transform=kind).transform(frame)
    np.testing.assert_array_equal(framed.to_numpy(), memberships)
    for fitted in (selector, selector.best_estimator_):
        assert fitted.feature_names_in_.tolist() == ["length", "width"]
    with pytest.raises(ValueError, match="feature names"):
        selector.predict(scaler.transform(frame)[["width", "length"]])
    as_array = clone(selector).fit(scaler.transform(frame).to_numpy())
    np.testing.assert_array_equal(as_array.predict(StandardScaler().fit_transform(rows)), labels)
    assert not hasattr(as_array.best_estimator_, "feature_names_in_")
    refitted = selector.fit(rows).best_estimator_
    assert not hasattr(refitted, "feature_names_in_")


def test_large_tables_are_sampled():
    X = np.random.default_rng(0).normal(size=(MAX_SAMPLE + 500, 2))
    X[::2] += 8
    selector = select(X, k_range=(2, 3), prior_scales=(1.0,))
    assert selector.n_sample_ == MAX_SAMPLE
    assert selector.best_k_ == 2


def test_draws_depend_on_the_number_of_rows_alone():
    assert default_n_draws(99) == 99
    assert default_n_draws(300) == 300
    assert 300 < default_n_draws(5000) < 700
    assert select(blobs(2, 40, 8.0)).n_draws_ == 80
    assert select(blobs(2, 40, 8.0), n_draws=33).n_draws_ == 33


def test_more_draws_than_rows_are_as_many_as_rows_and_said_so():
    X = blobs(2, 40, 8.0)
    with pytest.warns(UserWarning, match="n_draws=1000 is more than the 80 rows") as caught:
        many = select(X, n_draws=1000, n_resamples=2)
    assert len(caught) == 1
    all_rows = select(X, n_draws=80, n_resamples=2)
    assert many.n_draws_ == 80
    assert many.scores_ == all_rows.scores_
    assert many.verdict_ == all_rows.verdict_


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"k_range": ()}, ValueError, "k_range is empty"),
        ({"k_range": "many"}, ValueError, "'many'"),
        ({"k_range": (1, 2)}, ValueError, "at least 2, got 1"),
        ({"k_range": (2.5,)}, TypeError, "2.5"),
        ({"k_range": (500,)}, ValueError, "no K of the range is possible"),
        ({"prior_scales": (1, -2)}, ValueError, "got -2"),
        ({"prior_scales": ()}, ValueError, "prior_scales is empty"),
        ({"criterion": "best"}, ValueError, "'best'"),
        ({"n_draws": 1}, ValueError, "n_draws"),
        ({"n_resamples": -1}, ValueError, "n_resamples"),
        ({"null_reference": -1}, ValueError, "null_reference"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, words):
    selector = KSelector(clone(QUICK), random_state=0).set_params(**parameters)
    with pytest.raises(error, match=words) as raised:
        selector.fit(load_iris().data)
    assert "\n" not in str(raised.value)
    assert not hasattr(selector, "best_k_")


def test_another_estimator_and_auto_replicas_are_refused():
    X = load_iris().data
    with pytest.raises(TypeError, match="must be a BBC"):
        KSelector(object()).fit(X)
    with pytest.raises(ValueError, match="give a number"):
        KSelector(BBC(n_replicas="auto")).fit(X)


def test_impossible_numbers_of_clusters_are_reported_and_the_others_run():
    X = np.repeat(blobs(4, 1, 9.0), 10, axis=0)
    with pytest.warns(UserWarning, match="K = 5, 6 cannot be tried: X has 4 distinct rows"):
        selector = select(X, k_range=range(2, 7), prior_scales=(1.0,))
    assert selector.impossible_k_ == (5, 6)
    assert set(selector.curves_["n_clusters"]) == {2, 3, 4}


@pytest.mark.parametrize("k_range", [(2, 3), "auto"])
def test_callbacks_hear_of_every_cell_and_comparison(k_range):
    heard = []
    settings = {"prior_scales": (1.0, 2.0), "n_resamples": 2, "null_reference": 2}
    selector = select(
        blobs(2, 30, 8.0), k_range=k_range, callbacks=lambda *step: heard.append(step), **settings
    )
    n_data = len(selector.curves_["n_clusters"])
    n_compared = n_data // 2 + 2  # every K, then the rule and the pairs
    n_steps = n_data + n_compared + 2 * n_data // 2  # half-samples at one of two scales
    assert [done for done, _ in heard] == list(range(1, n_steps + 1))
    assert heard[-1] == (n_steps, n_steps)
    totals = [total for _, total in heard[n_data + n_compared - 1 :]]
    assert totals == sorted(totals, reverse=True)  # grids to come count as large as the first


def test_callbacks_that_cannot_be_called_are_refused():
    with pytest.raises(TypeError, match="callbacks must be a function or a list of functions"):
        select(blobs(2, 30, 8.0), callbacks=3)


def test_progress_is_printed(capsys):
    select(blobs(2, 30, 8.0), k_range=(2, 3), prior_scales=(1.0,), verbose=1)
    assert capsys.readouterr().out.splitlines() == [
        "KSelector, choosing K: 1 of 2",
        "KSelector, choosing K: 2 of 2",
        *(f"KSelector, comparing with clouds: {i} of 4" for i in range(1, 5)),
    ]


def test_replicas_that_vote_on_no_row_are_told_with_a_remedy():
    """Two replicas of a clusterer that cannot predict, with hardly a draw from the rows."""
    estimator = BBC(clusterer=AgglomerativeClustering(), n_replicas=2, prior_weight=0.999)
    selector = KSelector(estimator, k_range=(2, 3), null_reference=0, random_state=0)
    with pytest.raises(ValueError, match=r"No replica of 2 .* raise n_replicas[.]"):
        selector.fit(blobs(2, 5, 8.0))


def noise_over_seeds(n_seeds=80, n_replicas=100):
    """Variance over seeds of the difference of two scores, in that which replicas claim."""
    X = make_paper_dataset(3, random_state=0).data
    differences, claimed = [], []
    for seed in range(n_seeds):
        estimator = BBC(n_init=2, n_replicas=n_replicas)
        selector = select(
            X, estimator=estimator, k_range=(2, 3), prior_scales=(1,), random_state=seed
        )
        scores = score(selector.grid_, "mean")
        influence = scores.influence[0] - scores.influence[1]
        differences.append(scores.values[0] - scores.values[1])
        claimed.append(n_replicas / (n_replicas - 1) * (influence**2).sum())
    return np.var(differences, ddof=1) / np.mean(claimed)


def test_noise_that_is_resampled_is_that_over_seeds():
    """Of the mean entropy: quantiles of chi-squared for one false alarm in a million.

    It catches noise that is resampled at half or twice of what it is. The largest pairwise entropy
    has more noise than its first order, which is not asserted here.
    """
    lowest, highest = chi2.ppf([5e-7, 1 - 5e-7], 79) / 79
    ratio = noise_over_seeds()
    assert lowest < ratio < highest
    assert not lowest < ratio / 0.5**2 < highest
    assert not lowest < ratio / 2**2 < highest
