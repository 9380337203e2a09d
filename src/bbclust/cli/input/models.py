"""Models out of files, and what they need of the rows of another file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbclust.cli.input.categories import CategoryCoding
from bbclust.cli.input.scaling import Scaling
from bbclust.cli.input.training import TrainingTable
from bbclust.cli.output.errors import CommandError, library_sentences

if TYPE_CHECKING:
    import numpy.typing as npt

    from bbclust.estimators.bbc import BBC


@dataclass(frozen=True)
class OpenedModel:
    """A model, the scaled columns it needs, and what it knows of the table it was fitted to.

    ``training`` is None in files of earlier versions and in those that were written in Python.
    """

    fitted: BBC
    scaling: Scaling
    training: TrainingTable | None
    codings: tuple[CategoryCoding, ...] = ()


def open_model(path: str, jobs: int) -> OpenedModel:
    """A model that analyze, fit or ``model.save`` wrote."""
    from bbclust.estimators.load_model import load_model

    if not Path(path).exists():
        raise CommandError(f"{path}: there is no such file.")
    with library_sentences():
        fitted = load_model(path)
    fitted.n_jobs = jobs
    try:
        opened = OpenedModel(
            fitted,
            _scaling_of(fitted),
            _training_of(fitted.metadata_),
            tuple(map(CategoryCoding.from_dict, fitted.metadata_.get("categories", ()))),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CommandError(
            f"{path}: what the model file says of its columns is not understood "
            f"({type(error).__name__}: {error}): fit the model again."
        ) from None
    if hasattr(fitted, "feature_names_in_"):
        del fitted.feature_names_in_  # names are matched here, and the model gets arrays
    return opened


def check_gaps(model: BBC, X: npt.NDArray[Any]) -> None:
    """Refuse rows with gaps where the model cannot draw what is missing."""
    from bbclust.stages.table import has_missing

    if model.missing != "draw" and has_missing(X):
        raise CommandError(
            "The model was fitted without --missing draw, so it takes no rows with gaps: fit it "
            "again with --missing draw, or leave such rows out with --missing drop."
        )


def _scaling_of(model: BBC) -> Scaling:
    """What the file says; a model that was saved in Python takes its columns as they are.

    These are the columns of its fit, or column_1, column_2, ... if they had no names.
    """
    stored = model.metadata_.get("scaling")
    if stored is not None:
        return Scaling.from_dict(stored)
    d = int(model.n_features_in_)
    names = getattr(model, "feature_names_in_", [f"column_{j + 1}" for j in range(d)])
    return Scaling("none", tuple(map(str, names)), (0.0,) * d, (1.0,) * d)


def _training_of(metadata: Mapping[str, Any]) -> TrainingTable | None:
    stored = metadata.get("table")
    return None if stored is None else TrainingTable.from_dict(stored)
