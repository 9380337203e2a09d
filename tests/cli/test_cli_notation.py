"""Numbers as people write them, and what stands for none."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbclust.cli.input.cells import GAPS
from bbclust.cli.input.notation import Notation, decide, read_column


def parse_numbers(column, decimal=None):
    notation = Notation(decimal)
    reading = read_column(column, notation.codes)
    return decide(reading, [reading], notation)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", "-2.5", "+3e2", ".5"], [1, -2.5, 300, 0.5]),
        ([" 1 ", "2\t"], [1, 2]),
        (["1,5", "-2", "3,25e1"], [1.5, -2, 32.5]),
        (["inf", "-Infinity"], [np.inf, -np.inf]),
        (["1e400"], [np.inf]),
    ],
)
def test_cells_that_are_numbers(texts, numbers):
    parsed = parse_numbers(pl.Series(texts))
    assert parsed.values.to_list() == numbers
    assert (parsed.n_bad, parsed.n_gaps, parsed.n_numbers) == (0, 0, len(texts))


@pytest.mark.parametrize("gap", [*GAPS, "NA", "NaN", " ", None])
def test_cells_that_are_gaps(gap):
    parsed = parse_numbers(pl.Series(["1", gap]))
    assert (parsed.n_gaps, parsed.n_bad, parsed.values.to_list()) == (1, 0, [1, None])


@pytest.mark.parametrize("bad", ["x", "1.2.3", "1 2", "0x1f", "1_000", "1,5,5", "--1", "(-1)"])
def test_cells_that_are_neither(bad):
    parsed = parse_numbers(pl.Series(["1", "", bad, bad]))
    assert (parsed.n_bad, parsed.first_bad) == (2, 2)


@pytest.mark.parametrize("text", ["1,234", "-12,345"])
def test_commas_that_may_set_off_thousands_are_not_guessed(text):
    column = pl.Series("price", ["999", text])
    assert f"'price' holds cells such as '{text}'" in parse_numbers(column).problem
    assert parse_numbers(column, ".").values[1] == float(text.replace(",", ""))
    assert parse_numbers(column, ",").values[1] == float(text.replace(",", "."))


def test_a_given_decimal_comma_makes_points_no_numbers():
    assert parse_numbers(pl.Series(["1,234", "1.5"]), ",").values.to_list() == [1.234, None]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_to_the_bit(values):
    assert (
        parse_numbers(pl.Series([repr(value) for value in values]), ".").values.to_list() == values
    )
