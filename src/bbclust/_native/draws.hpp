// Bootstrap replicas: Efron, Rubin, and the proper Bayesian bootstrap (Algorithm 1).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "gammas.hpp"
#include "nearest.hpp"
#include "normals.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "slots.hpp"

namespace bbclust {

enum class Resampling : int { proper = 0, rubin = 1, efron = 2 };
enum class Weighting : int { weights = 0, resample = 1 };

// F0 as a mixture of Gaussians. A component's covariance is A'A with A of shape (rank, d), so any
// positive semi-definite matrix will do, a point mass (rank zero) too.
// Rows are filled up with zeros to whole registers.
template <class T>
struct Mixture {
    int n_components = 0;
    const double* cumulative = nullptr;     // (n_components,), cumulative weights, last = 1
    const std::int64_t* offsets = nullptr;  // (n_components + 1,), first row of each factor
    int stride = 0;
    Buffer<T> means;            // (n_components, stride)
    Buffer<float> factor_rows;  // (sum of ranks, stride), in the unit
    T unit = 1;

    // What is random about a draw is computed in single precision, in a unit in which the factors are
    // below two: a power of two, by which nothing is rounded.
    void set_rows(const double* from_means, const double* from, int d) {
        constexpr int W = lanes<float>;
        stride = (d + W - 1) / W * W;
        const std::int64_t rows = offsets[n_components];
        double largest = 0;
        for (std::int64_t e = 0; e < rows * d; ++e) largest = std::max(largest, std::fabs(from[e]));
        unit = static_cast<T>(largest > 0 ? std::exp2(std::floor(std::log2(largest))) : 1.0);
        means.assign(n_components * stride, T(0));
        for (std::int64_t j = 0; j < n_components; ++j)
            for (int f = 0; f < d; ++f) means[j * stride + f] = static_cast<T>(from_means[j * d + f]);
        factor_rows.assign(rows * stride, 0.0F);
        for (std::int64_t r = 0; r < rows; ++r)
            for (int f = 0; f < d; ++f)
                factor_rows[r * stride + f] = static_cast<float>(from[r * d + f] / static_cast<double>(unit));
    }
};

// Draws from F0 that were made elsewhere, for priors the engine does not know.
template <class T>
struct GivenDraws {
    const T* points = nullptr;              // all replicas of the block, one after the other
    const std::int64_t* offsets = nullptr;  // (replicas + 1,)
};

// What all replicas of one run share.
template <class T>
struct DrawPlan {
    std::uint64_t seed = 0;
    Resampling resampling = Resampling::proper;
    Weighting weighting = Weighting::weights;
    std::int64_t n_draws = 0;      // m
    double prior_weight = 0;       // omega = k / (k + n)
    const T* rows = nullptr;       // (n, d), centred
    std::int64_t n = 0;
    int d = 0;
    const double* row_weights = nullptr;     // (n,), mean one; null when all are one
    const double* row_cumulative = nullptr;  // (n,), cumulative shares; null when all are equal
    std::int64_t n_whole = 0;                // rows of the whole table, n unless some are elsewhere
    const std::int64_t* row_numbers = nullptr;  // (n,), ascending; null when all rows are here
    Mixture<T> mixture;

    double shape() const {  // (n + k) / m of Algorithm 1, step 4
        return static_cast<double>(n_whole) / (1.0 - prior_weight) / static_cast<double>(n_draws);
    }
};

// A replica: distinct rows of the table (row >= 0) and draws from the prior (row = -1), with the
// weights of repeated draws added up. Weights sum to the number of draws.
template <class T>
struct Replica {
    Panels<T> panels;
    Buffer<std::int32_t> row;
};

// A uniform number above omega, as one in [0, 1).
inline double share_of_data(double u, double prior_weight) {
    return (u - prior_weight) * (1.0 / (1.0 - prior_weight));
}

// The row of n equal ones that u in [0, 1) falls on.
inline std::int64_t equal_share(double u, std::int64_t n) {
    return std::min(static_cast<std::int64_t>(u * static_cast<double>(n)), n - 1);
}

template <class T>
class Drawer {
public:
    explicit Drawer(const DrawPlan<T>& plan)
        : plan_(plan), point_(plan.mixture.stride) {}

    // `given`: this replica's draws from F0, or null to draw from the mixture.
    void draw(std::int64_t replica, const T* given, const StopFlag& stop, Replica<T>& out) {
        if (plan_.resampling == Resampling::rubin)
            weigh_all_rows(replica, stop, out);
        else
            with_dimension(plan_.d, [&](auto D) { draw_points<D()>(replica, given, stop, out); });
        out.row.resize(out.panels.n);
        if (plan_.weighting == Weighting::resample && plan_.resampling != Resampling::efron)
            resample(replica, out.panels);
        else
            scale(static_cast<T>(static_cast<double>(total_draws()) / total_), out.panels);
        out.panels.close();
    }

private:
    // Rubin 1981: every row, weight Gamma(w_i).
    void weigh_all_rows(std::int64_t replica, const StopFlag& stop, Replica<T>& out) {
        begin(plan_.n, out);
        Gammas gammas(plan_.seed, Stage::weights, replica);
        double weights[chunk];
        for (std::int64_t start = 0; start < plan_.n; start += chunk) {
            stop.check();
            const std::int64_t n = std::min(chunk, plan_.n - start);
            if (plan_.row_weights)
                gammas.next(n, plan_.row_weights + start, weights);
            else
                gammas.next(n, 1.0, weights);
            for (std::int64_t i = 0; i < n; ++i)
                add<0>(plan_.rows + (start + i) * plan_.d, start + i, weights[i], out);
            total_ += sum_of(weights, n);
        }
    }

    static constexpr std::int64_t chunk = 256;

    // Some draws: where they come from and what they weigh.
    struct Draws {
        std::int32_t n, n_data, n_prior;
        std::uint64_t words[chunk];  // one uniform decides a draw
        double weights[chunk];
        std::int32_t from_data[chunk], from_prior[chunk];
        std::int64_t rows[chunk];  // of the draws from the data

        // Below omega a uniform names a component of the prior, above it a row.
        void split(double prior_weight) {
            n_data = n_prior = 0;
            for (std::int32_t i = 0; i < n; ++i) {  // no branch: it could not be predicted
                const bool prior = uniform_from(words[i]) < prior_weight;
                from_data[n_data] = from_prior[n_prior] = i;
                n_prior += prior;
                n_data += !prior;
            }
        }
    };

    // Algorithm 1, steps 3 and 4; Efron is the case without prior and with equal weights.
    template <int D>
    void draw_points(std::int64_t replica, const T* given, const StopFlag& stop, Replica<T>& out) {
        const bool efron = plan_.resampling == Resampling::efron;
        const double prior_weight = efron ? 0.0 : plan_.prior_weight;
        Stream random(make_key(plan_.seed, Stage::draws, 0, replica));
        Gammas gammas(plan_.seed, Stage::weights, replica);
        begin(plan_.n_draws, out);
        slots_.begin(plan_.n, plan_.n_draws);
        Draws draws;
        std::fill_n(draws.weights, chunk, 1.0);
        std::int64_t prior_draws = 0;
        for (std::int64_t start = 0; start < plan_.n_draws; start += chunk) {
            stop.check();
            draws.n = static_cast<std::int32_t>(std::min(chunk, plan_.n_draws - start));
            random.words(draws.words, in_whole_blocks(draws.n));
            draws.split(prior_weight);
            find_rows(draws, prior_weight);
            // rows of the table arrive from memory while the random numbers are computed
            if (!efron) gammas.next(draws.n, plan_.shape(), draws.weights);
            if (!given) draw_normals(replica, prior_draws, draws.n_prior);
            for (std::int32_t t = 0; t < draws.n_data; ++t)
                add_row<D>(draws.rows[t], draws.weights[draws.from_data[t]], out);
            add_prior_draws<D>(draws, given ? given + prior_draws * plan_.d : nullptr, out);
            prior_draws += draws.n_prior;
            total_ += sum_of(draws.weights, draws.n);
        }
    }

    void find_rows(Draws& draws, double prior_weight) const {
        for (std::int32_t t = 0; t < draws.n_data; ++t) {
            const double u = uniform_from(draws.words[draws.from_data[t]]);
            draws.rows[t] = row_at(share_of_data(u, prior_weight));
            prefetch(slots_.address(draws.rows[t]));
            prefetch(plan_.rows + draws.rows[t] * plan_.d);
        }
    }

    template <int D>
    void add_prior_draws(const Draws& draws, const T* given, Replica<T>& out) {
        for (std::int32_t t = 0; t < draws.n_prior; ++t) {
            const std::int32_t i = draws.from_prior[t];
            if (given) {
                add<D>(given + t * plan_.d, -1, draws.weights[i], out);
                continue;
            }
            draw_from_mixture(uniform_from(draws.words[i]) / plan_.prior_weight,
                              first_normal_ + t * plan_.d);
            add<D>(point_.data(), -1, draws.weights[i], out);
        }
    }

    // In eight sums side by side: one would wait for itself.
    static double sum_of(const double* numbers, std::int64_t n) {
        double sums[8] = {};
        std::int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int t = 0; t < 8; ++t) sums[t] += numbers[i + t];
        for (; i < n; ++i) sums[0] += numbers[i];
        for (int half = 4; half > 0; half /= 2)
            for (int t = 0; t < half; ++t) sums[t] += sums[t + half];
        return sums[0];
    }

    // The normals of draws first .. first + n from the prior: d halves of words each.
    void draw_normals(std::int64_t replica, std::int64_t first, std::int64_t n) {
        const std::int64_t begin = first * plan_.d, end = (first + n) * plan_.d;
        const std::int64_t first_block = begin / 8, n_blocks = (end + 7) / 8 - first_block;
        normal_halves_.resize(8 * n_blocks);
        normals_.resize(8 * n_blocks);
        philox_blocks(make_key(plan_.seed, Stage::normals, 0, replica), first_block, n_blocks,
                      normal_halves_.data());
        normals_from(normal_halves_.data(), 8 * n_blocks, normals_.data());
        first_normal_ = normals_.data() + (begin - 8 * first_block);
    }

    // u: where in [0, 1) the draw falls among the components. A call of it per draw costs
    // 7% of the instructions that draw a replica.
    [[gnu::always_inline]] inline void draw_from_mixture(double u, const float* normals) {
        const Mixture<T>& mixture = plan_.mixture;
        std::int64_t j = 0;  // the first component whose cumulative weight exceeds u
        for (int t = 0; t + 1 < mixture.n_components; ++t) j += mixture.cumulative[t] <= u;
        const std::int64_t rank = mixture.offsets[j + 1] - mixture.offsets[j];
        const std::int64_t stride = mixture.stride;
        const float* factor = mixture.factor_rows.data() + mixture.offsets[j] * stride;
        const T* mean = mixture.means.data() + j * stride;
        if (stride == lanes<float>)
            deviate<1>(mean, factor, rank, stride, normals, point_.data());
        else
            for_tiles(static_cast<int>(stride) / lanes<float>, [&](int first, auto tile) {
                const int f = first * lanes<float>;
                deviate<tile()>(mean + f, factor + f, rank, stride, normals, point_.data() + f);
            });
    }

    // N registers of a draw: the mean and the normals times the rows of the factor.
    template <int N>
    [[gnu::always_inline]] inline void deviate(const T* mean, const float* factor,
                                               std::int64_t rank, std::int64_t stride,
                                               const float* normals, T* point) const {
        constexpr int W = lanes<float>, parts = W / lanes<T>;
        Pack<float> x[N];
        for (int v = 0; v < N; ++v) x[v] = broadcast(0.0F);
        for (std::int64_t t = 0; t < rank; ++t) {
            const Pack<float> z = broadcast(normals[t]);
            for (int v = 0; v < N; ++v) x[v] = x[v] + z * load(factor + t * stride + v * W);
        }
        const Pack<T> unit = broadcast(plan_.mixture.unit);
        for (int v = 0; v < N; ++v) {
            Pack<T> deviation[parts];
            widen<float, T>(x[v], deviation);
            for (int h = 0; h < parts; ++h) {
                const int f = v * W + h * lanes<T>;
                store(point + f, load(mean + f) + unit * deviation[h]);
            }
        }
    }

    template <int D>
    void add_row(std::int64_t row, double weight, Replica<T>& out) {
        const std::int64_t place = slots_.place(row);
        if (place >= 0) {
            out.panels.weights[place] += static_cast<T>(weight);
            return;
        }
        slots_.put(row, out.panels.n);
        add<D>(plan_.rows + row * plan_.d, row, weight, out);
    }

    std::int64_t row_at(double u) const {
        if (plan_.row_numbers) return place_of(equal_share(u, plan_.n_whole));
        if (!plan_.row_cumulative) return equal_share(u, plan_.n);
        const double* begin = plan_.row_cumulative;
        return std::min<std::int64_t>(std::upper_bound(begin, begin + plan_.n, u) - begin, plan_.n - 1);
    }

    std::int64_t place_of(std::int64_t row) const {
        const std::int64_t* end = plan_.row_numbers + plan_.n;
        const std::int64_t* at = std::lower_bound(plan_.row_numbers, end, row);
        if (at == end || *at != row) throw std::out_of_range("a drawn row is not among those given");
        return at - plan_.row_numbers;
    }

    // The weights as probabilities of a second draw of as many points.
    void resample(std::int64_t replica, Panels<T>& panels) {
        std::vector<double>& cumulative = cumulative_;
        cumulative.resize(panels.n);
        double total = 0;
        for (std::int64_t i = 0; i < panels.n; ++i)
            cumulative[i] = total += static_cast<double>(panels.weights[i]);
        std::fill_n(panels.weights.begin(), panels.n, T(0));
        Stream random(make_key(plan_.seed, Stage::resampling, 0, replica));
        const std::int64_t n_draws = total_draws();
        for (std::int64_t i = 0; i < n_draws; ++i) {
            const std::int64_t at = std::upper_bound(cumulative.begin(), cumulative.end(),
                                                     random.uniform() * total) - cumulative.begin();
            panels.weights[std::min(at, panels.n - 1)] += T(1);
        }
    }

    // So that the weights sum to the number of draws. Gammas of tiny shapes leave numbers that are not
    // normal, on which processors are slow: next to the others they are nothing.
    static void scale(T factor, Panels<T>& panels) {
        constexpr T least = std::numeric_limits<T>::min();
        for (std::int64_t i = 0; i < panels.n; ++i) {
            const T weight = panels.weights[i] * factor;
            panels.weights[i] = weight < least ? T(0) : weight;
        }
    }

    std::int64_t total_draws() const {
        return plan_.resampling == Resampling::rubin ? plan_.n : plan_.n_draws;
    }

    void begin(std::int64_t points, Replica<T>& out) {
        out.panels.reserve(points, plan_.d);
        out.row.resize(points);
        total_ = 0;
    }

    template <int D, class S>
    void add(const S* point, std::int64_t row, double weight, Replica<T>& out) {
        out.row[out.panels.n] = static_cast<std::int32_t>(row);
        out.panels.template append<D>(point, static_cast<T>(weight));
    }

    const DrawPlan<T>& plan_;
    std::vector<std::uint32_t> normal_halves_;
    std::vector<float> normals_;
    Buffer<T> point_;
    double total_ = 0;  // of the weights as drawn
    std::vector<double> cumulative_;
    const float* first_normal_ = nullptr;
    Slots<> slots_;  // of the rows that are drawn
};

// The rows of a whole table of n equal rows that a replica draws, in the order of drawing.
inline std::vector<std::int64_t> drawn_rows(std::uint64_t seed, std::int64_t replica,
                                            std::int64_t n_draws, double prior_weight,
                                            std::int64_t n) {
    Stream random(make_key(seed, Stage::draws, 0, replica));
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n_draws; ++i) {
        const double u = random.uniform();
        if (!(u < prior_weight)) rows.push_back(equal_share(share_of_data(u, prior_weight), n));
    }
    return rows;
}

// How many draws of a replica come from the prior.
inline std::int64_t count_prior_draws(std::uint64_t seed, std::int64_t replica,
                                      std::int64_t n_draws, double prior_weight) {
    Stream random(make_key(seed, Stage::draws, 0, replica));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n_draws; ++i) count += random.uniform() < prior_weight;
    return count;
}

}  // namespace bbclust
