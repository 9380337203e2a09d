"""Text categories as columns of 0 and 1, and assignments that carry the columns of the file."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust import load_model
from bbclust.cli.app import app
from bbclust.cli.input.categories import code_categories, weigh_categories
from bbclust.cli.input.columns import Wanted
from bbclust.cli.input.preparation import prepare_table
from bbclust.cli.input.scaling import measure_scaling
from bbclust.cli.input.tables import InputTable

N = 90


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def pets():
    generator = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "name": [f"pet {i}" for i in range(N)],
            "weight": generator.normal(size=N).round(4),
            "colour": generator.choice(["black", "red", "white"], p=[0.5, 0.3, 0.2], size=N),
            "label": generator.choice(["cat", "dog"], size=N),
            "remark": [f"says {i % 40}" for i in range(N)],
        }
    )


def prepared(frame, scale="standard", **wanted):
    table = InputTable("t", frame, "")
    return prepare_table(table, Wanted(one_hot=True, **wanted), "error", scale)


@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
def test_a_category_column_has_variance_one_in_all(scale):
    found = prepared(pets(), scale)
    assert found.rows.columns == ("weight", "colour=black", "colour=red", "colour=white")
    coded = found.X[:, 1:]
    assert coded.var(axis=0).sum() == pytest.approx(1)
    np.testing.assert_allclose(coded.mean(axis=0), 0, atol=1e-12)
    if scale == "standard":
        assert found.X[:, 0].var() == pytest.approx(1)


def test_two_even_categories_weigh_like_a_standardised_column_of_0_and_1():
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=20), "s": ["a", "b"] * 10})
    coded = prepared(frame).X[:, 1:]
    squared = np.square(coded[0] - coded[1]).sum()
    assert squared == pytest.approx(4)  # as (1 - 0) / 0.5 squared


def test_all_categories_are_equally_far_and_gaps_are_nearer():
    X = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=float)
    coding = code_categories(pl.Series("c", ["a", "b", "c", None, "a"]))
    assert coding.names == ("c=a", "c=b", "c=c")
    scaling = weigh_categories(measure_scaling(X, coding.names, "standard"), X, [coding])
    Z = scaling.apply(X)
    distances = np.square(Z[:, None] - Z[None]).sum(axis=2)
    np.testing.assert_allclose(distances[[0, 0, 1], [1, 2, 2]], distances[0, 1])
    np.testing.assert_allclose(distances[3, :3], distances[0, 1] / 2)


def test_without_the_option_categories_are_set_aside():
    found = prepare_table(InputTable("t", pets(), ""), Wanted(), "error", "standard")
    assert found.set_aside["colour"] == "text"
    assert found.rows.columns == ("weight",)


def test_labels_free_text_and_row_names_are_not_coded_unless_asked_for():
    found = prepared(pets())
    assert found.id == "name"
    assert set(found.set_aside) == {"label", "remark"}
    asked = prepared(pets(), columns=("weight,label",))
    assert asked.rows.columns == ("weight", "label=cat", "label=dog")
    parts = {one.column: one.part for one in found.audit}
    assert parts["colour"] == "categories"


def test_true_and_false_are_two_categories():
    frame = pets().with_columns(pl.Series("tame", [True, False, True] * 30))
    assert "tame=true" in prepared(frame).rows.columns


def test_codes_for_missing_values_are_no_category(tmp_path):
    pets().write_csv(tmp_path / "t.csv")
    options = ["--k", 2, "--n-replicas", 40, "--categories", "one-hot", "--na", "white"]
    run("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["data"]["columns"] == ["weight", "colour=black", "colour=red"]


def test_predict_codes_as_the_model_and_tells_of_unknown_categories(tmp_path):
    pets().write_csv(tmp_path / "t.csv")
    out = tmp_path / "out"
    options = ["--k", 2, "--n-replicas", 40, "--categories", "one-hot", "--out", out]
    result = run("fit", tmp_path / "t.csv", *options)
    assert "colour (3) as columns of 0 and 1, which together weigh like one column" in result.stdout
    model = load_model(out / "model.bbc")
    fitted = prepared(pets())
    same = run("predict", out / "model.bbc", tmp_path / "t.csv")
    labels = pl.read_csv(same.stdout.encode())["label"].to_list()
    assert labels == model.predict(fitted.X).tolist()
    assert same.stderr == ""

    new = pets()[:3].with_columns(pl.Series("colour", ["green", None, "red"]))
    new.write_csv(tmp_path / "new.csv")
    result = run("predict", out / "model.bbc", tmp_path / "new.csv")
    assert "1 row has a category in column 'colour' that the model does not know" in result.stderr
    assert "'green'" in result.stderr
    rows = pl.read_csv(result.stdout.encode())
    zeros = new["weight"].to_numpy()[:2]
    X = np.column_stack([zeros, np.zeros((2, 3))])
    expected = model.predict_proba(fitted.scaling.apply(X))
    np.testing.assert_allclose(rows.select("membership_0", "membership_1").to_numpy()[:2], expected)


def test_a_report_by_a_model_with_categories_knows_its_rows(tmp_path):
    pets().write_csv(tmp_path / "t.csv")
    options = ["--k", 2, "--n-replicas", 40, "--categories", "one-hot", "--out", tmp_path / "out"]
    run("fit", tmp_path / "t.csv", *options)
    page = tmp_path / "page.html"
    result = run("report", tmp_path / "out/model.bbc", tmp_path / "t.csv", "--json", "--out", page)
    assert json.loads(result.stdout)["answer"]["rows"] == "same"


def test_coded_categories_that_tell_the_clusters_are_named_as_one_column(tmp_path):
    generator = np.random.default_rng(0)
    kinds = generator.integers(0, 3, size=N)
    x = generator.normal(size=N) + 8 * kinds
    origin = np.array(["a", "b", "c"])[kinds]
    pl.DataFrame({"x": x, "z": 2 * x + x**2, "origin": origin}).write_csv(tmp_path / "t.csv")
    options = ["--k", 3, "--n-replicas", 40, "--categories", "one-hot", "--out", tmp_path / "out"]
    said = run("fit", tmp_path / "t.csv", *options).stdout
    assert "Column 'origin' has 3 values and tells the clusters" in said
    assert "Column 'origin=a'" not in said


# --- the columns of the file ----------------------------------------------------------------------


def test_assignments_carry_the_columns_of_the_file_in_its_order(tmp_path):
    frame = pets().with_columns(pl.Series("weight", [None, *pets()["weight"][1:]]))
    frame.write_csv(tmp_path / "t.csv")
    out = tmp_path / "out"
    options = ["--k", 2, "--n-replicas", 40, "--missing", "drop", "--with-columns", "--out", out]
    run("fit", tmp_path / "t.csv", *options)
    rows = pl.read_csv(out / "assignments.csv")
    names = ["id", "label", "membership_0", "membership_1", "entropy", "n_votes"]
    assert rows.columns == [*names, "name", "weight", "colour", "label (2)", "remark"]
    assert rows["label"][0] is None  # a dropped row keeps its columns
    carried = rows.select("name", "weight", "colour", pl.col("label (2)").alias("label"), "remark")
    assert carried.equals(frame)
    assert pl.read_parquet(out / "assignments.parquet").columns == rows.columns

    result = run("predict", out / "model.bbc", tmp_path / "t.csv", "--missing", "drop")
    assert pl.read_csv(result.stdout.encode()).columns == names
    options = ["--missing", "drop", "--with-columns"]
    result = run("predict", out / "model.bbc", tmp_path / "t.csv", *options)
    assert pl.read_csv(result.stdout.encode())["colour"].to_list() == frame["colour"].to_list()


def test_analyze_carries_columns_too_and_resumes_only_the_same_request(tmp_path):
    pets().write_csv(tmp_path / "t.csv")
    common = ["analyze", tmp_path / "t.csv", "--k", 2, "--n-replicas", 40, "--fast"]
    run(*common, "--with-columns", "--out", tmp_path / "out")
    assert "remark" in pl.read_csv(tmp_path / "out" / "assignments.csv").columns
    again = [str(one) for one in [*common, "--out", tmp_path / "out", "--resume"]]
    assert CliRunner().invoke(app, again).exit_code == 2


def test_columns_that_csv_cannot_hold_are_refused_before_any_work(tmp_path):
    pets().with_columns(pl.Series("list", [[1, 2]] * N)).write_parquet(tmp_path / "t.parquet")
    arguments = ["fit", str(tmp_path / "t.parquet"), "--k", "2", "--with-columns"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "column 'list' holds List(Int64), which CSV cannot hold" in result.stderr
