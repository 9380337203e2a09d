"""BagClust1 is Algorithm 2 of the paper, and votes as R's clue does."""

import json
from math import log
from pathlib import Path

import numpy as np
import oracle
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import hypergeom
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from bbclust import BBC, BagClust1, load_model
from bbclust.bootstrap import draw_replica
from bbclust.datasets import load_iris, make_paper_dataset

IRIS = load_iris().data
TRUE_K = {1: 3, 2: 3, 3: 3, 4: 3, 5: 5, 6: 4}
GOLDEN = json.loads((Path(__file__).parent / "golden" / "bagclust.json").read_text())["cases"]

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a duplicate is one more row that random numbers are drawn for, so weight 2 and a "
        "duplicate agree in distribution and not in every bit (as for scikit-learn's KMeans)"
    )
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [BagClust1(), BagClust1(n_replicas=20, votes="all"), BagClust1(n_replicas=20, n_draws=15)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def run_algorithm_2(model):
    """Votes by the oracle: its own draws and alignment, and its k-means from the same starts."""
    run, n_clusters = model._run, model.n_clusters
    n, seed = run.table.n, run.plan.seed
    reference = run.reference.centers - run.table.center

    def sample(b):
        u = oracle.uniforms(oracle.words(seed, oracle.SELECTION, n, replica=b))
        return np.floor(n * u)

    def cluster(b):
        # seedings read their random numbers along the points, so these must be in the same order
        points, copies, rows = draw_replica(run.table, None, run.plan.resampling, seed, b)
        np.testing.assert_array_equal(copies, [np.sum(sample(b) == row) for row in rows])
        starts = [reference]
        for start in range(1, model.n_init + 1):
            n_words = 4 * n_clusters * (2 + int(log(n_clusters)))
            raw = oracle.words(seed, oracle.SEEDING, n_words, start, b)
            starts.append(oracle.seed_centers(points, copies, n_clusters, raw))
        best = oracle.kmeans(
            points, copies, starts, n_clusters=n_clusters, tolerance=run.plan.tolerance
        )
        return dict(zip(rows.tolist(), best.labels.tolist(), strict=True)), best.centers

    return oracle.bagclust1(
        n, run.reference.labels, reference, sample, cluster, n_replicas=model.n_replicas_
    )


@pytest.mark.parametrize("number", TRUE_K)
def test_votes_are_those_of_algorithm_2_step_by_step(number):
    data = make_paper_dataset(number, random_state=number).data
    model = BagClust1(TRUE_K[number], n_replicas=50, random_state=7).fit(data)
    votes = run_algorithm_2(model)
    np.testing.assert_array_equal(model.n_votes_, votes.sum(axis=1))
    np.testing.assert_array_equal(model.memberships_, votes / votes.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.labels_, votes.argmax(axis=1))


def p_values(votes, n_votes, golden, n_golden):
    """Two-sided exact test that two shares are equal (Fisher), for arrays of counts."""
    both = hypergeom(n_votes + n_golden, votes + golden, n_votes)
    return np.minimum(1, 2 * np.minimum(both.cdf(votes), both.sf(votes - 1)))


@pytest.mark.parametrize("name", GOLDEN)
def test_votes_on_all_rows_agree_with_clue(name, seed):
    """747 exact tests at 1e-9, a false alarm once in more than a million runs.

    BBC, whose prior moves the votes, and replicas started from the reference centres alone are
    both found out at 1e-17.
    """
    golden = GOLDEN[name]
    model = BagClust1(
        golden["n_clusters"], n_replicas=2000, votes="all", n_init=20, tol=0, random_state=seed
    ).fit(golden["data"])
    votes = np.rint(model.memberships_ * 2000).astype(int)
    by_clue = np.array(golden["votes"])
    match = linear_sum_assignment(-np.einsum("ij,ik->jk", votes, by_clue))[1]
    assert p_values(votes, 2000, by_clue[:, match], golden["n_votes"]).min() > 1e-9


def test_golden_iris_is_ours():
    np.testing.assert_array_equal(GOLDEN["iris"]["data"], IRIS)


def test_is_bbc_with_efrons_bootstrap():
    weights = np.arange(150) % 3 + 1.0
    model = BagClust1(3, n_replicas=70, random_state=3).fit(IRIS, sample_weight=weights)
    same = BBC(3, n_replicas=70, resampling="efron", random_state=3).fit(
        IRIS, sample_weight=weights
    )
    np.testing.assert_array_equal(model.memberships_, same.memberships_)
    np.testing.assert_array_equal(model.predict_proba(IRIS), same.predict_proba(IRIS))
    assert model.prior_ is None
    more = model.add_replicas(30).memberships_
    again = clone(model).set_params(n_replicas=100).fit(IRIS, sample_weight=weights)
    np.testing.assert_array_equal(more, again.memberships_)


def test_has_no_parameters_of_a_prior():
    of_bbc = BBC().get_params()
    assert BagClust1().get_params().items() <= of_bbc.items()
    assert of_bbc.keys() - BagClust1().get_params().keys() == {
        "prior",
        "prior_scale",
        "prior_weight",
        "resampling",
        "weighting",
    }
    with pytest.raises(TypeError, match="prior_weight"):
        BagClust1(prior_weight=0.5)


def test_progress_carries_its_name(capsys):
    BagClust1(3, n_replicas=60, random_state=0, verbose=1).fit(IRIS)
    assert capsys.readouterr().out == "BagClust1: 60 of 60 replicas\n"


def test_models_go_into_files_and_come_out(tmp_path):
    model = BagClust1(3, n_replicas=60, random_state=0).fit(IRIS)
    model.save(tmp_path / "model.bbc")
    loaded = load_model(tmp_path / "model.bbc")
    assert type(loaded) is BagClust1
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), model.predict_proba(IRIS))
