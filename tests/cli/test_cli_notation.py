"""Numbers as people write them, and what stands for none."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import cycle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.cli.input.cells import GAPS
from bbclust.cli.input.columns import Wanted, choose_columns
from bbclust.cli.input.delimited import Dialect
from bbclust.cli.input.notation import Notation, decide, read_column
from bbclust.cli.input.tables import InputTable, read_table
from bbclust.cli.output.errors import CommandError


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
        (["inf", "inf", "1,5"], [np.inf, np.inf, 1.5]),
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


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_to_the_bit(values):
    assert (
        parse_numbers(pl.Series([repr(value) for value in values]), ".").values.to_list() == values
    )


# --- tables in the notation of somebody -----------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """How somebody writes the numbers of a file."""

    decimal: str
    thousands: str

    @property
    def delimiter(self):
        return ";" if self.decimal == "," else ","

    def write(self, number, around, negative):
        """A number, what stands around it such as ``$ {}``, and what a negative one looks like."""
        plain = f"{abs(number):,f}"
        marked = "".join({",": self.thousands, ".": self.decimal}.get(c, c) for c in plain)
        return (negative if number < 0 else "{}").format(around.format(marked))


STYLES = [
    Style(decimal, thousands)
    for decimal in ".,"
    for thousands in ("", ",", ".", " ", "\u00a0", "\u2009", "\u202f", "'", "\u2019")
    if thousands != decimal
]
AROUND = ["{}", "{}", "${}", "€ {}", "{} EUR", "{}%", "{} %", "{} kg", "{} apples"]
NEGATIVE = ["-{}", "\u2212{}", "({})", "{}-"]


def numbers(decimals):
    whole = st.one_of(st.integers(-2000, 2000), st.integers(-(10**10), 10**10))
    return whole.map(lambda number: Decimal(number).scaleb(-decimals))


@st.composite
def columns(draw, n_rows):
    """Numbers, None for a gap, and how they are written."""
    cells = st.one_of(numbers(draw(st.integers(0, 4))), st.none())
    column = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
    return column, draw(st.sampled_from(AROUND)), draw(st.sampled_from(NEGATIVE))


GAPS_WRITTEN = ["NA", ".", "n.a.", "-", ""]
TABLES = st.integers(1, 5).flatmap(lambda n: st.lists(columns(n), min_size=1, max_size=4))


def written(style, table):
    """The table as a file."""
    rows = zip(
        *(
            [gap if n is None else style.write(n, around, negative) for n in column]
            for (column, around, negative), gap in zip(table, cycle(GAPS_WRITTEN), strict=False)
        ),
        strict=True,
    )
    names = [f"c{j}" for j in range(len(table))]
    lines = [style.delimiter.join(f'"{cell}"' for cell in row) for row in (names, *rows)]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    path = tmp_path_factory.mktemp("notation") / "table.csv"

    def read(data, **dialect):
        path.write_bytes(data)
        return read_table(str(path), Dialect(header=True, **dialect))

    return read


def expected(column):
    return [None if number is None else float(number) for number in column]


@settings(deadline=None)
@given(st.sampled_from(STYLES), TABLES)
def test_numbers_are_read_as_they_were_meant_or_are_a_question(read, style, table):
    found = read(written(style, table))
    for j, (column, _, _) in enumerate(table):
        parsed = found.numbers(f"c{j}")
        assert parsed.n_bad == 0
        if parsed.problem is None:
            assert parsed.values.to_list() == expected(column)
        else:
            assert "say --decimal" in parsed.problem


@settings(deadline=None)
@given(st.sampled_from(STYLES), TABLES)
def test_the_decimal_mark_answers_every_question(read, style, table):
    found = read(written(style, table), decimal=style.decimal)
    for j, (column, _, _) in enumerate(table):
        parsed = found.numbers(f"c{j}")
        assert (parsed.n_bad, parsed.problem) == (0, None)
        assert parsed.values.to_list() == expected(column)


@settings(deadline=None)
@given(st.sampled_from(STYLES), TABLES)
def test_one_cell_that_has_one_reading_settles_the_file(read, style, table):
    telling = [Decimal("0.5")] * len(table[0][0])
    found = read(written(style, [*table, (telling, "{}", "-{}")]))
    for j, (column, _, _) in enumerate(table):
        parsed = found.numbers(f"c{j}")
        assert parsed.problem is None
        assert parsed.values.to_list() == expected(column)


@settings(deadline=None)
@given(
    st.lists(st.text("0123456789.,' -+()$%kg\u00a0e", max_size=9), min_size=1, max_size=4),
    st.sampled_from([None, ".", ","]),
)
def test_any_text_is_numbers_gaps_or_bad_cells(texts, decimal):
    parsed = parse_numbers(pl.Series("x", texts, dtype=pl.String), decimal)
    assert parsed.n_gaps + parsed.n_bad + parsed.n_numbers == len(texts)
    assert (parsed.first_bad is None) == (parsed.n_bad == 0)
    if parsed.n_bad <= parsed.n_numbers:
        assert parsed.values.null_count() == parsed.n_gaps + parsed.n_bad


# --- one file, one notation -----------------------------------------------------------------------


def table(columns, **notation):
    return InputTable("t.csv", pl.DataFrame(columns), "", Notation(**notation))


def test_points_beside_decimal_commas_set_off_thousands():
    found = table({"price": ["90.196", "1.234"], "share": ["0,5", "2,25"]})
    assert found.numbers("price").values.to_list() == [90196, 1234]
    assert found.notes(["price", "share"]) == [
        "Column 'price' is written with points between thousands: '90.196' is 90196.",
        "Column 'share' is written with decimal commas: '0,5' is 0.5.",
    ]


def test_columns_that_disagree_leave_a_third_one_open():
    found = table({"a": ["1.5"], "b": ["1,5"], "c": ["90.196"], "d": ["1,234"]})
    assert found.numbers("a").values.to_list() == found.numbers("b").values.to_list() == [1.5]
    assert "say --decimal . for decimals, or --decimal , for" in found.numbers("c").problem
    assert "say --decimal , for decimals, or --decimal . for" in found.numbers("d").problem


@pytest.mark.parametrize("gap", [".", "..", "n.a.", "1.#QNAN"])
def test_points_of_gaps_settle_nothing(gap):
    assert table({"x": ["90.196", "12", gap]}, commas=True).numbers("x").problem is not None


def test_a_given_mark_leaves_infinite_numbers_alone():
    assert parse_numbers(pl.Series(["inf", "inf"]), ",").values.to_list() == [np.inf, np.inf]


def test_words_and_codes_settle_nothing():
    found = table({"text": ["v 1,5", "x"], "version": ["1,5 or", "so"], "price": ["1,234", "5"]})
    assert found.numbers("price").problem is not None


def test_points_with_three_digits_are_decimals_only_where_commas_separate_fields():
    assert table({"x": ["90.196", "12.000"]}).numbers("x").problem is not None
    separated = table({"x": ["90.196", "12.000"]}, commas=True)
    assert separated.numbers("x").values.to_list() == [90.196, 12]


def test_some_points_with_three_digits_among_small_whole_numbers_are_a_question():
    assert table({"x": ["90.196", "12"]}, commas=True).numbers("x").problem is not None
    assert table({"x": ["90.196", "12"], "y": ["0.5", "1"]}).numbers("x").values[0] == 90.196


@pytest.mark.parametrize(
    ("texts", "numbers", "way"),
    [
        (["1.234.567,89", "1 234,5"], [1234567.89, 1234.5], "decimal commas, points between"),
        (["1'234.5", "2\u2019345"], [1234.5, 2345], "apostrophes between thousands"),
        (["12,34,567", "1"], [1234567, 1], "commas between thousands"),
        (["$1,234.50", "($5)"], [1234.5, -5], "the currency $ and brackets or a minus behind"),
        (["EUR 5", "7 EUR"], [5, 7], "the currency EUR"),
        (["12%", "3.5 %"], [12, 3.5], "percent signs"),
        (["12 kg", "3kg"], [12, 3], "the unit kg"),
        (["1 year", "5 years"], [1, 5], "the unit year"),
        (["3 apples", "4 apples"], [3, 4], "the unit apples"),
    ],
)
def test_how_numbers_are_written_is_told(texts, numbers, way):
    parsed = parse_numbers(pl.Series("x", texts))
    assert (parsed.values.to_list(), parsed.problem) == (numbers, None)
    assert way in parsed.way


@pytest.mark.parametrize(
    "texts", [["12 kg", "3 lb"], ["12%", "0.12"], ["$5", "5 €"], ["5 mW", "5 MW"], ["3 h", "4 min"]]
)
def test_several_units_are_refused(texts):
    found = table({"x": texts, "y": ["1.5", "2.5"]})
    with pytest.raises(
        CommandError, match=f"holds '{texts[0]}' and '.*in one unit".replace("$", ".")
    ):
        choose_columns(found, Wanted())
    assert list(choose_columns(found, Wanted(columns=("y",))).features) == ["y"]


@pytest.mark.parametrize(
    "texts", [["Sample 1", "Sample 2"], ["3 apples", "4 pears"], ["A1", "A2"], ["1a", "2b"]]
)
def test_words_with_numbers_are_words(texts):
    assert parse_numbers(pl.Series("x", texts)).n_bad == 2
    assert choose_columns(table({"x": texts, "y": ["1.5", "2.5"]}), Wanted()).id == "x"


@pytest.mark.parametrize(
    "texts",
    [["12 kg", "3 kg", "5 kg"], ["$5", "$7", "$9"], ["1,5", "2,5", "4"], ["1", "nan", "3"]]
    + [["1", gap, "3"] for gap in ("NA", "N/A", "null", "-", "?", "#N/A", ".")],
)
def test_numbers_are_never_row_names(texts):
    chosen = choose_columns(table({"a": texts, "b": ["2", "3", "5"]}), Wanted())
    assert (chosen.id, list(chosen.features)) == (None, ["a", "b"])


def test_text_with_a_gap_names_no_rows():
    chosen = choose_columns(table({"a": ["u", "NA", "w"], "b": ["2", "3", "5"]}), Wanted())
    assert (chosen.id, chosen.set_aside) == (None, {"a": "text, different in every row"})


# --- codes for missing values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        ["1", "-999", "unknown", "4"],
        ["1,5", "-999,0", "Unknown", "4"],
        ["1 kg", "-999 kg", "UNKNOWN", "4 kg"],
        pl.Series(["1", "-999", "unknown", "4"], dtype=pl.Categorical),
        pl.Series([1, -999, None, 4], dtype=pl.Int16),
        pl.Series([1.5, -999, None, 4], dtype=pl.Float32),
    ],
)
def test_codes_are_gaps_in_text_and_in_numbers(column):
    codes = Dialect(na=("-999", "unknown")).notation().codes
    parsed = table({"x": column}, codes=codes).numbers("x")
    assert (parsed.n_gaps, parsed.n_bad) == (2, 0)
    assert [value is None for value in parsed.values] == [False, True, True, False]


def test_a_code_leaves_ids_alone():
    ids = pl.Series([998, 999, 1000])
    frame = {"user_id": ids, "x": [1.5, 2.5, 9.0]}
    codes = Dialect(na=("999",)).notation().codes
    assert choose_columns(table(frame, codes=codes), Wanted()).id == "user_id"


# --- true and false -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("yes", "No")])
def test_true_and_false_in_text_are_as_in_parquet(words):
    found = table({"x": ["1", "2", "4"], "flag": [words[0], "NA", words[1]]})
    assert choose_columns(found, Wanted()).set_aside == {"flag": "true or false"}
    asked = choose_columns(found, Wanted(columns=("x", "flag"))).features["flag"]
    assert asked.to_list() == [1, None, 0]


def test_true_beside_numbers_is_a_bad_cell():
    with pytest.raises(CommandError, match="'x' holds 'true'"):
        choose_columns(table({"x": ["1", "2", "true"]}), Wanted())
