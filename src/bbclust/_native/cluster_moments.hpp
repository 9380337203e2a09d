// What is known of the clusters of a table from one look at each of its rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

// Counts (K,), sums (K, d) and products (K, d, d), or nothing, that are added to.
struct ClusterMoments {
    std::int64_t* counts = nullptr;
    double* sums = nullptr;
    double* products = nullptr;  // below the diagonal and on it
};

// Adds up how rows deviate from a point of their cluster, `about` (K, d), one after the other. A row
// belongs to the nearest centre; centres (K, d), like rows less the origin, are small numbers.
template <class T>
void add_moments(const T* rows, std::int64_t n, int d, const double* origin, const Codebook<T>& centers,
                 const double* about, const StopFlag& stop, const ClusterMoments& out) {
    constexpr std::int64_t block = 1024;
    Panels<T> panels;
    RowsToPanels<T> to_panels;
    Buffer<T> centered(block * d);
    std::vector<double> deviation(d);
    for (std::int64_t first = 0; first < n; first += block) {
        const std::int64_t count = std::min(block, n - first);
        const T* here = rows + first * d;
        for (std::int64_t i = 0; i < count; ++i)
            for (int f = 0; f < d; ++f)
                centered[i * d + f] = static_cast<T>(static_cast<double>(here[i * d + f]) - origin[f]);
        panels.reserve(count, d);
        panels.n = count;
        to_panels.put(0, count, [&](std::int64_t i) { return centered.data() + i * d; }, panels);
        panels.close();
        const auto add = [&](std::int64_t begin, std::int64_t size, const T* labels) {
            for (std::int64_t i = begin; i < std::min(begin + size, count); ++i) {
                const std::int64_t k = static_cast<std::int64_t>(labels[i - begin]);
                ++out.counts[k];
                for (int f = 0; f < d; ++f) {
                    deviation[f] = static_cast<double>(here[i * d + f]) - about[k * d + f];
                    out.sums[k * d + f] += deviation[f];
                }
                if (!out.products) continue;
                double* product = out.products + k * d * d;
                for (int f = 0; f < d; ++f)
                    for (int g = 0; g <= f; ++g) product[f * d + g] += deviation[f] * deviation[g];
            }
        };
        for_nearest(panels.view(), centers, stop, add);
    }
}

}  // namespace bbclust
