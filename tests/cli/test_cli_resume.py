"""Runs that do not come to their end: killed, interrupted, resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust.cli.app import app
from bbclust.version import RESULTS, __version__

# The command, which gets a signal from itself when so many cells are done: no waiting, no chance.
SIGNALLED = """
import os, sys
from bbclust.cli import main
from bbclust.cli.output import progress

number, after = int(sys.argv.pop(1)), int(sys.argv.pop(1))
update = progress.Lines.update

def signalled(self, done, total):
    update(self, done, total)
    if self._step == "choosing K" and done == after:
        os.kill(os.getpid(), number)

progress.Lines.update = signalled
main()
"""
# Such commands one after the other, forked by a process that has imported all that they need: that
# takes longer than all they do. After each, how it ended, the files there and the number of cells.
ONE_AFTER_THE_OTHER = f"""
import json, os, sys
from pathlib import Path
import bbclust.cli.pipeline, bbclust.report

for arguments in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        sys.argv[1:] = arguments
        exec({SIGNALLED!r})
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, os.listdir(), len(list(Path().rglob("*.cell")))]), flush=True)
"""
OPTIONS = ["--k", "2:4", "--n-replicas", "40", "--n-resamples", "2", "--null-reference", "2"]
N_DATA, N_COMPARED = 3 * 3, 3 + 2  # comparisons for every K, then the rule and the pairs
N_CELLS = N_DATA + 2 * 3  # half-samples at one of three scales


def analyze(*arguments):
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)])


def signalled(number, after, *arguments, cwd):
    command = [sys.executable, "-c", SIGNALLED, str(int(number)), str(after)]
    return subprocess.run(
        [*command, "analyze", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    rows = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([0, 3, 6], 20)[:, None]
    pl.DataFrame(rows, schema=["a", "b", "c"]).write_csv(path)
    return path


@pytest.fixture(scope="module")
def uninterrupted(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out"
    result = analyze(table, *OPTIONS, "--out", out)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def interrupted(table, tmp_path_factory):
    """The process that got Ctrl-C after five cells, and where it worked."""
    folder = tmp_path_factory.mktemp("interrupted")
    return signalled(signal.SIGINT, 5, table, *OPTIONS, "--out", "out", cwd=folder), folder


def assert_same_results(out, expected):
    for name in os.listdir(expected):
        assert (out / name).read_bytes() == (expected / name).read_bytes(), name


@pytest.mark.measures
def test_killed_again_and_again_it_ends_with_the_same_results(table, uninterrupted, tmp_path):
    killed = str(int(signal.SIGKILL))
    runs = [
        [killed, str(after), "analyze", str(table), *OPTIONS, "--out", "out", *resume]
        for after, resume in (
            (1, []),
            (N_DATA + 2, ["--resume"]),
            (N_COMPARED + N_CELLS - 1, ["--resume"]),
        )
    ]
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(runs)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        [-signal.SIGKILL, ["out.partial"], n_cells] for n_cells in (1, N_DATA, N_CELLS - 1)
    ]
    result = analyze(table, *OPTIONS, "--out", tmp_path / "out", "--resume")
    assert result.exit_code == 0, result.output
    assert os.listdir(tmp_path) == ["out"]
    assert_same_results(tmp_path / "out", uninterrupted)


@pytest.mark.measures
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(interrupted):
    done, folder = interrupted
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"bbclust: Interrupted; what is finished is kept in {folder / 'out.partial'}: go on by the "
        "same command and --resume."
    )
    assert os.listdir(folder) == ["out.partial"]
    assert len(list(folder.rglob("*.cell"))) == 5


def test_an_unfinished_run_is_neither_forgotten_nor_mixed_up(
    table, interrupted, uninterrupted, tmp_path
):
    shutil.copytree(interrupted[1] / "out.partial", tmp_path / "out.partial")
    out = tmp_path / "out"
    refused = analyze(table, *OPTIONS, "--out", out)
    assert refused.exit_code == 2
    assert "an earlier run did not come to its end: go on with it by --resume" in refused.output
    assert analyze(table, *OPTIONS, "--out", out, "--resume").exit_code == 0
    assert_same_results(out, uninterrupted)


def test_resume_from_nothing_begins(table, uninterrupted, tmp_path):
    assert analyze(table, *OPTIONS, "--out", tmp_path / "out", "--resume").exit_code == 0
    assert_same_results(tmp_path / "out", uninterrupted)


def test_a_damaged_part_is_computed_again(table, interrupted, uninterrupted, tmp_path):
    shutil.copytree(interrupted[1] / "out.partial", tmp_path / "out.partial")
    damaged = next((tmp_path / "out.partial").rglob("*.cell"))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    assert analyze(table, *OPTIONS, "--out", tmp_path / "out", "--resume").exit_code == 0
    assert_same_results(tmp_path / "out", uninterrupted)


CHANGES = [
    (["--k", "2:5"], "another --k (2,3,4, now 2,3,4,5)"),
    (["--seed", "1"], "another --seed (0, now 1)"),
    (["--n-replicas", "41"], "another --n-replicas (40, now 41)"),
    (["--n-resamples", "3"], "another --n-resamples (2, now 3)"),
    (["--scale", "none"], "another --scale"),
    (["--exclude", "b"], "other data"),
]


@pytest.mark.parametrize(("change", "sentence"), CHANGES)
def test_resume_refuses_other_data_and_settings(table, interrupted, change, sentence):
    _, folder = interrupted
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    done = analyze(table, *OPTIONS, *change, "--out", folder / "out", "--resume")
    assert done.exit_code == 2
    assert f"the run that did not end had {sentence}: give the same file" in done.output
    assert {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before


MAKERS = [
    ({"results_version": RESULTS - 1}, f"bbclust {__version__} with results {RESULTS - 1}"),
    ({"bbclust": "0.0.1"}, f"bbclust 0.0.1 with results {RESULTS}"),
    ({"results_version": None}, "a bbclust that did not number its results"),
]


def changed(plain, change):
    """Plain data with other values, and without those that are None."""
    return {name: value for name, value in {**plain, **change}.items() if value is not None}


@pytest.mark.parametrize(("change", "maker"), MAKERS)
def test_an_unfinished_run_of_another_bbclust_is_refused(
    table, interrupted, tmp_path, change, maker
):
    shutil.copytree(interrupted[1] / "out.partial", tmp_path / "out.partial")
    identity = tmp_path / "out.partial" / "run.json"
    identity.write_text(json.dumps(changed(json.loads(identity.read_text()), change)))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    refused = analyze(table, *OPTIONS, "--out", tmp_path / "out", "--resume")
    assert refused.exit_code == 2
    assert f"was begun by {maker}, and this is bbclust {__version__}" in refused.output
    assert "start anew with --force, or give another directory" in refused.output
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


OURS = {"bbclust": __version__, "results_version": RESULTS}
EDITED = [OURS, {**OURS, "settings": []}, {**OURS, "settings": {"command": 1, "scaling": 2}}]


UNREADABLE = [None, "{", "[]", "{}", "[1]", "[" * 100_000, *map(json.dumps, EDITED)]


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_unfinished_run_that_does_not_say_who_began_it_is_refused(
    table, interrupted, tmp_path, content
):
    shutil.copytree(interrupted[1] / "out.partial", tmp_path / "out.partial")
    identity = tmp_path / "out.partial" / "run.json"
    identity.unlink() if content is None else identity.write_text(content)
    refused = analyze(table, *OPTIONS, "--out", tmp_path / "out", "--resume")
    assert refused.exit_code == 2
    assert "begun by a bbclust that did not number its results" in refused.output


@pytest.mark.parametrize(("change", "maker"), MAKERS)
def test_finished_results_of_another_bbclust_are_refused(
    table, uninterrupted, tmp_path, change, maker
):
    out = shutil.copytree(uninterrupted, tmp_path / "out")
    summary = json.loads((out / "summary.json").read_text())
    if "bbclust" in change:
        change = {"versions": {**summary["versions"], **change}}
    (out / "summary.json").write_text(json.dumps(changed(summary, change)))
    before = (out / "summary.json").read_bytes()
    refused = analyze(table, *OPTIONS, "--out", out, "--resume")
    assert refused.exit_code == 2
    assert f"were made by {maker}, and this is bbclust {__version__}" in refused.output
    assert "say --force to replace them, or give another directory" in refused.output
    assert (out / "summary.json").read_bytes() == before


def test_resume_of_what_is_complete_tells_the_answer_again(table, uninterrupted):
    before = (uninterrupted / "summary.json").read_bytes()
    arguments = (table, *OPTIONS, "--out", uninterrupted, "--resume")
    result = analyze(*arguments, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(before)
    leftover = uninterrupted.with_name("out.partial") / "checkpoint"
    leftover.mkdir(parents=True)  # as if it had been killed while it cleaned up
    assert analyze(*arguments).exit_code == 0
    assert os.listdir(uninterrupted.parent) == ["out"]
    refused = analyze(*arguments, "--seed", 5)
    assert refused.exit_code == 2
    assert "the results there are complete and have another --seed (0, now 5)" in refused.output
    assert (uninterrupted / "summary.json").read_bytes() == before
