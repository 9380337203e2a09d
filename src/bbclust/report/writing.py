"""write_report: from a fitted model to a file."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bbclust.estimators.base import FittedEnsemble
from bbclust.io.whole_file import write_whole
from bbclust.report.analysis import Analysis, gather
from bbclust.selection.k_selector import KSelector


def render(analysis: Analysis, summary: Mapping[str, Any] | None = None) -> str:
    """An analysis as one HTML page that needs nothing else.

    Parameters
    ----------
    analysis : Analysis
        What :func:`~bbclust.report.gather` makes of a fitted estimator.
    summary : dict, optional
        What :func:`~bbclust.report.summarize` says of it, if that is known already.

    Returns
    -------
    str
        The page, with Bokeh, style and data inside. It opens from a file and asks nothing from the
        network: its content security policy forbids it.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import gather, render
    >>> iris = load_iris()
    >>> model = BBC(3, random_state=0).fit(iris.data)
    >>> page = render(gather(model, iris.data, columns=iris.feature_names))
    >>> page[:15], "petal width" in page
    ('<!doctype html>', True)
    """
    try:
        from bbclust.report import page
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bbclust"):
            raise
        raise ImportError(
            f'The report needs {error.name}, which is not installed: pip install "bbclust[report]".'
        ) from error
    return page.make_page(analysis, summary)


def write_report(
    estimator: FittedEnsemble | KSelector,
    X: Any,
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    original: Any = None,
    **details: Any,
) -> Path:
    """Write what a fitted estimator found as one HTML file.

    Parameters
    ----------
    estimator : BBC, or KSelector with ``refit``
        Fitted.
    X : array-like or data frame of shape (n, d)
        The rows, scaled as they were for the fit.
    path : str or path
        Where to write; an existing file is replaced. It appears whole or not at all.
    columns : sequence of d strings, optional
        Names of the columns; by default those that the estimator saw in its fit.
    original : array-like of shape (n, d), optional
        The values before scaling; means are given in their units.
    **details
        Other attributes of :class:`Analysis`: ``ids``, ``id_name``, ``truth``, ``truth_name``,
        ``source``, ``scaling``, ``baselines`` and so on.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import write_report
    >>> iris = load_iris()
    >>> model = BBC(3, random_state=0).fit(iris.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(model, iris.data, f"{folder}/iris.html", source="Iris")
    ...     written.name, written.stat().st_size < 2_000_000
    ('iris.html', True)
    """
    page = render(gather(estimator, X, columns=columns, original=original, **details))
    write_whole(path, page.encode("utf-8"))
    return Path(path)


def show(
    estimator: FittedEnsemble | KSelector,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    **details: Any,
) -> Path:
    """Write the report on a fitted estimator and open it in the browser.

    Parameters
    ----------
    estimator : BBC, or KSelector with ``refit``
        Fitted.
    X : array-like or data frame of shape (n, d), optional
        The rows of the fit; those that the estimator keeps by default.
    path : str or path, optional
        Where to write; a new temporary file by default, which stays.
    **details
        Those of :func:`write_report`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from bbclust import KSelector
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import show
    >>> selector = KSelector(k_range=(2, 3), random_state=0).fit(load_iris().data)
    >>> show(selector)  # doctest: +SKIP
    PosixPath('/tmp/bbclust-8ckb_c1q.html')
    """
    if path is None:
        handle, path = tempfile.mkstemp(prefix="bbclust-", suffix=".html")
        os.close(handle)
    if X is None:
        model: Any = getattr(estimator, "best_estimator_", estimator)
        X = model.fit_rows()
    written = write_report(estimator, X, path, **details).resolve()
    webbrowser.open(written.as_uri())
    return written
