"""Tables 6 and 7: the scale of the gap statistic, and the data behind row 6."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans

from reproduction.indices import PLANE, ROWS, measure_indices, points_of_row
from reproduction.markdown import counted, number, table
from reproduction.printed import printed
from reproduction.readings import distance
from reproduction.study import Result, Study
from reproduction.study_context import K_VALUES, StudyContext

Array = npt.NDArray[np.float64]

N_REFERENCES = 5
UNSQUARED = "gap: ln, distances not squared, principal components"


def log_dispersions(points: Array, random_state: int) -> list[float]:
    """Logarithm of the pooled mean distance within clusters, not squared, for each K."""
    values = []
    for k in K_VALUES:
        labels = KMeans(k, n_init=3, random_state=random_state).fit_predict(points)
        clusters = [points[labels == j] for j in range(k)]
        values.append(np.log(sum(pdist(cluster).sum() / len(cluster) for cluster in clusters)))
    return values


def unsquared_gap(label: str, draw: int, random_state: int) -> Array:
    """The gap of plain distances, the default of R's ``clusGap``; shape (K,)."""
    X = points_of_row(label, draw)
    _, _, axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    turned = np.einsum("ij,kj->ik", X, axes)
    generator = np.random.default_rng(random_state)
    references = [
        log_dispersions(generator.uniform(turned.min(0), turned.max(0), turned.shape), b)
        for b in range(N_REFERENCES)
    ]
    return np.asarray(np.mean(references, axis=0) - log_dispersions(X, 0))


def measure(context: StudyContext) -> Result:
    """Distance of each printed row from our draws, for several ways to compute it."""
    n_draws = context.size(quick=2, full=30)
    tasks = [(label, draw, context.random_state(draw)) for label in ROWS for draw in range(n_draws)]
    plain = np.array(context.each("gap of plain distances", unsquared_gap, tasks))
    plain = np.moveaxis(plain.reshape(len(ROWS), n_draws, len(K_VALUES)), 1, 2)
    decimal = 1 / np.log(10)
    distances: dict[str, list[float | None]] = {}
    for place, (label, number_) in enumerate(ROWS.items()):
        silhouette, box, turned = measure_indices(context)[label]
        ways = {
            "silhouette": (silhouette, "silhouette"),
            "gap: ln, box of the data": (box, "gap"),
            "gap: ln, principal components": (turned, "gap"),
            UNSQUARED: (plain[place], "gap"),
            "gap: log10, box of the data": (decimal * box, "gap"),
            "gap: log10, principal components": (decimal * turned, "gap"),
        }
        for way, (values, name) in ways.items():
            wanted = np.array(printed()[name][str(number_)])
            distances.setdefault(way, []).append(distance(values, wanted))
    n_indices = measure_indices(context)[PLANE].shape[-1]
    return {"n_draws": n_indices, "n_plain": n_draws, "distances": distances}


def show(result: Result) -> str:
    """The section of the page."""
    rows = [
        [way, *("" if value is None else number(value, 1) for value in values)]
        for way, values in result["distances"].items()
    ]
    return "\n\n".join(
        [
            "How far is each printed row of Tables 6 and 7 from our draws? Root mean square over K "
            "of (printed minus our mean) / standard deviation over draws; about 1 when the printed "
            f"row could be another draw ({counted(result['n_draws'], 'draw')}; "
            f"{result['n_plain']} for distances that are not squared, the default of R's clusGap):",
            table(["printed row against", *ROWS], rows),
            "Two things follow. The gaps of Table 7 have the size of decimal logarithms with "
            "references along the principal components; natural logarithms are about twice as "
            "large. And the printed rows 6 of both tables are far from draws of the "
            "three-dimensional data set that Table 3 describes, but are ordinary draws of its "
            "first two coordinates. We cannot know how they were computed. It matters because the "
            "paper's statement that silhouette and gap miss data set 6 rests on these two rows.",
        ]
    )


STUDY = Study(
    name="audit-comparators",
    title="Tables 6 and 7: the scale of the gap, and the data behind row 6",
    measure=measure,
    show=show,
)
