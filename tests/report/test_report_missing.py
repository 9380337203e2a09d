"""The report on rows with missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

from bbclust import BBC
from bbclust.datasets import load_iris
from bbclust.diagnostics.filled_rows import in_units_of
from bbclust.report import gather, render, summarize
from bbclust.report.profiles import make_profiles
from bbclust.report.rows import show_rows

IRIS = load_iris().data


@pytest.fixture(scope="module")
def analysis():
    X = IRIS.copy()
    X[::4, 1] = np.nan
    X[1::4, 3] = np.nan
    model = BBC(3, missing="draw", votes="all", n_replicas=50, random_state=0)
    scaled = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    return gather(model.fit(scaled), scaled, columns=list("abcd"), original=X)


def test_counts_of_missing_values_are_in_the_summary(analysis):
    assert analysis.is_training
    assert summarize(analysis)["data"]["missing_values"] == [
        {"column": "b", "count": 38},
        {"column": "d", "count": 38},
    ]


def test_profiles_are_means_of_the_values_that_there_are(analysis):
    profiles = make_profiles(analysis.values, analysis.labels, 3)
    for k in range(3):
        mine = analysis.labels == k
        assert_allclose(profiles.means[k], np.nanmean(analysis.values[mine], axis=0))
        assert_allclose(profiles.means_of_rest[k], np.nanmean(analysis.values[~mine], axis=0))
    assert np.isfinite(profiles.differences).all()


def test_every_row_has_a_place_on_every_map(analysis):
    shown = show_rows(analysis, make_profiles(analysis.values, analysis.labels, 3))
    for field in shown.axes:
        assert np.isfinite(shown.fields[field]).all()
    assert np.isnan(shown.fields["v1"]).sum() == 38  # what an opened row shows, and downloads
    assert "v0" not in shown.fields
    known = ~np.isnan(analysis.values[shown.rows, 1])
    assert_allclose(np.asarray(shown.fields["c1"])[known], analysis.values[shown.rows, 1][known],
                    rtol=1e-5)  # fmt: skip


def test_the_page_says_where_incomplete_rows_are_shown(analysis):
    said = "In a column that a row misses, it is shown at the centres"
    assert said in render(analysis)
    model = BBC(3, votes="all", n_replicas=50, random_state=0).fit(IRIS)
    assert said not in render(gather(model, IRIS))


def test_units_of_constant_and_empty_columns_are_kept():
    filled = np.array([[0.0, 2.0], [0.0, 3.0]])
    values = np.array([[5.0, np.nan], [np.nan, np.nan]])
    assert_equal(in_units_of(filled, values), [[5.0, np.nan], [5.0, np.nan]])


def test_an_opened_row_shows_no_value_where_it_has_none(analysis, browser, tmp_path):
    from browser_page import emulate, open_file

    (tmp_path / "page.html").write_text(render(analysis), encoding="utf-8")
    emulate(browser)
    open_file(browser, tmp_path / "page.html")
    order = np.argsort(-analysis.entropy, kind="stable")
    place = int(np.isnan(analysis.values[order]).any(axis=1).argmax())
    row = order[place]
    browser.execute_script(
        'document.querySelectorAll("#row-table tbody .open")[arguments[0]].click()', place
    )
    lines = browser.execute_script(
        """return [...document.querySelectorAll(".detail-table tbody tr")]
             .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"""
    )
    for name, value, *_ in lines:
        own = analysis.values[row, analysis.columns.index(name)]
        assert value == "\u2013" if np.isnan(own) else float(value) == pytest.approx(own, rel=6e-3)
    assert len(lines) == 4
