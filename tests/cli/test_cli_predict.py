"""What a model file remembers of its table, and what predict and report make of it."""

import json
import math

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust import BBC, load_model
from bbclust.cli.app import app
from bbclust.cli.input.range_check import chance_beyond, find_outside
from bbclust.cli.input.training import TrainingTable

N = 60


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def shop():
    """A table whose prices look more like names of rows than its customers do."""
    generator = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "price": 1000 + generator.permutation(N) * 7,
            "cust": [f"c{i % 50}" for i in range(N)],  # not all distinct: nobody would guess it
            "x": np.repeat([0.0, 10.0], N // 2) + generator.normal(size=N),
            "y": generator.normal(size=N),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    shop().write_csv(folder / "shop.csv")
    options = ["--k", 2, "--n-replicas", 50, "--id", "cust", "--columns", "x,y"]
    run("fit", folder / "shop.csv", *options, "--out", folder / "out")
    return folder / "out" / "model.bbc"


def predicted(model, frame, folder, *options):
    frame.write_csv(folder / "new.csv")
    result = run("predict", model, folder / "new.csv", *options)
    return pl.read_csv(result.stdout.encode()), result.stderr


def test_rows_keep_the_names_that_they_had_in_the_fit(model, tmp_path):
    rows, _ = predicted(model, shop(), tmp_path)
    assert rows["id"].to_list() == shop()["cust"].to_list()


def test_an_id_that_is_named_overrides_that_of_the_model(model, tmp_path):
    rows, _ = predicted(model, shop(), tmp_path, "--id", "price")
    assert rows["id"].to_list() == shop()["price"].to_list()
    rows, _ = predicted(model, shop(), tmp_path, "--no-id")
    assert rows["id"].to_list() == list(range(1, N + 1))


def test_a_column_that_the_model_knows_is_never_guessed_as_id(model, tmp_path):
    frame = shop().drop("cust").rename({"price": "x", "x": "price"}).select("x", "y", "price")
    numbered = frame.with_columns(price=pl.Series(range(1, N + 1)), x=pl.Series(range(1, N + 1)))
    rows, _ = predicted(model, numbered, tmp_path)
    assert rows["id"].to_list() == list(range(1, N + 1))  # numbers of the rows
    named = frame.with_columns(name=pl.Series([f"row {i}" for i in range(N)]))
    rows, _ = predicted(model, named, tmp_path)
    assert rows["id"][3] == "row 3"


def test_a_model_file_without_a_table_still_opens(tmp_path):
    frame = shop().select("x", "y")
    fitted = BBC(2, n_replicas=50, random_state=0).fit(frame)
    fitted.save(tmp_path / "old.bbc")
    rows, said = predicted(tmp_path / "old.bbc", shop().drop("price"), tmp_path)
    assert rows["label"].to_list() == fitted.predict(frame).tolist()
    assert said == ""
    result = run(
        *("report", tmp_path / "old.bbc", tmp_path / "new.csv", "--json"),
        *("--out", tmp_path / "page.html"),
    )
    assert json.loads(result.stdout)["answer"]["rows"] == "unknown"


@pytest.mark.parametrize("table", [3, {"id": 1}, {"id": None, "truth": None, "set_aside": 1}])
def test_metadata_that_is_not_understood_is_refused_in_one_sentence(table, tmp_path):
    fitted = BBC(2, n_replicas=50, random_state=0).fit(shop().select("x", "y"))
    fitted.save(tmp_path / "odd.bbc", metadata={"table": table})
    shop().write_csv(tmp_path / "new.csv")
    arguments = ["predict", str(tmp_path / "odd.bbc"), str(tmp_path / "new.csv")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "what the model file says of its columns is not understood" in result.stderr


def test_the_model_file_holds_parts_and_ranges_and_no_row(model):
    table = load_model(model).metadata_["table"]
    x = shop()["x"]
    assert table["id"] == "cust"
    assert table["n_rows"] == N
    assert (table["low"][0], table["high"][0]) == (x.min(), x.max())
    assert table["set_aside"] == ["price"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (pl.col("x") * 100, "'x'"),
        (pl.col("x") + 1000, "'x'"),
        (pl.col("x") * 1.8 + 32, "'x'"),  # degrees of another scale
        (pl.col("y") * 1e-3 + 50, "'y'"),
    ],
)
def test_a_column_in_other_units_is_named(model, change, words, tmp_path):
    rows, said = predicted(model, shop().with_columns(change), tmp_path)
    assert len(rows) == N
    assert words in said
    assert "in other units" in said
    page = tmp_path / "page.html"
    result = run("report", model, tmp_path / "new.csv", "--json", "--out", page)
    notes = json.loads(result.stdout)["notes"]
    assert any("in other units" in note for note in notes)


def test_rows_of_the_same_source_bring_no_note(model, tmp_path):
    _, said = predicted(model, shop(), tmp_path)
    assert said == ""
    _, said = predicted(model, shop()[:1], tmp_path)
    assert said == ""


def test_a_single_wild_value_is_named_with_its_likely_cause(model, tmp_path):
    wild = shop().with_columns(pl.when(pl.arange(N) == 5).then(-999.0).otherwise("y").alias("y"))
    _, said = predicted(model, wild, tmp_path)
    assert "1 of 60 rows lies farther" in said
    assert "-999" in said
    assert "codes for missing values" in said


def test_a_row_in_other_units_is_named_even_if_it_is_the_only_one(model, tmp_path):
    _, said = predicted(model, shop()[:1].with_columns(pl.lit(4000.0).alias("x")), tmp_path)
    assert "The only row lies far outside the range of the fit in column 'x'" in said


def test_the_chance_of_new_maxima_is_that_of_all_orders():
    """Of all orders of 3 old and 2 new values, count those whose j largest are new."""
    from itertools import permutations

    orders = list(permutations("ooonn"))
    for j in (0, 1, 2):
        share = sum(order[:j] == ("n",) * j for order in orders) / len(orders)
        assert chance_beyond(3, 2, j) == pytest.approx(share)


def test_false_alarms_of_exchangeable_rows_are_rare():
    """In 2,000 tables without tails, at most the stated chance of one in a thousand each.

    15 or more of 2,000 would come by chance less than once in a million times.
    """
    generator = np.random.default_rng(1)
    alarms = 0
    for _ in range(2000):
        n, m = generator.integers(2, 40, size=2)
        old, new = generator.uniform(size=(n, 3)), generator.uniform(size=(m, 3))
        low, high = old.min(axis=0), old.max(axis=0)
        training = TrainingTable(None, None, (), int(n), tuple(low), tuple(high))
        alarms += any(one.mostly for one in find_outside(training, "abc", new))
    assert alarms < 15
    assert math.isclose(chance_beyond(1, 1, 1), 0.5)
