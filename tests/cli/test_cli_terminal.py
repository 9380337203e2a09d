"""What people see: on terminals of several widths, in pipes, and twice in the same files."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import numpy as np
import pytest
from typer.testing import CliRunner

from bbclust.cli.app import app
from bbclust.cli.output.errors import CommandError, one_sentence
from bbclust.datasets import load_iris

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def run(*arguments):
    """A command in this process; what it printed and its exit code."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def on_a_terminal(*arguments, columns, cwd, program=("-m", "bbclust")):
    """What a command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    messages, end = os.pipe()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=end,
        cwd=cwd,
        env=environment,
    ) as process:
        os.close(theirs)
        os.close(end)
        shown = read_all(ours)
        said = read_all(messages)
    os.close(ours)
    os.close(messages)
    assert process.returncode == 0, said
    return ESCAPES.sub("", shown).replace("\r\n", "\n")


def read_all(descriptor):
    """All that comes until the other end is closed."""
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # a terminal that nobody writes to any more
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "iris.csv"
    names = "sepal length,sepal width,petal length,petal width"
    np.savetxt(path, load_iris().data[::2], delimiter=",", header=names, comments="")
    return path


QUICK = ("--k", "2:3", "--n-replicas", 40, "--n-resamples", 2, "--null-reference", 2)
METHODS = [
    "bbclust",
    "silhouette",
    "Calinski-Harabasz",
    "Davies-Bouldin",
    "gap",
    "gap (1 se)",
    "gap (PC)",
    "gap (PC, 1 se)",
    "mixture BIC (tied)",
    "pred. strength",
]


def scores_shown(text):
    """Scores by method and K, from all tables of scores together."""
    scores, k_values = {}, []
    for line in text.splitlines():
        if re.match(r"  K( +\d+)+ *$", line):
            k_values = [int(k) for k in line.split()[1:]]
            starts = [match.start() for match in re.finditer(r"\d+", line)]
        elif any(line.startswith(f"  {name} ") for name in METHODS) and k_values:
            name = line[: starts[0]].strip()
            for k, start, end in zip(k_values, starts, [*starts[1:], None], strict=True):
                scores[name, k] = line[start:end].strip()
    return scores


# The command, which shows its result again whenever its terminal has been made wider.
WIDTHS = (60, 80, 120)
WIDENED = f"""
import fcntl, struct, termios
import bbclust.cli.commands.compare as compare
from bbclust.cli import main

show = compare.show_comparison

def show_at_every_width(choices):
    for columns in {WIDTHS}:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        print(end="\\f", flush=True)
        show(choices)

compare.show_comparison = show_at_every_width
main()
"""


@pytest.fixture(scope="module")
def compared(table, tmp_path_factory):
    """What compare shows, by the columns of the terminal."""
    folder = tmp_path_factory.mktemp("compared")
    options = ("compare", table, "--k", "2:10")
    shown = on_a_terminal(*options, columns=WIDTHS[0], cwd=folder, program=("-c", WIDENED))
    before, *parts = shown.split("\f")
    assert before == ""
    return dict(zip(WIDTHS, parts, strict=True))


@pytest.mark.parametrize("columns", WIDTHS)
def test_compare_can_be_read_on_a_terminal(compared, columns):
    shown = compared[columns]
    assert "…" not in shown  # nothing is cut off
    widest = max(len(line.rstrip()) for line in shown.splitlines())
    assert max([0, *(width for width in WIDTHS if width < columns)]) < widest <= columns
    assert re.match(r"bbclust chooses \d+\.\sOf\s9\sother\smethods", shown)
    scores = scores_shown(shown)
    assert {name for name, _ in scores} == set(METHODS)
    assert {k for _, k in scores} == set(range(1, 11))
    for name in METHODS:
        assert sum(scores[name, k].endswith("*") for k in range(1, 11)) == 1, name
        assert all(re.fullmatch(r"-?[\d.e+]+\*?", scores[name, k]) for k in range(2, 11)), name


def test_compare_in_a_pipe_has_the_same_tables_and_the_k_of_analyze(table, tmp_path):
    shown = run("compare", table, "--k", "2:4").stdout
    assert {name for name, _ in scores_shown(shown)} == set(METHODS)
    options = ("--k", "2:4", "--n-resamples", 0, "--out", tmp_path / "out")
    assert run("select", table, *options).exit_code == 0
    best_k = json.loads((tmp_path / "out" / "summary.json").read_text())["answer"]["n_clusters"]
    assert shown.startswith(f"bbclust chooses {best_k}.")


@pytest.fixture(scope="module")
def piped(table, tmp_path_factory):
    """What analyze prints where there is no terminal."""
    return run("analyze", table, *QUICK, "--out", tmp_path_factory.mktemp("piped") / "wide").stdout


# The command, again for every width: importing takes longer than the rest.
AGAIN = """
import fcntl, struct, sys, termios
from bbclust.cli import main

for columns in (60, 80):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    print(end="\\f", flush=True)
    try:
        main()
    except SystemExit as left:
        assert left.code == 0
    sys.argv.append("--force")
"""


@pytest.fixture(scope="module")
def narrow(table, tmp_path_factory):
    """What analyze shows, by the columns of the terminal."""
    folder = tmp_path_factory.mktemp("narrow")
    (folder / "iris.csv").write_bytes(table.read_bytes())
    options = ("analyze", "iris.csv", *QUICK, "--out", "narrow")
    shown = on_a_terminal(*options, columns=60, cwd=folder, program=("-c", AGAIN))
    before, *parts = shown.split("\f")
    assert before == ""
    return dict(zip((60, 80), parts, strict=True))


@pytest.mark.parametrize("columns", [60, 80])
def test_sentences_are_broken_between_words_on_a_terminal(piped, narrow, columns):
    shown = narrow[columns]
    assert max(map(len, shown.splitlines())) <= columns
    sentence = piped.splitlines()[0]
    assert len(sentence) > 60
    assert sentence in " ".join(shown.split("\n\n")[0].split())


def test_an_error_is_broken_between_words_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", Terminal())
    sentence = "table.csv: row 6, column 'b' has no number: correct it, or leave such rows out."
    with pytest.raises(SystemExit), one_sentence():
        raise CommandError(sentence)
    lines = sys.stderr.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == f"bbclust: {sentence}"


@pytest.mark.measures
def test_a_bar_shows_one_time(tmp_path):
    """What has passed and what is left, side by side, could not be told apart."""
    script = (
        "from bbclust.cli.output.progress import watch\n"
        "with watch(quiet=False) as progress:\n"
        "    progress.begin('choosing K')\n"
        "    progress.update(1, 4)\n"
        "    progress._rich.refresh()\n"
        "    progress.update(2, 4)\n"
        "    progress._rich.refresh()\n"
        "    progress.begin('writing the results')\n"
        "    progress._rich.refresh()\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    with subprocess.Popen(
        [sys.executable, "-c", script], stderr=theirs, cwd=tmp_path, env=environment
    ) as program:
        os.close(theirs)
        shown = ESCAPES.sub("", read_all(ours))
    os.close(ours)
    assert program.returncode == 0
    assert re.search(r"choosing K \S+ 2 of 4, about \d+ s left", shown)
    assert re.search(r"writing the results \S+ \d+ s", shown)
    assert "0:00" not in shown
    assert re.search(r"bbclust: done in \d+ s$", shown.rstrip())


def test_two_runs_give_the_same_bytes(table, tmp_path):
    for name, jobs in (("first", 1), ("second", 2)):
        result = run("analyze", table, *QUICK, "--jobs", jobs, "--out", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert re.search(r"bbclust: done in \d+ s", result.stderr)
    for path in sorted((tmp_path / "first").iterdir()):
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_two_demos_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        assert run("demo", "--fast", "--k", "2:3", "--out", tmp_path / name).exit_code == 0
    for path in sorted((tmp_path / "first").iterdir()):
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_a_choice_at_the_edge_of_the_range_says_which_option_goes_on(tmp_path):
    centers = np.array([[i % 3, i // 3] for i in range(9)]) * 8.0
    rows = np.random.default_rng(0).normal(size=(270, 2)) + np.repeat(centers, 30, axis=0)
    path, out = tmp_path / "blobs.csv", tmp_path / "out"
    np.savetxt(path, rows, delimiter=",", header="a,b", comments="")
    options = ("--k", "2:4", "--n-replicas", 40, "--n-resamples", 0, "--prior-scales", 1)
    for command in ("analyze", "select"):
        result = run(command, path, *options, "--out", out / command)
        assert result.exit_code == 0, result.output
        assert "more clusters may fit: try --k auto" in result.stdout
        for file in ("report.html", "summary.json"):
            if (out / command / file).exists():
                text = (out / command / file).read_text()
                assert "more clusters may fit: try --k auto" in text
                assert "k_range" not in text.partition("<script")[0]


def test_one_cluster_is_set_apart_by_nothing(table, tmp_path):
    for command in ("fit", "analyze"):
        out = tmp_path / command
        result = run(command, table, "--k", 1, "--out", out)
        assert result.exit_code == 0, result.output
        assert "set apart" not in result.stdout
        assert "bits" not in result.stdout
        assert "sets each cluster apart" not in (out / "report.html").read_text()


def test_one_replica_gives_no_certainty(tmp_path):
    path, out = tmp_path / "noise.csv", tmp_path / "out"
    rows = np.random.default_rng(0).normal(size=(200, 3))
    np.savetxt(path, rows, delimiter=",", header="a,b,c", comments="")
    result = run("fit", path, "--k", 3, "--n-replicas", 1, "--out", out)
    assert result.exit_code == 0, result.output
    assert "how stable the division is cannot be told" in result.stdout
    assert "is stable" not in result.stdout
    assert "Mean entropy" not in result.stdout
    page = (out / "report.html").read_text()
    assert "how stable the division is cannot be told" in page
    assert "one vote a row tells nothing" in page
    refused = run("analyze", path, "--n-replicas", 1, "--out", tmp_path / "other")
    assert refused.exit_code == 2
    assert "leaves nobody to disagree" in refused.stderr


def settings_of(out):
    return json.loads((out / "summary.json").read_text())["settings"]["command"]


def test_the_settings_of_a_fast_run_are_those_it_used(table, tmp_path):
    out = tmp_path / "out"
    options = ("--k", "2:3", "--n-replicas", 40, "--fast", "--null-reference", 19)
    assert run("analyze", table, *options, "--out", out).exit_code == 0
    used = settings_of(out)
    assert used["fast"] is True
    assert used["null_reference"] == used["n_resamples"] == 0
    assert used["n_init"] == 2
    assert run("analyze", table, *options, "--out", out, "--resume").exit_code == 0
    other = run("analyze", table, *options[:4], "--out", out, "--resume")
    assert "another --fast (True, now False)" in other.output


def test_the_settings_of_a_given_k_say_nothing_of_a_choice(table, tmp_path):
    out = tmp_path / "out"
    assert run("analyze", table, "--k", 3, "--n-replicas", 40, "--out", out).exit_code == 0
    used = settings_of(out)
    assert used["n_init"] == 5
    assert used["prior_scales"] == [1.0]
    assert not {"criterion", "null_reference", "n_resamples", "fast"} & used.keys()
