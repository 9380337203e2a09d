"""docs/promises.md names tests that exist, and shows what the long checks counted."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKER = runpy.run_path(str(ROOT / "reliability" / "make_promises.py"))
RECORDS = sorted((ROOT / "reliability" / "results").glob("*.json"))


@pytest.mark.parametrize("promise", MAKER["PROMISES"], ids=lambda promise: promise.sentence[:40])
def test_every_promise_has_tests_that_exist(promise):
    for place in promise.tests:
        path, _, name = place.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"\ndef {name}" in (ROOT / path).read_text()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_page_has_the_counts_of_every_long_check(path):
    page = (ROOT / "docs" / "promises.md").read_text()
    assert MAKER["tell_check"](json.loads(path.read_text())) in page


def test_a_check_that_failed_is_told_as_it_is():
    found = {"title": "T", "counts": {"tried": 3}, "failures": ["it broke"], "notes": ["no Dask"]}
    told = MAKER["tell_check"]({**found, "minutes": 1.0, "python": "3.11", "machine": "Linux"})
    assert "| tried | 3 |" in told
    assert "- it broke" in told
    assert "Nothing failed" not in told
