"""One quantity, one value: whatever stands in two places of an analysis is the same there."""

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bbclust.cli.app import app
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.percentages import percent
from bbclust.selection import k_selector


def blobs(n_clusters, n_each, d, separation, seed):
    generator = np.random.default_rng(seed)
    centers = separation * generator.normal(size=(n_clusters, d))
    rows = np.repeat(centers, n_each, axis=0)
    return rows + generator.normal(size=rows.shape)


TABLES = {
    "iris": lambda: load_iris().data,
    "paper 1": lambda: make_paper_dataset(1, random_state=1).data,
    "digits": lambda: load_digits().data[:200, 20:36],
    "cloud": lambda: np.random.default_rng(2).normal(size=(60, 2)),
    "overlapping": lambda: blobs(4, 40, 3, 1.5, seed=3),
    "12 blobs": lambda: blobs(12, 20, 3, 8.0, seed=4),
    # Of almost the same size: a sample has another order of sizes.
    "sampled": lambda: blobs(5, 120, 2, 6.0, seed=5),
}
SAMPLE = 200  # rows that K is chosen by, at most


class _Texts(HTMLParser):
    """The JSON blocks of a page, and its words."""

    def __init__(self, page):
        super().__init__()
        self.blocks, self.words, self._inside = {}, [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "style"):
            self._inside = dict(attributes).get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data):
        if self._inside is None:
            self.words.append(data)
        else:
            self.blocks[self._inside] = data


@pytest.fixture(scope="module", params=TABLES)
def files(request, tmp_path_factory):
    """All that the command writes about a table."""
    folder = tmp_path_factory.mktemp("one")
    table = folder / "table.csv"
    np.savetxt(table, X := TABLES[request.param](), delimiter=",", fmt="%.6g")
    out = folder / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_selector, "MAX_SAMPLE", SAMPLE)
        arguments = ["--n-replicas", "30", "--n-resamples", "2", "--k", "2:5"]
        arguments += ["--null-reference", "7", "--no-id", "--no-header", "--quiet"]
        app(["analyze", str(table), "--out", str(out), *arguments], standalone_mode=False)
    with open(out / "selection.csv") as lines:
        selection = list(csv.DictReader(lines))
    with open(out / "assignments.csv") as lines:
        assignments = list(csv.DictReader(lines))
    assert len(assignments) == len(X)
    page = _Texts((out / "report.html").read_text())
    summary = json.loads((out / "summary.json").read_text())
    return summary, selection, assignments, page


def same(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_the_number_of_clusters(files):
    summary, selection, assignments, _ = files
    k = summary["answer"]["n_clusters"]
    assert summary["selection"]["best_k"] == k == len(summary["clusters"])
    assert {int(row["n_clusters"]) for row in selection if row["chosen"] == "true"} <= {k}
    memberships = [name for name in assignments[0] if re.fullmatch(r"membership_\d+", name)]
    assert len(memberships) == k
    assert len(summary["answer"]["sizes"]) == k


def test_sizes_and_shares(files):
    summary, _, assignments, page = files
    k, n = summary["answer"]["n_clusters"], summary["data"]["n_rows"]
    counts = Counter(int(row["label"]) for row in assignments)
    sizes = [counts[cluster] for cluster in range(k)]
    assert summary["answer"]["sizes"] == sizes
    assert [one["size"] for one in summary["clusters"]] == sizes
    shares = [size / n for size in sizes]
    assert [one["share"] for one in summary["clusters"]] == same(shares)
    every_k = json.loads(page.blocks["report-data"])["every_k"]
    for one in summary["selection"]["by_k"]:
        if one["n_clusters"] == k:
            assert one["shares"] == same(shares)
            chosen = every_k["by_k"][every_k["chosen"]]
            assert chosen["shares"] == pytest.approx(shares, abs=5e-5)
            shown = Counter(chosen["labels"])
            if len(chosen["labels"]) == n:
                assert [shown[cluster] for cluster in range(k)] == sizes
            assert chosen["colors"] == list(range(k))


def test_entropies_of_the_rows(files):
    summary, _, assignments, page = files
    entropies = np.array([float(row["entropy"]) for row in assignments])
    labels = np.array([int(row["label"]) for row in assignments])
    assert summary["answer"]["mean_entropy"] == pytest.approx(entropies.mean(), rel=1e-6)
    for one in summary["clusters"]:
        inside = entropies[labels == one["cluster"]]
        assert one["mean_entropy"] == pytest.approx(inside.mean(), rel=1e-6, abs=1e-12)
    for row in summary["answer"]["most_uncertain"]:
        there = assignments[row["row"] - summary["data"]["first_row"]]
        assert int(there["label"]) == row["cluster"]
        assert float(there["entropy"]) == pytest.approx(row["entropy"], rel=1e-6, abs=1e-12)
    said = " ".join("".join(page.words).split())
    ((tile, *_),) = re.findall(
        r"mean entropy ([\d.]+) ([\d.]+) to ([\d.]+) with endless replicas, of at most", said
    )
    assert tile == f"{summary['answer']['mean_entropy']:.3f}"


def test_rows_on_which_votes_agree(files):
    summary, _, assignments, _ = files
    k = summary["answer"]["n_clusters"]
    votes = np.array([[float(row[f"membership_{j}"]) for j in range(k)] for row in assignments])
    assert summary["answer"]["agreed_rows"] == (votes.max(axis=1) == 1).sum()
    assert summary["answer"]["rows_in_between"] == (votes.max(axis=1) < 0.75).sum()


def test_how_often_clusters_are_found_again(files):
    summary, _, _, page = files
    said = " ".join("".join(page.words).split())
    shares = [percent(one["stability"]["recovered"]) for one in summary["clusters"]]
    cards = re.findall(r"bits, found again in (\S+) of the replicas", said)
    assert cards == (shares if len(shares) > 1 else [])
    for sentence in summary["answer"]["sentences"]:
        assert sentence in said
        for k, share in re.findall(r"luster (\d+) (?:is found again )?in ([\d.]+%)", sentence):
            assert shares[int(k)] == share
        for share in re.findall(r"Every cluster is found again in at least ([\d.]+%)", sentence):
            assert share == percent(
                min(one["stability"]["recovered"] for one in summary["clusters"])
            )


def test_the_worst_pair_and_its_doubt(files):
    summary, _, _, page = files
    answer, k = summary["answer"], summary["answer"]["n_clusters"]
    if k == 1:
        assert answer["worst_pair"] is None
        return
    assert answer["worst_pair"] == summary["pairs"][0]
    (of_k,) = (one for one in summary["selection"]["by_k"] if one["n_clusters"] == k)
    assert of_k["worst_pair"] == answer["worst_pair"]["clusters"]
    assert of_k["doubt"] == same(answer["worst_pair"]["doubt"])
    every_k = json.loads(page.blocks["report-data"])["every_k"]
    doubts = every_k["by_k"][every_k["chosen"]]["doubts"]
    for pair in summary["pairs"]:
        first, second = pair["clusters"]
        assert doubts[first][second] == doubts[second][first]
        assert doubts[first][second] == pytest.approx(pair["doubt"], abs=5e-4)
    said = " ".join("".join(page.words).split())
    first, second = answer["worst_pair"]["clusters"]
    for named in re.findall(r"[Cc]lusters (\d+) and (\d+), hardest to tell apart", said):
        assert named == (str(first), str(second))
    assert f"K = {k}: {of_k['kind']}; at worst {of_k['doubt']:.2f} bits of doubt" in said


def test_curves_and_wins(files):
    summary, selection, _, _ = files
    curves = summary["selection"]["curves"]
    by_k = {one["n_clusters"]: one for one in summary["selection"]["by_k"]}
    for cell, row in zip(curves, selection, strict=True):
        assert int(row["n_clusters"]) == cell["n_clusters"]
        assert int(row["n_draws"]) == summary["selection"]["n_draws"]
        for name in ("prior_scale", "mean_entropy", "max_pairwise_entropy"):
            assert float(row[name]) == same(cell[name])
        pair = [int(row["worst_pair_first"]), int(row["worst_pair_second"])]
        assert pair == cell["worst_pair"]
        one = by_k[cell["n_clusters"]]
        assert float(row["mc_confidence"]) == same(one["mc_confidence"])
        assert (row["confidence"] or None) == (
            None if one["confidence"] is None else str(one["confidence"])
        )
    if summary["answer"]["n_clusters"] > 1:
        best = by_k[summary["answer"]["n_clusters"]]
        assert best["confidence"] == summary["answer"]["confidence"]
        assert best["mc_confidence"] == summary["answer"]["mc_confidence"]
        with_k = [cell for cell in curves if cell["n_clusters"] == best["n_clusters"]]
        mean = np.mean([cell["mean_entropy"] for cell in with_k])
        assert best["mean_entropy"] == same(float(mean))
