"""The check of the built site's links finds what is wrong with them."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "check_links.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_links", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ('<a href="other.html#there">', 0),
        ('<a href="#here">', 0),
        ('<a href="https://example.org/x">', 0),
        ('<a href="other.html#nowhere">', 1),
        ('<a href="gone.html">', 1),
        ('<img src="gone.png">', 1),
        ('<script src="https://example.org/x.js">', 1),
    ],
)
def test_links(check, tmp_path, capsys, link, wrong):
    (tmp_path / "index.html").write_text(f'<p id="here">{link}</p>')
    (tmp_path / "other.html").write_text('<p id="there"></p>')
    assert check.main(tmp_path) == wrong
    assert f"1 links of 2 pages, {wrong} wrong" in capsys.readouterr().out
