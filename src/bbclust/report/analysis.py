"""Findings and Analysis: all that was found about one table, in one place."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bbclust._native import engine
from bbclust.baselines import KChoice
from bbclust.diagnostics.filled_rows import fill_at_centers, in_units_of
from bbclust.diagnostics.row_counts import RowCounts, count_rows
from bbclust.estimators.base import FittedEnsemble
from bbclust.selection.k_selector import KSelector
from bbclust.selection.sensitivity import Sensitivity
from bbclust.stages.entropies import entropy
from bbclust.stages.table import Floats
from bbclust.version import __version__

Array = npt.NDArray[np.float64]

PACKAGES = ("numpy", "scipy", "scikit-learn", "bokeh")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """A table of n rows and d columns, how many clusters it has, and how that was found.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows as they were clustered; NaN where a value is missing.
    columns : tuple of d strings
        Their names.
    selector : fitted KSelector, optional
        What chose K.
    original : ndarray of shape (n, d), optional
        The values in the units of the file; None when X holds them, unscaled.
    scaling : str, default="none"
        What was done to the columns, in words.
    ids : sequence of n values, optional
        What the rows are called.
    id_name : str, default="id"
        What the column of ``ids`` is called.
    truth : sequence of n values, optional
        Known classes.
    truth_name : str, default="class"
        What the column of ``truth`` is called.
    source : str, default="table"
        Name of the file, or of the data.
    row_numbers : ndarray of shape (n,), optional
        Where in the file each row was, from 0; None when it holds these rows and no others.
    first_row : int, default=0
        The number that the first row of the file goes by: people may want to count from 1.
    dropped_rows : int, default=0
        Rows of the file that were left out, because of missing values.
    set_aside : mapping from column to reason, optional
        Columns of the file that were not clustered.
    audit : sequence of mappings, default=()
        What a command saw of every column of the file, see ``data.audit`` of the summary.
    fingerprint : str, default=""
        What tells these rows from any others, see :func:`fingerprint_of`.
    settings : mapping, optional
        Parameters of estimators and commands.
    versions : mapping from package to version, optional
        What the analysis was made with.
    baselines : sequence of KChoice, optional
        What other methods say of K: the result of ``compare_baselines``.
    sensitivity : Sensitivity, optional
        What other settings choose: the result of ``bbclust.sensitivity``.
    notes : sequence of str, default=()
        What a reader should know besides, such as warnings.
    files : mapping from name to content, optional
        What a command writes beside the summary, in words.

    Examples
    --------
    What is known when K was chosen and no model was fitted with it:

    >>> from bbclust import KSelector
    >>> from bbclust.datasets import make_paper_dataset
    >>> from bbclust.report import Findings, summarize
    >>> X = make_paper_dataset(1, random_state=0).data
    >>> selector = KSelector(k_range=(2, 3, 4), refit=False, random_state=0).fit(X)
    >>> findings = Findings(X=X, columns=("x1", "x2"), selector=selector)
    >>> findings.n_rows, summarize(findings)["selection"]["best_k"]
    (99, 3)
    """

    X: Floats
    columns: tuple[str, ...]
    selector: KSelector | None = None
    original: Floats | None = None
    scaling: str = "none"
    ids: Sequence[Any] | npt.NDArray[Any] | None = None
    id_name: str = "id"
    truth: Sequence[Any] | npt.NDArray[Any] | None = None
    truth_name: str = "class"
    source: str = "table"
    row_numbers: npt.NDArray[np.int64] | None = None
    first_row: int = 0
    dropped_rows: int = 0
    set_aside: Mapping[str, str] = field(default_factory=dict)
    audit: Sequence[Mapping[str, Any]] = ()
    fingerprint: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    baselines: Sequence[KChoice] | None = None
    sensitivity: Sensitivity | None = None
    notes: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of the table, of which X may hold a sample."""
        return len(self.X)

    @property
    def values(self) -> Floats:
        """The table in the units of the file, shape (n, d)."""
        return self.X if self.original is None else self.original


@dataclass(frozen=True, kw_only=True)
class Analysis(Findings):
    """What an analysis of n rows and d columns into K clusters produced, made by :func:`gather`.

    Attributes
    ----------
    model : fitted BBC
        What divided the rows.
    memberships, labels, entropy : ndarrays of shape (n, K), (n,), (n,)
        The model's own for the rows it was fitted on, else those of its ``predict_proba``. The
        label of rows that a clusterer calls noise is -1.
    is_training : bool, default=True
        Whether X holds the rows that the model was fitted on, and it knows its votes on them.
    same_rows : bool, optional
        Otherwise, whether X holds the rows of the fit all the same; None if nobody knows, as of a
        model out of a file.
    whole : RowCounts, optional
        Counts over all rows, if X holds a sample of them.
    X, columns, selector, original, scaling, ids, id_name, truth, truth_name, source, \
row_numbers, first_row, dropped_rows, set_aside, audit, fingerprint, settings, versions, \
baselines, sensitivity, notes, files
        As those of :class:`Findings`.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import gather
    >>> iris = load_iris()
    >>> model = BBC(3, random_state=0).fit(iris.data)
    >>> analysis = gather(model, iris.data, columns=iris.feature_names, first_row=1)
    >>> analysis.n_clusters, analysis.count_rows().sizes
    (3, array([61, 50, 39]))
    >>> analysis.number_rows(np.array([0, 149]))  # as people count
    array([  1, 150])
    >>> print(analysis.row_weights())  # all count the same
    None
    """

    model: FittedEnsemble
    memberships: Array
    labels: npt.NDArray[np.int64]
    entropy: Array
    is_training: bool = True
    same_rows: bool | None = None
    whole: RowCounts | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the table, of which X may hold a sample."""
        return len(self.X) if self.whole is None else self.whole.n_rows

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.memberships.shape[1])

    @cached_property
    def filled(self) -> Floats:
        """X with its missing values at the centres of clusters, by memberships; shape (n, d)."""
        return fill_at_centers(self.X, self.memberships, self.model.cluster_centers_)

    @cached_property
    def filled_values(self) -> Floats:
        """The same in the units of the file, shape (n, d)."""
        return self.filled if self.original is None else in_units_of(self.filled, self.original)

    def count_rows(self) -> RowCounts:
        """Counts over all rows: those of X, or those that were given as ``whole``.

        Returns
        -------
        RowCounts
            ``sizes`` and ``entropies`` of clusters, of shape (K,), and how many rows are in doubt.
        """
        if self.whole is not None:
            return self.whole
        return count_rows(self.memberships, self.labels, self.entropy)

    def row_weights(self) -> Array | None:
        """Weights of the rows in the means, for rows that were fitted with weights.

        Returns
        -------
        ndarray of shape (n,), or None
            None when all count the same.
        """
        if not (self.is_training and self.model.has_rows_of_fit):
            return None
        return self.model.fit_weights()

    def number_rows(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers that rows of X go by: their places in the file.

        Parameters
        ----------
        rows : ndarray of shape (m,)
            Places in X, from 0.

        Returns
        -------
        ndarray of shape (m,)
            Places in the file, from ``first_row``.
        """
        places = rows if self.row_numbers is None else self.row_numbers[rows]
        return places + self.first_row


def gather(
    estimator: FittedEnsemble | KSelector,
    X: Any,
    *,
    columns: Sequence[str] | None = None,
    original: Any = None,
    **details: Any,
) -> Analysis:
    """An analysis from a fitted estimator and rows, which need not be those of its fit.

    Parameters
    ----------
    estimator : BBC, or KSelector with ``refit``
        Fitted.
    X : array-like or data frame of shape (n, d)
        The rows, scaled as they were for the fit.
    columns : sequence of d strings, optional
        Names of the columns; by default those that the estimator saw in its fit, or x1 to xd.
    original : array-like of shape (n, d), optional
        The values before scaling; X by default.
    **details
        Any other attribute of :class:`Analysis`.

    Returns
    -------
    Analysis
        With the memberships of the fit if X holds its rows, else those of ``predict_proba``.

    Examples
    --------
    >>> from bbclust import BBC
    >>> from bbclust.datasets import load_iris
    >>> from bbclust.report import gather
    >>> iris = load_iris()
    >>> model = BBC(3, random_state=0).fit(iris.data)
    >>> analysis = gather(model, iris.data, columns=iris.feature_names)
    >>> analysis.n_clusters, analysis.is_training
    (3, True)
    """
    check_is_fitted(estimator)
    selector = estimator if isinstance(estimator, KSelector) else None
    model = estimator._refitted() if isinstance(estimator, KSelector) else estimator
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"A report shows memberships, and {type(model).__name__} has none: "
            "give a fitted BBC, BagClust1 or KSelector."
        )
    rows = model._check_rows(X)
    names = _check_columns(columns, model, rows.shape[1])
    if original is not None:
        original = np.asarray(original)
        if original.shape != rows.shape:
            raise ValueError(
                f"original has shape {original.shape} and X {rows.shape}: give the same rows and "
                "columns before scaling."
            )
    for name in {"ids", "truth", "row_numbers"} & details.keys():
        details[name] = _check_values(name, details[name], len(rows))
    is_training = model.has_rows_of_fit and model.was_fitted_to(rows)
    memberships = model.memberships_ if is_training else model.predict_proba(rows)
    facts: dict[str, Any] = {
        "fingerprint": fingerprint_of(rows, names),
        "settings": settings_of(model, selector),
        "versions": versions(),
        "same_rows": False if model.has_rows_of_fit and not is_training else None,
        **details,
    }
    return Analysis(
        model=model,
        X=rows,
        columns=names,
        memberships=memberships,
        labels=model.labels_ if is_training else memberships.argmax(axis=1),
        entropy=entropy(memberships),
        is_training=is_training,
        selector=selector,
        original=original,
        **facts,
    )


def fingerprint_of(X: Floats, columns: Sequence[str]) -> str:
    """SHA-256 of the numbers of a table, its shape and the names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.report.analysis import fingerprint_of
    >>> fingerprint_of(np.zeros((2, 1)), ["a"])[:19]
    'sha256:b07a986d78dd'
    """
    digest = hashlib.sha256()
    digest.update(repr((X.shape, X.dtype.str, list(columns))).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(X).data)
    return f"sha256:{digest.hexdigest()}"


def settings_of(model: FittedEnsemble, selector: KSelector | None) -> dict[str, Any]:
    """Parameters of the model and, if there is one, of the selector."""
    settings: dict[str, Any] = {type(model).__name__: model.get_params(deep=False)}
    if selector is not None:
        settings["KSelector"] = selector.get_params(deep=False)
    return settings


def versions() -> dict[str, str]:
    """Versions of Python, of the packages that were used, and the engine's instruction set."""
    found = {"python": platform.python_version(), "bbclust": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["engine"] = engine.ISA
    return found


def _check_columns(
    columns: Sequence[str] | None, model: FittedEnsemble, n_features: int
) -> tuple[str, ...]:
    if columns is None:
        default = [f"x{j + 1}" for j in range(n_features)]
        columns = getattr(model, "feature_names_in_", default)
    names = tuple(str(name) for name in columns)
    if len(names) != n_features:
        raise ValueError(
            f"columns has {len(names)} names and X {n_features} columns: give one name each."
        )
    return names


def _check_values(name: str, values: Any, n: int) -> Any:
    """One value for each row, by place: a column of a data frame may go by other numbers."""
    if values is None:
        return None
    values = values if isinstance(values, np.ndarray | list | tuple) else list(values)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} values and X {n} rows: give one for each row.")
    return values
