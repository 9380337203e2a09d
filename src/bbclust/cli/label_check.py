"""Columns that tell the clusters by themselves: known classes that nobody set aside.

Known classes among the columns are found again as clusters, and the answer looks better than it
is. The name of a column may not tell, but after clustering its values do: a few whole numbers that
share more than half of their information with the clusters, I(column; clusters) > 1/2
max(H(column), H(clusters)), corrected for chance (adjusted mutual information). "More than half" is
what is meant by "tells": below it, column and clusters differ in more than they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.audit_rules import are_few
from bbclust.cli.input.categories import CategoryCoding

if TYPE_CHECKING:
    import numpy.typing as npt

    from bbclust.report import Analysis

HALF = 0.5
COLUMNS_NAMED = 5


def label_notes(analysis: Analysis, codings: Sequence[CategoryCoding] = ()) -> list[str]:
    """A sentence for every clustered column of few values that tells the clusters."""
    if analysis.n_clusters == 1:
        return []
    found = []
    for name, column in _columns(analysis, codings):
        shared = shared_information(column, analysis.labels)
        if shared is not None and shared > HALF:
            found.append((shared, _sentence(name, shared, column)))
    found.sort(key=lambda one: -one[0])
    return [sentence for _, sentence in found[:COLUMNS_NAMED]]


def _columns(
    analysis: Analysis, codings: Sequence[CategoryCoding]
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Clustered columns by name; of coded categories their numbers, and 0 for none of them."""
    place = {name: j for j, name in enumerate(analysis.columns)}
    for coding in codings:
        indicators = analysis.values[:, [place.pop(name) for name in coding.names]]
        yield coding.column, (indicators.argmax(axis=1) + 1) * (indicators.max(axis=1) > 0)
    for name, j in place.items():
        yield name, analysis.values[:, j]


def shared_information(column: npt.NDArray[Any], labels: npt.NDArray[Any]) -> float | None:
    """The adjusted mutual information of a column of few whole numbers with labels, else None.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 8)
    >>> shared_information(1 + 4 * labels, labels)
    1.0
    >>> shared_information(np.linspace(0, 1, 16), labels) is None
    True
    """
    import numpy as np
    from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

    known = np.isfinite(column)
    values, labels = column[known], labels[known]
    if not len(values) or not bool((values == np.round(values)).all()):
        return None
    distinct, codes = np.unique(values, return_inverse=True)
    if not are_few(len(distinct), len(values)):
        return None
    # What is shared by chance is subtracted from both sides, so this is an upper bound, and quick.
    if normalized_mutual_info_score(codes, labels, average_method="max") <= HALF:
        return 0.0
    return float(adjusted_mutual_info_score(codes, labels, average_method="max"))


def _sentence(name: str, shared: float, column: npt.NDArray[Any]) -> str:
    import numpy as np

    n_values = len(np.unique(column[np.isfinite(column)]))
    return (
        f"Column {name!r} has {n_values} values and tells the clusters (it shares {shared:.0%} of "
        "their information): if it is a label, it finds itself again; leave it out with --exclude, "
        "or compare with it by --truth."
    )
