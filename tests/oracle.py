"""Slow, plain NumPy versions of every stage, against which the engine is compared.

They read the same random words as the engine (numpy's own Philox) and otherwise share no code with
it: each is the definition written down, one point at a time where that is clearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import log

import numpy as np
from numpy.random import Philox
from scipy.special import ndtri

DRAWS, NORMALS, WEIGHTS, RESAMPLING, SEEDING, REFERENCE = 1, 2, 3, 4, 5, 6
REFERENCE_SWAPS = 21


# --- randomness -------------------------------------------------------------------------------


def words(seed: int, stage: int, n: int, start: int = 0, replica: int = 0) -> np.ndarray:
    key = np.array([seed, stage << 56 | start << 40 | replica], dtype=np.uint64)
    return Philox(key=key).random_raw(n)


def uniforms(raw: np.ndarray) -> np.ndarray:
    """[0, 1) from the upper 53 bits."""
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def open_uniforms(raw: np.ndarray) -> np.ndarray:
    """(0, 1) from the upper 52 bits."""
    return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def halves(raw: np.ndarray) -> np.ndarray:
    """(0, 1) from both halves of each word, the lower first."""
    lower, upper = raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32)
    both = np.stack([lower, upper], axis=-1).reshape(*raw.shape[:-1], -1)
    return (both.astype(np.float64) + 0.5) * 2.0**-32


def normals(raw: np.ndarray) -> np.ndarray:
    return ndtri(open_uniforms(raw))


def gammas(seed: int, shapes: np.ndarray, replica: int = 0, stage: int = WEIGHTS) -> np.ndarray:
    """Logarithms of uniforms when all shapes are 1 or all are 2, Marsaglia & Tsang otherwise.

    Candidate a of variable i reads word i of starts 2a and 2a + 1.
    """
    n = len(shapes)
    result = np.zeros(n)
    waiting = np.arange(n)
    for attempt in range(100):
        x = normals(words(seed, stage, n, 2 * attempt, replica))
        u = open_uniforms(words(seed, stage, n, 2 * attempt + 1, replica))
        for i in waiting:
            d = (shapes[i] + 1 if shapes[i] < 1 else shapes[i]) - 1 / 3
            v = (1 + x[i] / np.sqrt(9 * d)) ** 3
            if v > 0 and log(u[i]) < 0.5 * x[i] ** 2 + d * (1 - v + log(v)):
                result[i] = d * v
        waiting = np.flatnonzero(result == 0)
        if len(waiting) == 0:
            break
    boost = open_uniforms(words(seed, stage, n, 0xFFFF, replica))
    result = np.where(shapes < 1, result * boost ** (1 / shapes), result)
    raw = words(seed, stage, n, 0, replica)
    if (shapes == 1).all():
        return -np.log(open_uniforms(raw))
    return -np.log(halves(raw).reshape(n, 2).prod(axis=1)) if (shapes == 2).all() else result


# --- Algorithm 1 ------------------------------------------------------------------------------


@dataclass
class Draws:
    points: np.ndarray
    weights: np.ndarray
    rows: np.ndarray  # -1 for draws from the prior


def draw_replica(
    rows,
    mixture,
    *,
    seed,
    replica,
    n_draws,
    prior_weight=0.0,
    kind="proper",
    weighting="weights",
    row_weights=None,
):
    """All draws one after the other, nothing merged; weights sum to the number of draws."""
    n, d = rows.shape
    shares = np.ones(n) / n if row_weights is None else row_weights / row_weights.sum()
    if kind == "rubin":
        n_draws = n
        result = Draws(rows.copy(), np.empty(n), np.arange(n))
        shapes = np.ones(n) if row_weights is None else row_weights
        result.weights = gammas(seed, shapes, replica)
    else:
        omega = 0.0 if kind == "efron" else prior_weight
        u = uniforms(words(seed, DRAWS, n_draws, replica=replica))
        # d normals for each draw from the prior, one draw after the other
        z = ndtri(halves(words(seed, NORMALS, n_draws * d, replica=replica)))
        z = z[: n_draws * d].reshape(n_draws, d)
        prior_draw = np.cumsum(u < omega) - 1
        result = Draws(np.empty((n_draws, d)), np.ones(n_draws), np.full(n_draws, -1))
        for i in range(n_draws):
            if u[i] < omega:
                j = np.searchsorted(np.cumsum(mixture.weights), u[i] / omega, side="right")
                j = min(j, len(mixture.weights) - 1)
                factor = mixture.factors[j]
                result.points[i] = mixture.means[j] + z[prior_draw[i], : len(factor)] @ factor
            else:
                share = (u[i] - omega) / (1 - omega)
                row = min(np.searchsorted(np.cumsum(shares), share, side="right"), n - 1)
                result.rows[i] = row
                result.points[i] = rows[row]
        if kind == "proper":
            shape = n / (1 - prior_weight) / n_draws
            result.weights = gammas(seed, np.full(n_draws, shape), replica)
    result.weights *= n_draws / result.weights.sum()
    return result


def merge(draws: Draws) -> dict:
    """Weight of every row drawn, and the prior's draws in order."""
    by_row: dict[int, float] = {}
    prior = []
    for point, weight, row in zip(draws.points, draws.weights, draws.rows, strict=True):
        if row < 0:
            prior.append((point, weight))
        else:
            by_row[int(row)] = by_row.get(int(row), 0.0) + weight
    return {"rows": by_row, "prior": prior}


# --- k-means ----------------------------------------------------------------------------------


def squared_distances(points, centers):
    axes = range(points.shape[1])
    return sum((points[:, [j]] - centers[None, :, j]) ** 2 for j in axes)


def cluster_means(points, weights, labels, n_clusters):
    """Weighted means; those of empty clusters are not numbers."""
    sums = [np.bincount(labels, weights * column, n_clusters) for column in points.T]
    with np.errstate(invalid="ignore"):
        return np.stack(sums, axis=1) / np.bincount(labels, weights, n_clusters)[:, None]


def pick(amounts: np.ndarray, u: float) -> int:
    """The point at share u: chunks of 256 points, then columns (i mod 16), then down a column."""
    left = u * amounts.sum()

    def descend(values):
        nonlocal left
        last = 0
        for i, value in enumerate(values):
            if value <= 0:
                continue
            last = i
            if left < value:
                break
            left -= value
        return last

    chunks = [amounts[i : i + 256] for i in range(0, len(amounts), 256)]
    c = descend([chunk.sum() for chunk in chunks])
    in_columns = np.pad(chunks[c], (0, 256 - len(chunks[c]))).reshape(16, 16)
    column = descend(in_columns.sum(axis=0))
    return 256 * c + column + 16 * descend(chunks[c][column::16])


def seed_centers(points, weights, n_clusters, raw):
    """Greedy weighted k-means++ on a stream of words."""
    u = iter(uniforms(raw))
    trials = 2 + int(log(n_clusters))
    centers = [points[pick(weights, next(u))]]
    closest = squared_distances(points, np.array(centers)).min(axis=1)
    while len(centers) < n_clusters and (weights * closest).sum() > 0:
        candidates = [pick(weights * closest, next(u)) for _ in range(trials)]
        distances = squared_distances(points, points[candidates])
        costs = weights @ np.minimum(closest[:, None], distances)
        centers.append(points[candidates[int(np.argmin(costs))]])
        closest = np.minimum(closest, distances[:, np.argmin(costs)])
    return np.array(centers)


@dataclass
class Lloyd:
    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    occupied: np.ndarray


def lloyd(points, weights, centers, *, n_clusters, max_iter=300, tolerance=0.0):
    """Weighted Lloyd; empty clusters take the farthest points neither alone nor at home."""
    d = points.shape[1]
    place = np.full((n_clusters, d), np.inf)
    place[: len(centers)] = centers
    labels = None
    for _ in range(max_iter):
        now = squared_distances(points, place).argmin(axis=1)
        if labels is not None and (now == labels).all():
            break
        labels = now
        counts = np.bincount(labels, minlength=n_clusters)
        empty = [k for k in range(n_clusters) if counts[k] == 0]
        if empty:
            own = ((points - place[labels]) ** 2).sum(axis=1)
            farthest_first = np.argsort(-own, kind="stable")
            far = [i for i in farthest_first if own[i] > 1e-26 * (points[i] ** 2).sum()]
            for k in empty:
                while far and counts[labels[far[0]]] < 2:
                    far.pop(0)
                if not far:
                    place[k] = np.inf
                    continue
                i = far.pop(0)
                counts[labels[i]] -= 1
                counts[k] += 1
                labels[i] = k
        means = cluster_means(points, weights, labels, n_clusters)
        moved = np.where(counts[:, None] > 0, means, place)
        with np.errstate(invalid="ignore"):
            shift = np.nansum(np.where(np.isfinite(moved), (moved - place) ** 2, 0.0))
        place = moved
        if shift <= tolerance:
            break
    distances = squared_distances(points, place)
    labels = distances.argmin(axis=1)
    inertia = float((weights * distances[np.arange(len(points)), labels]).sum())
    occupied = np.bincount(labels, minlength=n_clusters) > 0
    means = cluster_means(points, weights, labels, n_clusters)
    return Lloyd(labels, np.where(occupied[:, None], means, place), inertia, occupied)


def kmeans(points, weights, starts, *, n_clusters, max_iter=300, tolerance=0.0):
    """Best of several starts, the earliest among equals. All of them run to their end."""
    runs = [
        lloyd(
            points, weights, centers, n_clusters=n_clusters, max_iter=max_iter, tolerance=tolerance
        )
        for centers in starts
    ]
    return min(runs, key=lambda run: run.inertia)


def improve_by_swaps(points, weights, centers, *, n_clusters, seed, n_futile):
    """A centre goes and a row of any cluster becomes one, until a round of swaps is in vain."""
    best = lloyd(points, weights, centers, n_clusters=n_clusters)
    used = 0
    while True:
        numbers = uniforms(words(seed, REFERENCE_SWAPS, used + 3 * n_futile))[used:]
        used += 3 * n_futile
        for gone, into, place in numbers.reshape(n_futile, 3):
            rows = np.flatnonzero(best.labels == int(into * n_clusters))
            changed = best.centers.copy()
            changed[int(gone * n_clusters)] = points[rows[int(place * len(rows))]]
            found = lloyd(points, weights, changed, n_clusters=n_clusters)
            if found.inertia < best.inertia * (1 - 1e-12):
                best = found
                break
        else:
            return best


# --- alignment --------------------------------------------------------------------------------


@dataclass
class Alignment:
    to_reference: tuple[int, ...]
    overlap: int
    second: int


def align(overlap, distances):
    """All permutations: largest overlap, then smallest summed distance."""
    n_clusters = len(overlap)
    scored = sorted(
        (
            -sum(overlap[k, p[k]] for k in range(n_clusters)),
            sum(distances[k, p[k]] for k in range(n_clusters)),
            p,
        )
        for p in permutations(range(n_clusters))
    )
    second = -scored[1][0] if len(scored) > 1 else -1
    return Alignment(scored[0][2], -scored[0][0], second)


# --- votes and entropies ----------------------------------------------------------------------


def entropy(u) -> float:
    return -sum(p * log(p, 2) for p in u if p > 0)


def pairwise_entropy(u, a, b) -> float:
    total = u[a] + u[b]
    return entropy([u[a] / total, u[b] / total]) if total > 0 else 0.0


# --- Algorithm 3 ------------------------------------------------------------------------------


@dataclass
class Ensemble:
    votes: np.ndarray
    centers: np.ndarray
    margin: np.ndarray
    inertia: np.ndarray
    mean_entropy: float
    max_pairwise_entropy: float


def run(
    rows,
    reference_labels,
    reference_centers,
    mixture,
    *,
    seed,
    n_replicas,
    n_init,
    tolerance,
    n_draws,
    prior_weight,
    kind="proper",
    weighting="weights",
    vote_on_all=False,
    draw=None,
):
    """The whole loop on centred rows; ``draw(b)`` gives points, weights and rows of replica b."""
    n_clusters = len(reference_centers)
    votes = np.zeros((len(rows), n_clusters), dtype=int)
    all_centers, margins, inertias = [], [], []
    for b in range(n_replicas):
        points, weights, index = draw(b)
        here = weights > 0
        points, weights, index = points[here], weights[here], index[here]
        starts = [reference_centers]
        for start in range(1, n_init + 1):
            raw = words(seed, SEEDING, 4 * n_clusters * (2 + int(log(n_clusters))), start, b)
            starts.append(seed_centers(points, weights, n_clusters, raw))
        best = kmeans(points, weights, starts, n_clusters=n_clusters, tolerance=tolerance)
        if vote_on_all:
            labels = squared_distances(rows, best.centers).argmin(axis=1)
            voted = np.arange(len(rows))
        else:
            drawn = index >= 0
            labels, voted = best.labels[drawn], index[drawn]
        overlap = np.zeros((n_clusters, n_clusters), dtype=int)
        for label, row in zip(labels, voted, strict=True):
            overlap[label, reference_labels[row]] += 1
        distances = np.where(
            best.occupied[:, None], squared_distances(best.centers, reference_centers), 0.0
        )
        aligned = align(overlap, distances)
        inertias.append(best.inertia)
        margins.append((aligned.overlap - aligned.second) / len(voted))
        named = np.empty_like(reference_centers)
        for k in range(n_clusters):
            named[aligned.to_reference[k]] = best.centers[k]
        all_centers.append(named)
        for label, row in zip(labels, voted, strict=True):
            votes[row, aligned.to_reference[label]] += 1
    u = votes / votes.sum(axis=1, keepdims=True)
    pairs = [(a, b) for a in range(n_clusters) for b in range(a + 1, n_clusters)]
    return Ensemble(
        votes=votes,
        centers=np.array(all_centers),
        margin=np.array(margins),
        inertia=np.array(inertias),
        mean_entropy=float(np.mean([entropy(row) for row in u])),
        max_pairwise_entropy=max(
            float(np.mean([pairwise_entropy(row, a, b) for row in u])) for a, b in pairs
        ),
    )


# --- Algorithm 2 ------------------------------------------------------------------------------


def bagclust1(n, reference_labels, reference_centers, sample, cluster, *, n_replicas):
    """Votes of BagClust1, step by step.

    ``sample(b)`` gives the row of every draw of replica b, ``cluster(b)`` the label of each row it
    drew and its centres. Among namings of equal agreement, on which the paper is silent, the one
    with the nearest centres is taken.
    """
    n_clusters = len(reference_centers)
    votes = np.zeros((n, n_clusters), dtype=int)
    for b in range(n_replicas):
        drawn = {int(row) for row in sample(b)}
        label, centers = cluster(b)
        assert label.keys() == drawn
        namings = []
        for tau in permutations(range(n_clusters)):
            agreement = sum(tau[label[row]] == reference_labels[row] for row in drawn)
            distance = ((centers - reference_centers[list(tau)]) ** 2).sum()
            namings.append((-agreement, distance, tau))
        tau = min(namings)[2]
        for row in drawn:
            votes[row, tau[label[row]]] += 1
    return votes
