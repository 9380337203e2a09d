"""Bad input: one sentence on stderr, exit code 2, no traceback, nothing half-written."""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust import BBC
from bbclust.cli import main
from bbclust.cli.app import app

ROWS = np.random.default_rng(0).normal(size=(40, 3))
GOOD = pl.DataFrame(ROWS, schema=["a", "b", "c"])
FIT = ["fit", "--k", "2", "--n-replicas", "40"]


def csv(rows):
    return f"a,b\n1,2\n3,4\n5,7\n{rows}".encode()


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """What the console script runs, in this process: importing anew takes longer than failing."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["bbclust", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return Done(left.value.code, *capfd.readouterr())

    return call


def shell(*arguments, cwd, **options):
    command = [sys.executable, "-m", "bbclust", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=600, **options
    )


def assert_one_sentence(done, *parts):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    progress = (" ...", " left")
    lines = [line for line in done.stderr.splitlines() if not line.endswith(progress)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("bbclust: ")
    assert lines[0].endswith((".", "?"))
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in lines[0]


FILES = {
    "empty file": (b"", ["t.csv: the file is empty"]),
    "header only": (b"a,b\n", ["t.csv: the table has columns and no rows"]),
    "one row": (b"a,b\n1,2\n", ["the table has 1 row and at least 2 rows are needed"]),
    "no numeric column": (b"a,b\nx,y\nz,w\nz,v\n", ["no column holds numbers", "'a': text"]),
    "all columns constant": (b"a,b\n1,2\n1,2\n", ["'a': constant, always 1"]),
    "short row": (csv("6\n"), ["line 5 has 1 field and the first line has 2"]),
    "long row": (csv("6,7,8\n"), ["line 5 has 3 fields and the first line has 2"]),
    "open quote": (csv('6,"7\n8,9\n'), ["t.csv: ", "column 'b'"]),
    "mixed types": (csv("x,7\n"), ["row 4, column 'a' holds 'x' where numbers are needed"]),
    "NaN": (csv("6,NaN\n"), ["row 4, column 'b' has no number", "--missing drop"]),
    "empty cell": (csv("6,\n"), ["row 4, column 'b' has no number", "--missing drop"]),
    "infinity": (csv("-inf,7\n"), ["row 4, column 'a' holds -inf", "--missing drop"]),
    "overflow": (csv("1e999,7\n"), ["row 4, column 'a' holds inf"]),
    "too large": (csv("1e308,7\n-1e308,8\n"), ["column 'a' holds numbers too large"]),
    "thousands": (csv('"1,234",7\n'), ["column 'a' holds cells such as '1,234'", "--decimal"]),
    "undecided header": (b"a,7\n1,2\n3,4\n", ["say --header or --no-header"]),
    "Latin-1": ("a,b\n1,2\né,3\n".encode("latin-1"), ["byte 0xe9 at position 8, in line 3"]),
    "cut UTF-16": ("a,b\n1,2\n".encode("utf-16")[:-1], ["is not UTF-16 text"]),
    "binary junk": (bytes(range(256)) * 9, ["binary data (a zero byte at position 0)"]),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(99), ["t.csv: "]),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_cannot_be_clustered(case, tmp_path, command):
    data, parts = FILES[case]
    (tmp_path / "t.csv").write_bytes(data)
    assert_one_sentence(command(*FIT, "t.csv"), *parts)
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("case", ["mixed types", "NaN", "binary junk"])
def test_the_same_in_a_process_of_its_own(case, tmp_path):
    data, parts = FILES[case]
    (tmp_path / "t.csv").write_bytes(data)
    assert_one_sentence(shell("analyze", "t.csv", cwd=tmp_path), *parts)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_missing_file_and_a_directory(tmp_path, command):
    (tmp_path / "folder").mkdir()
    assert_one_sentence(command(*FIT, "nothing.csv"), "nothing.csv: there is no such file")
    assert_one_sentence(command(*FIT, "folder"), "folder: this is a directory")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("keep", [3, 100, -1])
def test_a_truncated_parquet(tmp_path, keep, command):
    GOOD.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:keep])
    assert_one_sentence(command(*FIT, "t.parquet"), "t.parquet: ")
    assert os.listdir(tmp_path) == ["t.parquet"]


MODELS = {
    "another kind": b"PK\x03\x04 something else",
    "text": b"a,b\n1,2\n",
    "empty": b"",
    "pickle": b"\x80\x04\x95",
}


@pytest.mark.parametrize("case", [*MODELS, "damaged", "directory", "missing"])
@pytest.mark.parametrize("name", ["predict", "report"])
def test_files_that_are_no_models(name, case, tmp_path, command):
    path = tmp_path / "model.bbc"
    GOOD.write_csv(tmp_path / "t.csv")
    if case == "damaged":
        BBC(2, n_replicas=50, random_state=0).fit(ROWS).save(path)
        path.write_bytes(path.read_bytes().replace(b"BBC", b"BCB", 1)[:-1] + b"0")
    elif case == "directory":
        path.mkdir()
    elif case != "missing":
        path.write_bytes(MODELS[case])
    before = sorted(os.listdir(tmp_path))
    assert_one_sentence(command(name, path, "t.csv"), "model.bbc")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a,b\n1,2\n", "the model needs a column 'c', which the file does not have"),
        ("a,b,c\n1,2,x\n", "row 1, column 'c' holds 'x'"),
        ("a,b,c\n1,2,\n", "the model needs the column 'c', which holds no numbers (empty)"),
        ("a,b,c\n", "the table has columns and no rows"),
    ],
)
def test_rows_that_a_model_cannot_judge(tmp_path, text, part, command):
    (tmp_path / "t.csv").write_text(text)
    model = BBC(2, n_replicas=50, random_state=0).fit(GOOD)
    model.save(tmp_path / "model.bbc")
    assert_one_sentence(command("predict", "model.bbc", "t.csv", "--out", "rows.csv"), part)
    assert sorted(os.listdir(tmp_path)) == ["model.bbc", "t.csv"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["analyze", "t.csv", "--k", "x"], "--k 'x' is not understood"),
        (
            ["analyze", "t.csv", "--k", "50:60"],
            "--k starts at 50 and the table has 40 distinct rows",
        ),
        (["fit", "t.csv", "--k", "50"], "--k 50 is more than the 40 distinct rows of the table"),
        (["fit", "t.csv", "--k", "2", "--prior-weight", "2"], "--prior-weight must be at least 0"),
        (["fit", "t.csv", "--k", "2", "--jobs", "0"], "--jobs must not be 0: use 1"),
        (["fit", "t.csv", "--k", "2", "--columns", "q"], "--columns: there is no column 'q'"),
        (["fit", "t.csv", "--k", "2", "--delimiter", "--"], "--delimiter must be one character"),
        (["fit", "t.csv", "--k", "2", "--decimal", "x"], "--decimal must be . or ,"),
        (["fit", "t.csv", "--k", "2", "--encoding", "x"], "there is no encoding 'x'"),
        (["analyze", "t.csv", "--prior-scales", "1,x"], "--prior-scales '1,x' is not understood"),
    ],
)
def test_options_that_cannot_be_met(tmp_path, options, part, command):
    GOOD.write_csv(tmp_path / "t.csv")
    assert_one_sentence(command(*options), part)
    assert os.listdir(tmp_path) == ["t.csv"]


@contextmanager
def files_limited_to(size):
    """Writing beyond fails with a real error of the system, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def run(*arguments):
    """A command in this process, whose words go to memory: a limit of files is none for them."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.mark.measures
@pytest.mark.parametrize("size", [100, 5_000])
def test_a_full_disk_leaves_nothing(tmp_path, size, monkeypatch):
    """The limits are met by the first file of all, and by the model."""
    monkeypatch.chdir(tmp_path)
    GOOD.write_csv("t.csv")
    with files_limited_to(size):
        done = run(*FIT, "t.csv")
    assert_one_sentence(done, "The disk is full")
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.measures
def test_a_full_disk_at_the_end_keeps_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    GOOD.write_csv("t.csv")
    options = ["analyze", "t.csv", "--k", "2:3", "--n-replicas", "40", "--fast", "--out", "out"]
    with files_limited_to(5_000):
        done = run(*options)
    assert_one_sentence(done, "The disk is full", "go on by the same command and --resume")
    assert sorted(os.listdir(tmp_path)) == ["out.partial", "t.csv"]
    assert not list(tmp_path.rglob("assignments*"))
    assert run(*options, "--resume").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["out", "t.csv"]


@pytest.mark.measures
def test_a_full_standard_output(tmp_path):
    GOOD.write_csv(tmp_path / "t.csv")
    BBC(2, n_replicas=50, random_state=0).fit(GOOD).save(tmp_path / "model.bbc")
    command = [sys.executable, "-m", "bbclust", "predict", "model.bbc", "t.csv"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )
    assert done.returncode == 2
    assert "The disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def obey_permissions():
    """Take from root the right to ignore permissions; the system then refuses as to anybody."""
    drop_from_bounding_set, may_override_permissions = 24, 1
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(drop_from_bounding_set, may_override_permissions, 0, 0, 0) == 0


def test_a_directory_without_permission_to_write(tmp_path):
    GOOD.write_csv(tmp_path / "t.csv")
    (tmp_path / "locked").mkdir(mode=0o555)
    done = shell(*FIT, "t.csv", "--out", "locked/out", cwd=tmp_path, preexec_fn=obey_permissions)
    assert_one_sentence(done, "no permission to open or write", "locked")
    assert os.listdir(tmp_path / "locked") == []


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode,
    reason="needs the right to mount",
)
def test_a_read_only_disk(tmp_path):
    GOOD.write_csv(tmp_path / "t.csv")
    (tmp_path / "disk").mkdir()
    script = (
        "mount --bind disk disk && mount -o remount,bind,ro disk && "
        f"{sys.executable} -m bbclust {' '.join(FIT)} t.csv --out disk/out"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert_one_sentence(done, "The disk of", "is read-only")
    assert os.listdir(tmp_path / "disk") == []


def test_an_output_beneath_a_file(tmp_path, command):
    GOOD.write_csv(tmp_path / "t.csv")
    assert_one_sentence(command(*FIT, "t.csv", "--out", "t.csv/out"), "t.csv/out")
    assert_one_sentence(command(*FIT, "t.csv", "--out", "t.csv"), "this is a file")
    assert os.listdir(tmp_path) == ["t.csv"]
