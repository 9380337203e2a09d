"""--missing draw, from a file with gaps to results and predictions."""

import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from bbclust import BBC
from bbclust.cli.app import app
from bbclust.cli.input.scaling import measure_scaling
from bbclust.datasets import load_iris

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
QUICK = ["--k", "2:3", "--n-replicas", "60", "--fast"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def iris_with_gaps():
    generator = np.random.default_rng(0)
    X = load_iris().data.copy()
    missing = generator.random(X.shape) < 0.15
    missing[:, 0] = False
    X[missing] = np.nan
    return X


@pytest.fixture
def table(tmp_path):
    frame = pl.DataFrame(iris_with_gaps(), schema=NAMES, orient="row").fill_nan(None)
    frame.write_csv(tmp_path / "gaps.csv")
    return tmp_path / "gaps.csv"


def scaled(X):
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def test_fit_keeps_every_row_and_says_what_is_missing(table, tmp_path):
    out = tmp_path / "out"
    result = run("fit", table, "--k", 3, "--missing", "draw", "--out", out)
    assert result.exit_code == 0, result.output
    X = iris_with_gaps()
    rows = pl.read_csv(out / "assignments.csv")
    model = BBC(3, missing="draw", random_state=0).fit(scaled(X))
    assert rows["label"].to_list() == model.labels_.tolist()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["data"]["n_rows"] == 150
    counts = np.isnan(X).sum(axis=0)
    assert summary["data"]["missing_values"] == [
        {"column": name, "count": count}
        for name, count in zip(NAMES[1:], counts[1:].tolist(), strict=True)
    ]
    note = f"{counts.sum()} of 600 values are missing"
    assert note in result.stdout
    assert note in (out / "report.html").read_text()
    by_hand = [np.nanmean(X[model.labels_ == k], axis=0) for k in range(3)]
    shown = {
        one["column"]: one["mean"]
        for one in summary["clusters"][0]["profile"]
        if one["column"] in NAMES
    }
    for name, mean in shown.items():
        assert mean == pytest.approx(by_hand[0][NAMES.index(name)])


def test_analyze_chooses_k_without_the_other_methods(table, tmp_path):
    out = tmp_path / "out"
    arguments = ["--k", "2:3", "--n-replicas", "40", "--n-resamples", "1", "--null-reference", "2"]
    result = run("analyze", table, *arguments, "--missing", "draw", "--out", out)
    assert result.exit_code == 0, result.output
    assert "The other methods need complete rows and were not asked." in result.output
    assert (out / "report.html").exists()


def test_select_takes_gaps(table, tmp_path):
    result = run("select", table, *QUICK, "--missing", "draw", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output


def test_predict_and_report_take_gaps_if_the_model_does(table, tmp_path):
    run("fit", table, "--k", 3, "--missing", "draw", "--out", tmp_path / "out")
    model = tmp_path / "out" / "model.bbc"
    predicted = run("predict", model, table, "--missing", "draw", "--out", tmp_path / "rows.csv")
    assert predicted.exit_code == 0, predicted.output
    X = scaled(iris_with_gaps())
    expected = BBC(3, missing="draw", random_state=0).fit(X).predict(X)
    assert pl.read_csv(tmp_path / "rows.csv")["label"].to_list() == expected.tolist()
    page = tmp_path / "page.html"
    assert run("report", model, table, "--missing", "draw", "--out", page).exit_code == 0


def test_a_model_of_complete_rows_refuses_gaps_in_a_sentence(table, tmp_path):
    run("fit", table, "--k", 3, "--missing", "drop", "--out", tmp_path / "out")
    for command in ("predict", "report"):
        result = run(command, tmp_path / "out" / "model.bbc", table, "--missing", "draw")
        assert result.exit_code == 2
        assert "fit it again with --missing draw" in result.output.replace("\n", " ")


def test_the_error_of_a_gap_names_the_remedies(table, tmp_path):
    result = run("fit", table, "--k", 3, "--out", tmp_path / "out")
    assert "or draw what is missing with --missing draw" in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n,\n3,5\n4,7\n", "Row 2 has no number in any column"),
        ("a,b\n1,2\n2,inf\n3,\n4,7\n", "Row 2, column 'b' holds inf, and only what is missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(text, sentence, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    out = tmp_path / "out"
    result = run("fit", tmp_path / "t.csv", "--k", 2, "--missing", "draw", "--out", out)
    assert result.exit_code == 2
    assert sentence.lower() in result.output.replace("\n", " ").lower()


def test_compare_and_dask_refuse_to_draw(table, tmp_path):
    result = run("compare", table, "--missing", "draw")
    assert result.exit_code == 2
    assert "--missing draw is not for compare" in result.output
    table.with_suffix(".parquet").touch()
    result = run("analyze", table.with_suffix(".parquet"), "--engine", "dask", "--missing", "draw")
    assert result.exit_code == 2
    assert "--missing draw" in result.output


@pytest.mark.parametrize("kind", ["standard", "robust"])
def test_scaling_is_measured_on_the_values_that_there_are(kind):
    X = iris_with_gaps()
    found = measure_scaling(X, NAMES, kind)
    for j in range(4):
        alone = measure_scaling(X[~np.isnan(X[:, j]), j : j + 1], ["x"], kind)
        assert_allclose((found.center[j], found.scale[j]), (alone.center[0], alone.scale[0]))
