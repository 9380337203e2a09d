"""Pages that people read first: commands run, figures are those found, links lead somewhere."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README, START = (ROOT / "README.md").read_text(), (ROOT / "docs" / "start.md").read_text()
PUBLIC = (
    "bbclust",
    "bbclust.priors",
    "bbclust.plots",
    "bbclust.report",
    "bbclust.baselines",
    "bbclust.datasets",
    "bbclust.dask",
)


def commands_of(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    return [part for line in "".join(blocks).splitlines() for part in line.split(" && ")]


# .ci/run runs the two marked commands of README.md as they are printed.
MARKED = re.findall(r"<!-- (?:demo|test) -->\n```sh\n(.*?)\n```", README)
RUN_BY_CI = {part for line in MARKED for part in line.split(" && ")}


def test_commands_are_run_by_ci_or_here():
    assert len(MARKED) == 2
    here = {"bbclust analyze data.csv"}
    assert set(commands_of(README)) | set(commands_of(START)) == RUN_BY_CI | here


def test_a_file_becomes_a_report(tmp_path):
    """The command of both pages, on a file of one's own."""
    (tmp_path / "data.csv").write_text(
        "height,width\n" + "".join(f"{i % 2 * 9 + i % 7 / 5},{i % 5 / 4}\n" for i in range(60))
    )
    _, *arguments = shlex.split("bbclust analyze data.csv")
    program = [sys.executable, "-m", "bbclust", *arguments]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = {file.name for file in (tmp_path / "data-bbclust").iterdir()}
    section = START[START.index("writes into") :]
    table = section[: section.index("\n\nIt reads")]
    promised = set(re.findall(r"`([\w.]+\.\w+)`", table)) - {"data.csv"}
    assert promised
    assert promised <= written


def test_figures_of_the_first_page_are_those_of_the_benchmarks():
    spec = importlib.util.spec_from_file_location("list_facts", ROOT / "docs" / "list_facts.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    (shown,) = re.findall(r"<!-- facts -->\n(.*?)\n<!-- end -->", README, flags=re.DOTALL)
    assert shown == script.list_facts()
    paper = (ROOT / "joss" / "paper.md").read_text()
    (shown,) = re.findall(r"<!-- joss_facts -->\n(.*?)\n<!-- end -->", paper, flags=re.DOTALL)
    assert shown.splitlines() == script.right_answers()


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_every_public_name(module):
    page = (ROOT / "docs" / "api.md").read_text()
    section = page[page.index(f".. currentmodule:: {module}\n") :]
    section = section[: section.index("```")]
    listed = re.findall(r"^   (\w+)$", section, flags=re.MULTILINE)
    assert sorted(listed) == sorted(set(importlib.import_module(module).__all__) - {"__version__"})


def test_what_is_returned_exists_and_is_described():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^   ([a-z_.]+)\.([A-Z]\w+)$", page, flags=re.MULTILINE)
    assert len(listed) >= 12
    for home, name in listed:
        assert getattr(importlib.import_module(f"bbclust.{home}"), name).__doc__


PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "guide", ROOT / "benchmarks")
    for path in folder.glob("*.md")
    if "{include}" not in path.read_text()
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page):
    """The gallery and the pages that include others are there once the site is built."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text()):
        if "://" not in target and not target.startswith("gallery/"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_page_of_the_site_has_a_way_to_it(page):
    if page.parent not in (ROOT / "docs", ROOT / "docs" / "guide") or page.name == "index.md":
        return
    trees = "".join(
        "".join(re.findall(r"^```{toctree}.*?^```", other.read_text(), re.DOTALL | re.MULTILINE))
        for other in (ROOT / "docs").rglob("*.md")
    )
    entry = rf"^(?:.*<)?(?:\.\./|guide/)?{page.stem}>?$"
    assert re.search(entry, trees, flags=re.MULTILINE), page.stem
