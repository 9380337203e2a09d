"""Model files that say how missing values are drawn: whole, or refused."""

import numpy as np
import pytest

from bbclust import BBC, load_model
from bbclust.datasets import load_iris
from bbclust.io.archive import Archive, read_archive, write_archive


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "model.bbc"
    BBC(3, n_replicas=5, votes="all", missing="draw", random_state=0).fit(load_iris().data).save(
        path
    )
    return read_archive(path, "model", 1)


def change(archive, name, edit):
    arrays = dict(archive.arrays)
    arrays[name] = edit(arrays[name].copy())
    return Archive("model", 1, archive.header, arrays)


def negative(covariances):
    covariances[0, 1, 1] = -1.0
    return covariances


def endless(means):
    means[0, 0] = np.nan
    return means


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        ("missing_weights", lambda w: 0 * w, "impossible weights"),
        ("missing_means", endless, "not finite"),
        ("missing_means", lambda m: m[:, :2].copy(), "shape"),
        ("missing_covariances", negative, "impossible variances"),
    ],
)
def test_impossible_models_of_missing_values_are_refused(archive, tmp_path, name, edit, message):
    write_archive(tmp_path / "bad.bbc", change(archive, name, edit))
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "bad.bbc")


def test_an_incomplete_or_unannounced_model_is_refused(archive, tmp_path):
    arrays = {k: v for k, v in archive.arrays.items() if k != "missing_means"}
    write_archive(tmp_path / "bad.bbc", Archive("model", 1, archive.header, arrays))
    with pytest.raises(ValueError, match="not complete"):
        load_model(tmp_path / "bad.bbc")
    header = {k: v for k, v in archive.header.items() if k != "missing_seed"}
    write_archive(tmp_path / "bad.bbc", Archive("model", 1, header, archive.arrays))
    with pytest.raises(ValueError, match="array that no model has"):
        load_model(tmp_path / "bad.bbc")


@pytest.mark.parametrize("seed", [-1, 2**63, "1", None, True])
def test_an_impossible_seed_is_refused(archive, tmp_path, seed):
    header = {**archive.header, "missing_seed": seed}
    write_archive(tmp_path / "bad.bbc", Archive("model", 1, header, archive.arrays))
    with pytest.raises(ValueError, match="seed"):
        load_model(tmp_path / "bad.bbc")
