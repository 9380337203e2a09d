"""Whether the first line of a file names its columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.cli.input.delimited import Dialect, read_delimited
from bbclust.cli.output.errors import CommandError


def cells(text, **dialect):
    return read_delimited(text.encode(), Dialect(**dialect))


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n5,6\n", False),
        ("5.1,setosa\n4.9,virginica\n", False),
        ("name,kind\nx,y\n", True),
        (",x\n1,2\n2,3\n", True),
        ("a;b\n1,5;2\n2,5;NA\n", True),
        ("1,5;x\n2,5;y\n", False),
    ],
)
def test_a_header_has_no_numbers_above_numbers(text, header):
    assert cells(text).header is header
    assert cells(text, header=True).header is True


def test_a_header_that_cannot_be_told_is_asked_for():
    with pytest.raises(CommandError, match="say --header or --no-header"):
        cells("x,7\n1,2\n3,4\n")
    assert cells("x,7\n1,2\n3,4\n", header=True).frame.columns == ["x", "7"]


@pytest.mark.parametrize(
    "text",
    [
        "country,2019,2020\nFR,1.5,2.5\nDE,3.5,4.5\nIT,5.5,7.5\n",
        "country,2019,2020,2021\nFR,700,2300,5000\nDE,60000,150,7\nIT,2500,12,90000\n",
        "2000,2005,2010\n1.5,2.5,3\n4,5,6\n7,8,9.5\n",
        "country,2019\nFR,1.5\nDE,3.5\nIT,5.5\n",
        "country;2019;2020\nFR;1,5;2,5\nDE;3,5;4,5\nIT;5,5;7,5\n",
        "name,x,2019\nu,1,12\nv,2,15\nw,3,11\n",
        "400,410,420\n.12,.13,.15\n.21,.22,.23\n.3,.4,.5\n",
        ",0,1\n0,5.1,3\n1,4.9,3\n2,4.7,3.2\n",
        "q,25%,50%\nu,1,2\nv,3,4\n",
        "0,1,2\n" + ".5,1.5,-.5\n" * 10,
    ],
)
def test_numbers_that_are_names(text):
    assert cells(text).header is True


@pytest.mark.parametrize(
    "text",
    [
        "2019,2020\n2018,2021\n2015,2016\n",  # years as values
        "FR,2019,5\nDE,2020,6\nIT,2021,8\n",
        "1,2,3\n4,5,6\n7,8,9\n",
        "1,2,3\n4,5,6\n",
        "5,3,1\n5.1,3.5,1.4\n4.9,3.1,1.5\n",
        "1850,12\n350,15\n980,11\n15000,9\n",
        "0.5,1,1.5\n10,20,30\n11,21,31\n",
        "12 kg,5\n13 kg,6\n14 kg,9\n",
    ],
)
def test_numbers_that_are_values(text):
    assert cells(text).header is False


@pytest.mark.parametrize(
    "text",
    [
        "who,2019,2020\nu,1750,1801\nv,1832,1791\nw,1904,1920\n",  # years, or heights in mm
        "1700,1950\n350,420\n980,1200\n15000,22000\n",  # years or prices
        "500,90\n1,2\n2,3\n3,1\n",  # names, or a row unlike all others
        "0,1,2\n.5,1.5,-.5\n.7,2.5,.5\n",  # too few rows to tell
    ],
)
def test_numbers_that_may_be_names_are_a_question(text):
    with pytest.raises(CommandError, match="say --header or --no-header"):
        cells(text)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 40), st.integers(0, 3))
def test_random_tables_without_a_header_are_read_as_such(seed, width, n_rows, decimals):
    values = np.random.default_rng(seed).normal(50, 20, size=(n_rows, width)).round(decimals)
    text = "".join(",".join(f"{value:g}" for value in row) + "\n" for row in values)
    try:
        assert cells(text).header is False
    except CommandError as error:
        assert "--no-header" in str(error)  # noqa: PT017 (a question is no mistake)
