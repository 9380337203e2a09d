"""Which columns are clustered, which one names the rows, which rows are dropped, how they scale."""

import datetime

import numpy as np
import polars as pl
import pytest

from bbclust.cli.input.columns import Wanted, choose_columns
from bbclust.cli.input.rows import check_size, take_rows
from bbclust.cli.input.scaling import Scaling, measure_scaling
from bbclust.cli.input.tables import InputTable
from bbclust.cli.output.errors import CommandError

X = [0.5, 1.5, 2.5, 9.0]
Y = ["4", "3", "2", "8"]


def table(columns, **details):
    return InputTable("t.csv", pl.DataFrame(columns), "", **details)


def choose(frame, details=None, **wanted):
    return choose_columns(table(frame, **(details or {})), Wanted(**wanted))


def rows(frame, missing="error", **wanted):
    given = table(frame)
    return take_rows(given, choose_columns(given, Wanted(**wanted)), missing)


def test_numbers_are_taken_whether_they_are_stored_as_text_or_not():
    chosen = choose({"x": X, "y": Y, "n": [3, 1, 4, 1]})
    assert list(chosen.features) == ["x", "y", "n"]
    assert chosen.features["y"].to_list() == [4, 3, 2, 8]
    assert (chosen.id, chosen.truth, chosen.set_aside) == (None, None, {})


def test_what_is_not_a_number_is_set_aside_with_the_reason():
    chosen = choose(
        {
            "x": X,
            "kind": ["a", "b", "a", "1"],
            "day": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)],
            "yes": [True, False, True, True],
            "nothing": pl.Series([None] * 4, dtype=pl.Float64),
            "gaps": ["", "NA", "", None],
            "same": [7.0, None, 7.0, 7.0],
            "list": [[1], [2], [3], [4]],
        }
    )
    assert list(chosen.features) == ["x"]
    assert chosen.set_aside == {
        "kind": "text",
        "day": "dates or times",
        "yes": "true or false",
        "nothing": "empty",
        "gaps": "empty",
        "same": "constant, always 7",
        "list": "List(Int64), no number",
    }


def test_a_few_cells_of_text_among_numbers_are_named():
    with pytest.raises(CommandError) as caught:
        choose({"x": X, "the y": ["1", "2", "oops", "4"]})
    assert str(caught.value) == (
        "Row 3, column 'the y' holds 'oops' where numbers are needed: correct it, or leave "
        "the column out with --exclude 'the y'."
    )
    assert list(choose({"x": X, "y": ["1", "2", "oops", "4"]}, exclude=("y",)).features) == ["x"]


def test_columns_asked_for_must_be_numbers():
    assert list(choose({"x": X, "y": Y}, columns=("y",)).features) == ["y"]
    with pytest.raises(CommandError, match="Row 1, column 'kind' holds 'a'"):
        choose({"x": X, "kind": ["a", "b", "a", "1"]}, columns=("kind",))
    with pytest.raises(CommandError, match="'day' of --columns holds Date"):
        choose({"x": X, "day": [datetime.date(2020, 1, 1)] * 4}, columns=("day",))


def test_true_and_false_are_numbers_when_asked_for():
    assert choose({"yes": [True, False]}, columns=("yes",)).features["yes"].to_list() == [1, 0]


def test_names_are_separated_by_commas_unless_they_hold_one():
    columns = {"a": X, "b": X, "a,b": Y}
    assert list(choose(columns, columns=("a,b",)).features) == ["a,b"]
    assert list(choose(columns, columns=("b, a",)).features) == ["a", "b"]
    assert list(choose(columns, columns=("b", "a,b")).features) == ["b", "a,b"]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"columns": ("petal lenght",)}, "--columns: .* did you mean 'petal length'"),
        (
            {"exclude": ("q",)},
            "--exclude: there is no column 'q'; there are 'petal length', 'y', 'list'",
        ),
        ({"id": "q"}, "--id: there is no column 'q'"),
        ({"id": "list"}, "--id: column 'list' holds List"),
        ({"truth": "q"}, "--truth: there is no column 'q'"),
        ({"columns": ("y",), "exclude": ("y",)}, "'y' is in --columns and in --exclude"),
        ({"exclude": ("petal length,y",)}, "No column holds numbers that vary"),
    ],
)
def test_names_that_do_not_fit_are_refused(wanted, sentence):
    with pytest.raises(CommandError, match=sentence):
        choose({"petal length": X, "y": Y, "list": [[1], [2], [3], [4]]}, **wanted)


@pytest.mark.parametrize(
    "columns",
    [
        {"name": ["a", "b", "c", "d"], "x": X},
        {"x": X, "name": ["a", "b", "c", "1"], "other": ["p", "q", "r", "s"]},
        {"x": X, "id": [30, 10, 20, 40]},
        {"x": X, "id": ["30", "10", "20", "40"]},
        {"x": X, "Customer ID": [30, 10, 20, 40]},
        {"x": X, "customerId": [30, 10, 20, 40]},
        {"x": X, "index": [30, 10, 20, 40]},
        {"column_1": [30, 10, 20, 40], "x": X},
        {"Unnamed: 0": ["30", "10", "20", "40"], "x": X},
        {"nr": [1, 2, 3, 4], "x": X},
        {"nr": ["0", "1", "2", "3"], "x": X},
    ],
)
def test_a_column_that_names_the_rows_is_recognised(columns):
    chosen = choose(columns)
    assert chosen.id in set(columns) - {"x", "other"}
    assert list(chosen.features) == ["x"]
    assert choose(columns, columns=("x",), detect_id=False).id is None


@pytest.mark.parametrize(
    "columns",
    [
        {"year": [1990, 1991, 1992, 1993]},  # counts, but not rows
        {"x": X, "count": [1, 2, 3, 4]},  # not in the first column
        {"x": X, "humid": [30, 10, 20, 40]},
        {"x": X, "keys": [30, 10, 20, 40]},
        {"column_1": [30, 10, 20, 40], "column_2": X},  # nothing has a name here
        {"x": ["0,5", "1,5", "2,5", "3,5"]},
        {"id": [0.5, 1.5, 2.5, 9.0]},  # no whole numbers
        {"index": [1, 1, 2, 3]},  # does not tell rows apart
    ],
)
def test_numbers_that_may_measure_something_are_no_id(columns):
    chosen = choose(columns)
    assert chosen.id is None
    assert list(chosen.features) == list(columns)


def test_an_id_by_its_name_that_repeats_is_set_aside_unless_asked_for():
    columns = {"x": X, "user_id": [1, 1, 2, 2], "site id": ["1", "1", "2", "2"]}
    reason = "an id by its name; --columns takes it in"
    assert choose(columns).set_aside == {"user_id": reason, "site id": reason}
    assert list(choose(columns, columns=("x,user_id",)).features) == ["x", "user_id"]


def test_given_id_and_truth_are_not_clustered():
    chosen = choose({"x": X, "y": Y, "z": X}, id="y", truth="z")
    assert (list(chosen.features), chosen.id, chosen.truth) == (["x"], "y", "z")


def test_spare_columns_are_used_only_when_named():
    columns, details = {"x": X, "y": [1, 2, 2, 1]}, {"spare": ("y",)}
    assert choose(columns, details=details).set_aside == {"y": "another array of the file"}
    assert choose(columns, details=details, truth="y").truth == "y"
    assert list(choose(columns, details=details, columns=("x,y",)).features) == ["x", "y"]


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [("", "has no number"), ("NaN", "has no number"), ("inf", "holds inf"), ("-inf", "holds -inf")],
)
def test_gaps_and_infinite_numbers_are_named_or_dropped(cell, sentence):
    columns = {"name": ["a", "b", "c", "d"], "x": X, "y": ["1", "2", cell, "4"]}
    with pytest.raises(CommandError, match=f"Row 3, column 'y' {sentence}"):
        rows(columns)
    dropped = rows(columns, missing="drop")
    assert dropped.X.tolist() == [[0.5, 1], [1.5, 2], [9, 4]]
    assert dropped.kept.tolist() == [True, True, False, True]
    assert dropped.n_dropped == 1
    assert dropped.ids.to_list() == ["a", "b", "c", "d"]


def test_missing_values_of_typed_files_are_gaps():
    with pytest.raises(CommandError, match=r"Row 2, column 'n' has no number \(2 rows have gaps"):
        rows({"x": [*X[:3], float("inf")], "n": [1, None, 3, 4]})


def test_too_few_rows_without_gaps_are_refused():
    with pytest.raises(CommandError, match="1 of 4 rows have a number in every column"):
        rows({"x": [1, 2, None, None], "y": [None, 1, 2, 3]}, missing="drop")
    with pytest.raises(CommandError, match="has columns and no rows"):
        check_size(table({"x": []}))
    with pytest.raises(CommandError, match="has 1 row and at least 2 rows are needed"):
        check_size(table({"x": [1]}))


def test_float32_stays_float32_unless_mixed():
    single = pl.Series(X, dtype=pl.Float32)
    assert rows({"x": single, "y": single * 2}).X.dtype == np.float32
    assert rows({"x": single, "n": [1, 2, 3, 5]}).X.dtype == np.float64
    assert rows({"x": single}).X.flags.c_contiguous


def test_standard_scaling_gives_mean_zero_and_deviation_one():
    given = np.random.default_rng(0).gamma(2.0, size=(50, 3)) * [1, 100, 1e-6] + [0, 1e6, 0]
    scaled = measure_scaling(given, "abc", "standard").apply(given)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_robust_scaling_by_hand():
    given = np.array([[0.0], [1], [2], [3], [1000]])
    scaling = measure_scaling(given, ["x"], "robust")
    assert (scaling.center, scaling.scale) == ((2.0,), (2.0,))


def test_columns_without_spread_stay_finite():
    constant = np.full((4, 1), 0.1)
    assert measure_scaling(constant, ["x"], "standard").scale == (1.0,)
    assert measure_scaling(constant, ["x"], "standard").apply(constant).tolist() == [[0]] * 4
    mostly = np.array([[0.0]] * 9 + [[10.0]])  # interquartile range 0
    assert measure_scaling(mostly, ["x"], "robust").scale == (3.0,)


def test_no_scaling_changes_nothing():
    given = np.eye(3)
    assert measure_scaling(given, "abc", "none").apply(given) is given


def test_numbers_too_large_to_scale_are_refused():
    with pytest.raises(CommandError, match="'x' holds numbers too large"):
        measure_scaling(np.array([[1e308], [-1e308], [0]]), ["x"], "standard")


def test_scaling_survives_plain_data():
    scaling = measure_scaling(np.random.default_rng(0).normal(size=(9, 2)), "ab", "robust")
    assert Scaling.from_dict(scaling.to_dict()) == scaling
    single = np.ones((2, 2), dtype=np.float32)
    assert scaling.apply(single).dtype == np.float32
