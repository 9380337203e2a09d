"""Does every link of the built site lead somewhere, and does no page ask the network for anything?

python docs/check_links.py build/docs

Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The names of places on a page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Called by the parser for every element."""
        values = {name: value for name, value in attributes if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or (tag == "link" and "href" in values):
            self.loaded.append(values.get("src") or values["href"])


def mistakes_of(page: Page, pages: dict[Path, Page]) -> list[str]:
    """What is wrong with the links of a page, a sentence each."""
    found = [f"{page.path} loads {one}" for one in page.loaded if urlsplit(one).netloc]
    for link in page.links + page.loaded:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        target = path / "index.html" if path.is_dir() else path
        if not target.exists():
            found.append(f"{page.path}: {link} is not there")
        elif parts.fragment and target in pages and parts.fragment not in pages[target].places:
            found.append(f"{page.path}: {link} names no place of that page")
    return found


def main(folder: Path) -> int:
    """Print what is wrong, and how many links were looked at."""
    # what the theme brings along are templates
    files = [file for file in folder.resolve().rglob("*.html") if "_static" not in file.parts]
    pages = {file: Page(file) for file in files}
    mistakes = [one for page in pages.values() for one in mistakes_of(page, pages)]
    n_links = sum(len(page.links) + len(page.loaded) for page in pages.values())
    print(*mistakes, f"{n_links:,} links of {len(pages)} pages, {len(mistakes)} wrong", sep="\n")
    return 1 if mistakes or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
