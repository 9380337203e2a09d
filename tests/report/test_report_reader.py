"""What a reader does with the report: open rows, name clusters, take pictures and rows away."""

import csv
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("selenium", reason="selenium is not installed")
pytest.importorskip("bokeh", reason="the report needs bokeh")

from browser_page import (
    HOSTILE,
    emulate,
    move_to,
    on_model,
    open_file,
    place_of,
    selected,
    table,
    text,
    visit,
    wait_for,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def page(page):
    """The full report, and no names from another test."""
    page.execute_script("localStorage.clear()")
    page.refresh()
    wait_for(page, lambda: page.execute_script("return document.documentElement.dataset.ready"))
    yield page
    page.execute_script("localStorage.clear()")


@pytest.fixture
def downloads(page, tmp_path):
    """A function that presses something and gives the file that comes of it."""
    page.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )

    def press(button, name):
        page.execute_script("arguments[0].click()", button)
        wait_for(page, (tmp_path / name).exists)  # renamed to this when it is whole
        return tmp_path / name

    return press


def give_name(page, cluster, name):
    field = page.find_element(By.CSS_SELECTOR, f'input.cluster-name[data-cluster="{cluster}"]')
    field.clear()
    page.execute_script(
        """arguments[0].value = arguments[1];
           arguments[0].dispatchEvent(new Event("input", {bubbles: true}))""",
        field,
        name,
    )


def opened(page):
    """The lines of the table of an opened row."""
    return page.execute_script(
        """return [...document.querySelectorAll(".detail-table tbody tr")]
             .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"""
    )


# --- opened rows ----------------------------------------------------------------------------------


def test_a_row_opens_beside_the_two_clusters_it_wavers_between(page, reports):
    button = page.find_element(By.CSS_SELECTOR, "#row-table tbody .open")
    row = int(table(page)[0][0])
    button.send_keys(Keys.ENTER)
    model = reports.selector.best_estimator_
    first, second = np.argsort(-model.memberships_[row], kind="stable")[:2]
    means = [reports.data[model.labels_ == k].mean(axis=0) for k in (first, second)]
    x, centers = reports.data[row], model.cluster_centers_
    pulls = (x - centers[second]) ** 2 - (x - centers[first]) ** 2
    order = np.argsort(-np.abs(pulls))
    lines = opened(page)
    assert [line[0] for line in lines[:1]] == [HOSTILE[order[0]][:80]]
    for line, j in zip(lines, order, strict=True):
        shown = [float(cell) for cell in line[1:4]]
        np.testing.assert_allclose(shown, [x[j], means[0][j], means[1][j]], rtol=6e-3)
        number, _, towards = line[4].partition("towards ")
        assert float(number) == pytest.approx(abs(pulls[j]), rel=6e-3)
        assert int(towards) == (first if pulls[j] >= 0 else second)
    nearer = first if pulls.sum() >= 0 else second
    said = page.find_element(By.CSS_SELECTOR, ".row-detail p").text
    assert f"pull it towards cluster {nearer} by" in said
    focused = page.switch_to.active_element
    assert focused.get_attribute("aria-expanded") == "true"
    focused.send_keys(Keys.ENTER)
    assert opened(page) == []


def test_a_click_on_a_line_opens_it_and_a_second_closes_it(page):
    cell = page.find_element(By.CSS_SELECTOR, "#row-table tbody td.vote-cell")
    cell.click()
    assert len(opened(page)) == 4
    page.find_element(By.CSS_SELECTOR, "#row-table tr.opened td.vote-cell").click()
    assert opened(page) == []


def test_a_dot_that_is_chosen_opens_its_row(page):
    x, y = on_model(page, "rows", "return [model.data.map_x, model.data.map_y].map((v) => [...v])")
    places = np.column_stack([x, y])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(len(x))
    lonely = int(gaps.min(axis=1).argmax())
    move_to(page, place_of(page, "map", x[lonely], y[lonely])).click().perform()
    wait_for(page, lambda: selected(page) == [lonely])
    assert table(page)[0][0].endswith(str(lonely))
    assert len(opened(page)) == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "many", "forty"])
def test_an_opened_row_fits_a_phone(browser, reports, name, scheme):
    visit(browser, reports, name, width=390, scheme=scheme)
    browser.execute_script("document.querySelector('#row-table tbody .open').click()")
    right, lines = browser.execute_script(
        """const panel = document.querySelector(".row-detail");
           panel.scrollIntoView();
           return [panel.getBoundingClientRect().right, panel.querySelectorAll("tr").length]"""
    )
    assert right <= 390
    assert lines > 1
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390


# --- names ----------------------------------------------------------------------------------------


def test_a_name_is_shown_all_over_the_page_and_stays(page):
    give_name(page, 0, "large ones")
    wanted = "large ones (0)"
    assert wanted in text(page, "legend")
    assert f"Cluster {wanted}" in text(page, "profile-0")
    assert any(wanted in row[3] for row in table(page))
    assert wanted in text(page, "pairs")
    assert wanted in text(page, "truth")
    assert wanted in text(page, "k-sizes")
    assert on_model(page, "middles", "return model.data.text[0]") == "large ones"
    lanes = "return [...model.left[0].major_label_overrides.values()]"
    assert wanted in on_model(page, "entropy", lanes)
    page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="0"]').click()
    assert f"in {wanted}" in text(page, "selection-status")
    page.find_element(By.ID, "search").send_keys("large")
    assert all(wanted in row[3] for row in table(page))
    page.refresh()
    wait_for(page, lambda: page.execute_script("return document.documentElement.dataset.ready"))
    assert wanted in text(page, "legend")
    give_name(page, 0, " ")
    assert page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="0"]').text == "0"


@pytest.mark.parametrize("names", [HOSTILE[:2], HOSTILE[2:]])
def test_names_stay_text_on_the_page_and_in_what_is_saved(page, downloads, names):
    def shown():
        return page.execute_script(
            "return [0, 1].map(k => "
            "document.querySelector(`#legend [data-cluster='${k}']`).textContent)"
        )

    for cluster, name in enumerate(names):
        give_name(page, cluster, name)
    page.get_log("browser")
    wanted = [f"{name.strip()} ({cluster})" for cluster, name in enumerate(names)]
    assert shown() == wanted
    picture = page.find_element(By.CSS_SELECTOR, 'figure[data-picture="map"] .save button')
    root = ElementTree.parse(downloads(picture, "x-onerror-evil-1-map.svg")).getroot()
    assert {one.tag for one in root.iter()} & {f"{SVG}script", f"{SVG}img", f"{SVG}image"} == set()
    saved = downloads(page.find_element(By.ID, "save-page"), "x-onerror-evil-1-report.html")
    page.execute_script("localStorage.clear()")
    open_file(page, saved)
    assert shown() == wanted
    assert page.execute_script("return typeof window.evil") == "undefined"
    assert page.find_elements(By.CSS_SELECTOR, "[data-evil], .evil, [onerror]") == []
    assert [line for line in page.get_log("browser") if line["level"] != "INFO"] == []


# --- what can be taken away -----------------------------------------------------------------------


def test_selected_rows_are_downloaded_with_names_and_without_formulas(page, reports, downloads):
    give_name(page, 0, 'the "large", 雪')
    page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="0"]').click()
    wanted = selected(page)
    file = downloads(page.find_element(By.ID, "save-rows"), "x-onerror-evil-1-rows.csv")
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert sorted(int(row["row"]) for row in rows) == wanted
    assert {row["cluster_name"] for row in rows} == {'the "large", 雪'}
    assert {row["cluster"] for row in rows} == {"0"}
    model = reports.selector.best_estimator_
    names = list(rows[0])
    for row in rows:
        i = int(row["row"])
        values = [float(row[name]) for name in names[-4:]]
        np.testing.assert_array_equal(values, reports.data[i])
        assert float(row["share_1"]) == pytest.approx(model.memberships_[i].max(), rel=1e-6)
        assert row[names[1]] in (reports.ids[i], f"'{reports.ids[i]}")
    ids = [row[names[1]] for row in rows]
    assert any(one.startswith("'=cmd") for one in ids)
    assert not any(cell[:1] in ("=", "+", "@") for row in rows for cell in [*row, *row.values()])


def test_every_picture_is_downloaded_as_svg_and_as_png(page, downloads):
    image = pytest.importorskip("PIL.Image")
    figures = page.find_elements(By.CSS_SELECTOR, "figure")
    assert len(figures) == 8
    for figure in figures:
        name = figure.get_attribute("data-picture")
        as_svg, as_png = figure.find_elements(By.CSS_SELECTOR, ".save button")
        root = ElementTree.parse(downloads(as_svg, f"x-onerror-evil-1-{name}.svg")).getroot()
        assert root.tag == f"{SVG}svg"
        marks = [one for one in root.iter() if one.tag in (f"{SVG}path", f"{SVG}circle")]
        assert len(marks) > 10, name
        assert not [one for one in root.iter() if one.tag == f"{SVG}image"], name
        assert "var(" not in ElementTree.tostring(root, "unicode")
        drawn = image.open(BytesIO(downloads(as_png, f"x-onerror-evil-1-{name}.png").read_bytes()))
        assert drawn.width == 2 * round(float(root.get("width")))
        assert len(drawn.convert("RGB").resize((200, 100)).getcolors(20_000)) > 10, name


# --- words ----------------------------------------------------------------------------------------


def tip(page):
    found = page.find_element(By.ID, "tip")
    return found.text if found.is_displayed() else None


def test_a_word_is_explained_to_pointer_keyboard_and_finger(page):
    link = page.find_element(By.CSS_SELECTOR, '.tiles a.word[href="#word-mean-entropy"]')
    meaning = page.execute_script("return document.getElementById('word-mean-entropy').textContent")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    assert tip(page) is None
    box = link.rect
    offset = page.execute_script("return scrollY")
    move_to(page, (box["x"] + 5, box["y"] - offset + 5)).perform()
    wait_for(page, lambda: tip(page) == meaning)
    move_to(page, (5, 5)).perform()
    wait_for(page, lambda: tip(page) is None)
    page.execute_script("arguments[0].focus()", link)
    assert tip(page) == meaning
    link.send_keys(Keys.ESCAPE)
    assert tip(page) is None
    place = page.execute_script("return scrollY")
    link.click()
    assert tip(page) == meaning
    assert page.execute_script("return scrollY") == place
    page.find_element(By.TAG_NAME, "h1").click()
    assert tip(page) is None


@pytest.mark.parametrize("width", [390, 1280])
def test_explanations_stay_on_the_screen(page, width):
    emulate(page, width=width)
    outside = page.execute_script(
        """
        const wide = document.documentElement.clientWidth;
        return [...document.querySelectorAll("a.word")].filter((link) => {
          if (!link.getClientRects().length) return false;
          link.focus();
          const box = document.getElementById("tip").getBoundingClientRect();
          return box.left < 0 || box.right > wide || box.width === 0;
        }).map((link) => link.textContent);
        """
    )
    assert outside == []
    assert page.execute_script("return document.documentElement.scrollWidth") == width


def test_every_word_that_is_linked_has_a_meaning(page):
    missing = page.execute_script(
        """return [...document.querySelectorAll("a.word")]
             .filter((link) => !document.querySelector(link.getAttribute("href")))
             .map((link) => link.textContent)"""
    )
    assert missing == []
    described = page.execute_script(
        """return [...document.querySelectorAll("a.word")].every(
             (link) => link.getAttribute("aria-describedby") === link.hash.slice(1))"""
    )
    assert described


# --- K side by side -------------------------------------------------------------------------------


def test_the_tree_of_splits_has_a_circle_for_every_cluster_and_a_text(page):
    tree = page.find_element(By.ID, "split-tree")
    assert tree.get_attribute("role") == "img"
    assert len(tree.find_elements(By.TAG_NAME, "g")) == 2 + 3 + 4 + 5
    described = page.execute_script("return document.querySelector('#split-tree desc').textContent")
    assert described.startswith("From 2 to 3 clusters: ")


# --- many of everything ---------------------------------------------------------------------------


def test_forty_clusters_keep_their_counts_and_make_no_page_of_zeros(browser, reports):
    visit(browser, reports, "forty")
    counts = browser.find_elements(By.CSS_SELECTOR, ".clusters .count")
    assert len(counts) == 40
    assert all(one.is_displayed() and one.text.endswith("rows") for one in counts)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#pairs tbody tr")) <= 20 + 10
    assert "pairs of clusters leave" in text(browser, "pairs")
    cards = browser.find_elements(By.CSS_SELECTOR, ".card")
    assert len(cards) == 40
    assert sum(card.is_displayed() for card in cards) == 12
