"""Data of the paper: Iris, the six synthetic data sets of Table 3, and the uniform square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn import datasets as _sklearn_datasets
from sklearn.utils import check_random_state

__all__ = ["Dataset", "load_iris", "make_paper_dataset", "make_uniform_square"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Dataset:
    """A table with known classes.

    Attributes
    ----------
    data : ndarray of shape (n, d)
        The rows.
    target : ndarray of shape (n,)
        Class of each row, from 0.
    feature_names : tuple of d str
        Names of the columns.
    target_names : tuple of str
        Names of the classes.

    Examples
    --------
    >>> from bbclust.datasets import load_iris
    >>> iris = load_iris()
    >>> iris.feature_names
    ('sepal length', 'sepal width', 'petal length', 'petal width')
    >>> iris.target_names[iris.target[0]]
    'setosa'
    """

    data: Array
    target: npt.NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]


def load_iris() -> Dataset:
    """Fisher's Iris: 150 flowers, 4 measurements, 3 species (as in R; embedded in scikit-learn).

    Returns
    -------
    Dataset
        Lengths and widths in centimetres, and the species.

    References
    ----------
    R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics
    7, 179-188.

    Examples
    --------
    >>> from bbclust.datasets import load_iris
    >>> load_iris().data.shape
    (150, 4)
    """
    bunch = _sklearn_datasets.load_iris()
    return Dataset(
        data=bunch.data,
        target=bunch.target.astype(np.int64),
        feature_names=tuple(name.removesuffix(" (cm)") for name in bunch.feature_names),
        target_names=tuple(str(name) for name in bunch.target_names),
    )


@dataclass(frozen=True)
class _Recipe:
    sizes: tuple[int, ...]
    centers: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]


def _triangle(side: float) -> tuple[tuple[float, ...], ...]:
    return ((side / 2, 0.0), (-side / 2, 0.0), (0.0, side * np.sqrt(3) / 2))


_ROUND = ((1.0, 0.0), (0.0, 1.0))

# Table 3 of the paper.
_PAPER_DATASETS = {
    1: _Recipe((33, 33, 33), _triangle(3), _ROUND),
    2: _Recipe((99, 66, 33), _triangle(3), _ROUND),
    3: _Recipe((33, 33, 33), _triangle(2), _ROUND),
    4: _Recipe((33, 33, 33), _triangle(3), ((1.0, 0.25), (0.25, 1.0))),
    5: _Recipe(
        (66,) * 5,
        ((3.0, 0.0), (0.0, 3.0), (-3.0, 0.0), (0.0, -3.0), (0.0, 0.0)),
        ((0.75, 0.0), (0.0, 0.75)),
    ),
    6: _Recipe(
        (66,) * 4,
        ((1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)),
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ),
}


def make_paper_dataset(
    number: int, *, random_state: int | np.random.RandomState | None = None
) -> Dataset:
    """A fresh draw of one of the six synthetic data sets of the paper (Table 3).

    Parameters
    ----------
    number : int from 1 to 6
        1: three round clusters; 2: of unequal sizes; 3: overlapping; 4: elongated;
        5: five clusters, one in the middle; 6: four clusters in three dimensions.
    random_state : int, RandomState instance or None, default=None
        Same number, same rows.

    Returns
    -------
    Dataset
        The rows, and the cluster that each was drawn from.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.datasets import make_paper_dataset
    >>> unequal = make_paper_dataset(2, random_state=0)
    >>> unequal.data.shape, np.bincount(unequal.target)
    ((198, 2), array([99, 66, 33]))
    """
    if number not in _PAPER_DATASETS:
        raise ValueError(f"The paper has data sets 1 to 6, got number={number!r}.")
    recipe = _PAPER_DATASETS[number]
    generator = check_random_state(random_state)
    factor = np.linalg.cholesky(np.array(recipe.covariance))
    target = np.repeat(np.arange(len(recipe.sizes)), recipe.sizes)
    noise = generator.standard_normal((len(target), len(factor)))
    return Dataset(
        data=np.array(recipe.centers)[target] + noise @ factor.T,
        target=target.astype(np.int64),
        feature_names=tuple(f"x{j + 1}" for j in range(len(factor))),
        target_names=tuple(str(j + 1) for j in range(len(recipe.sizes))),
    )


def make_uniform_square(
    n: int = 500, *, random_state: int | np.random.RandomState | None = None
) -> Array:
    """Points spread evenly over the unit square, without clusters (the paper's Figure 1).

    Parameters
    ----------
    n : int, default=500
        Number of points.
    random_state : int, RandomState instance or None, default=None
        Same number, same points.

    Returns
    -------
    ndarray of shape (n, 2)
        Coordinates between 0 and 1.

    Examples
    --------
    >>> from bbclust.datasets import make_uniform_square
    >>> make_uniform_square(random_state=0).shape
    (500, 2)
    """
    square: Array = check_random_state(random_state).uniform(size=(n, 2))
    return square
