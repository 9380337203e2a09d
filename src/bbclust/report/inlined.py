"""What makes one file of many: scripts, style and data inside the page, and nothing let in or out.

The page's content security policy names the digests of its own scripts. Should a text of a stranger
ever slip through as markup, the browser would still run nothing and fetch nothing for it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.plotting import figure
from bokeh.resources import Resources
from markupsafe import Markup


@cache
def bokeh_script() -> str:
    """Bokeh's core, minified: no widgets, no tables, no typesetting of mathematics."""
    resources = Resources(mode="inline", minified=True, components=["bokeh"])
    return _as_parsed("\n".join(resources.js_raw))


@cache
def packaged(name: str) -> str:
    """A file of the templates."""
    return _as_parsed((files("bbclust.report") / "templates" / name).read_text("utf-8"))


def _as_parsed(text: str) -> str:
    """With the line ends that a browser sees, of which the policy's digests are taken."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def policy(scripts: Sequence[str]) -> str:
    """Content security policy: these scripts, styles and images inside the file, nothing else."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def json_in_script(value: Any) -> Markup:
    """JSON that can stand in a script element, whatever its texts hold."""
    return _harmless(json.dumps(value, allow_nan=False, separators=(",", ":")))


def figures_in_script(plots: Sequence[figure]) -> Markup:
    """Bokeh's figures, each to be put into the element ``plot-NAME``."""
    document = Document()
    with document.models.freeze():  # or all models are listed again at every root
        for plot in plots:
            document.add_root(plot)
    numbered = _number_models(json.loads(serialize_json(document.to_json(deferred=False))))
    roots = {root["id"]: f"plot-{root['attributes']['name']}" for root in numbered["roots"]}
    items = [{"docid": "report", "roots": roots, "root_ids": list(roots)}]
    text = json.dumps({"documents": {"report": numbered}, "items": items}, separators=(",", ":"))
    return _harmless(text)


def _number_models(document: dict[str, Any]) -> dict[str, Any]:
    """The same with models numbered from 1, so that equal analyses give equal files."""
    numbers: dict[str, str] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: numbers.setdefault(one, f"m{len(numbers) + 1}")
                if key == "id" and isinstance(one, str) and one.startswith("p")
                else walk(one)
                for key, one in value.items()
            }
        return [walk(one) for one in value] if isinstance(value, list) else value

    walked: dict[str, Any] = walk(document)
    return walked


def _harmless(text: str) -> Markup:
    """Without the one sign that could end a script element; in JSON it only stands in texts."""
    return Markup(text.replace("<", "\\u003c"))
