"""Files to tables: formats, delimiters, headers, decimal marks, encodings."""

import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.cli.input.delimited import DELIMITERS, Dialect, read_delimited
from bbclust.cli.input.tables import read_table
from bbclust.cli.output.errors import CommandError

FRAME = pl.DataFrame({"name": ["u", "v", "w"], "x": [1.5, -2.0, 1e-3], "n": [7, 8, -9]})


def cells(text, **dialect):
    data = text if isinstance(text, bytes) else text.encode()
    return read_delimited(data, Dialect(**dialect))


@pytest.fixture
def stored(tmp_path):
    def store(data, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return store


def as_bytes(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def npz(**arrays):
    return as_bytes(lambda buffer: np.savez(buffer, **arrays))


WRITERS = {
    "Parquet": lambda frame: as_bytes(frame.write_parquet),
    "Arrow": lambda frame: as_bytes(frame.write_ipc),
    "Arrow stream": lambda frame: as_bytes(frame.write_ipc_stream),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_binary_tables_come_back_as_they_were_whatever_the_file_is_called(stored, kind, packed):
    data = WRITERS[kind](FRAME)
    path = stored(gzip.compress(data) if packed else data, "table")
    assert read_table(path).frame.equals(FRAME)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_text_is_split_whatever_the_delimiter_and_the_encoding(stored, delimiter, encoding, packed):
    lines = [["name", "x"], ["é", "1.5"], ["v", "2"]]
    data = "\r\n".join(delimiter.join(line) for line in lines).encode(encoding)
    table = read_table(stored(gzip.compress(data) if packed else data))
    assert table.frame.to_dict(as_series=False) == {"name": ["é", "v"], "x": ["1.5", "2"]}
    assert table.description == f"{DELIMITERS[delimiter]}-separated with a header"


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)] * 3),
        min_size=1,
        max_size=8,
    ),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_quoted_cells_come_back_whatever_they_hold(rows, line_end):
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    text = line_end.join(["a,b,c", *quoted]) + line_end
    assert cells(text, delimiter=",", header=True).frame.rows() == rows


def test_a_quote_within_a_cell_is_a_character():
    assert cells('screen,price\n5",100\n6",120\n').frame["screen"].to_list() == ['5"', '6"']


def test_line_breaks_within_quotes_belong_to_the_cell():
    assert cells('a,b\n"x\ny",1\n').frame["a"].to_list() == ["x\ny"]


def test_blank_lines_are_no_rows_and_rows_of_empty_cells_are():
    frame = cells("\n\na,b\n1,2\n\n,\n  \n3,4\n\n").frame
    assert frame.rows() == [("1", "2"), (None, None), ("3", "4")]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_all_line_ends(line_end):
    text = line_end.join(["a,b", "1,2", "3,4", ""])
    assert cells(text).frame.rows() == [("1", "2"), ("3", "4")]


def test_a_semicolon_is_preferred_to_decimal_commas():
    table = cells("1,5;2,5\n3,5;4,5\n")
    assert (table.delimiter, table.header, table.frame.width) == (";", False, 2)


def test_a_given_delimiter_is_taken():
    assert cells("a;b,c\n1;2,3\n", delimiter=",").frame.columns == ["a;b", "c"]


def test_columns_without_a_name_are_numbered_and_repeated_names_told_apart():
    assert cells("x,,x ,x (2)\n1,2,3,4\n").frame.columns == ["x", "column_2", "x (2)", "x (2) (2)"]
    assert cells("1,2\n3,4\n").frame.columns == ["column_1", "column_2"]


@pytest.mark.parametrize(
    ("row", "line", "fields"),
    [("3", 3, "1 field"), ("3,4,5", 3, "3 fields"), ('"x\ny",4,5', 3, "3 fields")],
)
@pytest.mark.parametrize("rest", ["6,7\n", ""])
def test_a_ragged_row_is_named_by_its_line(row, line, fields, rest):
    with pytest.raises(CommandError, match=f"Line {line} has {fields} and the first line has 2"):
        cells(f"a,b\n1,2\n{row}\n{rest}")


def test_a_byte_that_is_no_utf8_is_named_by_its_position():
    data = b"a,b\n1,2\n" + "é,3\n".encode("latin-1")
    with pytest.raises(CommandError, match="Byte 0xe9 at position 8, in line 3"):
        cells(data)
    assert cells(data, encoding="latin-1").frame["a"].to_list() == ["1", "é"]


def test_positions_are_right_beyond_the_first_part_of_a_file(monkeypatch):
    monkeypatch.setattr("bbclust.cli.input.delimited._CHUNK", 5)
    data = "é,é\nàà,1".encode() + b"\xff\n"
    with pytest.raises(CommandError, match=f"Byte 0xff at position {len(data) - 2}, in line 2"):
        cells(data)
    assert cells("é,é\nàà,1\n".encode(), header=False).frame.rows() == [("é", "é"), ("àà", "1")]


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13"])
def test_an_unknown_encoding_is_refused(encoding):
    with pytest.raises(CommandError, match=f"no encoding '{encoding}'"):
        cells("a\n1\n", encoding=encoding)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", "f2", "i4", ">i2", "?"])
def test_arrays_of_numbers_in_any_layout(stored, dtype):
    array = np.asfortranarray(np.array([[1, 0], [1, 1], [0, 1]], dtype=dtype))
    path = stored(as_bytes(lambda buffer: np.save(buffer, array)), "table.npy")
    frame = read_table(path).frame
    assert frame.columns == ["column_1", "column_2"]
    np.testing.assert_array_equal(frame.to_numpy(), array)


def test_fields_of_an_array_are_columns(stored):
    array = np.array([("u", 1.5), ("v", 2.5)], dtype=[("name", "U1"), ("x", "f8")])
    frame = read_table(stored(as_bytes(lambda buffer: np.save(buffer, array)))).frame
    assert frame.rows() == [("u", 1.5), ("v", 2.5)]


def test_an_archive_has_one_table_and_spare_columns(stored):
    table = read_table(stored(npz(data=np.eye(3), y=np.arange(3), other=np.arange(5))))
    assert table.frame.columns == ["column_1", "column_2", "column_3", "y"]
    assert table.spare == ("y",)
    assert read_table(stored(npz(X=np.eye(3), Z=np.eye(3)))).description.startswith("array X ")


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"", "t.csv", "the file is empty"),
        (b"\n\r\n", "t.csv", "the file is empty"),
        (gzip.compress(b"", mtime=0), "t.csv.gz", "the file is empty"),
        (
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9],
            "t.csv.gz",
            "gzip file is damaged or cut off",
        ),
        (b"\x00\x01binary", "t.csv", "binary data (a zero byte at position 0)"),
        (b"\x89PNG\r\n\x1a\n\0", "t.png", "this is a picture"),
        (WRITERS["Parquet"](FRAME)[:-20], "t.parquet", "Parquet file is damaged or cut off"),
        (WRITERS["Arrow"](FRAME)[:-20], "t.arrow", "Arrow file is damaged or cut off"),
        (WRITERS["Arrow stream"](FRAME)[:40], "t.arrow", "Arrow file is damaged or cut off"),
        (b"a,b\n1,2\n", "t.parquet", "not a Parquet file, though its name ends in .parquet"),
        (b"a,b\n1,2\n", "t.npy.gz", "not an NPY file, though its name ends in .npy"),
        (npz(X=np.eye(3))[:-20], "t.npz", "zip archive is damaged or cut off"),
        (as_bytes(lambda b: np.save(b, np.eye(3)))[:-8], "t.npy", "NumPy file is damaged"),
        (as_bytes(lambda b: np.save(b, np.array([[{}]]))), "t.npy", "could run code when opened"),
        (as_bytes(lambda b: np.save(b, np.zeros((2, 2, 2)))), "t.npy", "shape (2, 2, 2)"),
        (as_bytes(lambda b: np.save(b, np.eye(2) * 1j)), "t.npy", "complex128 where numbers"),
        (npz(a=np.eye(2), b=np.eye(2)), "t.npz", "holds a (2, 2), b (2, 2)"),
        (b"PK\x03\x04 xl/workbook.xml", "t.xlsx", "zip archive is damaged or cut off"),
    ],
)
def test_files_that_hold_no_table_are_refused(stored, data, name, sentence):
    path = stored(data, name)
    with pytest.raises(CommandError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert any(part in str(caught.value) for part in sentence.split("|"))
    assert "\n" not in str(caught.value)


def test_paths_that_are_no_files_are_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no such file"):
        read_table(str(tmp_path / "missing.csv"))
    with pytest.raises(CommandError, match="this is a directory"):
        read_table(str(tmp_path))
