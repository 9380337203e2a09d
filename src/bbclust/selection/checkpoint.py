"""Checkpoints: finished cells of a selection in a folder, for a later run to go on from.

A folder holds ``settings``, which says what the cells were computed from, a folder for the data and
for each half-sample, with one file per reference partition and one per cell, and a folder with one
file per comparison with clouds. All of them are archives (:mod:`bbclust.io.archive`). A file that
is damaged, was edited into something impossible, or belongs to another run counts as not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bbclust._native import engine
from bbclust.io.archive import (
    Archive,
    ArchiveError,
    check_array,
    read_archive,
    require,
    write_archive,
)
from bbclust.selection.grid import Cell, GridSettings
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Floats
from bbclust.version import RESULTS, __version__

SCHEMA = 2  # raise it whenever Cell or Partition changes
_IF_ASKED = {"missing": "error", "trim": 0.0}  # what a fingerprint has only if it is not this
_SHOWN = 80  # characters of a setting in a sentence
_UNREADABLE = ("data", "sample_weight", "random_state", "prior", "clusterer")

Found = TypeVar("Found")


def fingerprint(
    X: Floats, weights: npt.NDArray[np.float64] | None, settings: GridSettings, seed: int
) -> dict[str, str]:
    """Everything that the bits of a cell depend on, in words or as a digest.

    ValueError, with half a sentence, if the prior or the clusterer cannot be compared.
    """
    replicas = settings.replicas
    by_name = {**vars(replicas), **replicas.clusterer.parameters()}
    for name, as_before_there_was_a_choice in _IF_ASKED.items():
        if by_name[name] == as_before_there_was_a_choice:
            del by_name[name]
    return {
        "results": str(RESULTS),
        "bbclust": __version__,
        "instruction set": engine.ISA,
        "data": digest(X),
        "sample_weight": digest(weights),
        "random_state": str(seed),
        "prior": digest(replicas.prior),
        "clusterer": digest(replicas.clusterer.identity()),
        "n_draws": str(settings.n_draws),
        "n_replicas": str(settings.n_replicas),
        **{name: str(value) for name, value in by_name.items() if name not in _UNREADABLE},
    }


def digest(value: object) -> str:
    """SHA-256 of a plain object: numbers, words, arrays, and what is made of them."""
    hasher = hashlib.sha256()
    _feed(hasher, value, set())
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any, above: set[int]) -> None:
    if id(value) in above:
        raise ValueError("something in it contains itself")
    above = above | {id(value)}
    hasher.update(f"<{type(value).__module__}.{type(value).__qualname__}>".encode())
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        hasher.update(repr(value).encode())
    elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        hasher.update(f"{value.dtype.str}{value.shape}".encode())
        hasher.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif isinstance(value, list | tuple):
        for item in value:
            _feed(hasher, item, above)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _feed(hasher, key, above)
            _feed(hasher, item, above)
    elif not callable(value) and (is_dataclass(value) or hasattr(value, "__dict__")):
        _feed(hasher, _state(value), above)
    else:
        raise ValueError(f"one holds a {type(value).__name__}")
    hasher.update(b"</>")


def _state(value: Any) -> dict[str, Any]:
    """What an object is made of, without what it has only computed for later."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return {
        name: item
        for name, item in vars(value).items()
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished cells that belong to one fingerprint."""

    folder: Path
    key: str

    def part(self, name: str) -> FolderStore:
        """The store of one grid, of the data or a half-sample, or of the comparisons."""
        return FolderStore(self.folder / name, name, self.key)


def open_checkpoint(folder: str | os.PathLike[str], made_of: Mapping[str, str]) -> Checkpoint:
    """Make a checkpoint folder, or enter one that was made of the same.

    Raises
    ------
    ValueError
        It was made of something else.
    OSError
        It cannot be made or written to.
    """
    folder = Path(folder)
    path = folder / "settings"
    _make_folder(folder)
    try:
        before = read_archive(path, "checkpoint", SCHEMA).header
    except (FileNotFoundError, ArchiveError):
        _write_here(path, Archive("checkpoint", SCHEMA, dict(made_of), {}))
    else:
        _refuse_others(folder, before, made_of)
    return Checkpoint(folder, digest(dict(made_of)))


def _refuse_others(folder: Path, before: Mapping[str, Any], now: Mapping[str, str]) -> None:
    afresh = "give another folder, or delete this one to start afresh."
    if before.get("results") != now["results"]:
        raise ValueError(
            f"The checkpoint in {folder} was made by a bbclust whose results differ from those of "
            f"this one: {afresh}"
        )
    differences = []
    for name in [name for name in now if name in before]:
        if before[name] != now[name]:
            then = " ".join(str(before[name]).split())[:_SHOWN]
            values = f" ({then} then, {now[name]} now)"
            differences.append(name if name in _UNREADABLE else name + values)
    odd = now.keys() ^ before.keys()
    if differences or odd:
        asked = [name for name in _IF_ASKED if name in odd]
        another = ", ".join(differences or asked or ["clusterer"])
        raise ValueError(f"The checkpoint in {folder} was made with another {another}: {afresh}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"The checkpoint folder {folder} cannot be made ({error.strerror}): choose a place "
            "that can be written to",
        ) from None


@dataclass(frozen=True)
class FolderStore:
    """Cells and reference partitions of one grid, each in a file (a ``grid.CellStore``)."""

    folder: Path
    name: str
    key: str

    def reference(self, n_clusters: int) -> Partition | None:
        """The reference partition of K, without weights; None if it is not there."""
        path = self._reference_path(n_clusters)
        return self._read(path, _to_partition, "reference", n_clusters)

    def keep_reference(self, reference: Partition) -> None:
        """Write the reference partition of one K."""
        self._write(
            self._reference_path(reference.n_clusters),
            "reference",
            [reference.n_clusters],
            {"inertia": reference.inertia, "n_iter": reference.n_iter},
            {
                "labels": reference.labels,
                "centers": reference.centers,
                "shares": reference.shares,
            },
        )

    def cell(self, n_clusters: int, prior_scale: float) -> Cell | None:
        """One cell; None if it is not there."""
        path = self._cell_path(n_clusters, prior_scale)
        return self._read(path, _to_cell, "cell", n_clusters, prior_scale)

    def keep_cell(self, cell: Cell) -> None:
        """Write one cell."""
        values = {field.name: getattr(cell, field.name) for field in fields(cell)}
        is_array = {name for name, value in values.items() if isinstance(value, np.ndarray)}
        arrays = {name: values.pop(name) for name in is_array}
        path = self._cell_path(cell.n_clusters, cell.prior_scale)
        self._write(path, "cell", [cell.n_clusters, cell.prior_scale], values, arrays)

    def comparison(self, name: str) -> float | None:
        """A number found by comparing with clouds; None if it is not there."""
        return self._read(self._comparison_path(name), _to_number, "comparison", name)

    def keep_comparison(self, name: str, value: float) -> None:
        """Write such a number."""
        path = self._comparison_path(name)
        self._write(path, "comparison", [name], {}, {"value": np.array([value])})

    def _comparison_path(self, name: str) -> Path:
        return self.folder / f"{name}.comparison"

    def _reference_path(self, n_clusters: int) -> Path:
        return self.folder / f"k{n_clusters}.reference"

    def _cell_path(self, n_clusters: int, prior_scale: float) -> Path:
        return self.folder / f"k{n_clusters}-s{prior_scale!r}.cell"

    def _read(
        self,
        path: Path,
        restore: Callable[..., Found],
        kind: str,
        *place: float | str,
    ) -> Found | None:
        """What ``restore(*place, **values)`` makes of a file; None if it is not what was written.

        Folders may come from strangers, who can write any checksum.
        """
        try:
            archive = read_archive(path, kind, SCHEMA)
            mine = {"of": self.key, "part": self.name, "place": list(place)}
            if archive.schema != SCHEMA or not mine.items() <= archive.header.items():
                return None
            return restore(*place, **{**archive.header["values"], **archive.arrays})
        except (OSError, ArchiveError, KeyError, TypeError):
            return None

    def _write(
        self,
        path: Path,
        kind: str,
        place: list[Any],
        values: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]],
    ) -> None:
        if self.folder.is_symlink():
            self.folder.unlink()
        _make_folder(self.folder)
        header = {"of": self.key, "part": self.name, "place": place, "values": values}
        _write_here(path, Archive(kind, SCHEMA, header, arrays))


def _write_here(path: Path, archive: Archive) -> None:
    """Write a file of the folder; a link in its place, which we never make, is not followed."""
    if path.is_symlink():
        path.unlink()
    write_archive(path, archive)


def _to_partition(
    n_clusters: int,
    /,
    *,
    labels: npt.NDArray[Any],
    centers: npt.NDArray[Any],
    shares: npt.NDArray[Any],
    inertia: float,
    n_iter: int,
) -> Partition:
    """A reference partition out of plain data; ArchiveError if it cannot be one."""
    check_array(labels, "<i4", (labels.size,))
    check_array(centers, "<f8", (n_clusters, *centers.shape[1:2]))
    check_array(shares, "<f8", (n_clusters,))
    require(centers.ndim == 2 and labels.size > 0, _IMPOSSIBLE)
    require(labels.min() >= -1 and labels.max() < n_clusters, _IMPOSSIBLE)
    require(bool(np.isfinite(shares).all() and (shares >= 0).all()), _IMPOSSIBLE)
    require(type(inertia) is float and type(n_iter) is int, _IMPOSSIBLE)
    return Partition(labels, centers, shares, None, inertia, n_iter)


def _to_cell(K: int, s: float, /, **values: Any) -> Cell:
    """A cell out of plain data; ArchiveError if it cannot be one."""
    for name in ("worst_pair", "doubtful_pair"):
        pair = values[name] = tuple(values[name])  # lists in JSON
        require(len(pair) == 2 and all(type(k) is int and 0 <= k < K for k in pair), _IMPOSSIBLE)
    cell = Cell(**values)
    require(type(cell.n_clusters) is int and cell.n_clusters == K, _IMPOSSIBLE)
    require(type(cell.prior_scale) is float and cell.prior_scale == s, _IMPOSSIBLE)
    for field in fields(cell):
        value = getattr(cell, field.name)
        if field.name == "pair_doubts":
            check_array(value, "<f8", (K, K))
        elif field.name.endswith("_influence"):
            check_array(value, "<f8", cell.mean_entropy_influence.shape[:1])
        elif not field.name.endswith("_pair") and field.name != "n_clusters":
            require(type(value) is float, _IMPOSSIBLE)
    return cell


def _to_number(name: str, /, *, value: npt.NDArray[Any]) -> float:
    check_array(value, "<f8", (1,))
    return float(value[0])


_IMPOSSIBLE = "it holds something impossible"
