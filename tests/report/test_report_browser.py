"""The report in a real browser, opened from a file: what is shown, and what follows what."""

from itertools import pairwise

import numpy as np
import pytest

from bbclust.selection.splits import mean_doubts

pytest.importorskip("selenium", reason="selenium is not installed")
pytest.importorskip("bokeh", reason="the report needs bokeh")

from browser_page import (
    HOSTILE,
    drag_until,
    emulate,
    move_to,
    on_model,
    place_of,
    selected,
    table,
    text,
    visit,
    wait_for,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# --- a file and nothing else ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["full", "one", "two", "many", "cloud"])
def test_opens_from_a_file_without_errors_and_asks_for_nothing(browser, reports, name):
    browser.get_log("browser"), browser.get_log("performance")  # what earlier pages said
    visit(browser, reports, name)
    assert [line for line in browser.get_log("browser") if line["level"] != "INFO"] == []
    requests = [
        line["message"].partition('"url":"')[2].partition('"')[0]
        for line in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in line["message"]
    ]
    assert requests
    assert {url.partition(":")[0] for url in requests} <= {"file", "data", "blob"}
    loaded = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert loaded == 0
    drawn = browser.execute_script(
        """
        return [...document.querySelectorAll(".plot")].map((plot) => {
          const found = [], look = (root) => {
            found.push(...root.querySelectorAll("canvas"));
            for (const one of root.querySelectorAll("*")) if (one.shadowRoot) look(one.shadowRoot);
          };
          look(plot);
          return found.length;
        });
        """
    )
    assert drawn
    assert all(drawn)


def test_its_policy_lets_nothing_out_and_runs_no_other_script(page):
    page.execute_async_script(
        """
        const done = arguments[0];
        window.stopped = [];
        document.addEventListener("securitypolicyviolation",
          (event) => window.stopped.push(event.effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "window.evil = 1";
        document.body.append(script);
        const image = new Image();
        image.src = "http://example.invalid/x.png";
        fetch("http://example.invalid/").catch(() => setTimeout(done, 50));
        """
    )
    stopped = page.execute_script("return window.stopped")
    assert {"connect-src", "img-src"} <= set(stopped)
    assert any(directive.startswith("script-src") for directive in stopped)
    assert page.execute_script("return window.evil") is None


def test_texts_of_strangers_stay_text(page, reports):
    assert page.execute_script("return typeof window.evil") == "undefined"
    assert page.find_elements(By.CSS_SELECTOR, "[data-evil], .evil, [onerror]") == []
    assert HOSTILE[1] in page.find_element(By.TAG_NAME, "h1").text
    options = page.find_elements(By.CSS_SELECTOR, "#axis-x option")
    names = [option.get_attribute("textContent") for option in options]
    assert names[2:5] == list(HOSTILE[:3])
    assert names[5].startswith(HOSTILE[3][:40])
    assert "\u202e" not in page.find_element(By.TAG_NAME, "main").text
    first = [heading.text for heading in page.find_elements(By.CSS_SELECTOR, "#row-table th")]
    assert first[1] == HOSTILE[0][:29] + "…"
    assert all(row[1] in reports.ids for row in table(page))
    methods = page.find_element(By.ID, "truth").text
    assert HOSTILE[0] in methods
    assert HOSTILE[2] in methods


def test_a_tooltip_shows_the_name_of_a_row_as_text(page, reports):
    x, y = on_model(page, "rows", "return [model.data.map_x[20], model.data.map_y[20]]")
    move_to(page, place_of(page, "map", x, y)).perform()
    tip = """
        const found = [], look = (root) => {
          for (const one of root.querySelectorAll("*")) {
            if (one.classList.contains("bk-tooltip-content")) found.push(one.textContent);
            if (one.shadowRoot) look(one.shadowRoot);
          }
        };
        look(document);
        return found.join(" ");
    """
    wait_for(page, lambda: reports.ids[20] in page.execute_script(tip))
    assert page.execute_script("return typeof window.evil") == "undefined"


# --- sliders --------------------------------------------------------------------------------------


def test_slider_of_k_moves_everything_that_depends_on_it(page, reports):
    verdicts = {one.n_clusters: str(one) for one in reports.selector.verdict_.by_k}
    slider = page.find_element(By.ID, "k-slider")
    slider.send_keys(Keys.HOME)
    colors = {}
    for k in (2, 3, 4, 5):
        assert text(page, "k-value") == str(k)
        assert text(page, "k-verdict").startswith(verdicts[k])
        assert len(page.find_elements(By.CSS_SELECTOR, "#k-sizes li")) == k
        doubts = mean_doubts(reports.selector.grid_, k)
        in_doubt = int((doubts.round(3) >= 0.005).any(axis=1).sum())
        assert len(page.find_elements(By.CSS_SELECTOR, "#k-pairs tbody tr")) == in_doubt
        assert on_model(page, "now:mean_entropy", "return model.location") == k
        colors[k] = on_model(page, "rows", "return Array.from(model.data.k_color)")
        assert len(set(colors[k])) == k
        slider.send_keys(Keys.ARROW_RIGHT)
    kept = np.mean([a == b for a, b in zip(colors[3], colors[4], strict=True)])
    assert kept > 0.5
    assert slider.get_attribute("aria-valuetext") == "5 clusters"


def test_slider_of_s_shows_the_line_of_that_scale(page):
    for scale in (1.0, 1.5, 2.5):
        assert text(page, "s-value") == f"{scale:g}"
        page.find_element(By.ID, "s-slider").send_keys(Keys.ARROW_RIGHT)
    assert on_model(page, "line:mean_entropy:2", "return model.glyph.line_width.value") == 3
    assert on_model(page, "line:mean_entropy:0", "return model.glyph.line_width.value") < 3


# --- brushing -------------------------------------------------------------------------------------


def test_a_box_drawn_with_the_mouse_selects_rows_in_all_views_and_in_the_table(page):
    x, y, clusters = on_model(
        page,
        "rows",
        """return [model.data.map_x, model.data.map_y, model.data.cluster]
                  .map((values) => Array.from(values))""",
    )
    wanted = [i for i in range(150) if x[i] < -1.9]
    assert 10 < len(wanted) < 140
    start = place_of(page, "map", -1.9, max(y) + 0.05)
    end = place_of(page, "map", min(x) - 0.1, min(y) - 0.05)
    drag_until(page, start, end, lambda: selected(page) == wanted)
    assert text(page, "selection-status").startswith(f"{len(wanted)} of 150 rows selected")
    assert f"{len(wanted)} rows" in text(page, "pages")
    assert {int(row[0]) for row in table(page)} <= set(wanted)
    for plot in ("map", "simplex", "entropy", "map_at_k"):
        shared = on_model(
            page, f"rows:{plot}", "return Array.from(model.data_source.selected.indices)"
        )
        assert shared == wanted
    page.find_element(By.ID, "clear").click()
    assert selected(page) == []
    assert "150 rows" in text(page, "pages")
    assert len(set(clusters)) >= 2


def test_a_box_in_the_simplex_selects_too(page):
    places = on_model(
        page, "rows", "return [Array.from(model.data.simplex_x), Array.from(model.data.simplex_y)]"
    )
    x, y = np.array(places)
    corner = np.array([x[0], y[0]])
    wanted = np.flatnonzero(np.hypot(x - corner[0], y - corner[1]) < 0.15).tolist()
    start, end = (place_of(page, "simplex", *(corner + step)) for step in (-0.3, 0.3))
    drag_until(page, start, end, lambda: len(selected(page)) > 0)
    assert set(wanted) <= set(selected(page))
    assert len(selected(page)) < 150


def test_buttons_select_clusters_rows_in_between_and_pairs(page):
    clusters, share = on_model(
        page, "rows", "return [Array.from(model.data.cluster), Array.from(model.data.share0)]"
    )
    page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="1"]').click()
    assert selected(page) == [i for i, k in enumerate(clusters) if k == 1]
    page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="0"]').click()
    assert selected(page) == [i for i, k in enumerate(clusters) if k in (0, 1)]
    page.find_element(By.CSS_SELECTOR, '#legend [data-cluster="1"]').click()
    assert selected(page) == [i for i, k in enumerate(clusters) if k == 0]
    page.find_element(By.ID, "select-between").click()
    assert selected(page) == [i for i, most in enumerate(share) if most < 0.75]
    pair = page.find_element(By.CSS_SELECTOR, "#pairs [data-pair]")
    page.execute_script("arguments[0].click()", pair)
    a, b = map(int, pair.get_attribute("data-pair").split(","))
    assert {clusters[i] for i in selected(page)} <= {a, b}


def test_the_map_shows_the_columns_that_are_chosen(page, reports):
    page.find_element(By.CSS_SELECTOR, '#axis-x option[value="c2"]').click()
    page.find_element(By.CSS_SELECTOR, '#axis-y option[value="c0"]').click()
    x, y = on_model(
        page, "rows", "return [Array.from(model.data.map_x), Array.from(model.data.map_y)]"
    )
    np.testing.assert_allclose(x, reports.data[:, 2], rtol=1e-6)
    np.testing.assert_allclose(y, reports.data[:, 0], rtol=1e-6)
    bounds = "return [model.x_range.start, model.x_range.end]"
    wait_for(page, lambda: on_model(page, "map", bounds)[0] > 0)
    low, high = on_model(page, "map", bounds)
    assert low < 1.0 < 6.9 < high


# --- the table ------------------------------------------------------------------------------------


def test_the_table_is_sorted_by_any_column_in_both_directions(page):
    entropies = [float(row[4]) for row in table(page)]
    assert entropies == sorted(entropies, reverse=True)
    heading = page.find_element(By.CSS_SELECTOR, 'th[data-key="row"]')
    heading.find_element(By.TAG_NAME, "button").click()
    assert [int(row[0]) for row in table(page)] == list(range(10))
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.find_element(By.TAG_NAME, "button").click()
    assert [int(row[0]) for row in table(page)] == list(range(149, 139, -1))
    assert heading.get_attribute("aria-sort") == "descending"
    assert len(page.find_elements(By.CSS_SELECTOR, "#row-table [aria-sort]")) == 1


def test_the_table_can_be_searched_and_paged(page):
    search = page.find_element(By.ID, "search")
    search.send_keys("NO 14")  # 14 and 140 to 149
    names = [row[1] for row in table(page)]
    assert text(page, "pages") == "1 to 10 of 11 rows"
    page.find_element(By.ID, "next").click()
    names += [row[1] for row in table(page)]
    assert {int(name.rpartition(" ")[2]) for name in names} == {14, *range(140, 150)}
    search.clear()
    search.send_keys("nothing like that")
    assert table(page) == []
    assert text(page, "pages") == "no rows"


def test_prior_of_another_column(page):
    before = on_model(page, "histogram", "return Array.from(model.data.left)")
    page.find_element(By.CSS_SELECTOR, '#prior-column option[value="c1"]').click()
    after = on_model(page, "histogram", "return Array.from(model.data.left)")
    assert before != after


# --- every reader ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "many"])
def test_a_phone_shows_all_without_scrolling_sideways(browser, reports, name, scheme):
    visit(browser, reports, name, width=390, scheme=scheme)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide == 390
    small = browser.execute_script(
        """return [...document.querySelectorAll("p, td, dd, li, label")]
             .map((one) => parseFloat(getComputedStyle(one).fontSize))
             .filter((size) => size < 12)"""
    )
    assert small == []


def test_night_is_dark_on_the_page_and_in_the_figures(browser, reports):
    colors = {}
    for scheme in ("light", "dark"):
        visit(browser, reports, scheme=scheme)
        css = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        axis = on_model(browser, "map", "return model.below[0].major_label_text_color")
        colors[scheme] = (sum(map(int, css[4:-1].split(", "))), int(axis[1:3], 16))
    assert colors["light"][0] > 700 > 150 > colors["dark"][0]
    assert colors["light"][1] < 0x70 < 0x90 < colors["dark"][1]


def test_colours_follow_when_night_falls(page):
    emulate(page, scheme="dark")
    label = "return model.below[0].major_label_text_color"
    wait_for(page, lambda: int(on_model(page, "map", label)[1:3], 16) > 0x90)


def test_headings_are_in_order_and_everything_has_a_name(page):
    headings = page.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))"
    )
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(headings))
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert len(page.find_elements(By.CSS_SELECTOR, f"body {landmark}")) == 1
    nameless = page.execute_script(
        """
        const named = (one) => one.textContent.trim() || one.getAttribute("aria-label") ||
          (one.labels && one.labels.length) || one.getAttribute("aria-labelledby");
        return [...document.querySelectorAll(
          "main button, main input, main select, .plot, section, [role=region], figure figcaption",
        )].filter((one) => !named(one)).map((one) => one.outerHTML);
        """
    )
    assert nameless == []
    figures = page.find_elements(By.TAG_NAME, "figure")
    assert all(one.find_elements(By.TAG_NAME, "figcaption") for one in figures)
    targets = page.execute_script(
        """return [...document.querySelectorAll("nav a, .skip")]
             .filter((a) => !document.querySelector(a.getAttribute("href"))).length"""
    )
    assert targets == 0


def test_controls_are_not_printed(page):
    nav = page.find_element(By.TAG_NAME, "nav")
    assert nav.is_displayed()
    emulate(page, media="print")
    assert not nav.is_displayed()
    assert not page.find_element(By.ID, "k-slider").is_displayed()
    assert page.find_element(By.ID, "row-table").is_displayed()
    document = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(document["data"]) > 10_000


def test_without_scripts_the_words_and_numbers_are_there(browser, reports):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        emulate(browser)
        browser.get((reports.folder / "full.html").as_uri())
        assert len(table(browser)) == 10
        assert not browser.find_element(By.ID, "search").is_displayed()
        assert "entropy" in browser.find_element(By.ID, "row-table").text
        assert "times the doubt of" in browser.find_element(By.ID, "answer").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
