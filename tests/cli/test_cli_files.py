"""Kinds of files: workbooks, archives, JSON, formats that are not read, and damaged ones."""

import gzip
import io
import json
import random
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from bbclust.cli.input import archives
from bbclust.cli.input.columns import Wanted, choose_columns
from bbclust.cli.input.delimited import Dialect
from bbclust.cli.input.preparation import default_out
from bbclust.cli.input.tables import read_table
from bbclust.cli.output.errors import CommandError

CSV = b"name,x\nu,1.5\nv,-2\n"


@pytest.fixture
def stored(tmp_path):
    def store(data, name="table"):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return store


def workbook(**sheets):
    """A workbook; each sheet is a list of rows."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return buffer.getvalue()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # of no time, so that test ids are the same everywhere
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def sentence_of(path, **dialect):
    with pytest.raises(CommandError) as caught:
        read_table(path, Dialect(**dialect))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- Excel ----------------------------------------------------------------------------------------

TABLE = [["name", "x", "n"], ["u", 0.1234567890123456, 1], ["v", 1e-12, 2], ["w", 1 / 3, 3]]


def test_a_sheet_comes_back_to_the_bit(stored):
    table = read_table(stored(workbook(one=TABLE)))
    assert table.frame.rows() == [tuple(row) for row in TABLE[1:]]
    assert table.frame.columns == TABLE[0]
    assert table.frame["n"].dtype == pl.Int64
    assert table.description == "sheet 'one' of an Excel workbook with a header"


def test_numbers_among_text_keep_all_their_digits(stored):
    rows = [["x"], [0.1234567890123456], ["NA"], ["1,5"], [1 / 3]]
    frame = read_table(stored(workbook(one=rows))).frame
    assert frame["x"].to_list() == [repr(0.1234567890123456), "NA", "1,5", repr(1 / 3)]


def test_numbers_with_words_for_gaps_are_numbers_and_text_that_looks_so_is_a_question(stored):
    rows = [["x", "text"], [90.196, "90.196"], ["-", "1.234"], [1.234, "-"], ["?", "2.345"]]
    table = read_table(stored(workbook(one=rows)))
    assert table.frame["x"].to_list() == [90.196, None, 1.234, None]
    assert table.numbers("text").problem is not None


def test_a_sheet_without_a_header(stored):
    frame = read_table(stored(workbook(one=[row[1:] for row in TABLE[1:]]))).frame
    assert frame.columns == ["column_1", "column_2"]
    assert len(frame) == 3


def test_blank_rows_and_columns_are_none(stored):
    rows = [[], [], ["x", "", "y"], [1.5, "", 2.5], [], [3.5, "", 4.5], []]
    assert read_table(stored(workbook(one=rows))).frame.to_dict(as_series=False) == {
        "x": [1.5, 3.5],
        "y": [2.5, 4.5],
    }


def test_the_only_sheet_with_a_table_is_read(stored):
    path = stored(workbook(notes=[["Made by"], ["us"]], data=TABLE, empty=[]))
    assert read_table(path).frame.columns == TABLE[0]


def test_several_tables_are_a_question_and_a_sheet_answers_it(stored):
    path = stored(workbook(a=TABLE, b=TABLE[:3], notes=[["text"]]))
    assert "tables in its sheets 'a', 'b': name one, for example --sheet" in sentence_of(path)
    assert len(read_table(path, Dialect(sheet="b")).frame) == 2
    assert len(read_table(path, Dialect(sheet="2")).frame) == 2
    assert "no sheet 'c'; the workbook has 'a', 'b', 'notes'" in sentence_of(path, sheet="c")
    assert "no sheet '4'" in sentence_of(path, sheet="4")


def test_a_sheet_without_cells_is_refused(stored):
    assert "sheet 'one' of the workbook is empty" in sentence_of(stored(workbook(one=[])))


def test_a_sheet_is_for_workbooks(stored):
    assert "--sheet is for Excel workbooks" in sentence_of(stored(CSV, "t.csv"), sheet="1")


def test_a_sheet_with_one_text_and_no_number_is_text(stored):
    table = read_table(stored(workbook(one=[[], [None, "name"]])), Dialect(header=False))
    assert table.frame["column_1"].to_list() == ["name"]


def test_without_the_extra_a_sentence_names_it(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    assert "pip install 'bbclust[excel]'" in sentence_of(stored(workbook(one=TABLE)))


def test_a_cell_far_away_is_refused(stored):
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, 1)
        sheet.write(2**20 - 1, 2**14 - 1, 2)
    assert "reaches to row 1,048,576 and column 16,384" in sentence_of(stored(buffer.getvalue()))


# --- archives -------------------------------------------------------------------------------------


def test_the_one_table_of_an_archive_is_read(stored):
    others = {"README.txt": b"hello", "__MACOSX/._t.csv": b"x", ".DS_Store": b"\0", "folder/": b""}
    for members in ({"folder/t.csv": CSV}, {"folder/t.csv": CSV, **others}):
        table = read_table(stored(zipped(**members), "t.csv.zip"))
        assert table.frame.rows() == [("u", "1.5"), ("v", "-2")]
        assert table.description == "comma-separated with a header, in 'folder/t.csv'"


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.jsonl", "t.csv.gz", "no suffix"])
def test_the_table_may_be_of_any_kind(stored, name):
    frame = pl.DataFrame({"x": [1.5, 2.5], "n": [1, 2]})
    buffer = io.BytesIO()
    if name == "t.xlsx":
        buffer.write(workbook(one=[["x", "n"], [1.5, 1], [2.5, 2]]))
    elif name == "t.parquet":
        frame.write_parquet(buffer)
    elif name == "t.jsonl":
        frame.write_ndjson(buffer)
    elif name == "t.csv.gz":
        buffer.write(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(buffer)
    table = read_table(stored(zipped(**{name: buffer.getvalue()}), "t.zip"))
    assert table.numbers("x").values.to_list() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({}, "must hold one table and holds nothing"),
        ({"a.csv": CSV, "b.csv": CSV}, "holds 'a.csv', 'b.csv': unpack it"),
        ({"a": CSV, "b": CSV}, "holds 'a', 'b'"),
        ({"inner.zip": zipped(**{"t.csv": CSV})}, "inner.zip: the zip archive holds another one"),
        ({"t.sav": b"$FL2"}, "t.sav: this is an SPSS file"),
        ({"t.csv": b""}, "t.csv: the file is empty"),
        (
            {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<x/>"},
            "an OpenDocument spreadsheet, which is not read: save it as .xlsx or CSV",
        ),
        ({"word/document.xml": b"<x/>"}, "a document and no table"),
        ({"xl/workbook.bin": b"\0"}, "a binary workbook, which is not read"),
    ],
)
def test_an_archive_without_one_table_is_refused(stored, members, sentence):
    assert sentence in sentence_of(stored(zipped(**members), "t.zip"))


def test_arrays_in_an_archive_are_still_arrays(stored):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.eye(3))
    assert read_table(stored(buffer.getvalue(), "t.npz")).frame.shape == (3, 3)


def test_a_locked_archive_is_refused(stored):
    data = bytearray(zipped(**{"t.csv": CSV}))
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + place] |= 1
    assert "locked by a password" in sentence_of(stored(bytes(data), "t.zip"))


@pytest.mark.parametrize("kind", ["zip", "gzip", "workbook", "arrays"])
def test_what_unpacks_to_too_much_is_refused(stored, monkeypatch, kind):
    monkeypatch.setattr(archives, "LARGEST", 1000)
    rows = CSV + b"w,3\n" * 1000
    arrays = io.BytesIO()
    np.savez_compressed(arrays, X=np.zeros((100, 100)))
    data = {
        "zip": lambda: zipped(**{"t.csv": rows}),
        "gzip": lambda: gzip.compress(rows),
        "workbook": lambda: workbook(one=[[1.5, 2.5]] * 200),
        "arrays": arrays.getvalue,
    }[kind]()
    assert "unpacks to more than" in sentence_of(stored(data))


def test_the_size_that_an_archive_tells_is_not_believed(stored, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 1000)
    data = bytearray(zipped(**{"t.csv": CSV + b"w,3\n" * 1000}))
    for signature, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        start = data.index(signature) + place
        data[start : start + 4] = (10).to_bytes(4, "little")
    assert "unpacks to more than" in sentence_of(stored(bytes(data)))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("folder/t.csv.zip", "t"),
        ("t.zip", "t"),
        ("t.csv.gz", "t"),
        ("book.xlsx", "book"),
        ("v1.2.csv", "v1.2"),
        ("v1.2.gz", "v1.2"),
        ("T.JSONL", "T"),
        ("table", "table"),
        ("-", "stdin"),
    ],
)
def test_results_are_called_like_the_table(file, name):
    assert str(default_out(file, "-bbclust")) == f"{name}-bbclust"


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz", "t", "t.json"])
def test_json_lines(stored, name):
    lines = b'{"name": "u", "x": 1.5}\n\n{"x": 2, "y": true}\n{"name": null, "x": -3e-7}\n'
    table = read_table(stored(gzip.compress(lines) if name.endswith("gz") else lines, name))
    assert table.frame.to_dict(as_series=False) == {
        "name": ["u", None, None],
        "x": [1.5, 2.0, -3e-7],
        "y": [None, True, None],
    }
    assert table.description == "JSON lines"


def test_columns_of_several_types_in_json_are_text(stored):
    table = read_table(stored(b'{"a": true, "x": 1.5}\n{"a": 1, "x": "NA"}\n{"a": [2], "x": 3}\n'))
    assert table.frame["a"].to_list() == ["true", "1", "[2]"]
    assert table.numbers("x").values.to_list() == [1.5, None, 3]


def test_numbers_with_words_for_gaps_in_json_are_numbers(stored):
    table = read_table(stored(b'{"x": 90.196, "y": "90.196"}\n{"x": "?", "y": "1.234"}\n'))
    assert table.frame["x"].to_list() == [90.196, None]
    assert table.numbers("y").problem is not None


def test_whole_numbers_beyond_all_bounds_are_infinite(stored):
    table = read_table(stored(b'[{"x": -1' + b"0" * 400 + b"}]", "t.json"))
    assert table.frame["x"].to_list() == [-np.inf]


def test_a_json_list_of_objects(stored):
    rows = [{"x": 1.5, "b": True}, {"x": 2}, {"x": None, "b": False}]
    for text in (json.dumps(rows), json.dumps(rows, indent=2)):
        table = read_table(stored(text.encode(), "t.json"))
        assert table.frame.rows() == [(1.5, True), (2.0, None), (None, False)]


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        (b'{"a": 1}\n{"a": }\n', "t.jsonl", "line 2 is not JSON"),
        (b'{"a": 1}\n[2]\n', "t.jsonl", "line 2 is not a JSON object"),
        (b'{"x": [1, 2],\n "y": [3, 4]}', "t.json", "JSON and no table: a table is one object"),
        (b'[{"a": 1}, 2]', "t.json", "JSON and no table"),
        (b'[{"a": 1},', "t.json", "the file is not JSON"),
        (b"a,b\n1,2\n", "t.json", "not a JSON file, though its name ends in .json"),
        (b"{}\n{}\n", "t.jsonl", "there is no column"),
        (b"[{" * 5000, "t.json", "the file is not JSON"),
    ],
    ids=["object cut", "no object", "columns", "no list of objects", "cut", "CSV", "empty", "deep"],
)
def test_json_that_is_no_table_is_refused(stored, text, name, sentence):
    assert sentence in sentence_of(stored(text, name))


# --- formats that are not read --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (bytes(12) + b"\xc2\xea\x81\x60", "t", "a SAS file"),
        (b"<stata_dta><header>", "t", "a Stata file"),
        (b"\x73\x02\x01\x00", "t.dta", "a Stata file"),
        (b"$FL2@(#) SPSS", "t", "an SPSS file"),
        (b"\x89HDF\r\n\x1a\n", "t", "an HDF5 file"),
        (b"\xd0\xcf\x11\xe0", "t.xls", "a workbook of the old format .xls"),
        (
            b"\xd0\xcf\x11\xe0\0" + "EncryptedPackage".encode("utf-16-le"),
            "t.xlsx",
            "a document with a password",
        ),
        (b"SQLite format 3\0", "t", "an SQLite database"),
        (b"%PDF-1.7", "t.csv", "a PDF document"),
        (b"\n<!DOCTYPE html><html>", "t.csv", "an HTML page"),
        (gzip.compress(b"X\n\0\0\0\3", mtime=0), "t.rds", "a file of R objects"),
        (b"\x80\x04\x95", "t", "a Python pickle, which could run code when opened"),
        (b"BZh91AY&SY", "t.csv.bz2", "packed by bzip2"),
        (b"\x89PNG\r\n", "t.png", "a picture"),
    ],
)
def test_known_formats_are_named_with_the_way_out(stored, data, name, sentence):
    told = sentence_of(stored(data, name))
    assert f"this is {sentence}, which is not read: " in told


def test_text_that_begins_like_another_format_is_text(stored):
    assert read_table(stored(b"ORCHARD,x\nu,1\nv,2\n", "t.csv")).frame.columns == ["ORCHARD", "x"]


# --- damage ---------------------------------------------------------------------------------------


def intact():
    arrays = io.BytesIO()
    np.savez_compressed(arrays, X=np.eye(5))
    array = io.BytesIO()
    np.save(array, np.eye(5))
    lines = b'{"name": "u", "x": 1.5}\n{"name": "v", "x": 2}\n'
    book = workbook(one=TABLE)
    packed = [zipped(**{"t.csv": CSV * 20}), gzip.compress(CSV, mtime=0)]
    return [book, *packed, arrays.getvalue(), array.getvalue(), lines, CSV]


INTACT = intact()


@settings(deadline=None)
@given(st.sampled_from(INTACT), st.sampled_from(["cut", "change", "begin"]), st.integers(0, 2**32))
def test_damaged_files_give_a_table_or_a_sentence(tmp_path_factory, data, damage, number):
    draw = random.Random(number)
    broken = bytearray(data)
    if damage == "cut":
        broken = broken[: draw.randrange(len(data))]
    elif damage == "change":
        for _ in range(draw.choice([1, 5, 50])):
            broken[draw.randrange(len(data))] = draw.randrange(256)
    else:
        broken = broken[: draw.randrange(20)] + draw.randbytes(draw.randrange(100))
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(broken)
    try:
        choose_columns(read_table(str(path)), Wanted())
    except CommandError as error:
        assert "\n" not in str(error)  # noqa: PT017 (a table is as good)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["", ".csv", ".json", ".xlsx", ".zip", ".jsonl"]))
def test_random_bytes_give_a_table_or_a_sentence(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"random{suffix}"
    path.write_bytes(data)
    try:
        choose_columns(read_table(str(path)), Wanted())
    except CommandError as error:
        assert "\n" not in str(error)  # noqa: PT017 (a table is as good)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_workbooks_with_damage_inside_give_a_table_or_a_sentence(tmp_path_factory, number):
    draw = random.Random(number)
    with zipfile.ZipFile(io.BytesIO(INTACT[0])) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    damaged = members[draw.choice(sorted(members))]
    for _ in range(draw.choice([1, 5, 20])):
        damaged[draw.randrange(len(damaged))] = draw.choice(b'0123456789<>/"=abc \0\xff')
    path = tmp_path_factory.getbasetemp() / "damaged.xlsx"
    path.write_bytes(zipped(**{name: bytes(data) for name, data in members.items()}))
    try:
        choose_columns(read_table(str(path)), Wanted())
    except CommandError as error:
        assert "\n" not in str(error)  # noqa: PT017 (a table is as good)
