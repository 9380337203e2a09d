"""What fitted estimators show in a notebook."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context

from bbclust import BBC, BagClust2, KSelector, load_model, notebook, report
from bbclust.datasets import load_iris


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


@pytest.fixture(scope="module")
def selector(iris):
    return KSelector(k_range=(2, 3, 4), random_state=0).fit(iris)


@pytest.fixture(scope="module")
def model(iris):
    return BBC(3, random_state=0).fit(iris)


def card_of(html):
    """The findings alone, as a tree: they are well-formed."""
    (card,) = re.findall(r'<div class="bbclust".*?</div>', html, flags=re.DOTALL)
    return ElementTree.fromstring(card)


def words_of(html):
    return " ".join(card_of(html).itertext())


@pytest.mark.parametrize("estimator", [BBC(3), KSelector(), BagClust2(3)], ids=repr)
def test_before_a_fit_there_is_only_the_diagram(estimator):
    assert "bbclust" not in re.findall(r'class="(\w+)"', estimator._repr_html_())
    assert "sk-top-container" in estimator._repr_html_()


def test_a_selector_shows_answer_curve_and_disputed_rows(selector):
    html = selector._repr_html_()
    assert selector.verdict_.answer() in words_of(html)
    lines = card_of(html).findall(".//polyline")
    assert len(lines) == 2
    assert all(len(line.get("points").split()) == 3 for line in lines)
    row = selector.best_estimator_.entropy_.argmax()
    assert f" {row} " in words_of(html)
    assert "sk-top-container" in html


def test_a_model_shows_its_clusters_and_the_rows_in_doubt(model):
    words = words_of(model._repr_html_())
    assert "3 clusters" in words
    assert f"{model.mean_entropy_:.2f} bits" in words
    most = model.entropy_.argmax()
    assert f" {most} " in words
    assert words.count("% for") == 2 * 5


def test_a_verdict_shows_its_sentences_and_pairs(selector):
    words = words_of(selector.verdict_._repr_html_())
    assert selector.verdict_.answer() in words
    assert selector.verdict_.pairs[0].verdict in words


def test_what_a_notebook_asks_for_is_the_same(model):
    bundle = model._repr_mimebundle_()
    assert words_of(bundle["text/html"]) == words_of(model._repr_html_())
    assert bundle["text/plain"] == repr(model)
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_a_model_from_a_file_shows_what_it_knows(model, tmp_path):
    model.save(tmp_path / "model.bbc")
    words = words_of(load_model(tmp_path / "model.bbc")._repr_html_())
    assert "3 clusters" in words
    assert "disputed" not in words


def test_one_cluster_and_a_selection_without_refit(iris):
    words = words_of(BBC(1, random_state=0).fit(iris)._repr_html_())
    assert "1 cluster, 0.00 bits" in words
    chosen = KSelector(k_range=(2, 3), null_reference=0, refit=False, random_state=0).fit(iris)
    assert "disputed" not in words_of(chosen._repr_html_())


def test_words_are_escaped():
    html = notebook.card(
        notebook.answer("<script>"), notebook.table(["<b>"], [["&<i>"]], "<caption>")
    )
    assert words_of(html).split() == ["<script>", "<caption>", "<b>", "&<i>"]


def test_a_curve_has_every_point_inside_of_it():
    k_values = list(range(2, 41))
    drawn = notebook.curve(k_values, {"a": np.linspace(0, 3, 39).tolist()}, 7, "some & caption")
    figure = ElementTree.fromstring(drawn)
    assert "some & caption" in "".join(figure.itertext())
    svg = figure.find("svg")
    (line,) = svg.findall(".//polyline")
    points = np.array([point.split(",") for point in line.get("points").split()], dtype=float)
    assert len(points) == len(k_values)
    assert points.min() >= 0
    assert (points <= [notebook.WIDTH, notebook.HEIGHT]).all()
    assert (np.diff(points[:, 1]) < 0).all()  # upwards
    assert svg.get("aria-label") == "some & caption"


def test_show_opens_the_report(selector, iris, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    written = report.show(selector, path=tmp_path / "page.html")
    assert opened == [written.as_uri()]
    assert written.read_text().startswith("<!doctype html>")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert report.show(selector, iris).suffix == ".html"


def test_rows_of_the_fit_come_back(iris):
    weights = np.ones(len(iris))
    weights[:10] = 0
    model = BBC(3, random_state=0).fit(iris, sample_weight=weights)
    np.testing.assert_allclose(model.fit_rows(), iris, rtol=1e-12)
