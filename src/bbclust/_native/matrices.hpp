// The little linear algebra on the result path. BLAS and LAPACK give other bits for other numbers
// of threads; these do not.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace bbclust {

// out (d, d) = sum over rows of weight * x x'
inline void weighted_gram(const double* rows, const double* weights, std::int64_t n, int d,
                          const StopFlag& stop, double* out) {
    std::vector<double> scaled(d);
    for (std::int64_t i = 0; i < n; ++i) {
        if (i % 16 == 0) stop.check();
        const double* x = rows + i * d;
        for (int f = 0; f < d; ++f) scaled[f] = weights[i] * x[f];
        for (int f = 0; f < d; ++f) {
            double* row = out + static_cast<std::int64_t>(f) * d;
            for (int g = 0; g <= f; ++g) row[g] += scaled[f] * x[g];
        }
    }
    for (int f = 0; f < d; ++f)
        for (int g = f + 1; g < d; ++g)
            out[static_cast<std::int64_t>(f) * d + g] = out[static_cast<std::int64_t>(g) * d + f];
}

// Upper triangular A with A'A = covariance, which may be singular: a pivot that is nothing but
// rounding makes its row zero. In place on a symmetric (d, d) matrix.
inline void semidefinite_factor(double* a, int d) {
    const double rounding = 8.0 * d * std::numeric_limits<double>::epsilon();
    for (int t = 0; t < d; ++t) {
        double* row = a + static_cast<std::int64_t>(t) * d;
        const double diagonal = row[t];
        for (int s = 0; s < t; ++s) {
            const double* above = a + static_cast<std::int64_t>(s) * d;
            for (int f = t; f < d; ++f) row[f] -= above[t] * above[f];
        }
        const bool null = !(row[t] > rounding * diagonal);
        const double scale = null ? 0.0 : 1.0 / std::sqrt(row[t]);
        for (int f = 0; f < d; ++f) row[f] = f < t ? 0.0 : scale * row[f];
    }
}

}  // namespace bbclust
