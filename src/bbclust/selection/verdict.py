"""What was found, in words: are there clusters, how many, and which of them are apart.

The paper announces a taxonomy from the joint use of both measures and leaves it open. Here words
follow from comparisons with clouds (:mod:`bbclust.selection.splits`), never from an entropy alone,
since the same entropy means different things at different n, m and s.

Of two neighbouring clusters:

- *separated*: rows without a valley between the two centres would rarely show one as deep;
- *touching*: they leave less doubt than two halves of one cloud like them, but a valley between
  them is not shown;
- *no more apart than two halves of one cloud*.

Of a K, by the doubt of its worst pair beside that of a cut through a cluster:

- *held*: at most half of it (:data:`~bbclust.selection.criteria.HOLDS`), or less than it where a
  valley is shown between every two neighbours;
- *blurred*: less than it;
- *cut*: as much or more, so a cluster may well be cut in two;
- *outlier*: replicas draw too few rows of a cluster to say anything of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from bbclust.notebook import card
from bbclust.selection.criteria import HOLDS, Evidence
from bbclust.selection.grid import Grid
from bbclust.selection.notebook_view import verdict_parts
from bbclust.selection.p_values import LEVEL, in_words
from bbclust.selection.splits import PairTest, groups_of, mean_doubts
from bbclust.stages.entropies import worst_pair
from bbclust.stages.kmeans import Partition
from bbclust.stages.table import Array

UNTESTED = "not compared"
AUTO_CAP = 50  # the largest K of k_range="auto"


@dataclass(frozen=True)
class Split:
    """A cluster of the next smaller K that is several clusters here.

    Attributes
    ----------
    parent : int
    children : tuple of int
    cut_ratio : float
        The largest doubt between two of the children, beside that of a cut through a cluster.
    supported : bool
        Whether that is at most half, or this K is held by its valleys.
    """

    parent: int
    children: tuple[int, ...]
    cut_ratio: float
    supported: bool


@dataclass(frozen=True)
class KVerdict:
    """What one K looks like.

    Attributes
    ----------
    kind : {"held", "blurred", "cut", "outlier", "not compared"}
    worst_pair : tuple of two ints
        The clusters worst told apart, over all s together.
    doubt, doubt_se : float
        Bits per vote for either, averaged over s.
    cut_ratio : float or None
        The doubt beside that of a cut through a cluster.
    mean_entropy : float
        Mean entropy, averaged over s.
    merged_mean_entropy : float
        What it would be with the worst pair as one cluster.
    sizes : tuple of float
        Shares of the clusters.
    parents : tuple of int, or None
        For each cluster, the cluster of the next smaller K that most of it comes from.
    splits : tuple of Split
        Which clusters of the next smaller K are several here, and whether that is supported.
    """

    n_clusters: int
    kind: str
    worst_pair: tuple[int, int]
    doubt: float
    doubt_se: float
    cut_ratio: float | None
    mean_entropy: float
    merged_mean_entropy: float
    sizes: tuple[float, ...]
    parents: tuple[int, ...] | None
    splits: tuple[Split, ...]

    def __str__(self) -> str:
        pair = f"clusters {self.worst_pair[0]} and {self.worst_pair[1]}"
        line = f"K = {self.n_clusters}: {self.kind}; at worst {self.doubt:.2f} bits of doubt"
        if self.cut_ratio is not None:
            line += f", {self.cut_ratio:.2g} times that of a cut through a cluster,"
        return f"{line} between {pair}."


@dataclass(frozen=True)
class Verdict:
    """The answer in sentences; ``str()`` for people, ``to_dict()`` for programs.

    Attributes
    ----------
    best_k : int
    tied_k : tuple of int
    tendency : float or None
        p-value of "one cloud, without a valley and with parts as loose"; None if it was not asked.
    smallest_p : float
        Below this the tendency is not looked at more closely.
    confidence : dict or None
        Share of the half-samples that choose each K.
    n_resamples : int
        Their number.
    best_k_by : dict
        What the paper's criteria choose.
    largest_k : int
        The largest K that was tried.
    n_divisible : int
        How many of its clusters have a valley of their own.
    pairs : tuple of PairTest
        Neighbouring clusters of the best K, the least apart first.
    by_k : tuple of KVerdict
    """

    best_k: int
    tied_k: tuple[int, ...]
    tendency: float | None
    smallest_p: float
    confidence: dict[int, float] | None
    n_resamples: int
    best_k_by: dict[str, int]
    largest_k: int
    n_divisible: int
    pairs: tuple[PairTest, ...]
    by_k: tuple[KVerdict, ...]

    @property
    def has_clusters(self) -> bool | None:
        """Whether clusters are shown at all; None if it was not asked."""
        return None if self.tendency is None else self.tendency <= LEVEL

    def groups(self) -> list[list[int]]:
        """The clusters, those together that are not shown to be separated."""
        tested = groups_of(self.pairs)
        known = {cluster for group in tested for cluster in group}
        alone = [[cluster] for cluster in range(self.best_k) if cluster not in known]
        return sorted(tested + alone)

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, strings, lists and dicts."""
        plain = asdict(self)
        plain["pairs"] = [{**asdict(test), "verdict": test.verdict} for test in self.pairs]
        return plain | {"groups": self.groups(), "has_clusters": self.has_clusters}

    def __str__(self) -> str:
        said = (self.answer(), self.reasons(), self.doubts(), *map(str, self.by_k))
        return "\n".join(filter(None, said))

    def _repr_html_(self) -> str:
        return card(verdict_parts(self))

    def answer(self) -> str:
        """Whether there are clusters, how many to use, and how firm that is."""
        if self.best_k == 1:
            return (
                "No clusters: the rows look like one cloud. However they are divided, no valley is "
                f"shown ({self._p()}), and the parts are no more apart than two halves of one "
                "cloud."
            )
        if self.has_clusters is False:
            return (
                f"No clusters are shown: one cloud without a gap could look like this "
                f"({self._p()}). If the rows are to be divided, {self.best_k} clusters fit best; "
                "take them as a convenience, not as a finding."
            )
        if self.has_clusters is None:
            return (
                "Whether there are clusters at all was not tested. If there are, "
                f"{self.best_k} fit best{self._agreement()}"
            )
        groups = self.groups()
        if len(groups) == self.best_k:
            apart = f"separated from one another ({self._p()})"
            if self._is_firm():
                agreed = self._agreement().replace(". ", ", and ", 1)
                return f"Use {self.best_k} clusters: they are {apart}{agreed}"
            fit = f"{self.best_k} clusters fit best"
            if self.beyond():
                fit = f"Of the numbers tried, {fit}"
            return f"{fit} and are {apart}{self._agreement()}"
        if len(groups) == 1:
            return (
                f"{self.best_k} clusters fit best, and one ellipsoid or box would rarely look like "
                f"this ({self._p()}); but no valley between any two groups of them is shown: they "
                f"touch, one cloud has corners, or the rows are too few to show it"
                f"{self._agreement()}"
            )
        return (
            f"{self.best_k} clusters fit best, of which {len(groups)} groups are shown to be "
            f"separated ({self._p()}); {_touching(groups)}{self._agreement()}"
        )

    def _p(self) -> str:
        return "" if self.tendency is None else in_words(self.tendency, self.smallest_p)

    def _is_firm(self) -> bool:
        """Whether no other K is tied with it, none beyond those tried may fit, and halves agree."""
        halves_agree = self.confidence is None or self.confidence.get(self.best_k, 0.0) > 0.5
        return len(self.tied_k) <= 1 and not self.beyond() and halves_agree

    def _agreement(self) -> str:
        """What half-samples say, as the end of a sentence or another one."""
        if self.confidence is None:
            return "."
        n_agree = round(self.n_resamples * self.confidence.get(self.best_k, 0.0))
        share = f"{n_agree} of {self.n_resamples} half-samples of the rows choose {self.best_k}"
        if 2 * n_agree > self.n_resamples:
            return f". {share} as well."
        mostly = most_chosen(self.confidence, self.best_k)
        instead = "" if mostly == self.best_k else f"; most often they choose {mostly}"
        return f". But only {share}{instead}."

    def reasons(self) -> str:
        """Why not fewer clusters, and why not more; empty if nothing is known of these."""
        by_k = {one.n_clusters: one for one in self.by_k}
        here, after = by_k.get(self.best_k), by_k.get(self.best_k + 1)
        said = []
        if here is not None and self.has_clusters is not False:
            joined = [split.children for split in here.splits if split.supported]
            if len(joined) == 1 and self.best_k - 1 in by_k:
                said.append(f"With {self.best_k - 1}, {self._what_is_joined(joined[0])}.")
        if self.best_k > 1 and after is not None and after.kind == "cut":
            said.append(f"With {self.best_k + 1}, {_what_is_cut(after)}.")
        return " ".join(said)

    def _what_is_joined(self, children: tuple[int, ...]) -> str:
        """What the next smaller K makes one cluster, and whether it is shown to be several."""
        verdicts = [test.verdict for test in self.pairs if {*test.clusters} <= {*children}]
        together = f"clusters {', '.join(map(str, children[:-1]))} and {children[-1]}"
        if verdicts and all(verdict == "separated" for verdict in verdicts):
            return f"{together} would be one, though they are separated"
        if "touching" in verdicts:
            return f"{together}, which touch, would be one"
        return f"{together} would be one"

    def doubts(self) -> str:
        """Who disagrees, and what was not tried; empty if there is nothing to say."""
        said = []
        if len(self.tied_k) > 1:
            others = ", ".join(str(k) for k in self.tied_k if k != self.best_k)
            said.append(f"K = {others} tied with it within Monte-Carlo error (run more replicas)")
        other = {name: k for name, k in self.best_k_by.items() if k != self.best_k}
        if other:
            unable = ", which cannot choose 1," if self.best_k == 1 else ""
            said.append(
                f"the paper's criteria{unable} choose "
                + " and ".join(f"{k} ({name})" for name, k in other.items())
            )
        if self.beyond():
            said.append(self.beyond())
        if not said:
            return ""
        sentence = "; ".join(said)
        return sentence[0].upper() + sentence[1:] + "."

    def beyond(self) -> str:
        """That clusters may be more than were tried, and how to try them; empty if nothing says so.

        Either the largest K is chosen, or some of its clusters have a valley of their own.
        """
        if self.has_clusters is False or self.largest_k <= 2:
            return ""
        more = "'auto'" if self.largest_k < AUTO_CAP else f"range(2, {2 * self.largest_k + 1})"
        how = f"more clusters may fit: try k_range={more}"
        if self.best_k == self.largest_k:
            return f"{self.largest_k} is the largest K tried, and {how}"
        if self.n_divisible:
            have = "has a valley of its" if self.n_divisible == 1 else "have valleys of their"
            some = f"{self.n_divisible} of the clusters of K = {self.largest_k}, the largest tried"
            return f"{some}, {have} own, so {how}"
        return ""


MOST_LISTED = 6


def _what_is_cut(verdict: KVerdict) -> str:
    """Which cluster of the next smaller K may be in two, of a K that is cut."""
    cuts = [split for split in verdict.splits if split.cut_ratio >= 1]
    if len(cuts) == 1:
        which, parts, ratio = f"cluster {cuts[0].parent}", "its parts leave", cuts[0].cut_ratio
    else:
        assert verdict.cut_ratio is not None
        which, parts, ratio = "a cluster", "the worst pair leaves", verdict.cut_ratio
    return (
        f"{which} may well be cut in two: {parts} {ratio:.2g} times the doubt of a cut through a "
        "cluster"
    )


def _touching(groups: list[list[int]]) -> str:
    """Which clusters are not shown to be separated: by number, if they are few."""
    together = [group for group in groups if len(group) > 1]
    n_touching = sum(map(len, together))
    if n_touching > MOST_LISTED:
        return f"{n_touching} of them touch one another"
    named = ("{" + ", ".join(map(str, group)) + "}" for group in together)
    return f"clusters {' and '.join(named)} touch one another"


def most_chosen(confidence: dict[int, float], best_k: int) -> int:
    """What half-samples choose most often: among equals the chosen one, else the smallest."""
    return max(confidence, key=lambda k: (confidence[k], k == best_k, -k))


def renumber(verdict: Verdict, numbers: list[int], doubts: Array) -> Verdict:
    """The same with other numbers for the clusters of the best K, ``numbers[i]`` for the i-th.

    ``doubts`` are those of its pairs, with the numbers that they get. Of pairs with the same doubt
    the first is the worst one, also among the new numbers. Clusters of other K's keep theirs, but
    for what they say of their parents.
    """

    def pair_of(pair: tuple[int, int]) -> tuple[int, int]:
        first, second = sorted(numbers[cluster] for cluster in pair)
        return first, second

    pairs = tuple(replace(test, clusters=pair_of(test.clusters)) for test in verdict.pairs)
    by_k = list(verdict.by_k)
    at = next(i for i, one in enumerate(by_k) if one.n_clusters == verdict.best_k)
    old = np.argsort(numbers)  # the cluster that has each number now
    best = by_k[at]
    worst = worst_pair(doubts)
    assert worst is not None
    by_k[at] = replace(
        best,
        worst_pair=worst,
        sizes=tuple(best.sizes[i] for i in old),
        parents=None if best.parents is None else tuple(best.parents[i] for i in old),
        splits=tuple(
            replace(split, children=tuple(sorted(numbers[child] for child in split.children)))
            for split in best.splits
        ),
    )
    if at + 1 < len(by_k):
        after = by_k[at + 1]
        by_k[at + 1] = replace(
            after,
            parents=tuple(numbers[parent] for parent in after.parents or ()),
            splits=tuple(replace(split, parent=numbers[split.parent]) for split in after.splits),
        )
    return replace(verdict, pairs=pairs, by_k=tuple(by_k))


def classify_separation(grid: Grid, evidence: Evidence) -> tuple[KVerdict, ...]:
    """A verdict for every K."""
    verdicts = []
    for i, n_clusters in enumerate(grid.k_values):
        cells = [grid.cell(n_clusters, scale) for scale in grid.prior_scales]
        doubts = mean_doubts(grid, n_clusters)
        pair = worst_pair(doubts)
        assert pair is not None
        cut = evidence.cuts.get(n_clusters)
        relative = None if cut is None or np.isnan(cut) else float(doubts[pair]) / cut
        parents = _parents(grid.references, i)
        separated = evidence.separated.get(n_clusters, False)
        verdicts.append(
            KVerdict(
                n_clusters=n_clusters,
                kind=_kind(relative, cut, separated=separated),
                worst_pair=pair,
                doubt=float(doubts[pair]),
                doubt_se=float(np.mean([cell.pair_doubt_se for cell in cells])),
                cut_ratio=relative,
                mean_entropy=float(np.mean([cell.mean_entropy for cell in cells])),
                merged_mean_entropy=float(np.mean([cell.merged_mean_entropy for cell in cells])),
                sizes=tuple(float(share) for share in grid.references[i].shares),
                parents=parents,
                splits=_splits(parents, doubts, cut, separated=separated),
            )
        )
    return tuple(verdicts)


def _kind(relative: float | None, cut: float | None, *, separated: bool) -> str:
    if cut is None:
        return UNTESTED
    if relative is None:
        return "outlier"
    if relative <= HOLDS or separated:
        return "held"
    return "blurred" if relative < 1 else "cut"


def _splits(
    parents: tuple[int, ...] | None,
    doubts: npt.NDArray[np.float64],
    cut: float | None,
    *,
    separated: bool,
) -> tuple[Split, ...]:
    if parents is None or cut is None or np.isnan(cut):
        return ()
    found = []
    for parent in sorted(set(parents)):
        children = [child for child, of in enumerate(parents) if of == parent]
        if len(children) > 1:
            relative = float(doubts[np.ix_(children, children)].max()) / cut
            supported = relative <= HOLDS or separated
            found.append(Split(parent, tuple(children), relative, supported))
    return tuple(found)


def _parents(references: tuple[Partition, ...], i: int) -> tuple[int, ...] | None:
    """Which cluster of the previous K each cluster comes from, by most rows."""
    if i == 0:
        return None
    before, now = references[i - 1], references[i]
    both = (now.labels >= 0) & (before.labels >= 0)
    cells = now.labels[both].astype(np.int64) * before.n_clusters + before.labels[both]
    overlap: npt.NDArray[np.int64] = np.bincount(
        cells, minlength=now.n_clusters * before.n_clusters
    ).reshape(now.n_clusters, before.n_clusters)
    return tuple(int(parent) for parent in overlap.argmax(axis=1))
