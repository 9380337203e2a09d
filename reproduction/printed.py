"""The values that the paper prints."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, cast


@cache
def printed() -> dict[str, Any]:
    """All of them, as in ``printed.json``.

    Examples
    --------
    >>> printed()["silhouette"]["1"]
    [0.357, 0.472, 0.416, 0.343, 0.359]
    """
    text = files("reproduction").joinpath("printed.json").read_text(encoding="utf-8")
    return cast(dict[str, Any], json.loads(text))
