"""Models out of files."""

from __future__ import annotations

import os

from bbclust.estimators.bagclust import BagClust1
from bbclust.estimators.bbc import BBC
from bbclust.io.archive import ArchiveError, prefix_errors_with
from bbclust.io.model_file import read_model
from bbclust.io.saving import from_plain_data

_ESTIMATORS = {"BBC": BBC, "BagClust1": BagClust1}


def load_model(path: str | os.PathLike[str]) -> BBC:
    """Load a model that was written by ``model.save(path)``.

    The model predicts as the saved one does, to the bit if it was saved in float64. Results by row
    (``labels_``, ``memberships_`` and so on) are not in the file. A parameter that is an object of
    Python, such as a prior, is not either: set it anew before fitting again.

    Files are safe to open, from strangers too: they are arrays and JSON with a checksum, and
    nothing in them is executed. Files of earlier versions of bbclust stay readable.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    BBC
        Or :class:`~bbclust.BagClust1`, if one was saved.

    Raises
    ------
    ArchiveError
        A ValueError of ``bbclust.io.archive``, once named ``SealedFileError``: the file is damaged,
        was edited, holds something else, or was written by a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> from bbclust import BBC, load_model
    >>> from bbclust.datasets import load_iris
    >>> model = BBC(3, random_state=0).fit(load_iris().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.bbc")
    ...     model.save(path, metadata={"unit": "cm"})
    ...     loaded = load_model(path)
    >>> loaded.predict([[5.0, 3.4, 1.5, 0.2]]), loaded.metadata_
    (array([1]), {'unit': 'cm'})
    """
    with prefix_errors_with(path, "model"):
        stored = read_model(path)
        estimator = _ESTIMATORS.get(stored.estimator)
        if estimator is None:
            raise ArchiveError(f"it holds a {stored.estimator[:40]!r}")
        try:
            model: BBC = from_plain_data(estimator, stored)
        except (TypeError, ValueError, OverflowError) as error:
            raise ArchiveError(f"its parameters are impossible ({error})") from None
        return model
