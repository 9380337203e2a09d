"""Photograph the report for the documentation, in a real browser: ``make picture``."""

from __future__ import annotations

import base64
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from bbclust import KSelector
from bbclust.datasets import load_iris
from bbclust.report import write_report

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT, SCALE = 1200, 900, 1
GAP = 28

SELECT_DISPUTED = """
const rows = Bokeh.documents[0].get_model_by_name("rows");
rows.selected.indices = [...rows.data.entropy.keys()].filter((i) => rows.data.entropy[i] > 0);
"""


def write_iris_report(path: Path) -> None:
    """The report on Iris, unscaled as in the paper."""
    iris = load_iris()
    selector = KSelector(n_resamples=10, n_jobs=-1, random_state=0)
    write_report(
        selector.fit(iris.data),
        iris.data,
        path,
        columns=iris.feature_names,
        truth=np.array(iris.target_names)[iris.target],
        truth_name="species",
        source="Iris",
        scaling="none, as in the paper",
    )


def open_browser() -> webdriver.Chrome:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return browser


def photograph(browser: webdriver.Chrome, first: str, last: str) -> Image.Image:
    """The page from the top of one element to the bottom of another."""
    top, bottom = browser.execute_script(
        """
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        return [box(arguments[0]).top + scrollY, box(arguments[1]).bottom + scrollY];
        """,
        first,
        last,
    )
    clip = {"x": 0, "y": top - 6, "width": WIDTH, "height": bottom - top + 12, "scale": 1}
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    return Image.open(BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


def stack(pictures: list[Image.Image]) -> Image.Image:
    """Pictures of one width, one below the other."""
    height = sum(picture.height for picture in pictures) + GAP * (len(pictures) - 1)
    sheet = Image.new("RGB", (pictures[0].width, height), "white")
    y = 0
    for picture in pictures:
        sheet.paste(picture, (0, y))
        y += picture.height + GAP
    return sheet


def main() -> None:
    """Write docs/images/report.png."""
    browser = open_browser()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "iris.html"
        write_iris_report(report)
        browser.get(report.as_uri())
        ready = "return document.documentElement.dataset.ready === 'true'"
        WebDriverWait(browser, 30).until(lambda _: browser.execute_script(ready))
        answer = photograph(browser, "header", "#answer .clusters")
        browser.execute_script(SELECT_DISPUTED)
        rows = photograph(browser, "#legend", "#row-table tbody tr:nth-child(3)")
        browser.quit()
    picture = stack([answer, rows])
    small = picture.resize((picture.width * 5 // 6, picture.height * 5 // 6), Image.LANCZOS)
    small.quantize(256, dither=Image.Dither.NONE).save(IMAGES / "report.png", optimize=True)


if __name__ == "__main__":
    main()
