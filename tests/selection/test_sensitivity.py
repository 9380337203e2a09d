"""What other settings would say."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from bbclust import BBC, KSelector, sensitivity

SEPARATE, _ = make_blobs(120, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)


def select(X, **parameters):
    quick = BBC(n_replicas=40, n_init=1, votes="all")
    settings = {"k_range": (2, 3, 4), "null_reference": 0, "random_state": 0} | parameters
    return KSelector(quick, **settings).fit(X)


@pytest.fixture(scope="module")
def separate():
    selector = select(SEPARATE)
    return selector, sensitivity(selector, SEPARATE)


def test_clear_clusters_do_not_depend_on_the_settings(separate):
    _, found = separate
    assert [one.setting for one in found.variations] == [
        "as chosen",
        "omega = 0.25",
        "omega = 0.75",
        "s = 0.5",
        "s = 4",
        "m = 0.5 times",  # twice as many draws as rows are no more in the choice
    ]
    assert {one.best_k for one in found.variations} == {3}
    assert {one.sizes for one in found.variations} == {(40, 40, 40)}
    assert all(one.n_moved == 0 for one in found.variations)
    assert found.statement() == "All 5 other settings choose 3 as well."


def test_a_setting_gives_what_a_fit_with_it_gives(separate):
    selector, found = separate
    other = select(SEPARATE)
    other.set_params(prior_scales=(4.0,), estimator__prior_scale=4.0).fit(SEPARATE)
    (one,) = [one for one in found.variations if one.setting == "s = 4"]
    assert one.best_k == other.best_k_
    assert one.n_disputed == (other.best_estimator_.memberships_.max(axis=1) < 0.75).sum()
    # the selector itself is left as it was
    assert selector.prior_scales == (1, 1.5, 2.5)
    assert selector.estimator.prior_scale == 1.0


def test_rows_are_moved_only_where_clusters_cannot_be_matched():
    """Of two clusters instead of three, at least the smallest of the three has no match."""
    selector = select(SEPARATE, k_range=(2, 3))
    before = selector.labels_.copy()
    found = sensitivity(selector, SEPARATE, prior_weights=(0.5,), prior_scales=(), draws=())
    as_chosen, same = found.variations
    assert (same.best_k, same.sizes, same.n_moved) == (as_chosen.best_k, as_chosen.sizes, 0)
    selector.labels_ = np.where(before == 2, 1, before)  # as if two had been chosen
    found = sensitivity(selector, SEPARATE, prior_weights=(0.5,), prior_scales=(), draws=())
    assert found.variations[1].n_moved == 40


def test_the_table_lines_up_and_names_what_differs(separate):
    _, found = separate
    lines = str(found).splitlines()
    assert lines[1].split() == ["setting", "K", "disputed", "rows", "moved", "rows", "sizes"]
    assert len({line.index("40, 40, 40") for line in lines[2:]}) == 1


def test_callbacks_hear_of_every_setting():
    heard = []
    selector = select(SEPARATE)
    sensitivity(
        selector, SEPARATE, draws=(), prior_scales=(), callbacks=lambda *step: heard.append(step)
    )
    assert heard == [(1, 2), (2, 2)]


def test_other_rows_and_a_missing_model_are_refused():
    selector = select(SEPARATE)
    with pytest.raises(ValueError, match="X has 5 rows and the selector was fitted to 120"):
        sensitivity(selector, SEPARATE[:5])
    with pytest.raises(ValueError, match="set refit=True"):
        sensitivity(select(SEPARATE, refit=False), SEPARATE)
