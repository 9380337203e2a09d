"""Mistakes that the tests must notice: each is a small change to the sources, and what it breaks.

``mutation.py`` makes them one at a time. ``old`` stands exactly once in its file;
``tests/test_mutations.py`` says so when the sources have moved on.
"""

from __future__ import annotations

from dataclasses import dataclass

STAGES, NATIVE = "src/bbclust/stages", "src/bbclust/_native"


@dataclass(frozen=True)
class Mutation:
    """One mistake.

    Attributes
    ----------
    file : str
    old, new : str
        What stands there, and the mistake.
    breaks : str
    tests : str
        Arguments of pytest: the tests that should fail.
    units : tuple of str
        Files of C++ to compile anew; empty for Python.
    """

    file: str
    old: str
    new: str
    breaks: str
    tests: str
    units: tuple[str, ...] = ()


PYTHON = (
    Mutation(
        f"{STAGES}/alignment.py",
        "cells = labels.astype(np.int64) * n_clusters + reference_labels",
        "cells = reference_labels.astype(np.int64) * n_clusters + labels",
        "swapped axes: replica and reference clusters trade places in the overlap",
        "tests/stages/test_alignment.py",
    ),
    Mutation(
        f"{STAGES}/alignment.py",
        "margin = (best - second) / n_points if n_points else 0.0",
        "margin = best / n_points if n_points else 0.0",
        "the margin forgets the second best permutation",
        "tests/stages/test_alignment.py",
    ),
    Mutation(
        f"{STAGES}/alignment.py",
        "scores = overlap - squared_distances / (largest or 1.0)",
        "scores = overlap + squared_distances / (largest or 1.0)",
        "wrong sign: ties between pairings go to the farther centre",
        "tests/stages/test_alignment.py",
    ),
    Mutation(
        f"{STAGES}/alignment.py",
        "paired = overlap[rows, columns] > 0",
        "paired = overlap[rows, columns] >= 0",
        "clusters without a common row are paired",
        "tests/stages/test_alignment.py",
    ),
    Mutation(
        f"{STAGES}/bootstrap.py",
        "return n * self.prior_weight / (1 - self.prior_weight)",
        "return n * self.prior_weight",
        "the concentration k is that of another prior weight",
        "tests/stages/test_draws.py -k 'algorithm_1 or documented or normalised'",
    ),
    Mutation(
        f"{STAGES}/bootstrap.py",
        "replicas = (m + n + k) / m * posterior",
        "replicas = (m + n) / m * posterior",
        "the variance of replicas forgets the prior",
        "tests/stages/test_draws.py -k 'variance_ratio'",
    ),
    Mutation(
        f"{STAGES}/bootstrap.py",
        "mixture = replace(mixture, means=mixture.means - table.center)",
        "mixture = replace(mixture, means=mixture.means + table.center)",
        "wrong sign: draws from the prior are centred away from the rows",
        "tests/stages/test_draws.py -k 'oracle or moments'",
    ),
    Mutation(
        f"{STAGES}/bootstrap.py",
        '"row_weights": table.weights,',
        '"row_weights": None,',
        "dropped weights: Rubin's bootstrap weighs all rows alike",
        "tests/stages/test_draws.py -k 'rubin'",
    ),
    Mutation(
        f"{STAGES}/bootstrap.py",
        "generator = stream_generator(seed, Stage.PRIOR, replica)",
        "generator = stream_generator(seed, Stage.PRIOR)",
        "shared stream: a prior written in Python gives every replica the same draws",
        "tests/priors/test_own_prior.py tests/estimators/test_bbc.py -k 'python or prior'",
    ),
    Mutation(
        f"{STAGES}/entropies.py",
        "share = np.divide(first, total, out=np.zeros_like(total), where=total > 0)",
        "share = np.divide(first, total, out=np.full_like(total, 0.5), where=total >= 0)",
        "0/0 is no longer zero in the entropy between two clusters",
        "tests/stages/test_entropy_and_votes.py",
    ),
    Mutation(
        f"{STAGES}/entropies.py",
        "return np.asarray(entr(u).sum(axis=1) / np.log(base))",
        "return np.asarray(entr(u).sum(axis=1))",
        "entropies in nats that are called bits",
        "tests/stages/test_entropy_and_votes.py",
    ),
    Mutation(
        f"{STAGES}/entropies.py",
        "engine.mean_pairwise_entropy(memberships, weights, True, means)",
        "engine.mean_pairwise_entropy(memberships, None, True, means)",
        "dropped weights of rows in the doubt between clusters",
        "tests/stages/test_entropy_and_votes.py",
    ),
    Mutation(
        f"{STAGES}/entropies.py",
        "rows, columns = np.triu_indices(len(pairwise), k=1)",
        "rows, columns = np.triu_indices(len(pairwise), k=2)",
        "off by one: neighbouring clusters are never the worst pair",
        "tests/stages/test_entropy_and_votes.py -k worst",
    ),
    Mutation(
        f"{STAGES}/kmeans.py",
        'largest_first = np.argsort(-mass, kind="stable")',
        'largest_first = np.argsort(mass, kind="stable")',
        "wrong sign: clusters are numbered from the smallest",
        "tests/stages/test_kmeans.py -k 'numbered or sizes'",
    ),
    Mutation(
        f"{STAGES}/kmeans.py",
        "number[order] = np.arange(self.n_clusters, dtype=np.int32)",
        "number[:] = order",
        "inverse permutation: labels no longer go with their centres",
        "tests/stages/test_kmeans.py -k 'numbered or partition_from_labels'",
    ),
    Mutation(
        f"{STAGES}/kmeans.py",
        "        table.rows,\n        table.weights_or_ones(),\n        seed=seed,",
        "        table.rows,\n        np.ones(table.n),\n        seed=seed,",
        "dropped weights: the reference partition is that of rows that weigh the same",
        "tests/stages/test_kmeans.py tests/estimators/test_bbc.py -k 'weight'",
    ),
    Mutation(
        f"{STAGES}/kmeans.py",
        "mass = np.bincount(labels[clustered], weights=weights, minlength=n_clusters)",
        "mass = np.bincount(labels[clustered], minlength=n_clusters)",
        "dropped weights: sizes of clusters, and so weights of the prior, count rows",
        "tests/stages/test_kmeans.py -k 'sizes'",
    ),
    Mutation(
        f"{STAGES}/missing_values.py",
        "model = MissingModel(reference.shares, means + table.center, covariances)",
        "model = MissingModel(reference.shares, means, covariances)",
        "means of missing values stay centred",
        "tests/stages/test_missing_values.py",
    ),
    Mutation(
        f"{STAGES}/missing_values.py",
        "blocks_per_row = (1 + table.d + 3) // 4",
        "blocks_per_row = table.d // 4",
        "shared stream: neighbouring rows are completed by the same random numbers",
        "tests/stages/test_missing_values.py",
    ),
    Mutation(
        f"{STAGES}/missing_values.py",
        "        state = state ^ (state >> np.uint64(31))\n",
        "        state = np.zeros_like(state)\n",
        "shared stream: all rows that are predicted draw the same numbers",
        "tests/stages/test_missing_values.py",
    ),
    Mutation(
        f"{STAGES}/monte_carlo.py",
        "counts = votes + 0.5",
        "counts = votes + 1.0",
        "another prior of memberships than Jeffreys'",
        "tests/stages/test_entropy_and_votes.py -k jeffreys",
    ),
    Mutation(
        f"{STAGES}/monte_carlo.py",
        "return float(np.sqrt(n_replicas / (n_replicas - 1) * (moves**2).sum()))",
        "return float(np.sqrt((moves**2).sum() / n_replicas))",
        "the standard error shrinks twice with the replicas",
        "tests/stages/test_entropy_and_votes.py -k 'standard_error or influence'",
    ),
    Mutation(
        f"{STAGES}/monte_carlo.py",
        "shares[:, 1:] = moves * (weights / max(weights.sum(), 1e-300))[:, None]",
        "shares[:, :-1] = moves * (weights / max(weights.sum(), 1e-300))[:, None]",
        "off by one: a vote counts for the cluster before it",
        "tests/stages/test_entropy_and_votes.py -k 'influence'",
    ),
    Mutation(
        f"{STAGES}/monte_carlo.py",
        "corrected = value - bias",
        "corrected = value + bias",
        "wrong sign of the correction for few votes",
        "tests/stages/test_entropy_and_votes.py -k 'interval'",
    ),
    Mutation(
        f"{STAGES}/observed_kmeans.py",
        "best = min(runs, key=lambda run: run.inertia)",
        "best = max(runs, key=lambda run: run.inertia)",
        "the worst of several starts is kept",
        "tests/stages/test_missing_values.py -k 'best_of_several_fills'",
    ),
    Mutation(
        f"{STAGES}/random_streams.py",
        "stage << 56 | start << 40 | replica",
        "stage << 56 | start << 40",
        "shared stream: every replica is the first one",
        "tests/stages/test_rng.py",
    ),
    Mutation(
        f"{STAGES}/swaps.py",
        "place = first[into] + (uniform[:, 2] * sizes[into]).astype(np.int64)",
        "place = (uniform[:, 2] * sizes[into]).astype(np.int64)",
        "new centres come from the first cluster only",
        "tests/stages/test_swaps.py",
    ),
    Mutation(
        f"{STAGES}/swaps.py",
        "if inertia < below:",
        "if inertia > below:",
        "swaps that make it worse are kept",
        "tests/stages/test_swaps.py -k 'worse or oracle or best'",
    ),
    Mutation(
        f"{STAGES}/table.py",
        "shares = observed * (1.0 if weights is None else weights[:, None])",
        "shares = observed * 1.0",
        "dropped weights: incomplete tables are centred as if rows weighed the same",
        "tests/stages/test_missing_values.py -k 'centred'",
    ),
    Mutation(
        f"{STAGES}/table.py",
        "weights = weights / weights.mean()\n        return Table(self.rows[chosen]",
        "weights = weights / weights.sum()\n        return Table(self.rows[chosen]",
        "weights of a part of the table do not have mean one",
        "tests/stages/test_table.py",
    ),
    Mutation(
        f"{STAGES}/trimming.py",
        'side="right"))',
        'side="left")) + 1',
        "one row too many is left out",
        "tests/stages/test_trimming.py -k 'farthest or shares or costs'",
    ),
    Mutation(
        f"{STAGES}/trimming.py",
        'farthest_first = np.argsort(distances, kind="stable")[::-1]',
        'farthest_first = np.argsort(distances, kind="stable")',
        "the nearest rows are left out",
        "tests/stages/test_trimming.py -k 'farthest or shares or costs'",
    ),
    Mutation(
        f"{STAGES}/voting.py",
        "shares[without[labels >= 0], labels[labels >= 0]] = 1.0",
        "shares[without[labels > 0], labels[labels > 0]] = 1.0",
        "strict for non-strict: rows without votes are never of cluster 0",
        "tests/stages/test_entropy_and_votes.py -k 'memberships'",
    ),
    Mutation(
        f"{STAGES}/voting.py",
        "rows, centers, occupied.view(np.uint8), missing, first_replica, n_jobs, votes",
        "rows, centers, np.ones_like(occupied, np.uint8), missing, first_replica, n_jobs, votes",
        "centres without points vote",
        "tests/stages/test_entropy_and_votes.py -k 'abstain'",
    ),
    Mutation(
        "src/bbclust/ensemble/engine_kmeans.py",
        "first=replicas.start,",
        "first=0,",
        "shared stream: every block draws the replicas of the first",
        "tests/ensemble/test_same_bits.py -k 'blocks'",
    ),
    Mutation(
        "src/bbclust/ensemble/engine_kmeans.py",
        "reference_centers=reference.centers - table.center,",
        "reference_centers=reference.centers,",
        "missing alignment: replicas are compared with centres in other units",
        "tests/stages/test_oracle.py -k 'same_draws' -x",
    ),
)

BINDINGS, MISSING, DOUBLE = ("bindings.cpp",), ("missing.cpp",), ("kernels_double.cpp",)

# Only the units that are named are compiled anew: most of these mistakes are noticed in the small
# ones, and where types are treated alike one of them is enough.
CPP = (
    Mutation(
        f"{NATIVE}/entropies.hpp",
        "(by_membership ? u[present[a]] + u[present[b]] : 1.0)",
        "(by_membership ? u[present[a]] : 1.0)",
        "a point counts by its membership in one of two clusters",
        "tests/stages/test_entropy_and_votes.py -k 'definition or weights or bias'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/entropies.hpp",
        "total += weight;",
        "total += 1.0;",
        "dropped weights in the mean of pairwise entropies",
        "tests/stages/test_entropy_and_votes.py -k 'definition or weights'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/alignment.hpp",
        "largest > 0 ? 0.4 / (largest * K) : 0.0",
        "largest > 0 ? 4.0 / largest : 0.0",
        "distances outweigh points in the alignment",
        "tests/stages/test_alignment.py",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/alignment.hpp",
        "return std::llround(least);",
        "return std::llround(least) - 1;",
        "off by one: the margin of an alignment is one point too small",
        "tests/stages/test_alignment.py",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/random.hpp",
        "(start & last_start) << 40",
        "(start & last_start) << 39",
        "shared stream: starts and replicas have keys in common",
        "tests/stages/test_rng.py -k 'words'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/gammas.hpp",
        "drawn_ + i)), 1.0 / a);",
        "drawn_ + i)), a);",
        "gammas of shapes below one have another distribution",
        "tests/stages/test_rng.py -k 'gammas'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/matrices.hpp",
        "scaled[f] = weights[i] * x[f];",
        "scaled[f] = x[f];",
        "dropped weights in the covariances of the prior",
        "tests/priors/test_priors.py -k 'weight or covariance'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/matrices.hpp",
        "row[f] -= above[t] * above[f];",
        "row[f] += above[t] * above[f];",
        "wrong sign in the factor of a covariance",
        "tests/priors/test_priors.py -k 'covariance or factor or elicited'",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/voting.hpp",
        "if (label >= 0) add_votes",
        "if (label > 0) add_votes",
        "strict for non-strict: votes for cluster 0 are not counted",
        "tests/stages/test_entropy_and_votes.py",
        BINDINGS,
    ),
    Mutation(
        f"{NATIVE}/observed_kmeans.hpp",
        "mass[labels_[i] * d + f] += rows_.weights[i];",
        "mass[labels_[i] * d + f] += 1.0;",
        "dropped weights in the means of what is observed",
        "tests/stages/test_missing_values.py -k 'lloyd'",
        MISSING,
    ),
    Mutation(
        f"{NATIVE}/missing_moments.hpp",
        "for (int s = n_observed; s <= u; ++s)",
        "for (int s = n_observed; s < u; ++s)",
        "off by one: missing values have too small a covariance",
        "tests/stages/test_missing_values.py -k 'moments'",
        MISSING,
    ),
    Mutation(
        f"{NATIVE}/missing.hpp",
        "cumulative[i * K + j] = std::log(weights[j]) + gaussian.log_density(z.data());",
        "cumulative[i * K + j] = gaussian.log_density(z.data());",
        "dropped weights of the components that missing values come from",
        "tests/stages/test_missing_values.py -k 'conditional or oracle'",
        MISSING,
    ),
    Mutation(
        f"{NATIVE}/replicas.hpp",
        "++overlap[label * K + reference[row]];",
        "++overlap[reference[row] * K + label];",
        "swapped axes in the overlap of a replica with the reference",
        "tests/stages/test_oracle.py -k 'same_draws'",
        DOUBLE,
    ),
    Mutation(
        f"{NATIVE}/voting.hpp",
        "b % 255 == 254",
        "b % 256 == 255",
        "off by one: the 256th vote of all replicas for one cluster is lost",
        "tests/stages/test_entropy_and_votes.py -k 'vote'",
        DOUBLE,
    ),
    Mutation(
        f"{NATIVE}/voting.hpp",
        "in_bytes_ == std::numeric_limits<std::uint8_t>::max()",
        "in_bytes_ > std::numeric_limits<std::uint8_t>::max()",
        "off by one: the 256th vote that one thread counts for a row and cluster wraps around",
        "tests/ensemble/test_same_bits.py -k 'byte'",
        DOUBLE,
    ),
    Mutation(
        f"{NATIVE}/draws.hpp",
        "gammas.next(n, plan_.row_weights + start, weights);",
        "gammas.next(n, plan_.row_weights, weights);",
        "weights of the first 1,024 rows are used for all",
        "tests/stages/test_draws.py -k 'more_rows'",
        DOUBLE,
    ),
    Mutation(
        f"{NATIVE}/shorts.hpp",
        "std::ceil(rounding + single)",
        "std::ceil(single)",
        "points and centres in 16 bits are taken for exact, so some points have another label",
        "tests/native/test_shorts.py",
        BINDINGS,
    ),
)

MUTATIONS = PYTHON + CPP
