"""The commands, from a file to results, run as people run them."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

import bbclust
from bbclust import BBC, KSelector, load_model
from bbclust.cli import main
from bbclust.cli.app import app
from bbclust.cli.output import files
from bbclust.cli.output.errors import CommandError
from bbclust.cli.output.files import CLUSTERED, OutputFile
from bbclust.cli.parsing import parse_k
from bbclust.datasets import load_iris
from bbclust.version import RESULTS

DOCS = Path(__file__).parents[2] / "docs"
IRIS = load_iris()
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
SPECIES = [IRIS.target_names[code] for code in IRIS.target]
SCALED = (IRIS.data - IRIS.data.mean(axis=0)) / IRIS.data.std(axis=0)
QUICK = ["--k", "2:4", "--n-replicas", "60", "--fast"]


def run(*arguments, **options):
    """A command in this process; what it printed and its exit code."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def shell(*arguments, cwd, **options):
    """A command in a process of its own."""
    command = [sys.executable, "-m", "bbclust", *map(str, arguments)]
    settings = {"capture_output": True, "text": True, "check": False, "cwd": cwd, "timeout": 600}
    return subprocess.run(command, **{**settings, **options})


def iris_frame():
    columns = {name: IRIS.data[:, j] for j, name in enumerate(NAMES)}
    flowers = [f"flower {i}" for i in range(150)]
    return pl.DataFrame({"flower": flowers, **columns, "species": SPECIES})


@pytest.fixture(scope="module")
def iris_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "iris.csv"
    iris_frame().write_csv(path)
    return path


@pytest.fixture(scope="module")
def analyzed(iris_csv, tmp_path_factory):
    """The results of one analysis, and what it printed."""
    out = tmp_path_factory.mktemp("results") / "out"
    result = run("analyze", iris_csv, *QUICK, "--truth", "species", "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


@pytest.fixture(scope="module")
def summary(analyzed):
    return json.loads((analyzed[0] / "summary.json").read_text())


# --- answers at once ------------------------------------------------------------------------------

HEAVY = [
    "numpy",
    "scipy",
    "sklearn",
    "polars",
    "narwhals",
    "pandas",
    "pyarrow",
    "bokeh",
    "jinja2",
    "matplotlib",
    "dask",
]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["analyze", "--help"], []])
def test_help_loads_no_heavy_package(arguments):
    program = f"""
import sys
sys.argv = ["bbclust", *{arguments}]
from bbclust.cli import main
try:
    main()
except SystemExit:
    pass
print(sorted(set({HEAVY}) & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_and_the_console_script_are_the_same_program(tmp_path):
    assert shell("--version", cwd=tmp_path).stdout == f"bbclust {bbclust.__version__}\n"
    script = Path(sys.executable).with_name("bbclust")
    if script.exists():
        done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"bbclust {bbclust.__version__}\n"


@pytest.mark.parametrize(
    "command", ["analyze", "fit", "select", "predict", "compare", "report", "demo"]
)
def test_every_command_explains_itself(command):
    assert command in run("--help").output
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--out" in result.output


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--full", "--only", "table-4"]])
def test_the_reproduction_of_the_paper_has_moved(arguments):
    assert "reproduc" not in run("--help").output
    result = run("reproduce", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        "bbclust: The command reproduce has moved: in a copy of the repository, run "
        "python -m reproduction.\n"
    )


def test_shells_can_complete(tmp_path):
    """From a shell of its own, because the command looks for the shell that it was typed in."""
    typed = f"{shlex.quote(sys.executable)} -m bbclust --show-completion; exit $?"
    done = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, cwd=tmp_path)
    assert "bbclust" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("table", ["options", "files"])
def test_the_page_lists_every_option_and_file(table):
    page = (DOCS / "cli.md").read_text()
    done = subprocess.run(
        [sys.executable, DOCS / f"list_{table}.py"], capture_output=True, text=True, check=True
    )
    assert f"<!-- {table} -->\n{done.stdout}<!-- end -->" in page


# --- what analyze writes --------------------------------------------------------------------------


def test_analyze_gives_what_the_library_gives(analyzed, summary):
    out, _ = analyzed
    selector = KSelector(
        BBC(n_init=2, n_replicas=60, n_jobs=2),
        k_range=(2, 3, 4),
        null_reference=0,  # as with --fast
        random_state=0,
        n_jobs=2,
    ).fit(SCALED)
    rows = pl.read_csv(out / "assignments.csv")
    assert summary["answer"]["n_clusters"] == selector.best_k_
    assert rows["label"].to_list() == selector.labels_.tolist()
    memberships = rows.select(pl.col("^membership_.*$")).to_numpy()
    np.testing.assert_array_equal(memberships, selector.best_estimator_.memberships_)
    np.testing.assert_array_equal(rows["entropy"], selector.best_estimator_.entropy_)
    np.testing.assert_array_equal(rows["n_votes"], selector.best_estimator_.n_votes_)
    cells = pl.read_csv(out / "selection.csv")
    np.testing.assert_array_equal(cells["mean_entropy"], selector.curves_["mean_entropy"])
    assert set(cells.filter("chosen")["n_clusters"]) == {selector.best_k_}


def test_rows_keep_their_order_and_their_names(analyzed):
    out, _ = analyzed
    rows = pl.read_csv(out / "assignments.csv")
    assert rows.columns[:2] == ["id", "label"]
    assert rows["id"].to_list() == [f"flower {i}" for i in range(150)]
    assert pl.read_parquet(out / "assignments.parquet").equals(rows)


def test_the_report_names_the_file_and_not_its_folder(analyzed, iris_csv):
    page = (analyzed[0] / "report.html").read_text("utf-8")
    assert f"<title>{iris_csv.name}: " in page
    assert str(iris_csv.parent) not in page


def test_the_summary_says_what_was_done(summary, iris_csv):
    assert summary["data"]["source"] == iris_csv.name
    assert summary["data"]["columns"] == NAMES
    assert summary["data"]["id_column"] == "flower"
    assert summary["data"]["scaling"].startswith("standard (each column minus its mean")
    scaling = summary["settings"]["scaling"]
    np.testing.assert_allclose(scaling["center"], IRIS.data.mean(axis=0))
    np.testing.assert_allclose(scaling["scale"], IRIS.data.std(axis=0))
    assert summary["settings"]["command"]["k"] == [2, 3, 4]
    assert summary["seed"] == 0
    assert summary["data"]["fingerprint"].startswith("sha256:")
    assert summary["versions"]["bbclust"] == bbclust.__version__


def test_known_classes_are_compared(analyzed, summary):
    labels = pl.read_csv(analyzed[0] / "assignments.csv")["label"]
    expected = adjusted_rand_score(SPECIES, labels)
    assert summary["truth"]["adjusted_rand_index"] == pytest.approx(expected)
    assert summary["truth"]["classes"] == ["setosa", "versicolor", "virginica"]
    assert np.sum(summary["truth"]["contingency"]) == 150
    assert "adjusted Rand index" in analyzed[1].stdout


def test_the_terminal_summary_can_be_acted_on(analyzed, summary):
    out, result = analyzed
    for part in (
        *summary["answer"]["sentences"],
        "standard (each column minus its mean, divided by its standard deviation)",
        "Mean entropy",
        "Worst pair",
        str(out),
        "report.html",
    ):
        assert part in result.stdout


def test_all_files_are_there_and_nothing_else(analyzed):
    out, _ = analyzed
    assert sorted(os.listdir(out)) == [
        "assignments.csv",
        "assignments.parquet",
        "model.bbc",
        "report.html",
        "selection.csv",
        "summary.json",
    ]
    assert os.listdir(out.parent) == ["out"]


def test_the_same_seed_gives_the_same_files_and_another_does_not(analyzed, iris_csv, tmp_path):
    out, _ = analyzed
    for seed in (0, 1):
        arguments = ("analyze", iris_csv, *QUICK, "--truth", "species", "--seed", seed, "--jobs", 1)
        assert run(*arguments, "--out", tmp_path / str(seed)).exit_code == 0
    for name in os.listdir(out):  # whatever the number of threads, and however long it took
        assert (tmp_path / "0" / name).read_bytes() == (out / name).read_bytes(), name
    assert (tmp_path / "1" / "selection.csv").read_bytes() != (out / "selection.csv").read_bytes()


def test_the_summary_lists_the_files(analyzed, summary):
    assert sorted(summary["files"]) == sorted(os.listdir(analyzed[0]))
    assert summary["results_version"] == RESULTS


def test_another_file_is_one_more_entry(iris_csv, tmp_path, monkeypatch):
    """Written, listed on the terminal and in the summary, and known to --force."""
    toy = OutputFile(
        "sizes.txt",
        "the sizes of the clusters",
        CLUSTERED,
        lambda path, results: path.write_text(str(results.summary["answer"]["sizes"])),
    )
    monkeypatch.setattr(files, "OUTPUT_FILES", (*files.OUTPUT_FILES, toy))
    command = ("fit", iris_csv, "--k", 3, "--n-replicas", 60, "--out", tmp_path / "out")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert re.search("^  sizes.txt +the sizes of the clusters$", result.stdout, re.MULTILINE)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["files"]["sizes.txt"] == "the sizes of the clusters"
    assert (tmp_path / "out" / "sizes.txt").read_text() == str(summary["answer"]["sizes"])
    assert run(*command, "--force").exit_code == 0
    assert run("select", iris_csv, *QUICK, "--out", tmp_path / "choice").exit_code == 0
    assert not (tmp_path / "choice" / "sizes.txt").exists()


# --- other ways in --------------------------------------------------------------------------------


def test_a_single_k_is_taken_and_equals_fit(iris_csv, tmp_path):
    results = {
        "analyze": run(
            "analyze", iris_csv, "--k", 3, "--n-replicas", 60, "--out", tmp_path / "analyze"
        ),
        "fit": run("fit", iris_csv, "--k", 3, "--n-replicas", 60, "--out", tmp_path / "fit"),
    }
    model = BBC(3, n_replicas=60, random_state=0).fit(SCALED)
    for name, result in results.items():
        assert result.exit_code == 0, result.output
        assert "Rows that are least sure" in result.stdout
        rows = pl.read_csv(tmp_path / name / "assignments.csv")
        assert rows["label"].to_list() == model.labels_.tolist()
        assert not (tmp_path / name / "selection.csv").exists()
        assert "a number that was given; whether" in result.stdout


def test_the_parameters_of_fit_reach_the_estimator(iris_csv, tmp_path):
    options = {
        "n_replicas": 50,
        "n_init": 1,
        "n_draws": 100,
        "prior_scale": 2.0,
        "prior_weight": 0.25,
        "weighting": "resample",
        "votes": "all",
    }
    words = [word for name, v in options.items() for word in (f"--{name.replace('_', '-')}", v)]
    result = run("fit", iris_csv, "--k", 2, "--seed", 7, "--out", tmp_path / "out", *words)
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "out" / "model.bbc")
    parameters = model.get_params()
    assert {name: parameters[name] for name in options} == options
    assert (model.n_clusters, model.random_state) == (2, 7)


def test_select_chooses_and_does_not_cluster(iris_csv, analyzed, tmp_path):
    result = run("select", iris_csv, *QUICK, "--exclude", "species", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir(tmp_path / "out")) == ["selection.csv", "summary.json"]
    whole = (analyzed[0] / "selection.csv").read_bytes()
    assert (tmp_path / "out" / "selection.csv").read_bytes() == whole
    ours = json.loads((tmp_path / "out" / "summary.json").read_text())
    theirs = json.loads((analyzed[0] / "summary.json").read_text())
    assert ours["selection"] == theirs["selection"]
    assert ours["data"].keys() == theirs["data"].keys()
    assert ours["data"]["sampled_rows"] is None
    assert ours["answer"]["tied_k"] == theirs["answer"]["tied_k"]
    assert "Numbers of clusters (* chosen)" in result.stdout
    assert run("select", iris_csv, "--k", 3, "--out", tmp_path / "no").exit_code == 2


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npz", "tsv", "csv.gz"])
def test_every_format_gives_the_same_answer(analyzed, tmp_path, suffix):
    path = tmp_path / f"iris.{suffix}"
    frame = iris_frame()
    if suffix == "parquet":
        frame.write_parquet(path)
    elif suffix == "arrow":
        frame.write_ipc(path)
    elif suffix == "npz":
        np.savez(path, X=IRIS.data, flower=frame["flower"].to_numpy().astype(str))
    elif suffix == "tsv":
        frame.write_csv(path, separator="\t")
    else:
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    options = ["--id", "flower"] if suffix == "npz" else ["--exclude", "species"]
    assert run("analyze", path, *QUICK, *options, "--out", tmp_path / "out").exit_code == 0
    rows = (tmp_path / "out" / "assignments.csv").read_bytes()
    assert rows == (analyzed[0] / "assignments.csv").read_bytes()


def test_standard_input_and_the_default_place(iris_csv, analyzed, tmp_path):
    done = shell("analyze", "-", *QUICK, "--quiet", cwd=tmp_path, input=iris_csv.read_text())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["stdin-bbclust"]
    rows = (tmp_path / "stdin-bbclust" / "assignments.csv").read_bytes()
    assert rows == (analyzed[0] / "assignments.csv").read_bytes()


def test_decimal_commas(tmp_path):
    text = iris_frame().write_csv(separator=";").replace(".", ",")
    (tmp_path / "iris.csv").write_text(text)
    assert run("fit", tmp_path / "iris.csv", "--k", 3, "--out", tmp_path / "out").exit_code == 0
    labels = pl.read_csv(tmp_path / "out" / "assignments.csv")["label"].to_list()
    assert labels == BBC(3, random_state=0).fit(SCALED).labels_.tolist()


def test_dropped_rows_come_back_without_a_label(tmp_path):
    frame = iris_frame().with_columns(
        pl.when(pl.int_range(150).is_in([0, 7, 149]))
        .then(None)
        .otherwise("petal width")
        .alias("petal width")
    )
    frame.write_csv(tmp_path / "gaps.csv")
    out = tmp_path / "out"
    arguments = ("fit", tmp_path / "gaps.csv", "--k", 3, "--out", out)
    assert run(*arguments).exit_code == 2
    result = run(*arguments, "--missing", "drop")
    assert result.exit_code == 0, result.output
    rows = pl.read_csv(out / "assignments.csv")
    assert rows["id"].to_list() == [f"flower {i}" for i in range(150)]
    assert [i for i, label in enumerate(rows["label"]) if label is None] == [0, 7, 149]
    assert rows.drop_nulls().height == 147
    assert (out / "assignments.csv").read_text().splitlines()[1] == "flower 0,,,,,,"
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["data"]["dropped_rows"], summary["data"]["n_rows"]) == (3, 147)
    assert "3 more have gaps and stay without a label" in result.stdout
    kept = np.delete(IRIS.data, [0, 7, 149], axis=0)
    model = BBC(3, random_state=0).fit((kept - kept.mean(axis=0)) / kept.std(axis=0))
    assert rows.drop_nulls()["label"].to_list() == model.labels_.tolist()


def test_rows_without_a_name_are_numbered_from_one(tmp_path):
    iris_frame().select(NAMES).write_csv(tmp_path / "iris.csv")
    assert run("fit", tmp_path / "iris.csv", "--k", 3, "--out", tmp_path / "out").exit_code == 0
    ids = pl.read_csv(tmp_path / "out" / "assignments.csv")["id"].to_list()
    assert ids == list(range(1, 151))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = pl.read_csv(tmp_path / "out" / "assignments.csv")
    most = summary["answer"]["most_uncertain"][0]
    assert rows["entropy"][most["row"] - 1] == rows["entropy"].max()


@pytest.mark.parametrize("scale", ["robust", "none"])
def test_scaling_is_what_was_asked_for(iris_csv, tmp_path, scale):
    arguments = ("fit", iris_csv, "--k", 3, "--scale", scale, "--out", tmp_path / "out")
    result = run(*arguments)
    X = IRIS.data
    if scale == "robust":
        low, middle, high = np.percentile(X, [25, 50, 75], axis=0)
        X = (X - middle) / (high - low)
    labels = pl.read_csv(tmp_path / "out" / "assignments.csv")["label"].to_list()
    assert labels == BBC(3, random_state=0).fit(X).labels_.tolist()
    assert f"Scaling      {scale} (" in result.stdout


def test_constant_and_other_columns_are_set_aside_aloud(tmp_path):
    frame = iris_frame().with_columns(pl.lit(3).alias("site"), pl.lit("").alias("note"))
    frame.write_csv(tmp_path / "iris.csv")
    result = run("fit", tmp_path / "iris.csv", "--k", 3, "--out", tmp_path / "out")
    for line in ("species: text", "site: constant, always 3", "note: empty"):
        assert f"Set aside    {line}" in result.stdout


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2:4", (2, 3, 4)),
        ("3", (3,)),
        ("2,4,6", (2, 4, 6)),
        ("8, 2:3", (2, 3, 8)),
        ("auto", "auto"),
    ],
)
def test_k_is_understood(text, numbers):
    assert parse_k(text) == numbers


@pytest.mark.parametrize("text", ["", "x", "4:2", "1:3", "0", "2:", "2.5", "-3", "2;3"])
def test_k_that_cannot_be_meant_is_refused(text):
    with pytest.raises(CommandError, match="--k"):
        parse_k(text)


def test_k_auto_runs(iris_csv, tmp_path):
    arguments = ("--k", "auto", "--n-replicas", 20, "--fast", "--out", tmp_path / "out")
    assert run("analyze", iris_csv, *arguments).exit_code == 0


def one_cloud():
    """Scaled rows that look like one cloud: one table of a few does."""
    for seed in range(60):
        rows = np.random.default_rng(seed).normal(size=(60, 2))
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        quick = BBC(n_init=2, n_replicas=60)
        if KSelector(quick, k_range=(2, 3), refit=False, random_state=0).fit(rows).best_k_ == 1:
            return rows
    return pytest.fail("None of sixty clouds is one cloud.")


def test_one_cloud_is_one_cluster(tmp_path):
    path, out = tmp_path / "cloud.csv", tmp_path / "out"
    pl.DataFrame(one_cloud(), schema=["a", "b"]).write_csv(path)
    options = ("--k", "2:3", "--n-replicas", 60, "--n-resamples", 2, "--scale", "none")
    result = run("analyze", path, *options, "--out", out)
    assert result.exit_code == 0, result.output
    assert "No clusters: the rows look like one cloud." in result.stdout
    summary = json.loads((out / "summary.json").read_text())
    assert summary["answer"]["n_clusters"] == summary["selection"]["best_k"] == 1
    assert set(pl.read_csv(out / "assignments.csv")["label"]) == {0}
    assert not pl.read_csv(out / "selection.csv")["chosen"].any()
    assert load_model(out / "model.bbc").n_clusters == 1
    assert "No clusters: the rows look like one cloud." in (out / "report.html").read_text()
    labels = pl.read_csv(run("predict", out / "model.bbc", path).stdout.encode())["label"]
    assert set(labels) == {0}
    selected = run("select", path, *options, "--out", tmp_path / "selected")
    assert selected.exit_code == 0, selected.output
    assert "No clusters: the rows look like one cloud." in selected.stdout


# --- new rows -------------------------------------------------------------------------------------


def test_predict_matches_columns_by_name_and_scales_as_the_model(analyzed, tmp_path):
    out, _ = analyzed
    frame = iris_frame().select("petal width", "flower", *reversed(NAMES[:3])).head(20)
    frame.write_csv(tmp_path / "new.csv")
    result = run("predict", out / "model.bbc", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    rows = pl.read_csv(result.stdout.encode())
    model = load_model(out / "model.bbc")
    memberships = rows.select(pl.col("^membership_.*$")).to_numpy()
    np.testing.assert_array_equal(memberships, model.predict_proba(SCALED[:20]))
    assert rows["id"].to_list() == [f"flower {i}" for i in range(20)]
    assert set(rows["n_votes"]) == {60}


def test_predict_writes_files_and_json(analyzed, iris_csv, tmp_path):
    model = analyzed[0] / "model.bbc"
    for name in ("rows.csv", "rows.parquet"):
        result = run("predict", model, iris_csv, "--out", tmp_path / name)
        assert (result.exit_code, result.stdout) == (0, "")
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(rows)
    assert run("predict", model, iris_csv, "--out", tmp_path / "rows.csv").exit_code == 2
    assert json.loads(run("predict", model, iris_csv, "--json").stdout) == rows.to_dicts()


def test_predict_gives_minus_one_where_it_is_not_sure(analyzed, iris_csv):
    model = analyzed[0] / "model.bbc"
    result = run("predict", model, iris_csv, "--min-confidence", 1)
    rows = pl.read_csv(result.stdout.encode())
    unsure = (rows.select(pl.col("^membership_.*$")).to_numpy().max(axis=1) < 1).tolist()
    assert any(unsure)
    assert [label == -1 for label in rows["label"]] == unsure


def test_predict_on_one_row_and_on_gaps(analyzed, tmp_path):
    model = analyzed[0] / "model.bbc"
    iris_frame().head(1).write_csv(tmp_path / "one.csv")
    assert len(run("predict", model, tmp_path / "one.csv").stdout.splitlines()) == 2
    (tmp_path / "gap.csv").write_text(",".join(NAMES) + "\n1,2,3,\n1,2,3,4\n")
    result = run("predict", model, tmp_path / "gap.csv", "--missing", "drop")
    assert result.stdout.splitlines()[1].startswith("1,,")


def test_a_model_of_python_takes_columns_by_name_or_order(tmp_path):
    model = BBC(3, n_replicas=60, random_state=0).fit(iris_frame().select(NAMES))
    model.save(tmp_path / "named.bbc")
    iris_frame().select(reversed(NAMES)).write_csv(tmp_path / "iris.csv")
    rows = pl.read_csv(
        run("predict", tmp_path / "named.bbc", tmp_path / "iris.csv").stdout.encode()
    )
    assert rows["label"].to_list() == model.predict(iris_frame().select(NAMES)).tolist()
    BBC(3, n_replicas=60, random_state=0).fit(IRIS.data).save(tmp_path / "unnamed.bbc")
    np.save(tmp_path / "iris.npy", IRIS.data)
    result = run("predict", tmp_path / "unnamed.bbc", tmp_path / "iris.npy")
    assert pl.read_csv(result.stdout.encode())["label"].to_list() == rows["label"].to_list()


def test_a_report_tells_rows_of_the_fit_from_others(analyzed, iris_csv, tmp_path):
    model, out = analyzed[0] / "model.bbc", tmp_path / "page.html"
    iris_frame()[:100].write_csv(tmp_path / "fewer.csv")
    for file, rows in ((iris_csv, "same"), (tmp_path / "fewer.csv", "new")):
        result = run("report", model, file, "--truth", "species", "--out", out, "--json", "--force")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["answer"]["rows"] == rows
    assert out.read_text().lstrip().lower().startswith("<!doctype html>")


def test_compare_shows_every_method(iris_csv, tmp_path):
    out = tmp_path / "scores.csv"
    result = run("compare", iris_csv, "--k", "2:4", "--exclude", "species", "--out", out)
    assert result.exit_code == 0, result.output
    scores = pl.read_csv(out)
    assert scores["method"].n_unique() == 10
    for method in scores["method"].unique():
        assert method in result.stdout
    chosen = scores.filter((pl.col("method") == "silhouette") & pl.col("chosen"))
    assert chosen["n_clusters"].to_list() == [2]


def test_the_demo_shows_iris_as_in_the_paper(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--fast")
    assert result.exit_code == 0, result.output
    assert "not rescaled as in the paper" in result.stdout
    assert "versicolor" in result.stdout
    summary = json.loads((tmp_path / "bbclust-demo" / "summary.json").read_text())
    assert summary["settings"]["scaling"]["kind"] == "none"
    assert (tmp_path / "bbclust-demo" / "report.html").stat().st_size > 10_000


def test_other_settings_are_in_summary_and_report(iris_csv, tmp_path):
    options = ("--k", "2:3", "--n-replicas", 60, "--fast", "--sensitivity")
    result = run("analyze", iris_csv, *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["sensitivity"]
    first, *others = found["settings"]
    assert (first["setting"], first["n_moved"]) == ("as chosen", 0)
    assert len(others) == 5
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What other settings would say" in page
    assert found["statement"] in page
    result = run("analyze", iris_csv, "--k", "3", "--sensitivity", "--out", tmp_path / "other")
    assert result.exit_code == 2
    assert "give a range such as --k 2:10" in " ".join(result.stderr.split())


# --- what is printed where ------------------------------------------------------------------------


@pytest.fixture
def console_script(tmp_path, monkeypatch):
    """What the console script runs, in this process: importing anew takes longer than the rest."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["bbclust", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code

    return call


def test_json_is_alone_on_standard_output(iris_csv, tmp_path, console_script, capfd):
    """Of the descriptors, which hear the engine too; imports are silent in a process of its own."""
    assert console_script("analyze", iris_csv, *QUICK, "--json", "--out", "out") == 0
    stdout, stderr = capfd.readouterr()
    assert json.loads(stdout) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert "bbclust: choosing K ..." in stderr.splitlines()
    assert all(line.startswith("bbclust: ") for line in stderr.splitlines())


@pytest.mark.measures
def test_a_terminal_gets_a_bar(iris_csv, console_script, monkeypatch):
    ours, theirs = pty.openpty()
    shown = []

    def read():
        with suppress(OSError):  # closed at the other end
            while part := os.read(ours, 4096):
                shown.append(part)

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    reader = threading.Thread(target=read)
    reader.start()
    try:
        with open(theirs, "w") as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal)
            code = console_script("analyze", iris_csv, *QUICK, "--out", "out")
    finally:
        reader.join()
        os.close(ours)
    assert code == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", b"".join(shown)).decode()
    steps = [re.search(rf"{step} ━+ ", text) for step in ("choosing K", "clustering all rows")]
    assert all(steps), text
    assert steps[0].start() < steps[1].start()
    assert "\nbbclust: done in" in text.replace("\r", "")


HOSTILE = [
    "=cmd()|' /C calc'!A0",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "[bold]x[/bold]",
    "@SUM(1)",
]


def test_hostile_names_come_back_as_they_were_and_do_nothing_to_a_terminal(tmp_path):
    names = [f"{HOSTILE[i % 5]} {i}" for i in range(150)]
    frame = (
        iris_frame()
        .with_columns(pl.Series("flower", names))
        .rename({"petal width": "\x1b[2J=petal"})
    )
    frame.write_csv(tmp_path / "iris.csv")
    result = run("fit", tmp_path / "iris.csv", "--k", 3, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert pl.read_csv(tmp_path / "out" / "assignments.csv")["id"].to_list() == names
    assert "\x1b" not in result.stdout
    assert "\\x1b[2J=petal" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert(1)" not in page


def test_output_in_a_poor_encoding_still_works(tmp_path, console_script, monkeypatch):
    frame = iris_frame().with_columns(pl.Series("flower", [f"флора {i}" for i in range(150)]))
    frame.write_csv(tmp_path / "iris.csv")
    shown = io.BytesIO()
    poor = io.TextIOWrapper(shown, encoding="ascii")  # as with PYTHONIOENCODING
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", poor)
        assert console_script("fit", "iris.csv", "--k", 3) == 0
        poor.flush()
    assert b"\\u0444" in shown.getvalue()


@pytest.mark.measures
def test_a_reader_that_leaves_is_not_an_error_with_a_traceback(analyzed, iris_csv, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "bbclust", "predict", analyzed[0] / "model.bbc", iris_csv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as program:
        program.stdout.close()
        errors = program.stderr.read()
    assert b"Traceback" not in errors


# --- earlier results ------------------------------------------------------------------------------


def test_earlier_results_are_kept_without_force(analyzed, iris_csv):
    out, _ = analyzed
    before = (out / "summary.json").read_bytes()
    result = run("analyze", iris_csv, *QUICK, "--out", out)
    assert result.exit_code == 2
    assert "the directory exists: say --force" in result.output
    assert (out / "summary.json").read_bytes() == before
