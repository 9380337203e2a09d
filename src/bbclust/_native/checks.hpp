// What must hold of arrays before the engine reads or writes by their shapes and numbers. A caller that
// breaks it gets a ValueError: it is a mistake in this package, not in data of a user, so a short word
// on the array is enough. Values that lead nowhere else than to other values are not looked at.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

#include "arrays.hpp"

namespace bbclust {

inline void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error((std::string("engine: ") + what).c_str());
}

template <class A>
void require_shape(const A& array, std::initializer_list<std::int64_t> shape, const char* what) {
    std::size_t axis = 0;
    for (const std::int64_t size : shape)
        require(static_cast<std::int64_t>(array.shape(axis++)) == size, what);
}

template <class A>
void require_shape(const std::optional<A>& array, std::initializer_list<std::int64_t> shape,
                   const char* what) {
    if (array) require_shape(*array, shape, what);
}

// Numbers of rows, clusters or places: from `least` on, below `end`.
template <class A>
void require_within(const A& numbers, std::int64_t least, std::int64_t end, const char* what) {
    bool within = true;
    const auto* data = numbers.data();
    for (std::size_t i = 0; i < numbers.size(); ++i)
        within &=
            static_cast<std::int64_t>(data[i]) >= least && static_cast<std::int64_t>(data[i]) < end;
    require(within, what);
}

// Shapes of gammas, which are drawn until one fits: of others none ever would.
inline void require_shapes_of_gammas(const double* numbers, std::size_t n) {
    bool fit = true;
    for (std::size_t i = 0; i < n; ++i) fit &= numbers[i] >= 0 && std::isfinite(numbers[i]);
    require(fit, "weights of rows must be finite and not negative");
}

// Rows have numbers of 32 bits, and so have draws.
inline constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();
// Labels are numbers of single precision, which are exact up to there.
inline constexpr std::int64_t most_centers = std::int64_t(1) << 24;
// Those of evaluation points that are kept have 16 bits.
inline constexpr std::int64_t most_clusters = std::numeric_limits<std::int16_t>::max();

inline void require_draws(std::int64_t n_draws, double prior_weight, std::int64_t n) {
    require(n_draws >= 1 && n_draws <= most_rows, "n_draws must be from 1 to 2**31 - 1");
    require(prior_weight >= 0 && prior_weight < 1, "prior_weight must be in [0, 1)");
    require(n >= 1, "there must be rows");
}

// A table (n, d), weights (n,) and centres (K, d).
template <class A, class B, class C>
void require_points(const A& rows, const B& weights, const C& centers) {
    const std::int64_t n = length(rows), d = extent(rows, 1), K = length(centers);
    require(n >= 1 && d >= 1 && n <= most_rows, "rows must have shape (n, d), neither zero");
    require_shape(weights, {n}, "weights must have shape (n,)");
    require(K >= 1 && K <= most_centers, "there must be from 1 to 2**24 centers");
    require_shape(centers, {K, d}, "centers must have shape (K, d)");
}

// Gaussians (K, d), (K, d, d) and patterns (P, d) of what rows miss.
template <class A, class B, class C>
void require_gaussians(const A& means, const B& covariances, const C& patterns, std::int64_t d) {
    const std::int64_t K = length(means);
    require(K >= 1 && d >= 1, "there must be Gaussians");
    require_shape(means, {K, d}, "means must have shape (K, d)");
    require_shape(covariances, {K, d, d}, "covariances must have shape (K, d, d)");
    require_shape(patterns, {length(patterns), d}, "patterns must have shape (P, d)");
}

}  // namespace bbclust
