"""Archive files: named arrays and a header in one file, whole or not there at all.

An archive is a plain ``.npz`` that ``np.load`` opens. Its first member, ``header.json``, says
what it holds; the comment that ends it is the SHA-256 of every byte before, so that no byte can
change unnoticed. Reading executes nothing, unpickles nothing, and gives no array memory before its
size has been compared with that of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bbclust.io.whole_file import write_whole

Arrays = Mapping[str, npt.NDArray[Any]]

DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")
# What is unpacked may be this many times larger than the file; the writer keeps to it too.
MAX_EXPANSION = 100
_COMMENT = b"bbclust sha256 "
_DIGITS = 64
_MAX_LENGTH = 2**40  # of one axis
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no time of day in the file: same content, same bytes


class ArchiveError(ValueError):
    """A file that is not what it should be: damaged, edited, of another kind, or too new."""


SealedFileError = ArchiveError  # its name in version 0.1.0


@dataclass(frozen=True)
class Archive:
    """What an archive holds.

    Attributes
    ----------
    kind : str
        "model", "cell" and so on.
    schema : int
        Number of the agreement on what header and arrays mean for this kind.
    header : dict
        Plain JSON.
    arrays : dict of ndarrays
    """

    kind: str
    schema: int
    header: dict[str, Any]
    arrays: Arrays


def write_archive(path: str | os.PathLike[str], archive: Archive) -> None:
    """Write an archive whole, or leave what was there."""
    write_whole(path, pack(archive))


def read_archive(path: str | os.PathLike[str], kind: str, schema: int) -> Archive:
    """What a file holds, if it is of this kind, whole, and of this schema or an older one."""
    return unpack(_read(path), kind, schema)


@contextmanager
def prefix_errors_with(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Make a whole sentence, with the file's name, of what is wrong with it."""
    try:
        yield
    except ArchiveError as error:
        raise ArchiveError(f"{path} cannot be read as a bbclust {kind}: {error}.") from None


def require(holds: bool, otherwise: str) -> None:
    """Refuse a file, with half a sentence that :func:`prefix_errors_with` completes."""
    if not holds:
        raise ArchiveError(otherwise)


def check_array(values: npt.NDArray[Any], dtype: str, shape: tuple[int, ...]) -> None:
    """Refuse a file in which an array is of another type or shape than agreed."""
    require(values.dtype == np.dtype(dtype), f"an array is of {values.dtype}, not {dtype}")
    require(values.shape == shape, f"an array has shape {values.shape}, not {shape}")


def pack(archive: Archive) -> bytes:
    """The bytes of an archive."""
    arrays = {name: _portable(values) for name, values in archive.arrays.items()}
    head = {
        "format": "bbclust",
        "kind": archive.kind,
        "schema": archive.schema,
        "header": archive.header,
        "arrays": {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()},
    }
    members = {"header.json": json.dumps(head, allow_nan=False, indent=1).encode()}
    for name, values in arrays.items():
        members[f"{name}.npy"] = _npy_prefix(values.dtype.str, values.shape) + values.tobytes()
    packed = _zip_members(members, zipfile.ZIP_DEFLATED)
    if sum(map(len, members.values())) > MAX_EXPANSION * len(packed):
        packed = _zip_members(members, zipfile.ZIP_STORED)
    body = packed[:-_DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def unpack(data: bytes, kind: str, schema: int) -> Archive:
    """What the bytes of an archive hold; :class:`ArchiveError` if anything is wrong."""
    body = data[:-_DIGITS]
    if not (data.startswith(b"PK") and body.endswith(_COMMENT)):
        raise ArchiveError("it is something else, or was cut short")
    if hashlib.sha256(body).hexdigest().encode() != data[-_DIGITS:]:
        raise ArchiveError("its checksum does not match, so it was damaged or edited")
    try:
        members = _unzip_members(data)
        head = _parse_json(members.pop("header.json"))
        _check_head(head, kind, schema)
        arrays = {
            name: _parse_npy(members.pop(f"{name}.npy"), *described)
            for name, described in head["arrays"].items()
        }
    except ArchiveError:
        raise
    except Exception as error:  # zipfile and json have a dozen ways to say "damaged"
        raise ArchiveError(f"it cannot be unpacked ({type(error).__name__})") from None
    if members:
        raise ArchiveError(f"it holds {sorted(members)[0]!r}, which does not belong there")
    return Archive(head["kind"], head["schema"], head["header"], arrays)


def _read(path: str | os.PathLike[str]) -> bytes:
    # Looked at from its end first: a film of ten gigabytes is not read to be refused.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ArchiveError("it is not a file")
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _DIGITS - len(_COMMENT)))
        if not file.read().startswith(_COMMENT):
            raise ArchiveError("it is something else, or was cut short")
        file.seek(0)
        return file.read(size)


def _portable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in C order and little-endian."""
    values = np.ascontiguousarray(values)
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    if values.dtype.str not in DTYPES:
        raise TypeError(f"arrays of {values.dtype} are not stored.")
    return values


def _npy_prefix(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The bytes before the numbers in the ``.npy`` format, version 1.0.

    Written here because NumPy's own differ between its versions, and because a reader that knows
    these bytes beforehand compares them and parses nothing.
    """
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _zip_members(members: Mapping[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = method
            info.create_system = 3  # the same bytes on every system
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
        archive.comment = _COMMENT + b"0" * _DIGITS
    return buffer.getvalue()


def _unzip_members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members):
            raise ArchiveError("two of its members have the same name")
        if sum(member.file_size for member in members) > MAX_EXPANSION * len(data):
            raise ArchiveError("it claims to hold far more than fits into its size")
        content = {}
        for member in members:
            with archive.open(member) as file:
                # with the size: without it a member that lies about its size is unpacked first
                content[member.filename] = file.read(member.file_size)
        return content


def _parse_json(text: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ArchiveError(f"its header holds {constant}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ArchiveError("its header has two entries of the same name")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def _check_head(head: Any, kind: str, schema: int) -> None:
    names = {"format", "kind", "schema", "header", "arrays"}
    if not (isinstance(head, dict) and names <= head.keys() and head["format"] == "bbclust"):
        raise ArchiveError("it was written by another program")
    if head["kind"] != kind:
        raise ArchiveError(f"it is a file of another kind, {str(head['kind'])[:40]!r}")
    if type(head["schema"]) is not int or head["schema"] < 1:
        raise ArchiveError("its schema is not a number")
    if head["schema"] > schema:
        raise ArchiveError(
            f"it has schema {head['schema']} and this version of bbclust knows those up to "
            f"{schema}: update bbclust"
        )
    if not (isinstance(head["header"], dict) and isinstance(head["arrays"], dict)):
        raise ArchiveError("its header is not a table")


def _parse_npy(member: bytes, dtype: Any, shape: Any) -> npt.NDArray[Any]:
    if dtype not in DTYPES or not isinstance(shape, list) or len(shape) > 8:
        raise ArchiveError(f"it holds an array of {str(dtype)[:40]!r}, which is never stored")
    if not all(type(length) is int and 0 <= length < _MAX_LENGTH for length in shape):
        raise ArchiveError("it holds an array of an impossible shape")
    prefix = _npy_prefix(dtype, tuple(shape))
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not member.startswith(prefix) or len(member) != len(prefix) + size:
        raise ArchiveError("it holds an array of another shape than its header says")
    if dtype == "|b1" and len(member) > len(prefix):
        flags = np.frombuffer(member, np.uint8, offset=len(prefix))
        if flags.max() > 1:
            raise ArchiveError("it holds flags that are neither true nor false")
    values = np.frombuffer(member, dtype, offset=len(prefix)) if size else np.empty(0, dtype)
    return values.reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
