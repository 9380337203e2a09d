"""The options of the commands, each described once; they are named like parameters in Python."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

_READING = "How to read the file"
_COLUMNS = "Columns and rows"
_METHOD = "Method"
_CLUSTER = "Tables larger than memory"
_OUTPUT = "Output"


class Scale(str, Enum):
    """What is done to the columns before clustering."""

    standard = "standard"
    robust = "robust"
    none = "none"


class Missing(str, Enum):
    """What is done with rows that have gaps."""

    error = "error"
    drop = "drop"


class Criterion(str, Enum):
    """How K is chosen."""

    auto = "auto"
    pairwise = "pairwise"
    mean = "mean"


class Resampling(str, Enum):
    """The bootstrap."""

    proper = "proper"
    rubin = "rubin"
    efron = "efron"


class Weighting(str, Enum):
    """How Dirichlet weights enter k-means."""

    weights = "weights"
    resample = "resample"


class Votes(str, Enum):
    """On which rows a replica votes."""

    auto = "auto"
    drawn = "drawn"
    all = "all"


class Engine(str, Enum):
    """Where the work is done."""

    local = "local"
    dask = "dask"


File = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, NPY or NPZ, also packed by gzip; - is standard input.",
        show_default=False,
    ),
]
Model = Annotated[
    str,
    typer.Argument(help="A model.bbc that analyze or fit wrote.", show_default=False),
]

# Optional[...]: typer evaluates these on Python 3.10 too.
Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates fields; 'tab' for tabs. Detected.", rich_help_panel=_READING),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns. Detected.",
        rich_help_panel=_READING,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar=". or ,", help="The decimal mark. Detected.", rich_help_panel=_READING),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Such as latin-1; UTF-8 and UTF-16 need no word.", rich_help_panel=_READING),
]

ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Columns to cluster, separated by commas; may be repeated. All that hold numbers.",
        rich_help_panel=_COLUMNS,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Columns to set aside.", rich_help_panel=_COLUMNS),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="NAME", help="The column that names the rows.", rich_help_panel=_COLUMNS
    ),
]
NoId = Annotated[
    bool,
    typer.Option("--no-id", help="No column names the rows.", rich_help_panel=_COLUMNS),
]
Truth = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="A column of known classes to compare with.", rich_help_panel=_COLUMNS
    ),
]
Scaling = Annotated[
    Scale,
    typer.Option("--scale", help="What is done to the columns first.", rich_help_panel=_COLUMNS),
]
OnMissing = Annotated[
    Missing,
    typer.Option("--missing", help="Rows with gaps: refuse or drop.", rich_help_panel=_COLUMNS),
]

KRange = Annotated[
    str,
    typer.Option(
        "--k",
        metavar="K",
        help="Numbers of clusters to choose from: 2:10, or 2,4,6, or auto; a single one is taken.",
        rich_help_panel=_METHOD,
    ),
]
SingleK = Annotated[
    int,
    typer.Option("--k", help="Number of clusters.", rich_help_panel=_METHOD, show_default=False),
]
Replicas = Annotated[
    int,
    typer.Option("--n-replicas", min=1, help="Replicas, B.", rich_help_panel=_METHOD),
]
NInit = Annotated[
    int | None,
    typer.Option("--n-init", min=0, help="k-means++ starts per replica.", rich_help_panel=_METHOD),
]
PriorScales = Annotated[
    str,
    typer.Option(
        help="Multipliers s of the prior's covariances, over which the measures are averaged.",
        rich_help_panel=_METHOD,
    ),
]
PriorScale = Annotated[
    float,
    typer.Option(help="Multiplier s of the prior's covariances.", rich_help_panel=_METHOD),
]
PriorWeight = Annotated[
    float,
    typer.Option(help="Share of draws from the prior.", rich_help_panel=_METHOD),
]
ResamplingKind = Annotated[
    Resampling, typer.Option("--resampling", help="The bootstrap.", rich_help_panel=_METHOD)
]
WeightingKind = Annotated[
    Weighting,
    typer.Option(
        "--weighting",
        help="Dirichlet weights as weights, or as chances of a second draw.",
        rich_help_panel=_METHOD,
    ),
]
VotesKind = Annotated[
    Votes,
    typer.Option(
        "--votes",
        help="A replica votes on the rows it drew, or on all.",
        rich_help_panel=_METHOD,
    ),
]
Draws = Annotated[
    int | None,
    typer.Option("--n-draws", min=2, help="Draws per replica, m.", rich_help_panel=_METHOD),
]
CriterionKind = Annotated[
    Criterion, typer.Option("--criterion", help="How K is chosen.", rich_help_panel=_METHOD)
]
NullReference = Annotated[
    int,
    typer.Option(
        min=0,
        help="Data sets without clusters, of each of two kinds, to test K = 1 against.",
        rich_help_panel=_METHOD,
    ),
]
NResamples = Annotated[
    int,
    typer.Option(
        "--n-resamples",
        min=0,
        help="Half-samples of the rows that tell how sure K is.",
        rich_help_panel=_METHOD,
    ),
]
Fast = Annotated[
    bool,
    typer.Option(
        "--fast",
        help="Leave out the test of K = 1, the half-samples and the other methods.",
        rich_help_panel=_METHOD,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="The same seed gives the same result.", rich_help_panel=_METHOD),
]
Jobs = Annotated[
    int,
    typer.Option(help="Threads; -1 is all cores. The result is the same.", rich_help_panel=_METHOD),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        help="Label -1 where the largest membership is below it.", rich_help_panel=_METHOD
    ),
]

EngineKind = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="dask reads Parquet, a file or a directory of files, in partitions by workers.",
        rich_help_panel=_CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Worker processes to start for --engine dask. One for each core.",
        rich_help_panel=_CLUSTER,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory of each of these workers, such as 1GiB. An equal part of what there is.",
        rich_help_panel=_CLUSTER,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask cluster that runs already, such as tcp://10.0.0.1:8786.",
        rich_help_panel=_CLUSTER,
    ),
]

OutDirectory = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIRECTORY",
        help="Where the results go; by default NAME-bbclust here.",
        show_default=False,
        rich_help_panel=_OUTPUT,
    ),
]
OutFile = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE", help="Where the result goes.", rich_help_panel=_OUTPUT),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace earlier results.", rich_help_panel=_OUTPUT),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a run that did not end.", rich_help_panel=_OUTPUT),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=_OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Print errors only.", rich_help_panel=_OUTPUT),
]
