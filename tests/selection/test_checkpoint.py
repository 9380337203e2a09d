"""Checkpoints of KSelector: whatever ends a run, the next one goes on to the same bits."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset
from bbclust.ensemble.engine_kmeans import EngineKMeans
from bbclust.io.archive import Archive, read_archive, write_archive
from bbclust.priors import ElicitedPrior, GaussianMixture, KernelPrior, MixturePrior
from bbclust.selection import checkpoint
from bbclust.selection import grid as stability
from bbclust.selection.checkpoint import digest
from bbclust.version import RESULTS

X = make_paper_dataset(1, random_state=0).data
N_DATA = 2 * 2  # K's, scales
N_CELLS = N_DATA + 2 * 2  # half-samples, at one scale
N_COMPARED = 2 + 2  # K's, then the rule and the pairs; between the cells of the data and the others
DEFAULTS = {
    "k_range": (2, 3),
    "prior_scales": (1, 2.5),
    "n_resamples": 2,
    "null_reference": 2,
    "refit": False,
    "random_state": 4,
}


class EnoughError(Exception):
    pass


def select(folder=None, rows=X, *, estimator=None, sample_weight=None, **parameters):
    estimator = BBC(n_replicas=50, n_init=1) if estimator is None else estimator
    selector = KSelector(estimator, checkpoint=folder, **{**DEFAULTS, **parameters})
    return selector.fit(rows, sample_weight=sample_weight)


@contextmanager
def counted(monkeypatch):
    """The cells and references that are computed, not found."""
    computed = []
    with monkeypatch.context() as patch:
        for name in ("run_cell", "find_reference"):
            function = getattr(stability, name)

            def count(*arguments, name=name, function=function, **keywords):
                computed.append(name)
                return function(*arguments, **keywords)

            patch.setattr(stability, name, count)
        keep = checkpoint.FolderStore.keep_comparison

        def count_comparison(*arguments):
            computed.append("compare")
            keep(*arguments)

        patch.setattr(checkpoint.FolderStore, "keep_comparison", count_comparison)
        yield computed


def bits(value):
    """Everything in a value, comparable to the bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "__dataclass_fields__"):
        return tuple(bits(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [bits(item) for item in value]
    if isinstance(value, float):
        return value.hex()
    return type(value), value


def results(selector):
    names = "curves_ grid_ scores_ scores_se_ best_k_ tied_k_ mc_confidence_ confidence_"
    found = {name: bits(getattr(selector, name)) for name in names.split()}
    return found | {
        "tendency": bits(selector.cluster_tendency_),
        "verdict": selector.verdict_.to_dict(),
    }


@pytest.fixture(scope="module")
def uninterrupted():
    return results(select())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the checkpoint of a whole run; not to be written to."""
    folder = tmp_path_factory.mktemp("finished") / "checkpoint"
    select(folder)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of it to play with."""
    copy = tmp_path / "checkpoint"
    for path in finished.rglob("*"):
        target = copy / path.relative_to(finished)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return copy


# --- going on -------------------------------------------------------------------------------------


def test_a_checkpoint_changes_nothing(uninterrupted, tmp_path):
    assert results(select(tmp_path)) == uninterrupted


def test_a_finished_run_is_not_computed_again(folder, uninterrupted, monkeypatch):
    with counted(monkeypatch) as computed:
        assert results(select(folder)) == uninterrupted
    assert computed == []


@pytest.mark.parametrize("after", range(1, N_CELLS + N_COMPARED))
def test_a_run_stopped_after_any_step_goes_on_to_the_same_bits(
    after, uninterrupted, tmp_path, monkeypatch
):
    def stop(done, total):
        if done == after:
            raise EnoughError

    with pytest.raises(EnoughError):
        select(tmp_path, callbacks=stop)
    with counted(monkeypatch) as computed:
        assert results(select(tmp_path)) == uninterrupted
    of_data, of_halves = min(after, N_DATA), max(after - N_DATA - N_COMPARED, 0)
    assert computed.count("run_cell") == N_CELLS - of_data - of_halves
    assert computed.count("find_reference") == 6 - min((after + 1) // 2, 2) - of_halves
    n_compared = min(max(after - N_DATA, 0), N_COMPARED)
    assert (computed.count("compare") == 0) == (n_compared == N_COMPARED)


def test_a_run_may_be_stopped_many_times(uninterrupted, tmp_path):
    for stop_at in range(1, N_CELLS + N_COMPARED, 3):

        def stop(done, total, stop_at=stop_at):
            if done == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            select(tmp_path, callbacks=stop)
    assert results(select(str(tmp_path))) == uninterrupted


def test_a_run_stopped_within_a_cell_starts_that_cell_again(uninterrupted, tmp_path, monkeypatch):
    for where in ("run_cell", "find_reference"):
        with monkeypatch.context() as patch:
            calls, function = [], getattr(stability, where)

            def stop(*arguments, calls=calls, function=function, **keywords):
                calls.append(arguments)
                if len(calls) == 3:
                    raise EnoughError
                return function(*arguments, **keywords)

            patch.setattr(stability, where, stop)
            with pytest.raises(EnoughError):
                select(tmp_path)
    assert results(select(tmp_path)) == uninterrupted


PROGRAM = """
import sys

from bbclust import BBC, KSelector
from bbclust.datasets import make_paper_dataset

X = make_paper_dataset(1, random_state=0).data
KSelector(
    BBC(n_replicas=50, n_init=1), k_range=(2, 3), prior_scales=(1, 2.5), n_resamples=2,
    null_reference=2, refit=False, random_state=4, verbose=1, checkpoint=sys.argv[1],
).fit(X)
"""


@pytest.mark.measures
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of Unix")
def test_killed_programs_leave_a_checkpoint_to_go_on_from(uninterrupted, tmp_path, monkeypatch):
    generator = np.random.default_rng()
    killed_after = sorted(generator.integers(1, N_CELLS, size=2).tolist())
    for n_lines in killed_after:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            for _ in range(n_lines):
                assert program.stdout.readline().startswith("KSelector")
            program.send_signal(signal.SIGKILL)
        assert program.returncode in (-signal.SIGKILL, 0)
    with counted(monkeypatch) as computed:
        assert results(select(tmp_path)) == uninterrupted, killed_after
    assert computed.count("run_cell") <= N_CELLS - min(killed_after[-1], N_DATA)


@pytest.mark.parametrize(
    "more",
    [
        {"k_range": (2, 3, 4)},
        {"k_range": (3,)},
        {"prior_scales": (1, 1.5)},
        {"n_resamples": 3},
        {"null_reference": 0},
        {"criterion": "mean"},
        {"n_jobs": 2},
        {"verbose": 1},
        {"refit": True},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Half of the rows:UserWarning")
def test_what_no_cell_depends_on_may_change(more, folder, monkeypatch):
    with counted(monkeypatch) as computed:
        gone_on = select(folder, **more)
    n_found = computed.count("run_cell")
    with counted(monkeypatch) as computed:
        assert results(gone_on) == results(select(**more))
    assert n_found < computed.count("run_cell")


def test_the_range_that_grows_by_itself_goes_on_too(tmp_path, monkeypatch):
    rows = np.repeat(np.eye(9), 12, axis=0) * 30 + np.random.default_rng(0).normal(size=(108, 9))
    settings = {"k_range": "auto", "prior_scales": (1,), "n_resamples": 0, "null_reference": 0}
    first = select(tmp_path, rows, **settings)
    assert max(first.grid_.k_values) > 10
    with counted(monkeypatch) as computed:
        assert results(select(tmp_path, rows, **settings)) == results(first)
    assert computed == []


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_float32_come_back(weighted, tmp_path):
    weights = np.arange(len(X)) % 3 if weighted else None
    rows = X.astype(np.float32)
    first = select(tmp_path, rows, sample_weight=weights)
    again = select(tmp_path, rows, sample_weight=weights)
    assert results(again) == results(first) == results(select(None, rows, sample_weight=weights))


def test_priors_of_plain_arrays_can_be_told_apart(tmp_path):
    def expert(mean):
        prior = MixturePrior([1, 2], [[0, 0], [mean, 4]], [np.eye(2), np.eye(2)])
        return BBC(n_replicas=50, n_init=1, prior=prior)

    first = select(tmp_path, estimator=expert(3))
    assert results(select(tmp_path, estimator=expert(3))) == results(first)
    with pytest.raises(ValueError, match="was made with another prior: give another folder"):
        select(tmp_path, estimator=expert(5))


def by(clusterer):
    return BBC(n_replicas=10, clusterer=clusterer)


class OtherKMeans(EngineKMeans):
    """May cluster otherwise, with the same parameters."""


def test_a_class_that_inherits_from_k_means_is_another_clusterer(tmp_path):
    settings = {"n_resamples": 0, "null_reference": 0, "prior_scales": (1,)}
    select(tmp_path, estimator=by(EngineKMeans(n_init=1)), **settings)
    select(tmp_path, estimator=BBC(n_replicas=10, n_init=1), **settings)
    with pytest.raises(ValueError, match="was made with another clusterer: give another folder"):
        select(tmp_path, estimator=by(OtherKMeans(n_init=1)), **settings)


def test_clusterers_of_scikit_learn_can_be_told_apart(tmp_path, monkeypatch):
    settings = {"n_resamples": 0, "null_reference": 0, "prior_scales": (1,)}
    first = select(tmp_path, estimator=by(KMeans(n_init=1)), **settings)
    with counted(monkeypatch) as computed:
        again = select(tmp_path, estimator=by(KMeans(n_init=1).fit(X)), **settings)
    assert computed == []
    assert results(again) == results(first)
    with pytest.raises(ValueError, match="was made with another clusterer: give another folder"):
        select(tmp_path, estimator=by(KMeans(n_init=2)), **settings)
    with pytest.raises(ValueError, match="was made with another clusterer: give another folder"):
        select(tmp_path, estimator=BBC(n_replicas=10), **settings)


def test_clusterers_that_are_functions_are_refused(tmp_path):
    with pytest.raises(ValueError, match="are the same in a later fit, since one holds a function"):
        select(tmp_path, estimator=by(lambda points, n_clusters: np.arange(len(points)) % 2))


# --- damage ---------------------------------------------------------------------------------------


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_one_file_per_cell_and_reference(finished):
    names = [path.relative_to(finished).as_posix() for path in files(finished)]
    scales = {"data": ("1.0", "2.5"), "half-1": ("2.5",), "half-2": ("2.5",)}
    cells = [f"{part}/k{k}-s{s}.cell" for part in scales for k in (2, 3) for s in scales[part]]
    references = [f"{part}/k{k}.reference" for part in scales for k in (2, 3)]
    compared = [name for name in names if name.startswith("comparisons/")]
    assert {name.split("-")[0] for name in compared} >= {"comparisons/halves", "comparisons/valley"}
    assert all(name.endswith("-c2-s2.5.comparison") for name in compared)
    assert names == sorted([*cells, *references, *compared, "settings"])
    assert sum(path.stat().st_size for path in files(finished)) < 100_000


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone"])
def test_damaged_files_are_computed_again(damage, folder, uninterrupted, monkeypatch):
    generator = np.random.default_rng()
    for path in files(folder):
        data = bytearray(path.read_bytes())
        data[generator.integers(len(data))] ^= 1 << int(generator.integers(8))
        left = {"flip": bytes(data), "cut": bytes(data[: len(data) // 2]), "empty": b""}
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(left[damage])
    with counted(monkeypatch) as computed:
        assert results(select(folder)) == uninterrupted
    assert computed.count("run_cell") == N_CELLS
    with counted(monkeypatch) as computed:
        select(folder)
    assert computed == []


def test_one_damaged_cell_is_computed_again_alone(folder, uninterrupted, monkeypatch):
    (folder / "half-1" / "k3-s2.5.cell").write_bytes(b"nonsense")
    with counted(monkeypatch) as computed:
        assert results(select(folder)) == uninterrupted
    assert computed == ["run_cell"]


def test_cells_in_the_wrong_place_are_not_used(folder, uninterrupted, tmp_path, monkeypatch):
    def swap(one, other):
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)

    swap(folder / "data/k2-s1.0.cell", folder / "data/k2-s2.5.cell")
    swap(folder / "data/k3-s1.0.cell", folder / "half-1/k3-s2.5.cell")
    swap(folder / "data/k2.reference", folder / "data/k3.reference")
    swap(folder / "half-2/k2.reference", folder / "half-2/k2-s2.5.cell")
    with counted(monkeypatch) as computed:
        assert results(select(folder)) == uninterrupted
    assert (computed.count("run_cell"), computed.count("find_reference")) == (5, 3)


def test_cells_of_another_run_are_not_used(folder, tmp_path, uninterrupted):
    other = tmp_path / "other"
    select(other, estimator=BBC(n_replicas=51, n_init=1))
    for path in files(other / "data"):
        (folder / "data" / path.name).write_bytes(path.read_bytes())
    assert results(select(folder)) == uninterrupted


# --- refusals -------------------------------------------------------------------------------------


OTHERS = {
    "n_replicas": ({"estimator": BBC(n_replicas=51, n_init=1)}, "n_replicas (50 then, 51 now)"),
    "n_init": ({"estimator": BBC(n_replicas=50, n_init=2)}, "n_init (1 then, 2 now)"),
    "tol": ({"estimator": BBC(n_replicas=50, n_init=1, tol=0)}, "tol (0.0001 then, 0.0 now)"),
    "max_iter": ({"estimator": BBC(n_replicas=50, n_init=1, max_iter=9)}, "max_iter"),
    "prior_weight": (
        {"estimator": BBC(n_replicas=50, n_init=1, prior_weight=0.3)},
        "prior_weight (0.5 then, 0.3 now)",
    ),
    "resampling": (
        {"estimator": BBC(n_replicas=50, n_init=1, resampling="efron")},
        "resampling (proper then, efron now), prior_weight (0.5 then, 0.0 now)",
    ),
    "weighting": ({"estimator": BBC(n_replicas=50, n_init=1, weighting="resample")}, "weighting"),
    "n_draws": ({"n_draws": 60}, "n_draws"),
    "random_state": ({"random_state": 5}, "random_state"),
    "sample_weight": ({"sample_weight": np.arange(len(X)) + 1.0}, "sample_weight"),
    "data": ({"rows": X + 1e-9}, "data"),
    "type of data": ({"rows": X.astype(np.float32)}, "data"),
    "order of rows": ({"rows": X[::-1]}, "data"),
    "number of rows": ({"rows": X[:-1]}, "data"),
}


@pytest.mark.parametrize(("other", "words"), OTHERS.values(), ids=OTHERS)
def test_other_data_and_settings_are_refused(other, words, folder):
    before = {path: path.read_bytes() for path in files(folder)}
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        select(folder, **other)
    sentence = str(raised.value)
    assert sentence.startswith(f"The checkpoint in {folder} was made with another {words}")
    assert sentence.endswith("give another folder, or delete this one to start afresh.")
    assert {path: path.read_bytes() for path in files(folder)} == before


@pytest.mark.parametrize("name", ["bbclust", "instruction set"])
def test_other_versions_and_instruction_sets_are_refused(name, folder, monkeypatch):
    truth = checkpoint.fingerprint

    def other(*arguments):
        return truth(*arguments) | {name: "other"}

    monkeypatch.setattr("bbclust.selection.k_selector.fingerprint", other)
    with pytest.raises(ValueError, match=rf"another {name} \(.* then, other now\)"):
        select(folder)


@pytest.mark.parametrize("results", ["1", None])
def test_cells_whose_results_differ_are_refused_in_a_sentence(results, folder, monkeypatch):
    """A number that an earlier bbclust wrote, or none at all, as 0.1.0 did at first."""
    now = read_archive(folder / "settings", "checkpoint", 2)
    before = {name: value for name, value in now.header.items() if name != "results"}
    if results is not None:
        before["results"] = results
    write_archive(folder / "settings", Archive("checkpoint", 1, before, {}))
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="by a bbclust whose results differ") as raised:
        select(folder)
    assert str(raised.value).endswith("give another folder, or delete this one to start afresh.")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files


def test_the_instruction_set_and_version_are_part_of_the_fingerprint(tmp_path):
    select(tmp_path)
    header = checkpoint.read_archive(tmp_path / "settings", "checkpoint", 2).header
    assert header["instruction set"] in ("portable", "avx2", "avx512")
    assert header["bbclust"].count(".") == 2
    assert header["results"] == str(RESULTS)


def test_a_run_without_a_number_cannot_go_on(tmp_path):
    with pytest.raises(ValueError, match="checkpoint needs a random_state"):
        select(tmp_path / "new", random_state=None)
    assert not (tmp_path / "new").exists()


def test_something_else_than_a_path_is_refused():
    with pytest.raises(TypeError, match="checkpoint must be the path of a folder, got 3"):
        select(3)


class FunctionPrior:
    def __init__(self, function):
        self.function = function

    def prepare(self, X, reference, scale):
        return self

    def sample(self, n, generator):
        return self.function(n, generator)


def test_priors_that_cannot_be_compared_are_refused(tmp_path):
    prior = FunctionPrior(lambda n, generator: generator.normal(size=(n, 2)))
    with pytest.raises(ValueError, match="are the same in a later fit, since one holds a function"):
        select(tmp_path, estimator=BBC(n_replicas=50, prior=prior))


@contextmanager
def without_rights(folder):
    """A folder nobody may write to; root becomes a nobody for the time."""
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="needs Unix permissions")
def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path):
    with without_rights(tmp_path), pytest.raises(PermissionError) as raised:
        select(tmp_path / "new")
    assert "cannot be made (Permission denied): choose a place" in str(raised.value)
    with without_rights(tmp_path), pytest.raises(PermissionError) as raised:
        select(tmp_path)
    assert "cannot be" in str(raised.value)


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("something")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match=r"The checkpoint folder .* cannot be made \("):
            select(path)
    assert (tmp_path / "file").read_text() == "something"


# --- digests --------------------------------------------------------------------------------------


def test_digests_tell_plain_objects_apart():
    values = [
        None, 0, 0.0, False, "", "0", (), [], [0], [[0]], [0, 0], {}, {"a": 0}, {"b": 0},
        np.zeros(2), np.zeros((2, 1)), np.zeros((1, 2)), np.zeros(0), np.zeros((0, 3)),
        np.zeros(2, np.float32), np.array([0.0, -0.0]), np.float64(0), b"", ["a", "b"], ["ab"],
        MixturePrior([1], [[0]], [[[1]]]), MixturePrior([1], [[0]], [[[2]]]),
        ElicitedPrior(), ElicitedPrior(covariance="diagonal"), KernelPrior(), KernelPrior(0.5),
        GaussianMixture(np.ones(1), np.zeros((1, 1)), (np.ones((1, 1)),)),
    ]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)


def test_digests_depend_on_content_alone():
    def mixture():
        return GaussianMixture(np.ones(1), np.zeros((1, 1)), (np.ones((1, 1)),))

    used = mixture()
    assert used.cumulative_weights == 1  # computed once and kept inside
    assert digest(used) == digest(mixture())
    values = np.arange(12.0).reshape(3, 4)
    assert digest(values.T) == digest(values.T.copy())


@pytest.mark.parametrize("value", [print, lambda: 0, object(), np.random.default_rng(), Path])
def test_what_has_no_content_has_no_digest(value):
    with pytest.raises(ValueError, match="one holds a"):
        digest([value])


def test_what_contains_itself_has_no_digest():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="something in it contains itself"):
        digest(loop)


# --- folders of strangers -------------------------------------------------------------------------


def test_a_link_in_the_folder_is_not_followed(folder, uninterrupted, tmp_path):
    """Who unpacks a folder of a stranger must not lose a file of his own."""
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    for name in ("settings", "data/k2.reference", "data/k2-s1.0.cell"):
        (folder / name).unlink()
        (folder / name).symlink_to(mine)
    elsewhere = tmp_path / "elsewhere"
    (folder / "half-1").rename(elsewhere)
    before = {path: path.read_bytes() for path in files(elsewhere)}
    next(path for path in before if path.suffix == ".cell").unlink()
    before = {path: path.read_bytes() for path in files(elsewhere)}
    (folder / "half-1").symlink_to(elsewhere)
    assert results(select(folder)) == uninterrupted
    assert mine.read_bytes() == b"mine"
    assert {path: path.read_bytes() for path in files(elsewhere)} == before


EDITS = {
    "no values": lambda head, arrays: head.pop("values"),
    "a value nobody knows": lambda head, arrays: head["values"].update(command="rm"),
    "a value that is a word": lambda head, arrays: head["values"].update(
        {name: "1" for name in ("inertia", "mean_entropy") if name in head["values"]}
    ),
    "an array less": lambda head, arrays: arrays.pop(sorted(arrays)[0]),
    "arrays that are shorter": lambda head, arrays: arrays.update(
        {name: values[:-1] for name, values in arrays.items()}
    ),
    "labels and pairs outside of the clusters": lambda head, arrays: (
        arrays.update({k: v + 99 for k, v in arrays.items() if k == "labels"}),
        head["values"].update({k: [7, 9] for k in head["values"] if k.endswith("_pair")}),
    ),
    "whole numbers": lambda head, arrays: arrays.update(
        {name: values.astype(np.int64) for name, values in arrays.items()}
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_impossible_files_with_a_matching_checksum_count_as_not_there(edit, folder, uninterrupted):
    for path in files(folder / "data"):
        kind = path.suffix[1:]
        archive = read_archive(path, kind, checkpoint.SCHEMA)
        head, arrays = dict(archive.header), dict(archive.arrays)
        head["values"] = dict(head["values"])
        edit(head, arrays)
        write_archive(path, Archive(kind, checkpoint.SCHEMA, head, arrays))
    assert results(select(folder)) == uninterrupted


def test_what_a_stranger_wrote_into_the_settings_stays_one_line(folder):
    before = read_archive(folder / "settings", "checkpoint", checkpoint.SCHEMA).header
    hostile = {**before, "n_replicas": "1\n\n" + "x" * 10_000}
    write_archive(folder / "settings", Archive("checkpoint", checkpoint.SCHEMA, hostile, {}))
    with pytest.raises(ValueError, match="another n_replicas") as caught:
        select(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
