"""Tables of strangers that are whole and made to hurt: a table or one sentence, and soon."""

import io
import json

import numpy as np
import pytest

from bbclust.cli.input.columns import Wanted
from bbclust.cli.input.delimited import Dialect, name_columns
from bbclust.cli.input.preparation import Source, prepare
from bbclust.cli.output.errors import CommandError


@pytest.fixture
def told(tmp_path):
    """Writes bytes to a file and prepares its table: the sentence with which it is refused."""

    def read(data, scale="standard", name="table"):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(CommandError) as caught:
            prepare(Source(str(path), Dialect(), Wanted(), "draw"), scale)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return read


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archived(**members):
    buffer = io.BytesIO()
    np.savez(buffer, **members)
    return buffer.getvalue()


def test_a_hundred_thousand_columns_of_one_name_are_named_in_one_pass():
    """Compared with each other, they would take hours."""
    names = name_columns(["x"] * 100_000)
    assert names[0] == "x"
    assert names[99_999] == "x (100000)"
    assert len(set(names)) == 100_000
    assert name_columns(["x (2)", "x", "x", "x"]) == ["x (2)", "x", "x (3)", "x (4)"]


@pytest.mark.parametrize(
    "data",
    [
        b'[{"x": 1, "\\ud800": 2}, {"x": 2}]',
        b'[{"x": 1, "y": "\\udfff"}, {"x": 2}]',
        b'{"x": 1, "y": "\\ud800"}\n{"x": 2, "y": 3}\n',
        saved(np.array([("a", 1.0)], dtype=[("\ud800", "<U3"), ("b", "<f8")])),
        saved(np.array(["\ud800", "b"])),
    ],
)
def test_half_of_a_character_is_one_sentence(told, data):
    assert "half of a character ('\\u" in told(data)


def test_a_member_that_is_no_array_is_one_sentence(told):
    data = archived(X=np.eye(3))
    broken = data.replace(b"\x93NUMPY", b"\x93NUMPX")
    assert len(broken) == len(data)
    assert "damaged or cut off" in told(broken)
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("X.npy", b"no array")
    assert "a member is no array" in told(buffer.getvalue())


def with_header(descr, shape, body=b""):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    ("descr", "shape"),
    [("<f8", (0, 10**9)), ("<f8", (10**9, 0)), ("<U0", (10**9,)), ("|S0", (10**6, 10**6))],
)
def test_an_array_of_nothing_has_no_columns_that_cost_memory(told, descr, shape):
    assert "holds nothing" in told(with_header(descr, shape))


def test_an_array_that_says_it_is_larger_than_memory_is_one_sentence(told):
    data = with_header("<f8", (2**55, 2), bytes(100))
    assert "damaged, or holds more numbers than the memory" in told(data)


def test_fields_that_are_arrays_are_one_sentence(told):
    records = np.zeros(2, dtype=[("a", "<f8"), ("b", "<f8", (255,))])
    assert "holds arrays where numbers are needed" in told(saved(records))
    assert "holds arrays where numbers are needed" in told(saved(np.zeros((2, 2), records.dtype)))


def test_a_column_of_nan_alone_cannot_be_drawn(told):
    sentence = told(b'[{"x": 1, "y": 2, "z": NaN}, {"x": 2, "y": 1}, {"x": 3, "y": 3}]')
    assert "column 'z' has no number in any row" in sentence


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_numbers_that_would_be_infinite_once_scaled_are_named(told, scale):
    column = [0.0, 1e-300, 2e-300, 3e-300, 1e300] if scale == "robust" else [1e308, -1e308, 1e308]
    rows = [{"x": value, "y": float(i)} for i, value in enumerate(column)]
    sentence = told(json.dumps(rows).encode(), scale)
    assert "column 'x' holds numbers too large to be scaled" in sentence
