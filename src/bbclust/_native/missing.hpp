// Rows with missing values, completed by draws from a mixture of Gaussians given what is observed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "matrices.hpp"
#include "normals.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

// Columns in an order in which those that a row has come first.
struct Pattern {
    std::vector<int> columns;
    int n_observed = 0;

    Pattern(const std::uint8_t* missing, int d) {
        for (int f = 0; f < d; ++f)
            if (!missing[f]) columns.push_back(f);
        n_observed = static_cast<int>(columns.size());
        for (int f = 0; f < d; ++f)
            if (missing[f]) columns.push_back(f);
    }

    int d() const { return static_cast<int>(columns.size()); }
    int n_missing() const { return d() - n_observed; }
};

inline std::vector<Pattern> make_patterns(const std::uint8_t* missing, std::int64_t n, int d) {
    std::vector<Pattern> patterns;
    patterns.reserve(n);
    for (std::int64_t p = 0; p < n; ++p) patterns.emplace_back(missing + p * d, d);
    return patterns;
}

// A Gaussian with the columns in the order of a pattern. x - mean = L z with L lower triangular and z
// standard normals: those of the observed columns follow from x, those of the missing ones are free.
class OrderedGaussian {
public:
    // L of this covariance, (d, d), into memory of the caller.
    static void factor(const double* covariance, const Pattern& pattern, double* lower) {
        const int d = pattern.d();
        for (int t = 0; t < d; ++t)
            for (int s = 0; s < d; ++s)
                lower[t * d + s] =
                    covariance[static_cast<std::int64_t>(pattern.columns[t]) * d + pattern.columns[s]];
        semidefinite_factor(lower, d);  // the transpose of L
        for (int t = 0; t < d; ++t)
            for (int s = 0; s < t; ++s) std::swap(lower[t * d + s], lower[s * d + t]);
    }

    OrderedGaussian(const double* mean, const double* lower, const Pattern& pattern)
        : mean_(mean), lower_(lower), pattern_(pattern), d_(pattern.d()) {}

    // z of the observed columns. Where nothing is left to vary, z is zero.
    template <class T>
    void solve(const T* row, double* z) const {
        for (int t = 0; t < pattern_.n_observed; ++t) {
            const int f = pattern_.columns[t];
            const double* l = lower_ + t * d_;
            double rest = static_cast<double>(row[f]) - mean_[f];
            for (int s = 0; s < t; ++s) rest -= l[s] * z[s];
            z[t] = l[t] > 0 ? rest / l[t] : 0.0;
        }
    }

    // The value of the t-th column in the pattern's order, by the first `n` z.
    double value(int t, const double* z, int n) const {
        const double* l = lower_ + t * d_;
        double x = mean_[pattern_.columns[t]];
        for (int s = 0; s < n; ++s) x += l[s] * z[s];
        return x;
    }

    // Of the observed columns, but for a constant that all Gaussians share.
    double log_density(const double* z) const {
        double log_density = 0;
        for (int t = 0; t < pattern_.n_observed; ++t) {
            const double scale = lower_[t * d_ + t];
            if (scale > 0) log_density -= std::log(scale) + 0.5 * z[t] * z[t];
        }
        return log_density;
    }

private:
    const double* mean_;
    const double* lower_;
    const Pattern& pattern_;
    int d_;
};

// Gaussians that rows may come from, and which values of which rows are missing.
struct MissingPlan {
    std::uint64_t seed = 0;
    std::uint64_t purpose = 0;  // what the completed rows are for: the start of their stream
    int d = 0;
    int n_components = 0;
    const double* means = nullptr;           // (n_components, d), centred as the rows are
    const double* covariances = nullptr;     // (n_components, d, d)
    const std::uint8_t* patterns = nullptr;  // (n_patterns, d), one where a value is missing
    std::int64_t n_patterns = 0;
    const std::int32_t* place = nullptr;         // (n,), place among the incomplete rows, -1 for others
    const std::int32_t* pattern = nullptr;       // (incomplete,)
    const double* cumulative = nullptr;          // (incomplete, n_components), the last is one
    const std::uint64_t* first_block = nullptr;  // (incomplete,), where a row's words begin
    std::int64_t room = 0;                       // numbers that factors may take
};

// What all threads share: the factors, if they find room, for all patterns and components.
class MissingModel {
public:
    explicit MissingModel(const MissingPlan& plan)
        : plan(plan), patterns(make_patterns(plan.patterns, plan.n_patterns, plan.d)) {
        const std::int64_t square = static_cast<std::int64_t>(plan.d) * plan.d;
        const std::int64_t count = plan.n_patterns * plan.n_components;
        if (count > plan.room / square) return;
        factors_.resize(count * square);
        for (std::int64_t e = 0; e < count; ++e)
            OrderedGaussian::factor(plan.covariances + e % plan.n_components * square,
                                    patterns[e / plan.n_components], factors_.data() + e * square);
    }

    // The factor of a component; computed in `scratch` if it is not kept.
    const double* lower(std::int32_t pattern, int component, std::vector<double>& scratch) const {
        const std::int64_t square = static_cast<std::int64_t>(plan.d) * plan.d;
        const std::int64_t place = static_cast<std::int64_t>(pattern) * plan.n_components + component;
        if (!factors_.empty()) return factors_.data() + place * square;
        scratch.resize(square);
        OrderedGaussian::factor(plan.covariances + component * square, patterns[pattern],
                                scratch.data());
        return scratch.data();
    }

    std::int32_t place(std::int64_t row) const { return plan.place[row]; }

    MissingPlan plan;
    std::vector<Pattern> patterns;

private:
    std::vector<double> factors_;  // (n_patterns, n_components, d, d), or nothing
};

// Completes rows, one thread's. A completed row is a function of the seed, the replica and the row.
template <class T>
class Completer {
public:
    explicit Completer(const MissingModel& model) : model_(model), z_(model.plan.d) {}

    // An incomplete row by its place; its values are written `stride` apart.
    void complete(std::int32_t place, std::int64_t replica, const T* row, T* out, int stride) {
        const MissingPlan& plan = model_.plan;
        const Pattern& pattern = model_.patterns[plan.pattern[place]];
        const int n_missing = pattern.n_missing();
        words_.resize(in_whole_blocks(1 + n_missing));
        philox_blocks(make_key(plan.seed, Stage::missing, plan.purpose, replica),
                      plan.first_block[place], static_cast<std::int64_t>(words_.size()) / 4,
                      words_.data());
        const int component =
            pick(plan.cumulative + std::int64_t(place) * plan.n_components, uniform_from(words_[0]));
        const OrderedGaussian gaussian(plan.means + std::int64_t(component) * plan.d,
                                       model_.lower(plan.pattern[place], component, lower_), pattern);
        gaussian.solve(row, z_.data());
        normals_from(words_.data() + 1, n_missing, z_.data() + pattern.n_observed);
        for (int t = 0; t < plan.d; ++t) {
            const int f = pattern.columns[t];
            out[f * stride] =
                t < pattern.n_observed ? row[f] : static_cast<T>(gaussian.value(t, z_.data(), t + 1));
        }
    }

private:
    int pick(const double* cumulative, double u) const {
        int j = 0;
        for (int t = 0; t + 1 < model_.plan.n_components; ++t) j += cumulative[t] <= u;
        return j;
    }

    const MissingModel& model_;
    std::vector<std::uint64_t> words_;
    std::vector<double> z_, lower_;
};

// cumulative (incomplete, n_components), OUT: the probabilities that an incomplete row, rows[place],
// comes from each component, given what is observed of it, summed up.
inline void component_shares(const MissingPlan& plan, const double* rows, std::int64_t n,
                             const double* weights, int n_threads, const InterruptCheck& interrupted,
                             double* cumulative) {
    const std::vector<Pattern> patterns = make_patterns(plan.patterns, plan.n_patterns, plan.d);
    std::vector<std::vector<std::int64_t>> rows_of(plan.n_patterns);
    for (std::int64_t i = 0; i < n; ++i) rows_of[plan.pattern[i]].push_back(i);
    StopFlag stop;
    parallel_for(plan.n_patterns, n_threads, stop, interrupted, [&](std::int64_t p, int) {
        const std::int64_t d = plan.d, K = plan.n_components;
        std::vector<double> lower(d * d), z(d);
        for (std::int64_t j = 0; j < K; ++j) {
            stop.check();
            OrderedGaussian::factor(plan.covariances + j * d * d, patterns[p], lower.data());
            const OrderedGaussian gaussian(plan.means + j * d, lower.data(), patterns[p]);
            for (const std::int64_t i : rows_of[p]) {
                gaussian.solve(rows + i * d, z.data());
                cumulative[i * K + j] = std::log(weights[j]) + gaussian.log_density(z.data());
            }
        }
        for (const std::int64_t i : rows_of[p]) {
            double* shares = cumulative + i * K;
            const double largest = *std::max_element(shares, shares + K);
            double total = 0;
            for (int j = 0; j < K; ++j) shares[j] = total += std::exp(shares[j] - largest);
            for (int j = 0; j < K; ++j) shares[j] /= total;
        }
    });
}

}  // namespace bbclust
