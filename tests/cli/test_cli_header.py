"""Whether the first line of a file names its columns."""

import pytest

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
