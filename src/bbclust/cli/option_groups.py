"""Options that several commands take, as one parameter each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from bbclust.cli import options as o
from bbclust.cli.input.columns import Wanted
from bbclust.cli.input.preparation import Source, make_dialect
from bbclust.cli.parsing import parse_k, parse_scales
from bbclust.cli.settings import Method


@dataclass(frozen=True)
class ReadOptions:
    """A file, and how it is read."""

    file: o.File
    delimiter: o.Delimiter = None
    header: o.Header = None
    decimal: o.Decimal = None
    encoding: o.Encoding = None
    sheet: o.Sheet = None
    na: o.Na = None
    id: o.Id = None
    no_id: o.NoId = False
    missing: o.OnMissing = o.Missing.error

    @property
    def missing_values(self) -> str:
        """What the method does with missing values: "draw", or "error" if none are left."""
        return "draw" if self.missing is o.Missing.draw else "error"

    def source(self, **wanted: Any) -> Source:
        """What is to be clustered; ``wanted`` are other attributes of ``Wanted``."""
        dialect = make_dialect(
            self.delimiter, self.header, self.decimal, self.encoding, self.sheet, self.na or ()
        )
        asked = Wanted(id=self.id, detect_id=not self.no_id, **wanted)
        return Source(self.file, dialect, asked, self.missing.value)


@dataclass(frozen=True)
class TableOptions(ReadOptions):
    """A file, how it is read, and what of it is clustered."""

    columns: o.ColumnNames = None
    exclude: o.Exclude = None
    scale: o.Scaling = o.Scale.standard
    categories: o.OnCategories = o.Categories.aside

    def source(self, **wanted: Any) -> Source:
        """What is to be clustered."""
        columns, exclude = tuple(self.columns or ()), tuple(self.exclude or ())
        one_hot = self.categories is o.Categories.one_hot
        return super().source(columns=columns, exclude=exclude, one_hot=one_hot, **wanted)


@dataclass(frozen=True)
class ReplicaOptions:
    """How replicas are made."""

    n_replicas: o.Replicas = 200
    n_init: o.NInit = None
    n_draws: o.Draws = None
    prior_weight: o.PriorWeight = 0.5
    resampling: o.ResamplingKind = o.Resampling.proper
    weighting: o.WeightingKind = o.Weighting.weights
    seed: o.Seed = 0
    jobs: o.Jobs = -1

    def method(self, **parameters: Any) -> Method:
        """The method with these options and other parameters."""
        given = {name: getattr(v, "value", v) for name, v in asdict(self).items()}
        return Method(**given, **parameters)


@dataclass(frozen=True)
class SelectionOptions:
    """How K is chosen."""

    k: o.KRange = "2:10"
    prior_scales: o.PriorScales = "1,1.5,2.5"
    criterion: o.Criterion = "auto"
    null_reference: o.NullReference = 19
    n_resamples: o.NResamples = 10
    fast: o.Fast = False

    def method(self, replicas: ReplicaOptions, missing: str = "error") -> Method:
        """The method with these options and those of the replicas."""
        given = {**asdict(self), "k": parse_k(self.k), "missing": missing}
        return replicas.method(**{**given, "prior_scales": parse_scales(self.prior_scales)})


def ungroup(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer needs it: every option is a parameter, and no group is."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _options(groups[parameter.name])
        else:
            hint = hints[parameter.name]
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint))

    @wraps(command)
    def ungrouped(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    ungrouped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    ungrouped.__annotations__ = {one.name: one.annotation for one in parameters}
    return ungrouped


def _options(group: Any) -> list[Parameter]:
    defaults = signature(group).parameters
    hints = get_type_hints(group, include_extras=True)
    return [
        defaults[field.name].replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[field.name])
        for field in fields(group)
    ]
