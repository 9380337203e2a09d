"""The options of the commands, each described once; they are named like parameters in Python."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Annotated

import typer

_reading = partial(typer.Option, rich_help_panel="How to read the file")
_columns = partial(typer.Option, rich_help_panel="Columns and rows")
_method = partial(typer.Option, rich_help_panel="Method")
_cluster = partial(typer.Option, rich_help_panel="Tables larger than memory")
_output = partial(typer.Option, rich_help_panel="Output")


class Scale(str, Enum):
    """What is done to the columns before clustering."""

    standard, robust, none = "standard", "robust", "none"


class Missing(str, Enum):
    """What is done with rows that have gaps."""

    error, drop, draw = "error", "drop", "draw"


class Categories(str, Enum):
    """What is done with columns of text categories."""

    aside, one_hot = "aside", "one-hot"


class Resampling(str, Enum):
    """The bootstrap."""

    proper, rubin, efron = "proper", "rubin", "efron"


class Weighting(str, Enum):
    """How Dirichlet weights enter k-means."""

    weights, resample = "weights", "resample"


class Votes(str, Enum):
    """On which rows a replica votes."""

    auto, drawn, all = "auto", "drawn", "all"


class Engine(str, Enum):
    """Where the work is done."""

    local, dask = "local", "dask"


File = Annotated[
    str,
    typer.Argument(
        help=(
            "CSV, TSV, Excel, JSON lines, Parquet, Arrow, NPY or NPZ, also packed by gzip or zip; "
            "- is standard input."
        ),
        show_default=False,
    ),
]
Model = Annotated[
    str, typer.Argument(help="A model.bbc that analyze or fit wrote.", show_default=False)
]
Delimiter = Annotated[str | None, _reading(help="What separates fields; 'tab' for tabs. Detected.")]
Header = Annotated[
    bool | None,
    _reading("--header/--no-header", help="Whether the first line names the columns. Detected."),
]
Decimal = Annotated[str | None, _reading(metavar=". or ,", help="The decimal mark. Detected.")]
Encoding = Annotated[str | None, _reading(help="Such as latin-1; UTF-8 and UTF-16 need no word.")]
Sheet = Annotated[
    str | None,
    _reading(
        metavar="NAME or NUMBER",
        help="The sheet of an Excel workbook, from 1. The only one with a table.",
    ),
]
Na = Annotated[
    list[str] | None,
    _reading(
        "--na",
        metavar="CODE",
        help="What stands for a missing value besides NA and the like, such as -999; repeat it.",
    ),
]
ColumnNames = Annotated[
    list[str] | None,
    _columns(
        "--columns",
        metavar="NAMES",
        help="Columns to cluster, separated by commas; may be repeated. All that hold numbers.",
    ),
]
Exclude = Annotated[list[str] | None, _columns(metavar="NAMES", help="Columns to set aside.")]
Id = Annotated[str | None, _columns("--id", metavar="NAME", help="The column that names the rows.")]
NoId = Annotated[bool, _columns("--no-id", help="No column names the rows.")]
Truth = Annotated[
    str | None, _columns(metavar="NAME", help="A column of known classes to compare with.")
]
Scaling = Annotated[Scale, _columns("--scale", help="What is done to the columns first.")]
OnMissing = Annotated[
    Missing,
    _columns(
        "--missing",
        help="Rows with gaps: refuse them, drop them, or draw what is missing in every replica.",
    ),
]
OnCategories = Annotated[
    Categories,
    _columns(
        "--categories",
        help="Text categories: set aside, or coded as 0 and 1 so that each weighs like a column.",
    ),
]
KRange = Annotated[
    str,
    _method(
        "--k",
        metavar="K",
        help="Numbers of clusters to choose from: 2:10, or 2,4,6, or auto; a single one is taken.",
    ),
]
SeveralK = Annotated[
    str, _method("--k", metavar="K", help="Numbers of clusters to compare: 2:10, or 2,4,6.")
]
SingleK = Annotated[int, _method("--k", help="Number of clusters.", show_default=False)]
Replicas = Annotated[int, _method("--n-replicas", min=1, help="Replicas, B.")]
NInit = Annotated[int | None, _method("--n-init", min=0, help="k-means++ starts per replica.")]
PriorScales = Annotated[
    str,
    _method(help="Multipliers s of the prior's covariances, over which the measures are averaged."),
]
PriorScale = Annotated[float, _method(help="Multiplier s of the prior's covariances.")]
PriorWeight = Annotated[float, _method(help="Share of draws from the prior.")]
ResamplingKind = Annotated[Resampling, _method("--resampling", help="The bootstrap.")]
WeightingKind = Annotated[
    Weighting,
    _method("--weighting", help="Dirichlet weights as weights, or as chances of a second draw."),
]
VotesKind = Annotated[
    Votes, _method("--votes", help="A replica votes on the rows it drew, or on all.")
]
Draws = Annotated[
    int | None,
    _method("--n-draws", min=2, help="Draws per replica, m; where K is chosen, of that alone."),
]
Criterion = Annotated[
    str, _method(help="How K is chosen: auto, or pairwise or mean as in the paper.")
]
NullReference = Annotated[
    int,
    _method(min=0, help="Clouds without a gap to compare two clusters with; 0 tests nothing."),
]
NResamples = Annotated[
    int, _method("--n-resamples", min=0, help="Half-samples of the rows that tell how sure K is.")
]
Fast = Annotated[
    bool,
    _method("--fast", help="Leave out the tests, the half-samples and the other methods."),
]
WithSensitivity = Annotated[
    bool,
    _method("--sensitivity", help="Repeat it with other prior weights, scales and draws."),
]
Seed = Annotated[int, _method(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int, _method(help="Threads; -1 is all cores. The result is the same.")]
MinConfidence = Annotated[
    float | None, _method(help="Label -1 where the largest membership is below it.")
]
EngineKind = Annotated[
    Engine,
    _cluster(
        "--engine",
        help="dask reads Parquet, a file or a directory of files, in partitions by workers.",
    ),
]
Workers = Annotated[
    int | None,
    _cluster(
        "--workers", min=1, help="Worker processes to start for --engine dask. One for each core."
    ),
]
MemoryLimit = Annotated[
    str | None,
    _cluster(
        "--memory-limit",
        metavar="SIZE",
        help="Memory of each of these workers, such as 1GiB. An equal part of what there is.",
    ),
]
Scheduler = Annotated[
    str | None,
    _cluster(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask cluster that runs already, such as tcp://10.0.0.1:8786.",
    ),
]
OutDirectory = Annotated[
    str | None,
    _output(
        "--out",
        metavar="DIRECTORY",
        help="Where the results go; by default NAME-bbclust here.",
        show_default=False,
    ),
]
OutFile = Annotated[str | None, _output("--out", metavar="FILE", help="Where the result goes.")]
WithColumns = Annotated[
    bool, _output("--with-columns", help="Assignments carry all columns of the file.")
]
Force = Annotated[bool, _output("--force", help="Replace earlier results.")]
Resume = Annotated[bool, _output("--resume", help="Go on with a run that did not end.")]
AsJson = Annotated[bool, _output("--json", help="Print the summary as JSON.")]
Quiet = Annotated[bool, _output("--quiet", help="Print errors only.")]
