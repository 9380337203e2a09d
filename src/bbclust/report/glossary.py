"""The words of the report, explained in one place: the page shows each where it is pointed at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape


@dataclass(frozen=True)
class Word:
    """A word of the page.

    Attributes
    ----------
    title : str
        How the list of words names it.
    meaning : str
    forms : tuple of str
        How texts may write it. Words without any are explained only where the page asks for it.
    """

    title: str
    meaning: str
    forms: tuple[str, ...] = ()


WORDS: Mapping[str, Word] = {
    "vote": Word(
        "vote",
        "Each replica puts a row into one of its clusters: that is its vote on the row.",
    ),
    "membership": Word(
        "membership",
        "The share of the votes on a row that a cluster got. It tells how stable the division is, "
        "not how likely the row belongs to a group.",
        ("membership", "memberships"),
    ),
    "entropy": Word(
        "entropy",
        "How divided the votes on a row are, in bits: 0 when all agree, 1 for a coin toss between "
        "two clusters, more when more clusters share them.",
        ("entropy", "entropies"),
    ),
    "mean entropy": Word("mean entropy", "The entropy, averaged over the rows.", ("mean entropy",)),
    "pairwise entropy": Word(
        "max pairwise entropy",
        "The entropy of the votes for two clusters, averaged over all rows, for the two clusters "
        "where it is largest. Unlike doubt it counts every row the same, so it is small for small "
        "clusters.",
        ("max pairwise entropy",),
    ),
    "doubt": Word(
        "doubt",
        "How divided the votes between two clusters are, in bits per vote for either: 0 when no "
        "row has votes for both, 1 for a coin toss.",
        ("doubt",),
    ),
    "relative doubt": Word(
        "relative doubt",
        "The doubt between two clusters divided by that of two halves of one cloud like them: "
        "near 0 they are apart, at 1 no more than two such halves.",
        ("relative doubt",),
    ),
    "beside a cut": Word(
        "beside a cut",
        "The doubt of the worst pair divided by that of a cut through one of these clusters.",
    ),
    "found again": Word(
        "found again",
        "A cluster is found again in a replica that has one so like it that more than half of the "
        "rows that are in either are in both. The share of such replicas tells how stable the "
        "cluster is, not whether there is a gap around it.",
        ("found again",),
    ),
    "p-value": Word(
        "p-value",
        "How often data without what is asked for look at least as much like it: for two clusters, "
        "rows without a valley between them; for the whole table, one cloud without clusters. "
        "From 0.05 down it counts as shown.",
        ("p-value", "p-values"),
    ),
    "separated": Word(
        "separated",
        "A valley between the two clusters is shown: the p-value is 0.05 or less.",
        ("separated",),
    ),
    "touching": Word(
        "touching",
        "No valley between the two clusters is shown, but they leave less doubt than two halves of "
        "one cloud.",
        ("touching",),
    ),
    "not neighbours": Word(
        "not neighbours",
        "Other clusters lie between the two, so they were not compared with one cloud.",
        ("not neighbours",),
    ),
    "held": Word(
        "held",
        "Of a number of clusters: its worst pair has at most half the doubt of a cut through a "
        "cluster, or less than that doubt with a valley between all neighbours.",
        ("held",),
    ),
    "blurred": Word(
        "blurred",
        "Of a number of clusters: its worst pair is told apart a little better than a cut "
        "through a cluster.",
        ("blurred",),
    ),
    "cut": Word(
        "cut",
        "Of a number of clusters: its worst pair is told apart no better than a cut through a "
        "cluster, so one cluster may be cut in two.",
    ),
    "outlier": Word("outlier", "Of a number of clusters: one is too small to say anything of."),
    "half-samples": Word(
        "half-samples",
        "Random halves of the rows, on each of which the number of clusters is chosen again. How "
        "many agree says how reproducible the number is with half as many rows, not how probable "
        "it is that the number is right: a small cluster has few rows in a half.",
        ("half-sample", "half-samples"),
    ),
    "wins by noise": Word(
        "wins by noise",
        "How often a number of clusters wins when the replicas are drawn anew, and nothing else. "
        "This is chance in the computation, not that in the data.",
    ),
    "replica": Word(
        "replica",
        "A random variation of the data, clustered in turn: some rows, together with draws from "
        "the prior, with random weights.",
        ("replica", "replicas"),
    ),
    "prior": Word(
        "prior",
        "A distribution that says where rows could have been. Some of the draws of each replica "
        "come from it.",
        ("prior",),
    ),
    "s": Word(
        "prior scale s",
        "How wide the prior is: its covariances are s times those of the clusters. The larger s, "
        "the more the replicas differ from the data.",
        ("prior scale", "prior scales", "prior_scale"),
    ),
    "omega": Word(
        "prior weight ω",
        "The share of the draws of each replica that come from the prior.",
        ("prior weight", "prior_weight"),
    ),
    "rand": Word(
        "adjusted Rand index",
        "How far clusters and known classes agree: 1 is perfect agreement, 0 that of chance.",
        ("adjusted Rand index",),
    ),
    "component": Word(
        "component",
        "A principal component: a direction in which the rows vary most, with its share of their "
        "variance.",
        ("principal component", "principal components"),
    ),
    "pull": Word(
        "pull",
        "How much nearer the row is to one centre than to the other in this column: the difference "
        "of the squared distances, in the units in which the rows were clustered. Over all columns "
        "the pulls add up to the difference of the squared distances.",
    ),
}

WORD_OF_FORM = {form: key for key, word in WORDS.items() for form in word.forms}
# The longest first, so that "relative doubt" is not taken for "doubt".
_FORMS = re.compile(
    r"(?<![\w-])(" + "|".join(sorted(map(re.escape, WORD_OF_FORM), key=len, reverse=True)) + r")"
    r"(?![\w-])"
)
# "cluster 3", "clusters 0 and 2", "clusters {0, 2, 5}"
_NUMBERED = re.compile(r"\b[Cc]lusters? \{?\d+(?:(?:, | and )\d+)*")


def slug(key: str) -> str:
    """The id of a word in the list of words."""
    return "word-" + key.replace(" ", "-")


def word_link(key: str, text: str | None = None) -> Markup:
    """A word of the page that leads to its meaning.

    Without scripts it is a link to the list of words; with them its meaning is shown beside it.

    Examples
    --------
    >>> from bbclust.report.glossary import word_link
    >>> print(word_link("doubt"))
    <a class="word" href="#word-doubt" aria-describedby="word-doubt">doubt</a>
    """
    shown = WORDS[key].title if text is None else text
    place = slug(key)
    return Markup('<a class="word" href="#{0}" aria-describedby="{0}">{1}</a>').format(place, shown)


def explained(text: str) -> Markup:
    """A text of our own, each word that the list knows linked where it stands first.

    Examples
    --------
    >>> from bbclust.report.glossary import explained
    >>> print(explained("0.2 bits of doubt & no relative doubt"))
    ... # doctest: +NORMALIZE_WHITESPACE
    0.2 bits of <a class="word" href="#word-doubt" aria-describedby="word-doubt">doubt</a> &amp; no
    <a class="word" href="#word-relative-doubt" aria-describedby="word-relative-doubt">relative
    doubt</a>
    """
    parts = _FORMS.split(str(text))
    seen: set[str] = set()
    marked = Markup()
    for place, part in enumerate(parts):
        key = WORD_OF_FORM.get(part) if place % 2 else None
        marked += escape(part) if key is None or key in seen else word_link(key, part)
        seen |= {key} if key else set()
    return marked


def with_names(text: Markup) -> Markup:
    """The same with the numbers after "cluster" and "clusters" marked, so that names can follow.

    Examples
    --------
    >>> from bbclust.report.glossary import with_names
    >>> print(with_names("clusters 0 and 12 of 3 clusters"))
    clusters <span data-name="0">0</span> and <span data-name="12">12</span> of 3 clusters
    """

    def mark(found: re.Match[str]) -> str:
        return re.sub(r"\d+", r'<span data-name="\g<0>">\g<0></span>', found[0])

    return Markup(_NUMBERED.sub(mark, str(escape(text))))
