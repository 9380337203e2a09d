"""All studies, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable

from reproduction import (
    audit_comparators,
    audit_formula,
    audit_limit,
    audit_replicas,
    audit_starts,
    audit_units,
    audit_weights,
    calibration,
    dataset_figures,
    dimensions,
    entropy_tables,
    figure_1,
    recovery,
    table_1,
    table_2,
    table_3,
    table_6,
    table_7,
)
from reproduction.study import Study

CHAPTERS: dict[str, tuple[Study, ...]] = {
    "The tables": (
        table_1.STUDY,
        table_2.STUDY,
        table_3.STUDY,
        *entropy_tables.STUDIES,
        table_6.STUDY,
        table_7.STUDY,
    ),
    "The figures": (figure_1.STUDY, *dataset_figures.STUDIES),
    "The audit": (
        audit_units.STUDY,
        audit_formula.STUDY,
        audit_replicas.STUDY,
        audit_starts.STUDY,
        audit_weights.STUDY,
        audit_comparators.STUDY,
        audit_limit.STUDY,
    ),
    "Beyond the paper": (recovery.STUDY, dimensions.STUDY, calibration.STUDY),
}

STUDIES: dict[str, Study] = {
    study.name: study for studies in CHAPTERS.values() for study in studies
}


def choose_studies(names: Iterable[str] | None) -> list[Study]:
    """The named studies in the order of the page; all of them without names.

    Examples
    --------
    >>> [study.title for study in choose_studies(["table-4"])]
    ['Table 4: mean entropy']
    """
    if names is None:
        return list(STUDIES.values())
    wanted = set(names)
    unknown = sorted(wanted - set(STUDIES))
    if unknown:
        raise ValueError(f"There is no study {unknown[0]!r}: choose from {', '.join(STUDIES)}.")
    return [study for name, study in STUDIES.items() if name in wanted]
