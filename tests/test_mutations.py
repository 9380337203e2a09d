"""The list of mistakes that ``make mutate`` makes fits the sources."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "reliability" / "mutations.py"


@pytest.fixture(scope="module")
def mutations():
    if not LIST.exists():
        pytest.skip("needs the repository")
    return runpy.run_path(str(LIST))["MUTATIONS"]


def test_every_mistake_changes_one_place_of_the_sources(mutations):
    for one in mutations:
        text = (ROOT / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, (one.file, one.old)
        assert one.new not in ("", one.old)


def test_no_mistake_is_listed_twice(mutations):
    assert max(Counter((one.file, one.old) for one in mutations).values()) == 1


def test_mistakes_are_looked_for_in_tests_that_exist(mutations):
    for one in mutations:
        for word in one.tests.split():
            assert not word.startswith("tests/") or (ROOT / word).exists(), word
