"""Files in gzip and zip: unpacked in parts and up to a limit."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from copy import copy
from pathlib import PurePosixPath
from typing import NamedTuple

from bbclust.cli.input.formats import SUFFIXES, TEXT_SUFFIXES, suffix_of
from bbclust.cli.input.panics import first_line
from bbclust.cli.output.errors import CommandError

# A table has to fit into memory, as text and then as numbers. A megabyte can unpack to a gigabyte,
# so a small file proves nothing, and neither does the size that an archive tells: what really comes
# out is counted on the way. Two gigabytes of text are some 200 million numbers.
LARGEST = 2**31
_CHUNK = 2**20
_TABLES = {*SUFFIXES, *TEXT_SUFFIXES} - {".txt", ".zip"}  # texts beside a table end in .txt, too

DAMAGES = (
    zipfile.BadZipFile,
    NotImplementedError,  # a method of packing that Python does not know
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    zlib.error,
)


class Member(NamedTuple):
    """A file of an archive, or a part of it."""

    name: str
    data: bytes


def gunzip(data: bytes) -> bytes:
    """What a gzip file holds."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return b"".join(_counted(iter(lambda: file.read(_CHUNK), b"")))
    except (EOFError, OSError, zlib.error) as error:
        raise CommandError(f"The gzip file is damaged or cut off ({error}).") from None


def open_zip(data: bytes) -> zipfile.ZipFile:
    """A zip archive; refuses one that is damaged, locked, or larger than it may be."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except DAMAGES as error:
        raise CommandError(_damaged(error)) from None
    if any(info.flag_bits & 1 for info in archive.infolist()):
        raise CommandError("The zip archive is locked by a password: unpack it and give the file.")
    if sum(info.file_size for info in archive.infolist()) > LARGEST:
        raise CommandError(_too_large())
    return archive


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Refuse an archive that is damaged or holds more than it tells, before others unpack it."""
    for _ in unpacked_parts(archive):
        pass


def unpacked_parts(archive: zipfile.ZipFile) -> Iterator[Member]:
    """All files of an archive, in parts."""
    total = 0
    for info in archive.infolist():
        for part in unpacked(archive, info):
            total += len(part)
            if total > LARGEST:
                raise CommandError(_too_large())
            yield Member(info.filename, part)


def refuse_document(archive: zipfile.ZipFile) -> None:
    """Refuse an archive that is a document of an office program, by what it holds."""
    infos = {info.filename: info for info in archive.infolist()}
    kind = b"".join(unpacked(archive, infos["mimetype"])) if "mimetype" in infos else b""
    if b"opendocument.spreadsheet" in kind or "xl/workbook.bin" in infos:
        what = "an OpenDocument spreadsheet" if kind else "a binary workbook"
        raise CommandError(
            f"This is {what}, which is not read: save it as .xlsx or CSV and give that."
        )
    if b"opendocument" in kind or {"word/document.xml", "ppt/presentation.xml"} & infos.keys():
        raise CommandError(
            "This is a document and no table: copy its table into a spreadsheet and save that as "
            "CSV."
        )


def only_table(archive: zipfile.ZipFile) -> Member:
    """The one file of an archive that may be a table."""
    files = [info for info in archive.infolist() if _is_content(info)]
    tables = [info for info in files if suffix_of(info.filename) in _TABLES]
    if len(files) > 1:
        files = tables
    if len(files) != 1:
        names = [info.filename for info in archive.infolist() if _is_content(info)]
        held = ", ".join(map(repr, names[:8])) or "nothing"
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise CommandError(
            f"The zip archive must hold one table and holds {held}{more}: unpack it, and give the "
            "file that you mean."
        )
    return Member(files[0].filename, b"".join(unpacked(archive, files[0])))


def unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """A file of an archive in parts, however long it says that it is."""
    whole = copy(info)
    whole.file_size = LARGEST + 2 * _CHUNK  # else no more than that would be read
    try:
        with archive.open(whole) as file:
            yield from _counted(iter(lambda: file.read(_CHUNK), b""))
    except DAMAGES as error:
        raise CommandError(_damaged(error)) from None


def _counted(parts: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for part in parts:
        total += len(part)
        if total > LARGEST:
            raise CommandError(_too_large())
        yield part


def _is_content(info: zipfile.ZipInfo) -> bool:
    """Whether a file is somebody's, and not a folder or a note of an operating system."""
    path = PurePosixPath(info.filename)
    hidden = any(part.startswith(".") for part in path.parts) or "__MACOSX" in path.parts
    return not (info.is_dir() or hidden or path.name.lower() in ("thumbs.db", "desktop.ini"))


def _too_large() -> str:
    return (
        f"The archive unpacks to more than {LARGEST / 2**30:g} GiB, which is not done in memory: "
        "unpack it and give the file."
    )


def _damaged(error: BaseException) -> str:
    return f"The zip archive is damaged or cut off ({first_line(error)})."
