"""From a fitted model to something one can send: plain data, and one HTML file.

An :class:`Analysis` holds all that was found, :func:`summarize` turns it into plain data.
"""

from bbclust.report.analysis import Analysis, gather
from bbclust.report.summary import summarize

__all__ = ["Analysis", "gather", "summarize"]
