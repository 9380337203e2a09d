"""bbclust predict: clusters and memberships of new rows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from bbclust.cli import options as o
from bbclust.cli.input.models import check_gaps, open_model
from bbclust.cli.input.preparation import prepare_for
from bbclust.cli.input.range_check import range_notes
from bbclust.cli.option_groups import ReadOptions
from bbclust.cli.output.errors import library_sentences, prefix_errors_with
from bbclust.cli.output.results import assignments, check_table_name, to_json, write_table
from bbclust.cli.output.terminal import warn
from bbclust.cli.output.workspace import new_file


def predict(
    model: o.Model,
    rows: ReadOptions,
    min_confidence: o.MinConfidence = None,
    jobs: o.Jobs = -1,
    out: o.OutFile = None,
    with_columns: o.WithColumns = False,
    force: o.Force = False,
    json: o.AsJson = False,
) -> None:
    """Assign the rows of FILE to the clusters of MODEL.

    Columns are matched by name and scaled as for the model; rows are called by the column that
    named those of its fit. Without --out, CSV is printed; with it, the name says the format: .csv,
    .tsv, .jsonl, .parquet or .xlsx.
    """
    from bbclust.stages.entropies import entropy

    if out is not None:
        check_table_name(Path(out))
    opened = open_model(model, jobs)
    fitted = opened.fitted
    prepared = prepare_for(replace(rows.source(), with_columns=with_columns), opened)
    warn(prepared.notes)
    warn(range_notes(opened.training, prepared.rows.columns, prepared.rows.X))
    with prefix_errors_with(prepared.source), library_sentences():
        check_gaps(fitted, prepared.X)
        labels = fitted.predict(prepared.X, min_confidence)
        memberships = fitted.predict_proba(prepared.X)
    table = assignments(
        prepared.rows, labels, memberships, entropy(memberships), fitted.n_replicas_
    )
    if out is not None:
        with new_file(Path(out), force=force) as path:
            write_table(path, table)
    if json:
        print(to_json(table.to_dicts()))
    elif out is None:
        sys.stdout.write(table.write_csv())
