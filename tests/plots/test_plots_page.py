"""docs/plots.md: its code runs, and draws the pictures that it shows."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from bbclust import plots

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "plots.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def make_images():
    spec = importlib.util.spec_from_file_location("make_images", DOCS / "make_images.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("without_a_screen")
def test_code_of_the_page_draws_a_figure_of_its_own_for_each_picture(make_images):
    drawn = dict(make_images.run_page(PAGE))
    assert list(drawn) == re.findall(r"\]\((images/.*?)\)", PAGE)
    assert len({id(figure) for figure in drawn.values()}) == len(drawn)
    for figure in drawn.values():
        assert all(ax.has_data() for ax in figure.axes)
        for ax in figure.axes:
            for bar in ax.containers:
                low, high = ax.get_xlim()
                assert np.all([low <= one.get_x() <= high for one in bar])


def test_pictures_are_there_and_small():
    for picture in re.findall(r"\]\((images/.*?)\)", PAGE):
        assert 0 < (DOCS / picture).stat().st_size < 100_000


def test_every_display_is_on_the_page():
    for name in plots.__all__:
        assert name in PAGE, name
