"""Options and files of people, from the command to the results."""

import json
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust.cli.app import app
from bbclust.cli.input.tables import read_table

N = 40
X = np.random.default_rng(0).normal(size=(N, 2)).round(2) + 8 * (np.arange(N) % 2)[:, None]
FRAME = pl.DataFrame({"name": [f"row {i}" for i in range(N)], "x": X[:, 0], "y": X[:, 1]})
FIT = ["--k", "2", "--n-replicas", "30"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def one_sentence(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    FRAME.write_csv(folder / "t.csv")
    result = run("fit", folder / "t.csv", *FIT, "--out", folder / "out")
    assert result.exit_code == 0, result.output
    return folder / "out" / "model.bbc"


def store(folder, name):
    path = folder / name
    if name.endswith(".xlsx"):
        FRAME.write_excel(path)
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", FRAME.write_csv())
    elif name.endswith(".jsonl"):
        FRAME.write_ndjson(path)
    else:
        FRAME.write_csv(path)
    return path


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv.zip", "t.jsonl"])
def test_other_files_give_the_results_of_csv(in_folder, name):
    found = []
    for path in ("t.csv", name):
        result = run("fit", store(in_folder, path), *FIT, "--force")
        assert result.exit_code == 0, result.output
        found.append((in_folder / "t-bbclust" / "assignments.csv").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("suffix", ["xlsx", "tsv", "jsonl", "parquet", "CSV"])
def test_predictions_are_written_in_the_format_of_the_name(model, in_folder, suffix):
    path = in_folder / f"r.{suffix}"
    result = run("predict", model, store(in_folder, "t.csv"), "--out", path)
    assert result.exit_code == 0, result.output
    table = read_table(str(path))
    assert table.frame["id"].to_list() == FRAME["name"].to_list()
    expected = pl.read_csv(run("predict", model, in_folder / "t.csv").stdout.encode())
    for name in ("label", "membership_0", "entropy"):
        assert table.numbers(name).values.to_list() == pytest.approx(expected[name].to_list())


def test_names_of_rows_stay_text_in_excel(model, in_folder):
    FRAME.head(2).with_columns(name=pl.Series(["=1+1", "http://x"])).write_csv("new.csv")
    assert run("predict", model, "new.csv", "--out", "r.xlsx").exit_code == 0
    assert read_table("r.xlsx").frame["id"].to_list() == ["=1+1", "http://x"]


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "=cmd|' /C calc'!A0"]


def test_text_that_looks_like_a_formula_is_kept_in_csv_and_is_text_in_excel(model, in_folder):
    """CSV is read back by programs, which join by what stands there; a workbook is opened."""
    strange = FRAME.head(len(FORMULAS)).with_columns(pl.Series("=2+2", FORMULAS))
    strange = strange.with_columns(name=pl.Series(FORMULAS))
    strange.write_csv("new.csv")
    for out in ("r.csv", "r.xlsx"):
        done = run("predict", model, "new.csv", "--with-columns", "--out", out)
        assert done.exit_code == 0, done.output
    written = pl.read_csv("r.csv", infer_schema=False)
    assert written["id"].to_list() == written["=2+2"].to_list() == FORMULAS
    with zipfile.ZipFile("r.xlsx") as workbook:
        sheet = workbook.read("xl/worksheets/sheet1.xml")
        texts = workbook.read("xl/sharedStrings.xml").decode()
    assert b"<f>" not in sheet
    assert "=2+2" in texts
    assert "=cmd|" in texts


def test_a_name_of_an_unknown_format_is_refused_before_any_work(model, in_folder):
    for command in (["predict", model, "no such file"], ["compare", "no such file"]):
        told = one_sentence(run(*command, "--out", "r.ods"))
        assert "--out: 'r.ods' ends in .ods, which is not written: end it in .csv" in told


def test_without_the_extra_excel_is_not_written(model, in_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    told = one_sentence(run("predict", model, "no such file", "--out", "r.xlsx"))
    assert "pip install 'bbclust[excel]'" in told


def test_codes_for_missing_values_in_all_commands(model, in_folder):
    lines = FRAME.write_csv().splitlines()
    lines[1], lines[2] = "u,-999,1", "v,unknown,2"
    (in_folder / "t.csv").write_text("\n".join(lines))
    options = ["--missing", "drop", "--na", "-999", "--na", "unknown"]
    result = run("fit", "t.csv", *FIT, *options)
    assert result.exit_code == 0, result.output
    summary = json.loads((in_folder / "t-bbclust" / "summary.json").read_text())
    assert (summary["data"]["n_rows"], summary["data"]["dropped_rows"]) == (N - 2, 2)
    predicted = pl.read_csv(run("predict", model, "t.csv", *options).stdout.encode())
    assert predicted["label"].null_count() == 2


def test_how_numbers_were_written_is_told_everywhere(model, in_folder):
    marked = [[f"{value:.2f}".replace(".", ",") for value in column] for column in X.T]
    rows = zip(FRAME["name"], marked[0], (f"{value} kg" for value in marked[1]), strict=True)
    text = "name;x;y\n" + "".join(";".join(row) + "\n" for row in rows)
    (in_folder / "t.csv").write_text(text)
    told = "Column 'y' is written with decimal commas and the unit kg"
    result = run("fit", "t.csv", *FIT)
    assert f"Note: {told}" in result.stdout
    summary = json.loads((in_folder / "t-bbclust" / "summary.json").read_text())
    assert any(note.startswith(told) for note in summary["notes"])
    assert "decimal commas and the unit kg" in (in_folder / "t-bbclust" / "report.html").read_text()
    predicted = run("predict", model, "t.csv")
    assert f"bbclust: note: {told}" in predicted.stderr
    assert predicted.stdout == run("predict", model, store(in_folder, "p.csv")).stdout
