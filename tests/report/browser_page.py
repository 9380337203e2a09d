"""How tests look at a report in Chromium, and act on it as a reader would."""

import shutil
from contextlib import suppress

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
LONGEST_WAIT = 300  # seconds

# Each would set `evil`, open a window or fetch something if it were taken as markup or code.
HOSTILE = (
    "<script data-evil>evil=1;alert(1)</script>",
    "</script><img class=evil src=http://example.invalid/x onerror=evil=1>",
    "=cmd|' /C calc'!A0 \"quoted\" & 'single'",
    "$$\\text{evil}$$ {{ 7*7 }} @{row} ${evil=1} 雪 \u202e" + "long " * 40,
)


def emulate(browser, width=1280, scheme="light", media=""):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def visit(browser, reports, name="full", **display):
    emulate(browser, **display)
    open_file(browser, reports.folder / f"{name}.html")


def open_file(browser, path):
    """Open a report and wait until it can be used."""
    browser.get(path.as_uri())
    ready = "return document.documentElement.dataset.ready === 'true'"
    wait_for(browser, lambda: browser.execute_script(ready))


def text(page, element_id):
    return page.find_element(By.ID, element_id).text


def table(page):
    """Texts of the rows in the table."""
    return page.execute_script(
        """return [...document.querySelectorAll("#row-table tbody tr")]
             .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"""
    )


def on_model(page, name, code, *arguments):
    """Run code on a model of Bokeh's document."""
    found = f"const model = Bokeh.documents[0].get_model_by_name({name!r});"
    return page.execute_script(found + code, *arguments)


def selected(page):
    return list(on_model(page, "rows", "return Array.from(model.selected.indices)"))


def place_of(page, plot, x, y):
    """Where on the page a point of a plot lies."""
    return page.execute_script(
        """
        const view = [...Bokeh.index].find((view) => view.model.name === arguments[0]);
        view.el.scrollIntoView({block: "center", behavior: "instant"});
        const box = view.canvas_view.el.getBoundingClientRect(), frame = view.frame;
        return [box.left + frame.x_scale.compute(arguments[1]),
                box.top + frame.y_scale.compute(arguments[2])];
        """,
        plot,
        x,
        y,
    )


def move_to(page, place):
    actions = ActionChains(page, duration=50)
    actions.w3c_actions.pointer_action.move_to_location(*(round(at) for at in place))
    return actions


def drag_until(page, start, end, condition):
    """Drag until it holds: a drag that is slow, on a loaded machine, is a long press to Bokeh."""
    for seconds in (10, 20, 40, LONGEST_WAIT):
        drag(page, start, end)
        with suppress(TimeoutException):
            return WebDriverWait(page, seconds).until(lambda _: condition())
    raise AssertionError("the drag has no effect")


def drag(page, start, end):
    actions = move_to(page, start)
    actions.w3c_actions.pointer_action.pointer_down()
    for share in (0.3, 0.7, 1.0):
        at = [round(a + share * (b - a)) for a, b in zip(start, end, strict=True)]
        actions.w3c_actions.pointer_action.move_to_location(*at)
    actions.w3c_actions.pointer_action.pointer_up()
    actions.perform()


def wait_for(page, condition):
    """Until it holds; what it gives. A loaded machine may need long, a quick one does not wait."""
    return WebDriverWait(page, LONGEST_WAIT).until(lambda _: condition())
