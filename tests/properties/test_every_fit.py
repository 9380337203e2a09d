"""What holds after every fit, whatever the table, its type, its weights and the settings."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import (
    SETTINGS,
    arrays_of,
    assert_same_bits,
    examples,
    fit_or_pass,
    tables,
    weights_of,
)

from bbclust import BagClust2, FuzzyCMeans, load_model
from bbclust.ensemble import run as ensemble
from bbclust.ensemble.job import join
from bbclust.ensemble.run import run_block

pytestmark = pytest.mark.filterwarnings(
    "ignore:Half of the rows:UserWarning",
    "ignore:.*rows were drawn by none:UserWarning",
    "ignore:.*pairs of rows were drawn together by none:UserWarning",
    "ignore:Fuzzy c-means still moved",
)
CLUSTERS = st.integers(1, 4)


@examples(60)
@given(st.data(), tables(), CLUSTERS, SETTINGS)
def test_shares_sum_to_one_and_entropies_keep_their_bounds(data, X, K, parameters):
    weights = data.draw(weights_of(len(X)))
    model = fit_or_pass(X, K, sample_weight=weights, **parameters)
    for shares in (model.memberships_, model.predict_proba(X)):
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    most = np.log2(K) + 1e-12
    assert ((model.entropy_ >= 0) & (model.entropy_ <= most)).all()
    assert 0 <= model.mean_entropy_ <= most
    pairwise = model.pairwise_entropy_
    assert ((pairwise >= 0) & (pairwise <= 1 + 1e-12)).all()
    assert (pairwise == pairwise.T).all()
    assert ((model.pair_doubt_ >= 0) & (model.pair_doubt_ <= 1 + 1e-12)).all()
    assert ((model.alignment_margin_ >= 0) & (model.alignment_margin_ <= 1)).all()
    np.testing.assert_allclose(model.cluster_shares_.sum(), 1)
    # Votes are whole numbers, at most one of a replica.
    votes = model.memberships_ * model.n_votes_[:, None]
    np.testing.assert_allclose(votes, votes.round(), atol=1e-9)
    assert (model.n_votes_ <= model.n_replicas_).all()


@examples(30)
@given(st.data(), tables(), CLUSTERS, SETTINGS)
def test_questions_have_answers_within_their_bounds(data, X, K, parameters):
    model = fit_or_pass(X, K, **parameters)
    n = len(X)
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), min_size=1, max_size=9))
    together = model.comembership(pairs)
    assert ((together >= 0) & (together <= 1)).all()
    np.testing.assert_array_equal(together, model.comembership([pair[::-1] for pair in pairs]))
    assert (model.comembership([(i, i) for i, _ in pairs]) == 1).all()
    stability = model.cluster_stability()
    known = np.isfinite(stability.jaccard)
    voted = model._state.record.replicas.votes.any(axis=1)
    np.testing.assert_array_equal(
        known, np.bincount(model.reference_labels_[voted], minlength=K) > 0
    )
    assert ((stability.jaccard[known] >= 0) & (stability.jaccard[known] <= 1)).all()
    posterior = model.partition_posterior()
    assert 0 <= posterior.expected_vi <= 2 * np.log2(max(K, 2))
    np.testing.assert_allclose(np.asarray(model.top_memberships(K).todense()), model.memberships_)


@examples(30)
@given(st.data(), tables(), CLUSTERS, SETTINGS)
def test_rows_are_judged_alone(data, X, K, parameters):
    """Some rows, in another order and repeatedly, get the bits that they get among all."""
    model = fit_or_pass(X, K, **parameters)
    chosen = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=40))
    assert model.predict_proba(X[chosen]).tobytes() == model.predict_proba(X)[chosen].tobytes()
    np.testing.assert_array_equal(model.predict(X[chosen]), model.predict(X)[chosen])
    by_replica = [labels[chosen] for labels in model.replica_labels(X)]
    np.testing.assert_array_equal(by_replica, list(model.replica_labels(X[chosen])))


@examples(30)
@given(st.data(), tables(), CLUSTERS, SETTINGS)
def test_same_bits_however_replicas_are_run(data, X, K, parameters):
    """Any number of threads, any blocks, in any order, at once or added one by one."""
    weights = data.draw(weights_of(len(X)))
    whole = fit_or_pass(X, K, sample_weight=weights, **parameters)
    cuts = sorted(data.draw(st.sets(st.integers(1, 7), max_size=4)))
    blocks = [range(a, b) for a, b in zip([0, *cuts], [*cuts, 8], strict=True)]
    n_jobs, size = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble, "block_size", lambda *_: size)
        grown = fit_or_pass(
            X, K, sample_weight=weights, **parameters, n_jobs=n_jobs, n_replicas=len(blocks[0])
        )
        for block in blocks[1:]:
            grown.add_replicas(len(block))
    assert_same_bits(grown, whole)
    job, replicas = whole._state.record.job, whole._state.record.replicas
    found = {block: run_block(job, block) for block in data.draw(st.permutations(blocks))}
    joined = join([found[block] for block in blocks])
    for name in ("votes", "centers", "occupied", "margin", "inertia", "evaluation_labels"):
        assert getattr(joined, name).tobytes() == getattr(replicas, name).tobytes(), name


@examples(20)
@given(st.data(), tables(), CLUSTERS, SETTINGS)
def test_what_is_loaded_is_what_was_saved(data, X, K, parameters):
    model = fit_or_pass(X, K, sample_weight=data.draw(weights_of(len(X))), **parameters)
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.bbc", Path(folder) / "second.bbc"
        model.save(first)
        loaded = load_model(first)
        loaded.save(second)
        assert first.read_bytes() == second.read_bytes()
    assert loaded.get_params() == model.get_params()
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(list(loaded.replica_labels(X)), list(model.replica_labels(X)))
    of_model, by_row = arrays_of(model), {"memberships_", "labels_", "entropy_", "n_votes_"}
    for name in of_model.keys() - by_row - {"reference_labels_", "trimmed_", "numbers"}:
        assert getattr(loaded, name).tobytes() == of_model[name], name


@examples(20)
@given(tables(), CLUSTERS)
def test_the_other_estimators_keep_their_bounds(X, K):
    fit_or_pass(X, K)  # so that refusals are those of BBC
    bagged = BagClust2(K, n_replicas=8, n_init=1, random_state=0).fit(X)
    assert ((bagged.dissimilarity_ >= 0) & (bagged.dissimilarity_ <= 1)).all()
    assert ((bagged.silhouette_ >= -1) & (bagged.silhouette_ <= 1)).all()
    assert set(bagged.labels_) <= set(range(K))
    fuzzy = FuzzyCMeans(K, n_init=1, random_state=0).fit(X)
    np.testing.assert_allclose(fuzzy.memberships_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (fuzzy.memberships_ >= 0).all()
    assert fuzzy.predict_proba(X).tobytes() == fuzzy.memberships_.tobytes()
