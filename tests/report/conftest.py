"""A browser, and reports to open in it."""

from types import SimpleNamespace

import numpy as np
import pytest

from bbclust import BBC, KSelector
from bbclust.baselines import compare_baselines
from bbclust.datasets import load_iris
from bbclust.report import write_report


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; tests are skipped where there is none. Idle, it uses time."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from browser_page import CHROMIUM, DRIVER

    if not (CHROMIUM and DRIVER):
        pytest.skip("there is no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-prefers-reduced-motion",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Reports by name: with everything, texts of strangers included, and of odd shapes."""
    pytest.importorskip("bokeh", reason="the report needs bokeh")
    from browser_page import HOSTILE

    folder = tmp_path_factory.mktemp("reports")
    iris = load_iris()
    selector = KSelector(
        BBC(n_replicas=60, n_init=2, votes="all"),
        k_range=range(2, 6),
        null_reference=7,
        random_state=1,
    ).fit(iris.data)
    truth = np.array(["plain", HOSTILE[0], HOSTILE[2]])[iris.target]
    ids = [f"{HOSTILE[i % 4][:40]} no {i}" for i in range(150)]
    baselines = compare_baselines(iris.data, range(2, 6), methods=["silhouette"], random_state=0)
    details = {
        "columns": HOSTILE,
        "ids": ids,
        "id_name": HOSTILE[0],
        "truth": truth,
        "truth_name": HOSTILE[1],
        "source": HOSTILE[1],
        "scaling": HOSTILE[2],
        "set_aside": {HOSTILE[0]: HOSTILE[1], HOSTILE[3]: HOSTILE[3]},
        "settings": {HOSTILE[0]: {HOSTILE[1]: HOSTILE[3]}},
        "baselines": baselines,
    }
    write_report(selector, iris.data, folder / "full.html", **details)
    generator = np.random.default_rng(0)
    shapes = {
        "one": (12, 1, 1),
        "two": (2, 2, 2),
        "many": (300, 50, 15),
        "forty": (800, 3, 40),
    }
    for name, (n, d, k) in shapes.items():
        X = generator.normal(size=(n, d))
        X[:, 0] += 9 * (np.arange(n) % k)
        model = BBC(k, n_replicas=20, n_init=1, votes="all", random_state=0).fit(X)
        write_report(model, X, folder / f"{name}.html")
    for seed in range(40):  # about half of such tables look like one cloud
        X = np.random.default_rng(seed).normal(size=(60, 2))
        quick = BBC(n_replicas=40, n_init=1, votes="all")
        cloud = KSelector(quick, k_range=(2, 3), random_state=0).fit(X)
        if cloud.best_k_ == 1:
            break
    write_report(cloud, X, folder / "cloud.html")
    return SimpleNamespace(folder=folder, ids=ids, data=iris.data, selector=selector)


@pytest.fixture
def page(browser, reports):
    from browser_page import visit

    visit(browser, reports)
    return browser
