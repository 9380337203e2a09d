"""Slow versions of what is done with missing values: the definitions, one row at a time.

They read the same random words as the engine and share no code with it; linear algebra is numpy's.
"""

from __future__ import annotations

import numpy as np
import oracle
from numpy.random import Philox

MISSING = 19


def em_moments(rows, weights, labels, n_iter, prior_rows, ridge):
    """Means, the Gaussians' covariances and those of the rows, after so many iterations of EM."""
    n, d = rows.shape
    K = labels.max() + 1
    observed = ~np.isnan(rows)
    column_mass = (weights[:, None] * observed).sum(axis=0)
    variance = np.nansum(weights[:, None] * rows**2, axis=0) / column_mass
    means = np.zeros((K, d))
    seen = np.zeros((K, d), dtype=bool)
    for j in range(K):
        for f in range(d):
            mine = (labels == j) & observed[:, f]
            seen[j, f] = mine.any()
            if mine.any():
                means[j, f] = np.average(rows[mine, f], weights=weights[mine])
    deviations = np.where(observed, rows - means[labels], 0.0)
    pooled = np.diag((weights[:, None] * deviations**2).sum(axis=0) / column_mass)
    mass = np.array([weights[labels == j].sum() for j in range(K)])

    def gaussians(expected, pooled):
        return [
            (mass[j] * expected[j] + prior_rows * pooled) / (mass[j] + prior_rows)
            + ridge * np.diag(variance)
            for j in range(K)
        ]

    expected = [pooled] * K
    covariances = gaussians(expected, pooled)
    for _ in range(n_iter):
        filled, extra = np.empty((n, d)), np.zeros((n, d, d))
        for i in range(n):
            filled[i], extra[i] = conditional(rows[i], means[labels[i]], covariances[labels[i]])
        expected = []
        for j in range(K):
            mine = labels == j
            w = weights[mine] / mass[j]
            center = w @ filled[mine]
            deviations = filled[mine] - center
            expected.append(
                np.einsum("i,if,ig->fg", w, deviations, deviations)
                + np.einsum("i,ifg->fg", w, extra[mine])
            )
            means[j] = np.where(seen[j], center, 0.0)
        pooled = np.einsum("j,jfg->fg", mass / mass.sum(), np.array(expected))
        covariances = gaussians(expected, pooled)
    between = np.maximum(variance - np.diag(pooled), 0.0)
    covariances = [c + np.diag(np.where(seen[j], 0.0, between)) for j, c in enumerate(covariances)]
    return means, np.array(covariances), np.array(expected)


def conditional(row, mean, covariance):
    """Conditional mean of a row, observed values themselves, and covariance, zero for those."""
    m, o = np.isnan(row), ~np.isnan(row)
    regression = np.linalg.solve(covariance[np.ix_(o, o)], covariance[np.ix_(o, m)]).T
    center, spread = row.copy(), np.zeros((len(row), len(row)))
    center[m] = mean[m] + regression @ (row[o] - mean[o])
    spread[np.ix_(m, m)] = covariance[np.ix_(m, m)] - regression @ covariance[np.ix_(o, m)]
    return center, spread


def component_shares(row, weights, means, covariances):
    """Probabilities of the components given what a row has."""
    o = ~np.isnan(row)
    logs = []
    for weight, mean, covariance in zip(weights, means, covariances, strict=True):
        block, deviation = covariance[np.ix_(o, o)], row[o] - mean[o]
        square = deviation @ np.linalg.solve(block, deviation)
        logs.append(np.log(weight) - 0.5 * (np.linalg.slogdet(block)[1] + square))
    shares = np.exp(np.array(logs) - max(logs))
    return shares / shares.sum()


def complete(row, first_block, weights, means, covariances, *, seed, purpose, replica):
    """A row in a replica: the first word draws the component, the next ones are normals."""
    key = np.array([seed, MISSING << 56 | purpose << 40 | replica], dtype=np.uint64)
    words = Philox(key=key, counter=int(first_block)).random_raw(1 + len(row))
    shares = np.cumsum(component_shares(row, weights, means, covariances))
    j = min(np.searchsorted(shares, oracle.uniforms(words[:1])[0], side="right"), len(weights) - 1)
    center, spread = conditional(row, means[j], covariances[j])
    m = np.isnan(row)
    completed = center.copy()
    normals = oracle.normals(words[1 : 1 + m.sum()])
    completed[m] += np.linalg.cholesky(spread[np.ix_(m, m)]) @ normals
    return completed


def observed_lloyd(rows, weights, centers, max_iter=300):
    """Lloyd on what is observed; labels, centres and cost."""
    centers = centers.copy()
    labels = None
    for _ in range(max_iter + 1):
        costs = np.nansum((rows[:, None, :] - centers[None]) ** 2, axis=2)
        now = costs.argmin(axis=1)
        if labels is not None and (now == labels).all():
            break
        labels = now
        for k in range(len(centers)):
            for f in range(rows.shape[1]):
                mine = (labels == k) & ~np.isnan(rows[:, f])
                if mine.any():
                    centers[k, f] = np.average(rows[mine, f], weights=weights[mine])
    return labels, centers, float((weights * costs.min(axis=1)).sum())
