"""make_page: an analysis and its summary as one HTML file that needs nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from bokeh.plotting import figure
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from bbclust.diagnostics.row_counts import CLEAR_SHARE
from bbclust.percentages import percent
from bbclust.report import figures
from bbclust.report.analysis import Analysis
from bbclust.report.glossary import WORD_OF_FORM, WORDS, explained, slug, with_names, word_link
from bbclust.report.inlined import (
    bokeh_script,
    figures_in_script,
    json_in_script,
    packaged,
    policy,
)
from bbclust.report.k_slider import describe_every_k
from bbclust.report.methods import compare_methods
from bbclust.report.pair_listing import LEAST_SHOWN, PairListing, list_pairs
from bbclust.report.prior_histograms import Histogram, column_histograms
from bbclust.report.profiles import Profiles, make_profiles
from bbclust.report.row_pulls import describe_columns
from bbclust.report.rows import TOP_VOTES, ShownRows, short, show_rows
from bbclust.report.sentences import headline, listed
from bbclust.report.split_tree import SplitTree, draw_split_tree
from bbclust.report.summary import as_plain, cluster_doubts, summarize, uncertain_order
from bbclust.report.theme import DARK, LIGHT, cluster_colors
from bbclust.selection.criteria import CRITERIA
from bbclust.selection.p_values import in_words

THEMES = {"light": LIGHT, "dark": DARK}
# Joined into one script, in this order.
SCRIPTS = ("parts", "glossary", "names", "downloads", "row_detail", "behaviour")
MOST_CARDS = 60
MOST_CARDS_OPEN = 12
MOST_CHIPS = 60
MOST_CLASSES = 40
TELLING_COLUMNS = 6
ROWS_PER_PAGE = 10
COLUMNS_LISTED = 30


def make_page(analysis: Analysis, summary: Mapping[str, Any] | None = None) -> str:
    """The report as HTML.

    Parameters
    ----------
    analysis : Analysis
    summary : dict, optional
        What :func:`~bbclust.report.summarize` says of it.

    Returns
    -------
    str
        One page, with Bokeh, style and data inside. It asks nothing from any other place: its
        content security policy forbids it.
    """
    summary = summarize(analysis) if summary is None else summary
    profiles = make_profiles(analysis.values, analysis.labels, analysis.n_clusters)
    shown = show_rows(analysis, profiles)
    every_k = None
    if analysis.selector is not None:
        saw_all = analysis.is_training and analysis.selector.n_sample_ == analysis.n_rows
        every_k = describe_every_k(
            analysis.selector,
            analysis.filled[shown.rows],
            analysis.labels[shown.rows],
            shown.rows if saw_all else None,
            [one["share"] for one in summary["clusters"]],
        )
    histograms = _histograms(analysis, shown)
    scripts = [bokeh_script(), page_script()]
    colors = {name: cluster_colors(theme["page"]) for name, theme in THEMES.items()}
    page = _environment().get_template("report.html")
    return page.render(
        summary=summary,
        **{name: summary[name] for name in ("data", "answer", "selection", "truth", "sensitivity")},
        **_texts(analysis, summary, shown),
        **_tables(analysis, summary),
        methods=compare_methods(summary),
        any_entropy=bool(analysis.entropy.any()),
        pairs=_pair_listing(analysis, summary),
        shown=shown,
        every_k=every_k,
        tree=_split_tree(analysis, every_k, len(colors["light"])),
        words={slug(key): word for key, word in WORDS.items()},
        histograms=histograms,
        clear_share=CLEAR_SHARE,
        telling_columns=TELLING_COLUMNS,
        most_classes=MOST_CLASSES,
        most_chips=MOST_CHIPS,
        themes=THEMES,
        cluster_colors=colors,
        n_colors=len(colors["light"]),
        style=Markup(packaged("style.css")),
        policy=policy(scripts),
        scripts=[Markup(script) for script in scripts],
        json_blocks={
            "report-names": json_in_script({}),
            "report-data": json_in_script(
                _moving_parts(every_k, histograms, colors)
                | _about_rows(analysis, summary, profiles, shown)
            ),
            "report-figures": figures_in_script(_draw(analysis, shown, every_k, histograms)),
        },
    )


def _moving_parts(
    every_k: Any, histograms: Mapping[int, Histogram], colors: Mapping[str, Any]
) -> Any:
    """What the script of the page needs, as plain data."""
    return as_plain(
        {
            "themes": {name: theme | {"clusters": colors[name]} for name, theme in THEMES.items()},
            "markers": [figures.marker_name(k) for k in range(len(figures.MARKER_NAMES))],
            "every_k": every_k,
            "histograms": {
                f"c{j}": {"edges": one.edges, "data": one.data, "prior": one.prior}
                for j, one in histograms.items()
            },
            "clear_share": CLEAR_SHARE,
            "least_doubt": LEAST_SHOWN,
            "page_of_rows": ROWS_PER_PAGE,
            "words": {form: slug(key) for form, key in WORD_OF_FORM.items()},
        }
    )


def _about_rows(
    analysis: Analysis, summary: Mapping[str, Any], profiles: Profiles, shown: ShownRows
) -> dict[str, Any]:
    """What opened and downloaded rows need besides the rows."""
    details = describe_columns(analysis, profiles, shown.rows, shown.columns)
    details["names"] = [short(analysis.columns[j]) for j in shown.columns]
    about: dict[str, Any] = as_plain(
        {
            "details": details,
            "n_clusters": analysis.n_clusters,
            "fingerprint": summary["data"]["fingerprint"],
            "stem": file_stem(summary["data"]["source"]),
        }
    )
    return about


def file_stem(source: str) -> str:
    """What downloaded files are called after: letters, digits and dashes of the source's name.

    Examples
    --------
    >>> from bbclust.report.page import file_stem
    >>> file_stem("my flowers.csv"), file_stem("../<b>"), file_stem("雪.parquet")
    ('my-flowers', 'b', '雪')
    """
    words = re.findall(r"\w+", PurePath(source).stem)
    return "-".join(words)[:60] or "clusters"


@cache
def page_script() -> str:
    """The scripts of the page as one, in which nothing is seen from outside."""
    parts = "\n".join(packaged(f"{name}.js") for name in SCRIPTS)
    return f'(function () {{\n"use strict";\n{parts}}})();\n'


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(packaged),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = lambda text, *length: (
        "" if text is None else short(str(text), *length)
    )
    environment.filters["p_value"] = lambda p: in_words(p).removeprefix("p").removeprefix(" =")
    environment.filters["number"] = short_number
    environment.filters["explained"] = explained
    environment.filters["named"] = with_names
    environment.globals["word"] = word_link
    environment.filters["percent"] = percent
    environment.filters["setting"] = lambda value: short(json.dumps(value), 300)
    return environment


def short_number(value: float | None) -> str:
    """Three digits, or a whole number where these would need an exponent.

    Examples
    --------
    >>> from bbclust.report.page import short_number
    >>> [short_number(value) for value in (0.01234, 5130.4, 1e9)]
    ['0.0123', '5,130', '1e+09']
    """
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e7 else f"{value:.3g}"


def _draw(
    analysis: Analysis,
    shown: ShownRows,
    every_k: Mapping[str, Any] | None,
    histograms: Mapping[int, Histogram],
) -> list[figure]:
    """All figures, on one source of rows."""
    n_clusters = analysis.n_clusters
    chosen: Mapping[str, Any] = {"labels": [0] * len(shown.rows), "colors": [0]}
    if every_k is not None:
        chosen = every_k["by_k"][every_k["chosen"]]
    source = figures.make_row_source(shown, chosen["labels"], chosen["colors"])
    tooltips = [("row", "@row"), ("cluster", "@named"), ("entropy", "@entropy{0.000}")]
    tooltips[1:1] = [("name", "@id")] if analysis.ids is not None else []
    plots = [figures.draw_map(source, n_clusters, tooltips)]
    if analysis.entropy.any():
        plots += [
            figures.draw_entropy(source, n_clusters, tooltips),
            figures.draw_simplex(source, shown.corners, tooltips),
        ]
    if every_k is not None and analysis.selector is not None:
        grid = analysis.selector.grid_
        plots.append(figures.draw_map_at_k(source, tooltips))
        plots += [
            figures.draw_curves(
                measure,
                grid.k_values,
                grid.prior_scales,
                grid.values(measure),
                grid.values(f"{measure}_se"),
                grid.floor,
                analysis.selector.best_k_,
            )
            for measure in figures.MEASURES
        ]
    if histograms:
        plots.append(figures.draw_prior(next(iter(histograms.values()))))
    return plots


def _histograms(analysis: Analysis, shown: ShownRows) -> dict[int, Histogram]:
    prior = getattr(analysis.model, "prior_", None)
    if prior is None:
        return {}
    return column_histograms(prior, analysis.X, shown.columns)


def _pair_listing(analysis: Analysis, summary: Mapping[str, Any]) -> PairListing | None:
    if analysis.n_clusters < 2:
        return None
    return list_pairs(cluster_doubts(analysis), summary["pairs"])


def _split_tree(
    analysis: Analysis, every_k: Mapping[str, Any] | None, n_colors: int
) -> SplitTree | None:
    if every_k is None or analysis.selector is None:
        return None
    partitions = [part.labels for part in analysis.selector.grid_.references]
    chosen = every_k["chosen"]
    is_model = every_k["k_values"][chosen] == analysis.n_clusters
    if is_model and analysis.is_training and len(partitions[chosen]) == len(analysis.labels):
        partitions[chosen] = analysis.labels  # as everywhere on the page
    return draw_split_tree(
        partitions,
        every_k["k_values"],
        [one["colors"] for one in every_k["by_k"]],
        chosen,
        n_colors,
    )


def _tables(analysis: Analysis, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The rows that the page shows before any script runs, and the cards of the clusters."""
    uncertain = [
        {**row, "class": _class_of(analysis, int(place)), "top": top_votes(row["memberships"])}
        for row, place in zip(
            summary["answer"]["most_uncertain"], uncertain_order(analysis), strict=False
        )
    ]
    columns = {
        "row": "row",
        "id": short(analysis.id_name, 30) if analysis.ids is not None else None,
        "class": short(analysis.truth_name, 30) if analysis.truth is not None else None,
        "cluster": "cluster",
        "entropy": "entropy",
        "votes": "votes",
    }
    return {
        "uncertain": uncertain,
        "table_columns": [(key, name) for key, name in columns.items() if name is not None],
        "has_ids": analysis.ids is not None,
        "profiles": summary["clusters"][:MOST_CARDS],
        "most_cards_open": MOST_CARDS_OPEN,
    }


def _class_of(analysis: Analysis, row: int) -> str:
    return "" if analysis.truth is None else short(str(analysis.truth[row]))


def top_votes(memberships: Sequence[float]) -> list[tuple[int, float]]:
    """The clusters with most votes for a row, and their shares.

    Examples
    --------
    >>> from bbclust.report.page import top_votes
    >>> top_votes([0.1, 0.3, 0.0, 0.6])
    [(3, 0.6), (1, 0.3), (0, 0.1)]
    """
    order = sorted(range(len(memberships)), key=lambda k: -memberships[k])
    return [(k, memberships[k]) for k in order[:TOP_VOTES]]


def _texts(analysis: Analysis, summary: Mapping[str, Any], shown: ShownRows) -> dict[str, Any]:
    """What the page says that depends on the analysis and is not in the summary."""
    answer, data = summary["answer"], summary["data"]
    k = answer["n_clusters"]
    ties = [str(other) for other in answer["tied_k"] if other != k]
    is_found = answer["chosen"] and answer["choice"]["has_clusters"] is not False
    choice_title = f"Why {k}" if is_found else "How many clusters"
    sections = [
        ("answer", "The answer"),
        ("choice", choice_title),
        ("rows", "Who is where"),
        ("pairs", "Pairs"),
        ("profiles", "Profiles"),
        ("truth", "Known classes"),
        ("others", "Other methods"),
        ("sensitivity", "Settings"),
        ("prior", "Prior"),
        ("columns", "Columns"),
        ("method", "How it was computed"),
        ("words", "Words"),
    ]
    optional = (("truth", "truth"), ("others", "baselines"), ("sensitivity", "sensitivity"))
    absent = {name for name, key in optional if not summary[key]}
    if not data["audit"]:
        absent.add("columns")
    columns = [short(name) for name in data["columns"]]
    more = len(columns) - COLUMNS_LISTED
    return {
        "source": short(data["source"], 120),
        "headline": headline(answer),
        "tendency_text": _tendency_text(analysis),
        "draws_text": _draws_text(summary),
        "sections": [section for section in sections if section[0] not in absent],
        "tie_text": "given, not chosen"
        if not answer["chosen"]
        else "if the rows are to be divided"
        if not is_found and k > 1
        else f"tied with {listed(ties)}"
        if ties
        else "chosen, no ties",
        "chosen_verdict": _chosen_verdict(summary),
        "choice_title": choice_title,
        "choice_text": _choice_text(summary),
        "sample_text": _sample_text(analysis, shown),
        "search_hint": _search_hint(analysis),
        "scaled": analysis.original is not None,
        "prior_text": _prior_text(analysis),
        "method_text": _method_text(analysis),
        "column_list": ", ".join(columns[:COLUMNS_LISTED])
        + (f" and {more} more" if more > 0 else ""),
        "again_text": ""
        if summary["seed"] is None
        else "The same file, settings and seed give the same numbers again.",
    }


def _search_hint(analysis: Analysis) -> str:
    known = {"name": analysis.ids, "class": analysis.truth}
    return " or ".join(["row", *(word for word, values in known.items() if values is not None)])


def _chosen_verdict(summary: Mapping[str, Any]) -> str:
    selection = summary["selection"]
    if selection is None:
        return ""
    verdicts = {one["n_clusters"]: one["verdict"] for one in selection["by_k"]}
    return str(verdicts.get(selection["best_k"], next(iter(verdicts.values()))))


def _choice_text(summary: Mapping[str, Any]) -> str:
    selection = summary["selection"]
    if selection is None:
        return ""
    n_rows = summary["data"]["n_rows"]
    text = CRITERIA[selection["criterion"]].sentence
    if selection["n_sample"] < n_rows:
        text += f" It was applied to a sample of {selection['n_sample']:,} rows."
    return text


def _tendency_text(analysis: Analysis) -> str:
    """The p-value of one cloud."""
    if analysis.selector is None or analysis.selector.cluster_tendency_ is None:
        return "not tested"
    verdict = analysis.selector.verdict_
    return in_words(analysis.selector.cluster_tendency_, verdict.smallest_p)


def _draws_text(summary: Mapping[str, Any]) -> str:
    """Why entropies of the curves are not those of the rows."""
    if summary["selection"] is None:
        return ""
    m = summary["selection"]["n_draws"]
    return (
        f"Replicas have {m:,} draws here and their centres vote on rows not drawn, too, so "
        "that a wrong number of clusters shows. These entropies are for comparing one number with "
        "another; how sure each row is, the next section tells, by the replicas of the final "
        "division."
    )


def _sample_text(analysis: Analysis, shown: ShownRows) -> str:
    m, n = len(shown.rows), analysis.n_rows
    if m == n:
        return ""
    if analysis.whole is not None:
        return (
            f"The views and the table show {m:,} rows out of a random sample of "
            f"{len(analysis.X):,} of the {n:,}, its least certain ones among them. Sizes and "
            "entropies are those of all rows, means those of the sample."
        )
    return (
        f"The views and the table show {m:,} of the {n:,} rows: the least certain ones and a "
        "random sample of the others. Sizes and means are those of all rows."
    )


def _method_text(analysis: Analysis) -> str:
    model = analysis.model
    clusterer = getattr(model, "clusterer", None)
    name = "k-means" if clusterer is None else type(clusterer).__name__
    n_replicas = getattr(model, "n_replicas_", None)
    replicas = "Each replica" if n_replicas is None else f"Each of {n_replicas:,} replicas"
    draws = {
        "proper": "draws rows and draws from the prior, weighs them at random (the proper Bayesian "
        "bootstrap)",
        "rubin": "weighs all rows at random (Rubin's Bayesian bootstrap)",
        "efron": "draws rows at random (Efron's bootstrap)",
    }[getattr(model, "resampling", "efron")]
    return (
        f"{name} makes a first partition of the rows. {replicas} {draws} and is clustered in turn; "
        "its clusters are matched with those of the first partition and vote on the rows."
    )


def _prior_text(analysis: Analysis) -> str:
    model = analysis.model
    if getattr(model, "prior_", None) is None:
        return "No prior was used, or the model does not hold it."
    weight, scale = getattr(model, "prior_weight", None), getattr(model, "prior_scale", None)
    text = ""
    if weight is not None:
        text += (
            f"{percent(weight)} of the draws of each replica come from the prior, the others are "
            "rows."
        )
    if getattr(model, "prior", None) is None and scale is not None:
        text += (
            " It was elicited from the first partition: one Gaussian per cluster, with "
            f"{scale:g} times the cluster's covariance."
        )
    return text.strip()
