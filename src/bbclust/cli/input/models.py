"""Models out of files, and the rows of a file as they need them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bbclust.cli.input.scaling import Scaling
from bbclust.cli.output.errors import CommandError, library_sentences

if TYPE_CHECKING:
    from bbclust.estimators.bbc import BBC


def open_model(path: str, jobs: int) -> tuple[BBC, Scaling]:
    """A model that analyze, fit or ``model.save`` wrote, and the scaled columns it needs."""
    from bbclust.estimators.load_model import load_model

    if not Path(path).exists():
        raise CommandError(f"{path}: there is no such file.")
    with library_sentences():
        model = load_model(path)
    model.n_jobs = jobs
    scaling = _scaling_of(model)
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # names are matched here, and the model gets arrays
    return model, scaling


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
