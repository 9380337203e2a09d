"""The reproduction of the paper: its parts by hand, its page, and a quick run of what is cheap."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bbclust.datasets import load_iris
from reproduction import audit_formula, audit_replicas, calibration, dimensions, run
from reproduction.command import main
from reproduction.contingency import species_by_cluster
from reproduction.expectations import deviations, figures, make_tolerances, used
from reproduction.files import PAGE, PICTURES, RESULTS
from reproduction.page import render
from reproduction.pictures import write_pictures
from reproduction.printed import printed
from reproduction.readings import on_the_six, printed_bits, summarize_reading
from reproduction.results import read_results, shortened, write_results
from reproduction.spread import share_below, spread, wilson
from reproduction.studies import STUDIES, choose_studies
from reproduction.study_context import DATASETS, K_VALUES, TRUE_K, StudyContext
from reproduction.table_2 import OneComponentPerReplica, compare_tables, count_inside
from reproduction.value_table import (
    at_true_k_and_elsewhere,
    compare_row,
    count_central,
    lead_of_true_k,
)

DOCS = Path(__file__).parents[2] / "docs"
GOLDEN = Path(__file__).parents[1] / "golden" / "paper_quick.json"


# --- a quick run ----------------------------------------------------------------------------------

# The others take minutes: reliability/reproduction.py runs all.
CHEAP = (
    "table-1",
    "table-2",
    "table-3",
    "figure-1",
    "figure-2",
    "figure-3",
    "figure-4",
    "figure-6",
    "figure-7",
    "audit-units",
    "audit-formula",
    "audit-weights",
    "audit-limit",
)


@pytest.fixture(scope="module")
def quick():
    return run(CHEAP, n_jobs=1)


# Whatever the random numbers are: see expectations.py for the error rate. It notices measures in
# other units, other votes, other starts, other weights, another prior, and changed data.
def test_a_quick_run_gives_what_is_expected_of_any_seed(quick):
    expected = json.loads(GOLDEN.read_text())
    cheap = {name for name in expected if name.partition(":")[0] in CHEAP}
    assert len(cheap) > 100
    assert figures(quick).keys() == cheap
    assert deviations(quick, expected) == []


def test_there_are_expectations_of_every_study_that_has_figures():
    expected = {name.partition(":")[0] for name in json.loads(GOLDEN.read_text())}
    assert expected == {name for name, study in STUDIES.items() if study.expect is not None}


def test_every_study_is_shown_on_the_page():
    page = (DOCS / PAGE).read_text()
    for study in STUDIES.values():
        assert f"### {study.title}\n" in page
    for number in range(1, 8):
        assert f"Table {number}:" in page
        assert f"Figure {number}:" in page


def test_the_page_of_a_file_is_the_page_of_the_run(quick, tmp_path):
    write_results(quick, tmp_path / RESULTS)
    assert read_results(tmp_path / RESULTS) == quick
    assert render(read_results(tmp_path / RESULTS)) == render(quick)


def test_one_study_can_be_run_again_among_the_others(tmp_path, capsys):
    folder = ["--out", str(tmp_path), "--quiet"]
    assert main(["--only", "table-1", "--only", "figure-2", *folder]) == 0
    before = read_results(tmp_path / "paper.json")
    assert main(["--only", "table-1", "--update", *folder]) == 0
    after = read_results(tmp_path / "paper.json")
    assert after["studies"] == before["studies"]
    assert after["about"]["minutes"] >= before["about"]["minutes"]
    assert main(["--only", "table-1", "--update", "--seed", "1", *folder]) == 2
    assert "of seed 0 and cannot be updated with 1" in capsys.readouterr().err


# --- the page of the documentation ----------------------------------------------------------------


def test_the_page_of_the_documentation_is_that_of_its_results():
    results = read_results(DOCS / RESULTS)
    assert results["about"]["effort"] == "full"
    assert results["studies"].keys() == STUDIES.keys()
    assert render(results).encode() == (DOCS / PAGE).read_bytes()


def test_the_pictures_of_the_documentation_are_there_and_small():
    named = set(re.findall(r"\((images/paper/[a-z0-9-]+\.png)\)", (DOCS / PAGE).read_text()))
    there = {path.relative_to(DOCS).as_posix() for path in (DOCS / PICTURES).glob("*")}
    assert named == there
    assert sum((DOCS / name).stat().st_size for name in named) < 600_000
    assert (DOCS / RESULTS).stat().st_size < 200_000


# What the page must show, in the results of the full run.
def test_the_full_run_has_table_1_exactly_and_table_2a_within_two_flowers():
    studies = read_results(DOCS / RESULTS)["studies"]
    assert studies["table-1"]["n_same"] == studies["table-1"]["n_seeds"]
    scales = [one for one in studies["table-2"]["settings"] if one["prior_weight"] == 0.1]
    assert [one["prior_scale"] for one in scales] == [1, 10, 100]
    for one in scales:
        assert one["variants"]["as written"]["farthest"] <= 2


@pytest.mark.parametrize("table", ["table-4", "table-5"])
def test_averaged_curves_of_the_full_run_are_lowest_at_the_true_k(table):
    for row in read_results(DOCS / RESULTS)["studies"][table]["rows"]:
        assert row["variants"]["ours, B = 200"]["choice_of_mean"] == row["true_k"]


# --- the command ----------------------------------------------------------------------------------


def test_one_study_alone_writes_results_page_and_pictures(tmp_path, capsys):
    assert main(["--only", "figure-2", "--out", str(tmp_path), "--jobs", "1"]) == 0
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert written == {RESULTS, PAGE, "images/paper/figure-2.png"}
    assert capsys.readouterr().out.split() == [
        str(tmp_path / name) for name in (RESULTS, PAGE, "images/paper/figure-2.png")
    ]


def test_the_page_can_be_made_again(tmp_path):
    main(["--only", "table-1", "--out", str(tmp_path), "--jobs", "1"])
    first = (tmp_path / PAGE).read_bytes()
    (tmp_path / PAGE).unlink()
    assert main(["--page", str(tmp_path / RESULTS), "--out", str(tmp_path)]) == 0
    assert (tmp_path / PAGE).read_bytes() == first


def test_pictures_are_the_same_bytes_for_the_same_results(tmp_path):
    main(["--page", str(DOCS / RESULTS), "--out", str(tmp_path / "all")])
    pictures = {path.name: path for path in (tmp_path / "all" / PICTURES).glob("*.png")}
    assert len(pictures) == sum(study.draw is not None for study in STUDIES.values())
    results = read_results(DOCS / RESULTS)
    some = {name: results["studies"][name] for name in ("figure-1", "figure-3", "audit-replicas")}
    for path in write_pictures({**results, "studies": some}, tmp_path / "some"):
        assert path.read_bytes() == pictures[path.name].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "table-9"], "There is no study 'table-9': choose from table-1"),
        (["--page", "missing.json"], "missing.json"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, sentence, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_file_that_holds_no_results_is_refused(tmp_path, capsys):
    (tmp_path / "other.json").write_text('{"a": 1}')
    assert main(["--page", str(tmp_path / "other.json"), "--out", str(tmp_path)]) == 2
    assert "holds no results" in capsys.readouterr().err


def test_results_do_not_depend_on_the_number_of_processes():
    alone, together = (
        run(["table-1", "audit-units"], n_jobs=n_jobs)["studies"] for n_jobs in (1, 2)
    )
    assert alone == together


def test_progress_is_told():
    told = []
    run(["table-1"], n_jobs=1, report=lambda *one: told.append(one))
    assert told[-1] == ("k-means on Iris", 20, 20)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def reproduce(*arguments):
    return main(["--jobs", "1", *map(str, arguments)])


def test_the_module_is_the_command(tmp_path):
    reproduce("--only", "figure-2", "--out", tmp_path / "function")
    module = [sys.executable, "-m", "reproduction", "--jobs", "1"]
    done = subprocess.run(
        [*module, "--only", "figure-2", "--out", tmp_path / "module", "--quiet"],
        cwd=DOCS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    ours, theirs = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in (tmp_path / "function", tmp_path / "module")
    )
    assert ours.keys() == theirs.keys()
    assert ours[PICTURES / "figure-2.png"] == theirs[PICTURES / "figure-2.png"]


def test_the_command_replaces_its_own_files_only_and_only_if_told(tmp_path, capsys):
    assert reproduce("--only", "table-1", "--out", tmp_path, "--json") == 0
    assert json.loads(capsys.readouterr().out) == read_results(tmp_path / RESULTS)
    first = (tmp_path / RESULTS).read_bytes()
    assert reproduce("--only", "table-3", "--out", tmp_path) == 2
    assert "say --force to replace it" in capsys.readouterr().err
    assert (tmp_path / RESULTS).read_bytes() == first
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "holiday.png").write_bytes(b"")
    assert reproduce("--only", "table-3", "--out", tmp_path, "--force") == 0
    assert (tmp_path / RESULTS).read_bytes() != first
    assert (tmp_path / "images" / "holiday.png").exists()


def test_the_command_refuses_unknown_studies_in_one_sentence(tmp_path, capsys):
    assert reproduce("--only", "table-9", "--out", tmp_path / "new") == 2
    assert capsys.readouterr().err.startswith("reproduction: There is no study 'table-9'")
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_directory_is_refused_before_the_run(tmp_path, capsys):
    (tmp_path / "paper").write_text("")
    assert reproduce("--only", "table-1", "--out", tmp_path / "paper") == 2
    assert capsys.readouterr().err.endswith("this is a file: give --out a directory.\n")


def test_without_matplotlib_one_sentence_names_the_extra(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("bbclust.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--page", str(DOCS / RESULTS), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / PAGE}\n"
    assert said.err.startswith("There are no pictures: ")
    assert 'pip install "bbclust[plot]"' in said.err
    assert said.err.count("\n") == 1


# --- its parts ------------------------------------------------------------------------------------


def test_printed_tables_are_whole():
    for name in ("mean_entropy", "max_pairwise_entropy", "silhouette", "gap"):
        rows = [printed()[name][str(number)] for number in DATASETS]
        assert np.array(rows).shape == (6, len(K_VALUES))
    for one in [{"table": printed()["iris_kmeans"]}, *printed()["iris_bbc"]]:
        assert_array_equal(np.sum(one["table"], axis=1), [50, 50, 50])
    assert {number: len(recipe["sizes"]) for number, recipe in printed()["datasets"].items()} == {
        str(number): k for number, k in TRUE_K.items()
    }


def test_printed_entropies_are_lowest_at_the_true_k_as_the_paper_says():
    for table in printed_bits():
        assert [K_VALUES[k] for k in table.argmin(axis=1)] == list(TRUE_K.values())


def test_printed_entropies_are_equal_at_two_clusters_once_in_the_same_unit():
    mean, pairwise = printed_bits()[:, :, 0]
    assert_allclose(mean, pairwise, atol=0.0015)  # both are rounded to three digits


def test_species_by_cluster_does_not_depend_on_the_numbers_of_clusters():
    labels = load_iris().target
    for order in ([0, 1, 2], [2, 0, 1]):
        assert_array_equal(species_by_cluster(np.array(order)[labels]), 50 * np.eye(3))


def test_share_below_counts_ties_by_half():
    assert_allclose(share_below(np.array([[1.0, 2.0, 2.0, 3.0]]), np.array([2.0])), [0.5])


def test_wilson_interval_by_hand():
    # Brown, Cai and DasGupta's formula at 0 of 10: z^2 / (n + z^2)
    assert_allclose(wilson(0, 10), [0.0, 3.8415 / 13.8415], atol=1e-4)


def test_spread_is_over_draws():
    found = spread(np.array([[1.0, 3.0], [5.0, 5.0]]))
    assert_allclose(found["mean"], [2.0, 5.0])
    assert_allclose(found["sd"], [np.sqrt(2), 0.0])


def test_the_lead_of_the_true_k_is_paired():
    values = np.array([[3.0, 5.0], [1.0, 2.0], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0]])
    assert lead_of_true_k(values, 3) == {"rival": 2, "mean": 2.5, "se": 0.5}


def test_rows_compare_the_printed_value_with_the_draws():
    values = np.tile(np.arange(5.0)[:, None], 40) + np.linspace(0, 0.1, 40)
    row = compare_row("1", 2, [0.05, 1.05, 2.05, 3.05, 99.0], {"ours": values}, lowest=True)
    ours = row["variants"]["ours"]
    assert_allclose(ours["printed_at"], [0.5, 0.5, 0.5, 0.5, 1.0])
    assert ours["n_found"] == ours["n_draws"] == 40
    assert row["printed_choice"] == ours["choice_of_mean"] == 2
    assert count_central([row], "ours") == (4, 5)


def test_a_reading_that_is_the_printed_tables_has_ratio_one_and_distance_zero():
    noise = np.tile([-1.0, 1.0], 5) * 1e-3
    summary = summarize_reading(printed_bits()[..., None] + noise)
    assert_allclose(summary["ratio"], 1.0)
    assert_allclose(summary["distance"], 0.0, atol=1e-9)
    assert summary["n_found"] == [[10] * 6, [10] * 6]


def test_a_few_draws_have_no_distance():
    assert summarize_reading(np.repeat(printed_bits()[..., None], 2, axis=-1))["distance"] == [
        None,
        None,
    ]


def number_everywhere(tens, number, draw, random_state):
    return np.full((2, len(K_VALUES)), tens * draw + number)


def test_draws_of_the_six_data_sets_come_last():
    found = on_the_six(StudyContext("quick", n_jobs=1), "numbers", number_everywhere, 3, 10)
    assert found.shape == (2, 6, len(K_VALUES), 3)
    assert_array_equal(found[0, :, 0, :], [[n, 10 + n, 20 + n] for n in DATASETS])


def test_the_printed_formula_is_no_entropy():
    # -(0.2 log2 0.2 + 0.8 log2 (0.2 / 1.6)) = 0.4644 + 2.4
    assert_allclose(audit_formula.as_printed(0.2, 0.8), 2.8644, atol=1e-4)
    assert_allclose(audit_formula.as_printed(0.5, 0.5), 1.0)
    assert not np.isfinite(audit_formula.as_printed(0.0, 1.0))


def test_points_without_a_vote_count_as_zero_or_not_at_all():
    memberships = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    zero, left_out, undefined = audit_formula.both_conventions(memberships)
    assert_allclose([zero, left_out], [1 / 3, 1.0])
    assert_allclose(undefined, 2 / 9)  # two points of three in one pair of three


def test_few_votes_of_certain_points_are_certain_and_of_two_voters_half_a_bit():
    generator = np.random.default_rng(0)
    certain = np.tile([1.0, 0.0], (50, 1))
    assert_array_equal(audit_replicas.by_votes_alone(certain, 10, generator), [0.0, 0.0])
    # A coin toss seen by one voter is certain, by very many it is one bit.
    coin = np.full((2000, 2), 0.5)
    assert_allclose(audit_replicas.by_votes_alone(coin, 1, generator), [0.0, 0.0])
    assert_allclose(audit_replicas.by_votes_alone(coin, 100_000, generator), 1.0, atol=1e-3)


def test_chance_of_being_drawn_by_enumeration():
    # n = 2, omega = 0.5: each of two draws is a given row with probability 1/4
    assert_allclose(audit_replicas.chance_of_being_drawn(2), 1 - 0.75**2)


def test_one_component_per_replica_has_the_moments_of_that_component():
    from bbclust import BBC

    X = load_iris().data
    model = BBC(3, n_replicas=5, votes="all", prior=OneComponentPerReplica(), random_state=0).fit(X)
    mixture = model.prior_.mixture
    means = np.array(
        [model.prior_.sample(4000, np.random.default_rng(seed)).mean(axis=0) for seed in range(8)]
    )
    gaps = np.linalg.norm(means[:, None] - mixture.means[None], axis=2).min(axis=1)
    # A mean of 4,000 draws is 0.015 off, components are 1.5 apart and more.
    assert gaps.max() < 0.15


def test_added_coordinates_are_noise_or_signal():
    noise, target = dimensions.make_points("noise", 10, 0)
    signal, _ = dimensions.make_points("signal", 10, 0)
    assert_array_equal(noise[:, :2], signal[:, :2])
    triangle = np.array(dimensions.TRIANGLE)
    assert_allclose(signal[:, 2:] - noise[:, 2:], np.tile(triangle, 4)[target])
    assert_array_equal(*(dimensions.make_points(family, 2, 0)[0] for family in dimensions.FAMILIES))


def test_components_are_matched_whatever_the_order_of_clusters():
    target = np.array([0, 0, 1, 1, 2, 2])
    memberships = np.eye(3)[target][:, [2, 0, 1]]
    assert_array_equal(calibration.match_components(memberships, target), np.eye(3)[target])


def test_true_memberships_are_half_between_two_components():
    # data set 1: centres (1.5, 0) and (-1.5, 0)
    between = calibration.true_memberships(np.array([[0.0, -3.0]]), 1)[0]
    assert_allclose(between[0], between[1])
    assert_allclose(between.sum(), 1.0)
    # log density ratio with the third centre: (31.33 - 11.25) / 2
    third = np.exp(-((3 + 1.5 * np.sqrt(3)) ** 2 - 11.25) / 2)
    assert_allclose(between[2], third / (2 + third), rtol=1e-4)  # printed.json has six digits


def test_tolerances_are_the_spread_over_seeds_and_no_less_than_the_floor():
    def of(ratio):
        return {"studies": {"audit-limit": {"ratio": [ratio, 1.5, 1.1]}}}

    tolerances = make_tolerances([of(1.9), of(2.1)])
    assert_allclose(tolerances["audit-limit: m = 1 n"], [2.0, 12 * np.sqrt(0.02)])
    assert_allclose(tolerances["audit-limit: m = 2 n"], [1.5, 0.01])
    assert deviations(of(2.0), tolerances) == []
    assert [one.name for one in deviations(of(9.0), tolerances)] == ["audit-limit: m = 1 n"]
    assert len(deviations(of(float("nan")), tolerances)) == 1


def test_a_seed_is_judged_by_the_tolerances_of_the_others():
    def of(ratio):
        return {"studies": {"audit-limit": {"ratio": [ratio, 1.5, 1.1]}}}

    shares = used([of(1.0), of(1.2), of(2.0)])
    # 2.0 against 1.0 and 1.2: 0.9 of 12 times 0.1414, which is more than 1.0 or 1.2 use
    assert_allclose(shares["audit-limit: m = 1 n"], 0.9 / (12 * np.sqrt(0.02)))
    assert shares["audit-limit: m = 2 n"] == 0


def test_figures_are_at_the_true_k_and_elsewhere():
    assert at_true_k_and_elsewhere("s = 1", [4.0, 1.0, 2.0, 2.0, 4.0], 3) == {
        "s = 1, true K": 1.0,
        "s = 1, other K": 3.0,
    }


def test_printed_cells_are_counted_inside_the_central_seeds():
    tables = np.array([[[50, 0, 0], [0, 47, 3], [0, 13 + i % 2, 37 - i % 2]] for i in range(40)])
    ours = compare_tables(tables, tables[0])
    assert count_inside([[50, 0, 0], [0, 47, 3], [0, 14, 36]], ours) == 5
    assert count_inside([[50, 0, 0], [0, 46, 4], [0, 15, 35]], ours) == 1


def test_the_page_begins_with_what_holds_and_what_does_not():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    start = page[: page.index("Claim by claim:")]
    for heading in ("Holds", "Holds in part", "Does not hold", "How sure"):
        assert f"- **{heading}:**" in start
    for number in (1, *range(4, 8)):  # Table 3 is no claim, Table 2 has two parts
        assert f"Table {number}" in start or f"Tables {number}" in start or f"and {number}" in start
    for figure in (3, 4, 6, 7):
        assert f"Figure {figure} (" in start


def test_seeds_change_the_methods_and_not_the_data():
    one, two = StudyContext(seed=1), StudyContext(seed=2)
    assert one.random_state(0) != two.random_state(0)
    assert one.random_state(0) == StudyContext(seed=1).random_state(0)
    points = [run(["figure-2"], seed=seed)["studies"]["figure-2"]["points"] for seed in (1, 2)]
    assert points[0] == points[1]


def test_unknown_efforts_and_studies_are_refused():
    with pytest.raises(ValueError, match="effort must be one of quick, full, got 'long'"):
        run(effort="long")
    with pytest.raises(ValueError, match="There is no study 'x'"):
        choose_studies(["x"])


def test_numbers_are_shortened_everywhere():
    assert shortened({1: (1.234567, "a", None, True, 7)}) == {"1": [1.2346, "a", None, True, 7]}
