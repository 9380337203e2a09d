"""How prepared priors are stored: as arrays and plain details, under a name.

A class that says so with :func:`stored_as` is kept in model files, all others are left out. Those
of this package are mixtures: kernel densities hold rows of the data, and functions and
distributions of scipy are code, which a file that is safe to open cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from bbclust.priors.contract import PreparedPrior


class PlainData(NamedTuple):
    """A prior as a file holds it.

    Attributes
    ----------
    arrays : dict of str to ndarray
        Of float64, float32, int64, int32 or bool.
    details : dict
        What else there is, as JSON can hold it; "kind" is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.priors import PlainData
    >>> data = PlainData({"corner": np.array([1.0, 2.0])}, {"edge": 0.5})
    >>> data.array("corner", "<f8", (2,))
    array([1., 2.])
    >>> data.array("corner", "<f8", (3,))
    Traceback (most recent call last):
        ...
    ValueError: an array has shape (2,), not (3,)
    """

    arrays: dict[str, npt.NDArray[Any]]
    details: dict[str, Any]

    def array(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
        """One of the arrays, if it is what it should be.

        Parameters
        ----------
        name : str
            Its name in ``arrays``.
        dtype : str
            The type it must have, such as "<f8" for float64.
        shape : tuple of int or None
            The shape it must have; None is any length.

        Returns
        -------
        ndarray of shape ``shape``
            Finite numbers.

        Raises
        ------
        KeyError
            If there is no such array.
        ValueError
            If its type or shape is another, or a number is not finite.
        """
        values = self.arrays[name]
        require(values.dtype == np.dtype(dtype), f"an array is of {values.dtype}, not {dtype}")
        fits = values.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, values.shape, strict=True)
        )
        require(fits, f"an array has shape {values.shape}, not {shape}")
        require(bool(np.isfinite(values).all()), "its prior is not finite")
        return values


class StorablePrior(PreparedPrior, Protocol):
    """A prepared prior that model files hold, once its class is registered by :func:`stored_as`.

    Besides ``sample`` of :class:`PreparedPrior` it has a method that takes it apart and a class
    method that puts it together again.

    Examples
    --------
    A prior that a model keeps when it is saved and loaded:

    >>> import os, tempfile
    >>> import numpy as np
    >>> from bbclust import BBC, load_model
    >>> from bbclust.priors import PlainData, stored_as
    >>> @stored_as("mylab.Normal")
    ... class Normal:
    ...     def __init__(self, mean):
    ...         self.mean = mean
    ...     def prepare(self, X, reference, scale):
    ...         return self
    ...     def sample(self, n, generator):
    ...         return self.mean + generator.normal(size=(n, len(self.mean)))
    ...     def to_plain_data(self):
    ...         return PlainData({"mean": self.mean}, {})
    ...     @classmethod
    ...     def from_plain_data(cls, data, n_features):
    ...         return cls(data.array("mean", "<f8", (n_features,)))
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = BBC(2, prior=Normal(np.array([1.0, 0.0])), random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "normal.bbc")
    ...     model.save(path)
    ...     load_model(path).prior_.mean
    array([1., 0.])
    """

    def to_plain_data(self) -> PlainData:
        """All that the prior is made of, called by ``model.save``.

        Returns
        -------
        PlainData
            Arrays and details from which :meth:`from_plain_data` makes a prior with the same
            draws. The names of the arrays must be the same when the prior that was read is taken
            apart: files with others are refused.
        """
        ...

    @classmethod
    def from_plain_data(cls, data: PlainData, n_features: int) -> StorablePrior:
        """The prior that a file describes, called by :func:`~bbclust.load_model`.

        Whoever wrote the file may have meant harm: every array (:meth:`PlainData.array`) and every
        detail must be checked before it is used.

        Parameters
        ----------
        data : PlainData
            What the file holds.
        n_features : int
            d, the number of columns of the model.

        Returns
        -------
        StorablePrior
            An object of the same class as the one that was saved.

        Raises
        ------
        ValueError
            With half a sentence, such as "its prior has no component", if something is not as it
            should be; the reader is told it after the name of the file.
        """
        ...


Stored = TypeVar("Stored", bound=type[StorablePrior])

_KINDS: dict[str, type[StorablePrior]] = {}


def stored_as(kind: str) -> Callable[[Stored], Stored]:
    """Register a class of prepared priors, under the name that files have for it.

    The class needs ``to_plain_data()`` and the class method ``from_plain_data(data, n_features)``
    of :class:`StorablePrior`. Its subclasses are not meant, since they may draw otherwise.

    Parameters
    ----------
    kind : str
        The name, which no other class may have; put yours in front, as in "mylab.Cube".

    Returns
    -------
    callable
        A decorator, which gives the class back as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from bbclust.priors import PlainData, stored_as
    >>> @stored_as("mylab.Cube")
    ... class Cube:
    ...     def __init__(self, corner):
    ...         self.corner = corner
    ...     def sample(self, n, generator):
    ...         return self.corner + generator.uniform(size=(n, len(self.corner)))
    ...     def to_plain_data(self):
    ...         return PlainData({"corner": self.corner}, {})
    ...     @classmethod
    ...     def from_plain_data(cls, data, n_features):
    ...         return cls(data.array("corner", "<f8", (n_features,)))
    """

    def register(cls: Stored) -> Stored:
        known = _KINDS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"{kind!r} is stored by {known.__module__}.{known.__qualname__} already: "
                f"choose another name for {cls.__qualname__}."
            )
        _KINDS[kind] = cls  # a class that is defined again takes its own place
        return cls

    return register


def stored_kind(prior: object) -> str | None:
    """Name under which a prior is stored, by its very type; None if it is not."""
    return next((kind for kind, cls in _KINDS.items() if cls is type(prior)), None)


def is_storable(prior: object) -> TypeGuard[StorablePrior]:
    """Whether a file can hold it."""
    return stored_kind(prior) is not None


def restore_prior(kind: str, data: PlainData, n_features: int) -> StorablePrior:
    """The prior that a file describes; ValueError, with half a sentence, if it cannot be."""
    require(
        kind in _KINDS,
        f"its prior is of the kind {kind[:40]!r}, which is not known here: import the module that "
        "defines it first",
    )
    try:
        prior = _KINDS[kind].from_plain_data(data, n_features)
        known = prior.to_plain_data().arrays.keys()
    except ValueError:
        raise
    except KeyError:
        raise ValueError("its prior is not complete") from None
    except Exception as error:  # whatever a class does with details that it did not write
        raise ValueError(f"its prior cannot be restored ({type(error).__name__})") from None
    require(known == data.arrays.keys(), "it holds an array that no model has")
    return prior


def require(holds: bool, otherwise: str) -> None:
    """Refuse what a file says of a prior, with half a sentence."""
    if not holds:
        raise ValueError(otherwise)
