// F0 as a mixture of Gaussians, from which points are drawn a register of them at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panels.hpp"
#include "simd.hpp"

namespace bbclust {

// A component's covariance is A'A with A of shape (rank, d), so any positive semi-definite matrix will
// do, a point mass (rank zero) too.
template <class T>
class Mixture {
public:
    static constexpr int W = lanes<float>;  // points of a block
    static constexpr int together = 8;      // features summed side by side

    int n_components = 0;
    const double* cumulative = nullptr;     // (n_components,), cumulative weights, last = 1
    const std::int64_t* offsets = nullptr;  // (n_components + 1,), first row of each factor

    // What is random about a draw is computed in single precision, in a unit in which the factors are
    // below two: a power of two, by which nothing is rounded.
    void set_rows(const double* means, const double* factor_rows, int d) {
        d_ = d;
        stride_ = (d + together - 1) / together * together;
        const std::int64_t rows = offsets[n_components];
        double largest = 0;
        for (std::int64_t e = 0; e < rows * d; ++e)
            largest = std::max(largest, std::fabs(factor_rows[e]));
        unit_ = static_cast<T>(largest > 0 ? std::exp2(std::floor(std::log2(largest))) : 1.0);
        means_.resize(static_cast<std::size_t>(n_components) * d);
        std::transform(means, means + means_.size(), means_.begin(),
                       [](double m) { return static_cast<T>(m); });
        factors_.assign(rows * stride_, 0.0F);
        for (std::int64_t r = 0; r < rows; ++r)
            for (int f = 0; f < d; ++f)
                factors_[r * stride_ + f] =
                    static_cast<float>(factor_rows[r * d + f] / static_cast<double>(unit_));
        find_ends();
    }

    int d() const { return d_; }

    int rank(int j) const { return static_cast<int>(offsets[j + 1] - offsets[j]); }

    // The component that u in [0, 1) falls on: the first whose cumulative weight exceeds it.
    int component(double u) const {
        int j = 0;
        for (int t = 0; t + 1 < n_components; ++t) j += cumulative[t] <= u;
        return j;
    }

    // Points of component j, one a lane, from normals of the same lanes, (rank, W), into block
    // (W / lanes of T, d, lanes of T).
    void draw(int j, const float* normals, T* block) const {
        constexpr int parts = W / lanes<T>;
        const float* factor = factors_.data() + offsets[j] * stride_;
        const T* mean = means_.data() + static_cast<std::int64_t>(j) * d_;
        const Pack<T> unit = broadcast(unit_);
        for (int f = 0; f < d_; f += together) {
            const int end = ends_[(static_cast<std::int64_t>(j) * stride_ + f) / together];
            Pack<float> x[together];
            for (int v = 0; v < together; ++v) x[v] = broadcast(0.0F);
            for (int t = 0; t < end; ++t) {
                const Pack<float> z = load(normals + t * W);
                for (int v = 0; v < together; ++v)
                    x[v] = x[v] + z * broadcast(factor[t * stride_ + f + v]);
            }
            for (int v = 0; v < together && f + v < d_; ++v) {
                Pack<T> deviation[parts];
                widen<float, T>(x[v], deviation);
                for (int h = 0; h < parts; ++h)
                    store(block + (h * d_ + f + v) * lanes<T>,
                          broadcast(mean[f + v]) + unit * deviation[h]);
            }
        }
    }

private:
    // Rows of a factor beyond which some features have zeros only: half of a triangle.
    void find_ends() {
        ends_.assign(static_cast<std::size_t>(n_components) * stride_ / together, 0);
        for (int j = 0; j < n_components; ++j)
            for (int f = 0; f < stride_; f += together)
                for (int t = 0; t < rank(j); ++t) {
                    const float* row = factors_.data() + (offsets[j] + t) * stride_ + f;
                    if (std::any_of(row, row + together, [](float a) { return a != 0; }))
                        ends_[(static_cast<std::int64_t>(j) * stride_ + f) / together] = t + 1;
                }
    }

    int d_ = 0, stride_ = 0;
    T unit_ = 1;
    std::vector<T> means_;   // (n_components, d)
    Buffer<float> factors_;  // (sum of ranks, d filled up), in the unit
    std::vector<int> ends_;  // (n_components, features in eights)
};

}  // namespace bbclust
