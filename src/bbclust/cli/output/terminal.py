"""What a command tells: tables on a terminal, aligned plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbclust.cli.output.errors import printable
from bbclust.cli.output.wrapping import fit_line
from bbclust.percentages import percent

SHARES_SHOWN = 3
SIZES_SHOWN = 15
COLUMNS_SHOWN = 20
CLASSES_SHOWN = 20
LABEL = 13  # columns of what stands before a line of facts


def show_summary(summary: dict[str, Any], *, read: str) -> None:
    """The answer, and how sure it is."""
    say(*summary["answer"]["sentences"])
    say("", *_data_lines(summary["data"], read), indent=LABEL)
    if "clusters" in summary:
        _show_clusters(summary)
    else:
        show_table("Numbers of clusters (* chosen)", *_choice_rows(summary["selection"]))
    show_notes(summary["notes"])


def _show_clusters(summary: dict[str, Any]) -> None:
    answer = summary["answer"]
    measures = _measure_lines(answer)
    if measures:
        say("", *measures, indent=LABEL)
    if answer["n_clusters"] > 1:
        show_table("Clusters", *_cluster_rows(summary))
    if summary["truth"] is not None:
        show_table(*_truth_rows(summary["truth"]))
    doubtful = [row for row in answer["most_uncertain"] if row["entropy"] > 0]
    if doubtful:
        show_table("Rows that are least sure", *_uncertain_rows(doubtful))


def show_notes(notes: Iterable[str]) -> None:
    """What one should know besides."""
    for note in notes:
        say("", f"Note: {note}")


def warn(notes: Iterable[str]) -> None:
    """The same on standard error, for commands whose output is the result itself."""
    for note in notes:
        print(f"bbclust: note: {printable(note)}", file=sys.stderr)


def show_directory(out: Path, files: Mapping[str, str]) -> None:
    """Where the files are, and what they hold."""
    width = 2 + max(map(len, files))
    say("", f"Results are in {out}:", *(f"  {name:{width}}{files[name]}" for name in files))


def _data_lines(data: dict[str, Any], read: str) -> list[str]:
    rows = f"{data['n_rows']:,} rows"
    if data["dropped_rows"]:
        rows += f" ({data['dropped_rows']:,} more have gaps and stay without a label)"
    lines = [
        f"Read         {data['source']}, {read}: {rows}",
        f"Clustered    {_listed(data['columns'])}",
        f"Scaling      {data['scaling']}",
    ]
    if data["id_column"] is not None:
        lines.append(f"Row names    {data['id_column']}")
    aside = data["set_aside"]
    lines += [f"Set aside    {one['column']}: {one['reason']}" for one in aside[:COLUMNS_SHOWN]]
    if len(aside) > COLUMNS_SHOWN:
        lines.append(f"             and {len(aside) - COLUMNS_SHOWN} more, see summary.json")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = len(names) - COLUMNS_SHOWN
    return ", ".join(names[:COLUMNS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _measure_lines(answer: dict[str, Any]) -> list[str]:
    if not _is_measured(answer):
        return []
    interval = answer["mean_entropy_interval"]
    more = "" if interval is None else " ({:.3f} to {:.3f} with endless replicas)".format(*interval)
    lines = [
        f"Mean entropy {answer['mean_entropy']:.3f} bits{more}, where "
        f"{answer['largest_possible_entropy']:.3f} would say nothing",
    ]
    worst = answer["worst_pair"]
    if worst is not None:
        first, second = worst["clusters"]
        lines.append(
            f"Worst pair   clusters {first} and {second}, {worst['doubt']:.3f} bits of doubt: "
            f"{worst['verdict']}"
        )
    return lines


def _is_measured(answer: dict[str, Any]) -> bool:
    """Whether votes could be divided: among several clusters, by more than one replica."""
    return bool(answer["n_clusters"] > 1 and answer["votes_per_row"] > 1)


def _choice_rows(selection: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = [
        (
            f"{one['n_clusters']}{' *' if one['n_clusters'] == selection['best_k'] else ''}",
            f"{one['doubt']:.3f}",
            f"{one['mean_entropy']:.3f}",
            percent(one["mc_confidence"] if one["confidence"] is None else one["confidence"]),
            one["kind"],
        )
        for one in selection["by_k"]
    ]
    return ("K", "doubt", "mean entropy", "wins", "what it looks like"), rows


def _cluster_rows(summary: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    measured = _is_measured(summary["answer"])
    rows: list[tuple[str, ...]] = [
        (
            str(one["cluster"]),
            f"{one['size']:,}",
            percent(one["share"]),
            f"{one['mean_entropy']:.3f}" if measured and one["mean_entropy"] is not None else "",
            percent(one["stability"]["recovered"]) if measured and one["stability"] else "",
            ", ".join(_telling(column) for column in one["profile"][:2] if column["difference"]),
        )
        for one in summary["clusters"][:SIZES_SHOWN]
    ]
    hidden = len(summary["clusters"]) - SIZES_SHOWN
    if hidden > 0:
        rows.append((f"{hidden} more", "", "", "", "", ""))
    return ("cluster", "rows", "share", "entropy", "found again", "set apart by"), rows


def _telling(column: dict[str, Any]) -> str:
    return f"{'high' if column['difference'] > 0 else 'low'} {column['column']}"


def _truth_rows(truth: dict[str, Any]) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    index = truth["adjusted_rand_index"]
    title = f"Known classes in {truth['column']} by cluster"
    if index is not None:
        title += f"; adjusted Rand index {index:.3f}"
    counts = [line[:SIZES_SHOWN] for line in truth["contingency"][:CLASSES_SHOWN]]
    headers = ("class", *(str(k) for k in range(len(counts[0]) if counts else 0)))
    rows: list[tuple[str, ...]] = [
        (name, *(f"{count:,}" for count in line))
        for name, line in zip(truth["classes"], counts, strict=False)
    ]
    hidden = len(truth["classes"]) - CLASSES_SHOWN
    if hidden > 0:
        rows.append((f"{hidden} more", *("" for _ in headers[1:])))
    return title, headers, rows


def _uncertain_rows(rows: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    named = any(row["id"] is not None for row in rows)
    lines = []
    for row in rows:
        shares = sorted(enumerate(row["memberships"]), key=lambda pair: -pair[1])[:SHARES_SHOWN]
        votes = ", ".join(f"{percent(share)} {cluster}" for cluster, share in shares if share > 0)
        name = (str(row["id"]),) if named else ()
        lines.append((str(row["row"]), *name, str(row["cluster"]), f"{row['entropy']:.3f}", votes))
    return ("row", *(("name",) if named else ()), "label", "entropy", "votes for clusters"), lines


def say(*lines: str, indent: int = 0) -> None:
    """Print lines, with nothing in them that a terminal would obey.

    A terminal gets them broken between words, with so many blanks before what goes on. A file or a
    pipe gets them as they are.
    """
    for line in map(printable, lines):
        print(fit_line(line, sys.stdout, indent))


def show_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; on a terminal with colours and as wide as that."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(printable(title), headers, cells)
        return
    say("", title)
    table = [[printable(cell) for cell in headers], *cells]
    widths = [max(len(row[j]) for row in table) for j in range(len(headers))]
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  " + line.rstrip())


def _rich_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for header in headers:
        table.add_column(Text(printable(header)))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    console.print(Text(f"\n{title}", style="bold"), table)
