"""From a fitted model to something one can send: plain data, and one HTML file.

An :class:`Analysis` holds all that was found, :func:`summarize` turns it into plain data, and
:func:`render` into a page; :func:`write_report` does all of it, and :func:`show` opens it. The
page is drawn with Bokeh and Jinja2: ``pip install "bbclust[report]"``. They are imported only
when a page is made.
"""

from __future__ import annotations

from bbclust.report.analysis import Analysis, Findings, gather
from bbclust.report.summary import summarize
from bbclust.report.writing import render, show, write_report

__all__ = ["Analysis", "Findings", "gather", "render", "show", "summarize", "write_report"]
