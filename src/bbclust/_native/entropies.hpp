// The entropies between each two clusters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace bbclust {

// Entropy, in bits, of (a, b) normalised to sum one; zero when either is zero
// (0/0 counts as zero: the point is not undecided between the two).
inline double pair_entropy(double a, double b) {
    if (!(a > 0) || !(b > 0)) return 0.0;
    const double p = a / (a + b), q = b / (a + b);
    return -(p * std::log2(p) + q * std::log2(q));
}

// out (K, K): weighted means over the points of the entropy between each two clusters; with
// `by_membership` each point counts by its membership in the two.
inline void mean_pairwise_entropy(const double* memberships, const double* weights, std::int64_t n,
                                  int K, bool by_membership, const StopFlag& stop, double* out) {
    std::fill_n(out, static_cast<std::int64_t>(K) * K, 0.0);
    std::vector<int> present;
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (i % 16 == 0) stop.check();
        const double weight = weights ? weights[i] : 1.0;
        total += weight;
        const double* u = memberships + i * K;
        present.clear();
        for (int k = 0; k < K; ++k)
            if (u[k] > 0) present.push_back(k);
        for (std::size_t a = 0; a < present.size(); ++a)
            for (std::size_t b = a + 1; b < present.size(); ++b)
                out[static_cast<std::int64_t>(present[a]) * K + present[b]] +=
                    weight * pair_entropy(u[present[a]], u[present[b]]) *
                    (by_membership ? u[present[a]] + u[present[b]] : 1.0);
    }
    for (int l = 0; l < K; ++l)
        for (int m = l + 1; m < K; ++m) {
            const double mean = out[static_cast<std::int64_t>(l) * K + m] / total;
            out[static_cast<std::int64_t>(l) * K + m] = mean;
            out[static_cast<std::int64_t>(m) * K + l] = mean;
        }
}

}  // namespace bbclust
