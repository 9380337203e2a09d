"""Tables in memory: what a cluster computes is what one machine computes, to the bit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from distributed import Client
from local_clusters import start_cluster
from same import assert_same_fit
from scipy import stats
from sklearn.cluster import AgglomerativeClustering, MiniBatchKMeans

from bbclust import BBC, KSelector
from bbclust.dask import DaskBBC, DaskKSelector
from bbclust.dask.block_tree import BlockNode
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.priors import KernelPrior, MixturePrior, SamplerPrior

pytestmark = [
    pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* takes no sample_weight:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* rows (were drawn|have no vote):UserWarning"),
]

IRIS = load_iris().data
WEIGHTS = np.arange(150) % 4


def both(X, client, *, sample_weight=None, **parameters):
    parameters = {"n_clusters": 3, "n_replicas": 40, "random_state": 0, **parameters}
    local = BBC(**parameters).fit(X, sample_weight=sample_weight)
    return DaskBBC(**parameters, client=client).fit(X, sample_weight=sample_weight), local


@pytest.mark.parametrize(
    "X",
    [
        IRIS,
        IRIS.astype(np.float32),
        pd.DataFrame(IRIS, columns=list("abcd")),
        pl.DataFrame(IRIS, schema=list("abcd")),
        IRIS.tolist(),
    ],
    ids=["float64", "float32", "pandas", "polars", "lists"],
)
def test_same_bits_for_any_kind_of_table(X, client):
    assert_same_fit(*both(X, client))


@pytest.mark.parametrize(
    "parameters",
    [
        {"votes": "all", "n_draws": 50},
        {"resampling": "rubin"},
        {"resampling": "efron"},
        {"weighting": "resample"},
        {"n_replicas": "auto", "mc_tol": 0.012},
        {"prior": MixturePrior([1, 1, 1], IRIS[::60], [np.eye(4)] * 3)},
        {"prior": KernelPrior()},
        {"prior": SamplerPrior([stats.norm(5), stats.norm(3), stats.norm(4), stats.norm(1)])},
        {"prior": SamplerPrior(lambda n, generator: generator.normal(3, 2, size=(n, 4)))},
        {"clusterer": MiniBatchKMeans(n_init=1), "n_replicas": 20},
        {"clusterer": AgglomerativeClustering(), "n_replicas": 20},
        {"clusterer": lambda points: (points[:, 2] > 2).astype(int), "n_replicas": 20},
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_same_bits_for_any_parameters(parameters, client):
    assert_same_fit(*both(IRIS, client, **parameters))


def test_same_bits_with_weights_of_zero(client):
    assert_same_fit(*both(IRIS, client, sample_weight=WEIGHTS))


def test_same_bits_for_a_given_reference(client):
    labels = np.repeat(["a", "b", "c"], 50)
    parameters = {"n_clusters": 3, "n_replicas": 20, "random_state": 0}
    local = BBC(**parameters).fit(IRIS, reference_labels=labels)
    mine = DaskBBC(**parameters, client=client).fit(IRIS, reference_labels=labels)
    assert_same_fit(mine, local)


@pytest.mark.parametrize("block_size", [1, 3, 7, 8, 40, 1000])
def test_same_bits_for_any_block_size(block_size, client):
    local = BBC(3, n_replicas=40, random_state=0).fit(IRIS)
    mine = DaskBBC(3, n_replicas=40, random_state=0, client=client, block_size=block_size)
    assert_same_fit(mine.fit(IRIS), local)


def test_same_bits_for_one_two_and_four_workers():
    local = BBC(3, n_replicas=60, random_state=0).fit(IRIS)
    selector = KSelector(
        BBC(n_replicas=30), k_range=(2, 3), prior_scales=(1,), null_reference=2, random_state=0
    )
    selector.fit(IRIS)
    with start_cluster(1) as cluster, Client(cluster) as client:
        for n_workers in (1, 2, 4):
            cluster.scale(n_workers)
            client.wait_for_workers(n_workers)
            assert len(client.nthreads()) == n_workers
            mine = DaskBBC(3, n_replicas=60, random_state=0, block_size=5, client=client)
            assert_same_fit(mine.fit(IRIS), local)
            assert_same_fit(DaskKSelector(**selector.get_params(deep=False)).fit(IRIS), selector)


def test_added_replicas_equal_a_larger_fit(client):
    mine = DaskBBC(3, n_replicas=30, random_state=0, client=client).fit(IRIS).add_replicas(25)
    local = BBC(3, n_replicas=30, random_state=0).fit(IRIS).add_replicas(25)
    assert_same_fit(mine, local)
    np.testing.assert_array_equal(
        mine.memberships_, BBC(3, n_replicas=55, random_state=0).fit(IRIS).memberships_
    )


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 5, 8, 13])
def test_pieces_of_a_tree_hold_every_block_once(n_blocks):
    for level in range(5):
        nodes = [BlockNode(level, index) for index in range(n_blocks)]
        assert [b for node in nodes for b in node.blocks(n_blocks)] == list(range(n_blocks))
        for node in nodes:
            children = {*node.blocks(n_blocks), *node.sibling.blocks(n_blocks)}
            assert children == set(node.parent.blocks(n_blocks))


# --- progress -------------------------------------------------------------------------------------


def test_callbacks_hear_of_every_block_and_lines_are_printed(client, capsys):
    heard = []
    model = DaskBBC(3, n_replicas=40, block_size=9, client=client, random_state=0, verbose=1)
    model.set_params(callbacks=lambda done, total: heard.append((done, total))).fit(IRIS)
    assert [total for _, total in heard] == [40] * 5
    done = [done for done, _ in heard]
    assert done == sorted(done)
    assert done[-1] == 40
    assert capsys.readouterr().out.splitlines()[-1] == "DaskBBC: 40 of 40 replicas"


class EnoughAfter:
    """A callback of scikit-learn that asks to stop."""

    def __init__(self, share):
        self.n_tasks = int(100 * share)

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **_):
        pass

    def on_fit_task_end(self, estimator, context, **_):
        self.n_tasks -= 1
        return self.n_tasks <= 0

    def teardown(self, estimator, context):
        pass


@pytest.mark.skipif(not hasattr(BBC(), "set_callbacks"), reason="needs scikit-learn 1.9")
def test_a_fit_that_is_stopped_has_the_first_replicas(client):
    model = DaskBBC(3, n_replicas=2000, block_size=20, client=client, random_state=0)
    model.set_callbacks(EnoughAfter(0.1)).fit(IRIS)
    assert model.n_replicas_ % 20 == 0
    assert 0 < model.n_replicas_ < 2000
    local = BBC(3, n_replicas=model.n_replicas_, random_state=0).fit(IRIS)
    assert_same_fit(model, local)


def test_tasks_are_named_after_what_they_do(client, cluster):
    DaskBBC(3, n_replicas=40, block_size=20, client=client, random_state=0).fit(IRIS)
    DaskKSelector(
        BBC(n_replicas=10), k_range=(2,), prior_scales=(1,), null_reference=0, client=client
    ).fit(IRIS)
    prefixes = set(cluster.scheduler.task_prefixes)
    assert {"replicas", "votes-sum", "reference", "cell", "table", "rows"} <= prefixes


# --- the choice of K ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"null_reference": 19},
        {"k_range": "auto", "prior_scales": (1,)},
        {"n_resamples": 2, "null_reference": 2, "k_range": (2, 3)},
        {"estimator": BBC(n_replicas=20, prior=KernelPrior()), "k_range": (2, 3)},
        {"estimator": BBC(n_replicas=30, clusterer=AgglomerativeClustering()), "k_range": (2, 3)},
        {"estimator": BBC(n_replicas=20, resampling="rubin"), "k_range": (2, 3), "refit": False},
    ],
    ids=str,
)
def test_the_choice_of_k_has_the_same_bits(parameters, client):
    settings = {
        "estimator": BBC(n_replicas=30, n_init=1),
        "k_range": range(2, 5),
        "null_reference": 0,
        "random_state": 0,
        **parameters,
    }
    local = KSelector(**settings).fit(IRIS, sample_weight=WEIGHTS)
    mine = DaskKSelector(**settings, client=client).fit(IRIS, sample_weight=WEIGHTS)
    assert_same_fit(mine, local)
    assert not settings.get("refit", True) or isinstance(mine.best_estimator_, DaskBBC)


def test_cells_are_counted_as_by_the_local_twin(client):
    X = make_paper_dataset(1, random_state=0).data
    heard = {KSelector: [], DaskKSelector: []}
    for kind, calls in heard.items():
        extra = {} if kind is KSelector else {"client": client}
        kind(
            BBC(n_replicas=10),
            k_range=(2, 3),
            n_resamples=2,
            null_reference=2,
            refit=False,
            callbacks=lambda *call, calls=calls: calls.append(call),
            random_state=0,
            **extra,
        ).fit(X)
    assert heard[DaskKSelector] == heard[KSelector]


def test_a_checkpoint_goes_from_one_twin_to_the_other(client, tmp_path):
    settings = {
        "estimator": BBC(n_replicas=20),
        "k_range": (2, 3),
        "null_reference": 2,
        "random_state": 0,
    }
    local = KSelector(**settings, checkpoint=tmp_path / "a").fit(IRIS)
    mine = DaskKSelector(**settings, checkpoint=tmp_path / "b", client=client).fit(IRIS)
    assert_same_fit(mine, local)
    files = {path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.cell")}
    assert len(files) == 6
    assert files == {path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.cell")}
    heard = []
    more = {**settings, "k_range": (2, 3, 4), "callbacks": lambda *call: heard.append(call)}
    again = DaskKSelector(**more, checkpoint=tmp_path / "a", client=client).fit(IRIS)
    assert_same_fit(again, KSelector(**more, checkpoint=tmp_path / "b").fit(IRIS))
    assert heard[:14] == [(done, 14) for done in range(1, 15)]  # 9 cells, 3 + 2 comparisons


def test_a_warning_points_at_the_line_of_the_user(client):
    with pytest.warns(UserWarning, match="raise n_replicas") as caught:
        DaskBBC(3, n_replicas=3, random_state=0, client=client).fit(IRIS)
    assert {warning.filename for warning in caught} == {__file__}
