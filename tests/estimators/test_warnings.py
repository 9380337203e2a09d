"""Warnings point at the line that a user wrote, however deep they arise."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bbclust import BBC, BagClust2, FuzzyCMeans, KSelector
from bbclust.datasets import load_iris

ROWS = load_iris().data
FEW = {"n_replicas": 3, "random_state": 0}


@pytest.mark.parametrize(
    "fit",
    [
        lambda: BBC(2, **FEW).fit(ROWS),
        lambda: BBC(2, **FEW).fit_predict(ROWS),
        lambda: KSelector(BBC(n_replicas=3), k_range=[2, 3], random_state=0).fit(ROWS),
        lambda: BagClust2(2, **FEW).fit(ROWS),
        lambda: FuzzyCMeans(2, max_iter=1, random_state=0).fit(ROWS),
        lambda: make_pipeline(StandardScaler(), BBC(2, **FEW)).fit(ROWS),
    ],
    ids=["BBC", "fit_predict", "KSelector", "BagClust2", "FuzzyCMeans", "pipeline"],
)
def test_a_warning_points_at_the_line_of_the_user(fit):
    with pytest.warns(UserWarning, match="raise ") as caught:
        fit()
    assert {warning.filename for warning in caught} == {__file__}
