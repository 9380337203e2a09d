"""Parquet files that are not read into memory: their columns, their row groups, their identity."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.audit import ColumnAudit
from bbclust.cli.input.columns import Wanted, choose_columns
from bbclust.cli.input.notation import Notation
from bbclust.cli.input.tables import STDIN, InputTable
from bbclust.cli.output.errors import CommandError, prefix_errors_with

if TYPE_CHECKING:
    from bbclust.dask.partitioned.parquet import RowGroups

# Rows by which columns are judged: what is text, what is empty, what names the rows.
HEAD = 10_000
SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class ParquetFile:
    """A file by what its footer tells.

    Attributes
    ----------
    path : str
        Absolute.
    types : dict from column to Arrow type
    group_rows : tuple of int
        Rows of each row group.
    digest : str
        SHA-256 of its size and its footer.
    """

    path: str
    types: dict[str, Any]
    group_rows: tuple[int, ...]
    digest: str


@dataclass(frozen=True)
class ParquetTable:
    """A table in Parquet files.

    Attributes
    ----------
    name : str
        What to call it.
    description : str
        How it is read.
    files : tuple of ParquetFile
        In the order of their names, numbers by their size.
    columns : tuple of str
        What is clustered.
    id : str or None
        The column that names the rows.
    set_aside : dict from column to reason
    audit : tuple of ColumnAudit
        What was seen of every column in the first rows.
    notes : tuple of str
    fingerprint : str
        What tells this table from any other, without reading it.
    carried : tuple of str
        Columns that the assignments carry.
    """

    name: str
    description: str
    files: tuple[ParquetFile, ...]
    columns: tuple[str, ...]
    id: str | None
    set_aside: dict[str, str]
    audit: tuple[ColumnAudit, ...]
    notes: tuple[str, ...]
    fingerprint: str
    carried: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """float32 if all columns are, else float64."""
        types = {str(file.types[name]) for file in self.files for name in self.columns}
        return "float32" if types == {"float"} else "float64"

    def row_groups(self) -> list[RowGroups]:
        """Its rows as partitions."""
        from bbclust.dask.partitioned.parquet import cut_into_row_groups

        d = len(self.columns)
        return [
            row_group
            for one in self.files
            for row_group in cut_into_row_groups(one.path, one.group_rows, d)
        ]

    def without(self, columns: dict[str, str]) -> ParquetTable:
        """The same without some columns, each with the reason."""
        kept = tuple(name for name in self.columns if name not in columns)
        audit = tuple(
            replace(one, part="set aside") if one.column in columns else one for one in self.audit
        )
        return replace(self, columns=kept, set_aside={**self.set_aside, **columns}, audit=audit)


def open_parquet(path: str, wanted: Wanted, *, with_columns: bool = False) -> ParquetTable:
    """A Parquet file, or a directory of them, and the part that every column plays.

    Columns are judged as :func:`~bbclust.cli.input.columns.choose_columns` does, by the first rows.
    """
    with prefix_errors_with("Standard input" if path == STDIN else path):
        files = tuple(read_footer(file) for file in find_files(path))
        head = _read_head(files)
        # Numbers written as text are not read here, so that their notation is no question.
        table = InputTable(path, head, "Parquet", Notation(decimal="."))
        chosen = choose_columns(table, replace(wanted, constant=True))
        set_aside = {name: _by_head(reason) for name, reason in chosen.set_aside.items()}
        columns = []
        for name in chosen.features:
            if head[name].dtype.is_numeric() or head[name].dtype == bool:
                columns.append(name)
            elif name in wanted.columns:
                raise CommandError(
                    f"Column {name!r} of --columns holds numbers written as text, which "
                    "--engine dask does not read: store it as numbers."
                )
            else:
                set_aside[name] = "numbers written as text"
        if not columns:
            raise CommandError("No column holds numbers: there is nothing to cluster.")
        carried = tuple(head.columns) if with_columns else ()
        read = dict.fromkeys([*columns, *([chosen.id] if chosen.id else []), *carried])
        for file in files:
            _check_same_columns(file, list(read), files[0])
        some = "Parquet" if len(files) == 1 else f"{len(files):,} Parquet files"
        return ParquetTable(
            path,
            some,
            files,
            tuple(columns),
            chosen.id,
            set_aside,
            chosen.audit,
            chosen.notes,
            _fingerprint(files, columns),
            carried,
        )


def _fingerprint(files: Sequence[ParquetFile], columns: Sequence[str]) -> str:
    made_of = repr(([file.digest for file in files], list(columns)))
    return f"sha256:{hashlib.sha256(made_of.encode('utf-8', 'surrogatepass')).hexdigest()}"


def find_files(path: str) -> list[Path]:
    """The file, or the Parquet files of a directory in the order of their names."""
    if path == STDIN:
        raise CommandError(
            "--engine dask reads its table again and again, which standard input does not allow: "
            "give a Parquet file."
        )
    place = Path(path)
    if not place.exists():
        raise CommandError("There is no such file.")
    if not place.is_dir():
        return [place]
    files = [
        file
        for file in place.iterdir()
        if file.suffix.lower() in SUFFIXES and not file.name.startswith((".", "_"))
    ]
    if not files:
        raise CommandError("The directory holds no Parquet files (*.parquet).")
    return sorted(files, key=lambda file: _by_numbers(file.name))


def _by_numbers(name: str) -> list[tuple[int, int, str]]:
    """For sorting: part-2 comes before part-10."""
    words = re.split(r"(\d+)", name)
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in words if word]


def read_footer(path: Path) -> ParquetFile:
    """What a file says of itself; refuses one that is no Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing: pip install 'bbclust[dask]'.") from None
    try:
        with path.open("rb") as file:
            start, size = file.read(4), os.fstat(file.fileno()).st_size
            if start != b"PAR1":
                raise CommandError(
                    f"{path.name} is no Parquet file, and --engine dask reads Parquet only, in "
                    "partitions: convert it, or leave --engine out."
                )
            file.seek(max(size - 8, 0))
            length = int.from_bytes(file.read(4), "little")
            file.seek(max(size - 8 - length, 0))
            footer = file.read()
        with pq.ParquetFile(path) as parquet:
            metadata, schema = parquet.metadata, parquet.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise CommandError(f"{path.name} is damaged or cannot be read ({reason}).") from None
    groups = (metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    return ParquetFile(
        path=os.path.abspath(path),
        types={column.name: column.type for column in schema},
        group_rows=tuple(groups),
        digest=hashlib.sha256(size.to_bytes(8, "little") + footer).hexdigest(),
    )


def _read_head(files: Sequence[ParquetFile]) -> Any:
    """The first rows of the table."""
    import polars as pl
    import pyarrow.parquet as pq

    n_rows = sum(sum(file.group_rows) for file in files)
    if n_rows < 2:
        raise CommandError(f"The table has {n_rows} rows and at least 2 rows are needed.")
    first = next(file for file in files if sum(file.group_rows))
    with pq.ParquetFile(first.path) as parquet:
        batch = next(parquet.iter_batches(batch_size=HEAD, use_threads=False))
    return pl.DataFrame(pl.from_arrow(batch))


def _by_head(reason: str) -> str:
    return f"empty in the first {HEAD:,} rows" if reason == "empty" else reason


def _check_same_columns(file: ParquetFile, columns: list[str], first: ParquetFile) -> None:
    """Refuse a file that lacks a column, or has another type of it."""
    for name in columns:
        here, there = file.types.get(name), first.types[name]
        if here is None:
            raise CommandError(
                f"{Path(file.path).name} has no column {name!r}, which "
                f"{Path(first.path).name} has: leave the column out with --exclude."
            )
        if here != there:
            raise CommandError(
                f"Column {name!r} is {here} in {Path(file.path).name} and {there} in "
                f"{Path(first.path).name}: store it in one type."
            )
