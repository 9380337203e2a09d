"""bbclust analyze --engine dask: Parquet files, read in partitions by real workers."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_equal
from typer.testing import CliRunner

from bbclust import load_model
from bbclust.cli import dask_engine
from bbclust.cli.app import app
from bbclust.cli.input import column_survey
from bbclust.dask.cluster import client as clusters
from bbclust.dask.partitioned import parquet

GENERATOR = np.random.default_rng(3)
GROUPS = GENERATOR.integers(0, 3, size=900)
X = (GENERATOR.normal(size=(900, 3)) + 6 * GROUPS[:, None]).astype(np.float32) * [1, 10, 100]
FRAME = pl.DataFrame(X.astype(np.float32), schema=["a", "b", "c"]).with_columns(
    pl.Series("name", [f"row {i}" for i in range(900)]),
    pl.lit(5.0).alias("always"),
    pl.Series("user_id", np.arange(900)),
    pl.Series("kind", ["u", "v"] * 450),
)
QUICK = ["--k", "2:4", "--n-replicas", "30", "--prior-scales", "1", "--fast"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files, whose names are in order as numbers, each with several row groups."""
    folder = tmp_path_factory.mktemp("data") / "table"
    folder.mkdir()
    for part, (first, last) in {2: (0, 250), 9: (250, 600), 10: (600, 900)}.items():
        FRAME[first:last].write_parquet(folder / f"part-{part}.parquet", row_group_size=70)
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture(autouse=True)
def _small_partitions(monkeypatch):
    monkeypatch.setattr(parquet, "MAX_ROWS", 150)


def run(cluster, *arguments, engine="dask"):
    where = ["--engine", engine, "--scheduler", cluster.scheduler_address]
    return CliRunner().invoke(app, ["analyze", *map(str, arguments), *where])


def is_progress(line):
    """How far it is; how long it will take is told where that is long."""
    return line.endswith((" ...", " left"))


def assert_refused(result, sentence):
    assert result.exit_code == 2, result.output
    *progress, told = result.stderr.strip().splitlines()
    assert all(map(is_progress, progress)), result.stderr
    assert sentence.lower() in told.lower()


@pytest.fixture(scope="module")
def results(folder, cluster, tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "MAX_ROWS", 150)
        patch.setattr(column_survey, "SAMPLE", 400)
        result = run(cluster, folder, *QUICK, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result.stdout


@pytest.fixture(scope="module")
def summary(results):
    return json.loads((results[0] / "summary.json").read_text())


@pytest.fixture(scope="module")
def assignments(results):
    return pl.read_parquet(results[0] / "assignments/*.parquet")


def test_every_row_has_its_name_and_its_memberships_in_order(results, assignments):
    assert assignments["id"].to_list() == FRAME["name"].to_list()
    model = load_model(results[0] / "model.bbc")
    scaling = model.metadata_["scaling"]
    rows = FRAME.select("a", "b", "c").to_numpy()
    assert_allclose(scaling["center"], rows.mean(axis=0, dtype=np.float64), rtol=1e-12)
    assert_allclose(scaling["scale"], rows.std(axis=0, dtype=np.float64), rtol=1e-12)
    scaled = (rows - np.float32(scaling["center"])) / np.float32(scaling["scale"])
    memberships = assignments.select(pl.col("^membership_.*$")).to_numpy()
    assert_equal(memberships, model.predict_proba(scaled))
    assert_equal(assignments["label"].to_numpy(), memberships.argmax(axis=1))
    assert_equal(assignments["n_votes"].to_numpy(), np.full(900, 30))
    assert len({(a, b) for a, b in zip(GROUPS, assignments["label"], strict=True)}) == 3


def test_partitions_are_neighbouring_row_groups(results):
    lengths = [
        len(pl.read_parquet(file)) for file in sorted((results[0] / "assignments").iterdir())
    ]
    assert lengths == [140, 110, 140, 140, 70, 140, 140, 20]


def test_the_summary_counts_all_rows(summary, assignments, results):
    sizes = np.bincount(assignments["label"].to_numpy())
    largest = assignments.select(pl.max_horizontal("^membership_.*$")).to_series()
    entropy = assignments["entropy"].to_numpy()
    answer = summary["answer"]
    assert summary["data"]["n_rows"] == 900
    assert summary["data"]["sampled_rows"] == 400
    assert answer["n_clusters"] == 3
    assert answer["sizes"] == sizes.tolist() == [one["size"] for one in summary["clusters"]]
    assert answer["agreed_rows"] == (entropy == 0).sum()
    assert answer["rows_in_between"] == (largest < 0.75).sum()
    assert_allclose(answer["mean_entropy"], entropy.mean(), rtol=1e-12)
    for row in answer["most_uncertain"]:
        assert row["id"] == f"row {row['row'] - 1}"
        assert row["entropy"] == entropy[row["row"] - 1]
    assert "900 rows" in results[1]
    assert any("sample of 400 rows" in note for note in summary["notes"])
    page = (results[0] / "report.html").read_text()
    assert "out of a random sample of 400 of the 900" in page


def test_assignments_carry_the_columns_of_the_files(folder, cluster, tmp_path):
    labelled = tmp_path / "table.parquet"
    frame = FRAME.with_columns(pl.Series("label", ["old"] * 900))
    frame.write_parquet(labelled, row_group_size=70)
    options = ["--k", "3", "--n-replicas", "10", "--fast", "--with-columns"]
    result = run(cluster, labelled, *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = pl.read_parquet(tmp_path / "out" / "assignments/*.parquet")
    assert written.columns[: written.columns.index("n_votes") + 1][:2] == ["id", "label"]
    carried = written.select(*FRAME.columns, pl.col("label (2)").alias("label"))
    assert carried.equals(frame)


def test_the_audit_is_that_of_the_first_rows(summary):
    audit = {one["column"]: one for one in summary["data"]["audit"]}
    assert list(audit) == FRAME.columns
    assert audit["user_id"]["looks_like"][0]["kind"] == "identifier"
    assert audit["always"]["part"] == audit["user_id"]["part"] == "set aside"
    assert audit["name"]["part"] == "row names"


def test_columns_are_judged_as_by_the_local_engine(summary):
    data = summary["data"]
    assert data["columns"] == ["a", "b", "c"]
    assert data["id_column"] == "name"
    assert {one["column"]: one["reason"] for one in data["set_aside"]} == {
        "always": "constant, always 5",
        "user_id": "an id by its name; --columns takes it in",
        "kind": "text",
    }


def test_the_choice_of_k_is_that_of_the_local_engine(folder, cluster, tmp_path):
    """To the bit, if columns are not scaled."""
    FRAME.write_parquet(tmp_path / "one.parquet")
    options = [*QUICK, "--scale", "none", "--columns", "a,c"]
    assert run(cluster, folder, *options, "--out", tmp_path / "dask").exit_code == 0
    local = ["analyze", str(tmp_path / "one.parquet"), *options, "--out", str(tmp_path / "local")]
    assert CliRunner().invoke(app, local).exit_code == 0
    chosen = [(tmp_path / name / "selection.csv").read_bytes() for name in ("dask", "local")]
    assert chosen[0] == chosen[1]


def test_a_given_k_whole_numbers_and_gaps_that_are_none(cluster, tmp_path):
    frame = FRAME.select(pl.col("a").cast(pl.Int32), "b")
    frame.write_parquet(tmp_path / "whole.parquet", row_group_size=100)
    result = run(cluster, tmp_path / "whole.parquet", "--k", "2", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "out/selection.csv").exists()
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["data"]["sampled_rows"] is None
    assert summary["answer"]["most_uncertain"][0]["id"] is None
    ids = pl.read_parquet(tmp_path / "out/assignments/*.parquet")["id"]
    assert ids.to_list() == list(range(1, 901))


def test_a_run_that_was_stopped_is_resumed(results, folder, cluster, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:

        def stop(*_):
            raise KeyboardInterrupt

        patch.setattr(dask_engine, "_write_assignments", stop)
        patch.setattr(column_survey, "SAMPLE", 400)
        result = run(cluster, folder, *QUICK, "--out", out)
    assert result.exit_code == 130
    assert "--resume" in result.stderr
    assert not out.exists()
    assert_refused(run(cluster, folder, *QUICK, "--out", out), "did not come to its end")
    assert_refused(
        run(cluster, folder, *QUICK, "--seed", 1, "--out", out, "--resume"), "another --seed"
    )
    monkeypatch.setattr(column_survey, "SAMPLE", 400)
    result = run(cluster, folder, *QUICK, "--out", out, "--resume")
    assert result.exit_code == 0, result.output
    for name in ("selection.csv", "model.bbc", "assignments/part-000007.parquet"):
        assert (out / name).read_bytes() == (results[0] / name).read_bytes()
    assert not out.with_name("out.partial").exists()
    again = run(cluster, folder, *QUICK, "--out", out, "--resume")
    assert again.exit_code == 0
    assert again.stdout == result.stdout
    assert "measuring" not in again.stderr
    assert_refused(run(cluster, folder, *QUICK, "--out", out), "the directory exists")
    assert run(cluster, folder, "--k", 2, "--n-replicas", 5, "--out", out, "--force").exit_code == 0
    (out / "assignments/mine.txt").touch()
    assert_refused(
        run(cluster, folder, "--k", 2, "--out", out, "--force"), "holds 'mine.txt', which"
    )


def wait_for_a_cell(process, folder):
    while not list(folder.rglob("[!.]*.cell")):  # and not the draft of one
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"it ended with code {process.wait(0.1)}")


# The command, which tries to connect again for a second instead of ten.
SOON_GIVES_UP = """
from bbclust.cli import main
from bbclust.dask.cluster import client as clusters

connected = clusters.Client

def client(*arguments, **options):
    found = connected(*arguments, **options)
    found._timeout = 1
    return found

clusters.Client = client
main()
"""


@pytest.mark.measures
def test_a_scheduler_that_goes_away_is_told_in_one_sentence(
    processes, results, folder, cluster, tmp_path
):
    scheduler, file = processes
    out = tmp_path / "out"
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        address = client.scheduler.address
    options = ["analyze", folder, *QUICK, "--out", out, "--engine", "dask"]
    command = [sys.executable, "-c", SOON_GIVES_UP, *options, "--scheduler", address]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True)
    with process.stderr:
        wait_for_a_cell(process, tmp_path)
        scheduler.kill()
        *progress, told = process.stderr.read().splitlines()
    assert process.wait() == 2
    assert all(map(is_progress, progress)), progress
    assert told == (
        f"bbclust: The connection to the scheduler {address} was lost; what is finished is kept in "
        f"{out}.partial: go on by the same command and --resume."
    )
    result = run(cluster, folder, *QUICK, "--out", out, "--resume")
    assert result.exit_code == 0, result.output
    assert (out / "selection.csv").read_bytes() == (results[0] / "selection.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scale", "robust"], "--scale robust needs all rows in memory"),
        (["--missing", "drop"], "--missing drop needs all rows in memory"),
        (["--truth", "kind"], "--truth needs all rows in memory"),
        (["--na", "-999"], "--na is not for --engine dask"),
        (["--sheet", "1"], "--sheet is for Excel workbooks"),
        (["--categories", "one-hot"], "--categories one-hot needs all rows in memory"),
        (["--resampling", "rubin"], "--resampling rubin cannot be used with a partitioned table"),
        (["--workers", "2"], "--workers is for workers that are started here"),
        (["--memory-limit", "1GiB"], "--memory-limit is for workers that are started here"),
        (["--columns", "z"], "there is no column 'z'"),
        (["--columns", "kind"], "column 'kind' holds 'u' where numbers are needed"),
        (["--columns", "always"], "No column holds numbers that vary"),
    ],
)
def test_options_that_cannot_be_obeyed(options, sentence, folder, cluster, tmp_path):
    result = run(cluster, folder, *options, "--out", tmp_path / "out")
    assert_refused(result, sentence)
    assert not list(tmp_path.iterdir())


def test_cluster_options_need_the_engine(folder, cluster):
    assert_refused(run(cluster, folder, engine="local"), "--scheduler is for --engine dask")


@pytest.mark.parametrize(
    ("limit", "sentence"), [("lots", "is not understood"), ("100MB", "is less than the 512 MiB")]
)
def test_memory_limits_that_cannot_be(limit, sentence, folder):
    command = ["analyze", str(folder), "--engine", "dask", "--memory-limit", limit]
    assert_refused(CliRunner().invoke(app, command), sentence)


def test_nobody_at_the_address(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://"):
        command = ["analyze", folder, "--engine", "dask", "--scheduler", address]
        result = CliRunner().invoke(app, [*map(str, command), "--out", str(tmp_path / "out")])
        assert_refused(result, "No Dask scheduler answers at")
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_parquet(cluster, tmp_path):
    FRAME.write_csv(tmp_path / "rows.csv")
    assert_refused(run(cluster, tmp_path / "rows.csv"), "reads Parquet only")
    assert_refused(run(cluster, tmp_path / "none.parquet"), "There is no such file")
    assert_refused(run(cluster, "-"), "standard input")
    assert_refused(run(cluster, tmp_path), "holds no Parquet files")
    FRAME.write_parquet(tmp_path / "whole.parquet")
    half = (tmp_path / "whole.parquet").read_bytes()[:-100]
    (tmp_path / "half.parquet").write_bytes(half)
    assert_refused(run(cluster, tmp_path / "half.parquet"), "half.parquet is damaged")
    FRAME[:1].write_parquet(tmp_path / "row.parquet")
    assert_refused(run(cluster, tmp_path / "row.parquet"), "has 1 rows and at least 2")


def test_files_that_do_not_fit_together(cluster, tmp_path):
    FRAME.write_parquet(tmp_path / "1.parquet")
    FRAME.drop("c").write_parquet(tmp_path / "2.parquet")
    assert_refused(run(cluster, tmp_path), "2.parquet has no column 'c'")
    FRAME.with_columns(pl.col("c").cast(pl.String)).write_parquet(tmp_path / "2.parquet")
    assert_refused(run(cluster, tmp_path), "Column 'c' is large_string in 2.parquet and float")
    FRAME.select(pl.all().cast(pl.String)).write_parquet(tmp_path / "text.parquet")
    assert_refused(run(cluster, tmp_path / "text.parquet"), "No column holds numbers")


@pytest.mark.parametrize(
    ("value", "words"), [(None, "has no number"), (np.inf, "holds an infinite number")]
)
def test_a_gap_is_named_by_row_and_column_and_nothing_is_left(value, words, cluster, tmp_path):
    values = FRAME["b"].to_list()
    values[777] = value
    bad = FRAME.with_columns(pl.Series("b", values))
    bad.write_parquet(tmp_path / "bad.parquet", row_group_size=100)
    result = run(cluster, tmp_path / "bad.parquet", "--out", tmp_path / "new/out")
    assert_refused(result, f"Row 778, column 'b' {words}")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.parquet"]


def test_row_groups_that_no_worker_can_hold(cluster, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(column_survey, "PARTITIONS_IN_MEMORY", 10**6)
    result = run(cluster, folder, "--out", tmp_path / "out")
    assert_refused(result, "A row group holds 140 rows, for which a worker needs about")


@pytest.mark.measures
def test_a_cluster_of_its_own_is_closed_at_the_end(folder, tmp_path):
    FRAME.write_parquet(tmp_path / "big.parquet")
    options = ["--engine", "dask", "--workers", "1", "--memory-limit", "1GiB", "--k", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "bbclust", "analyze", "big.parquet", *options, "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=600,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"]["n_clusters"] == 3
    # how far it is is told too, on a machine that takes its time
    told = [line for line in done.stderr.splitlines() if " left" not in line]
    assert [line[:9] for line in told] == ["bbclust: "] * 6, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"big.parquet", "big-bbclust"}


@pytest.mark.measures
def test_ctrl_c_ends_with_one_sentence_and_closes_the_cluster(tmp_path):
    FRAME.write_parquet(tmp_path / "big.parquet")
    options = ["--engine", "dask", "--workers", "1", "--memory-limit", "1GiB"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bbclust", "analyze", "big.parquet", *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    with process.stderr:
        wait_for_a_cell(process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers hear it too
        lines = process.stderr.read().splitlines()
    assert process.wait(timeout=600) == 130
    told = [line for line in lines if not is_progress(line)]
    assert len(told) == 1, lines
    assert told[0].startswith("bbclust: Interrupted; what is finished is kept in")
    assert not (tmp_path / "big-bbclust").exists()
