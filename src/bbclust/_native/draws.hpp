// Bootstrap replicas: Efron, Rubin, and the proper Bayesian bootstrap (Algorithm 1).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "gammas.hpp"
#include "missing.hpp"
#include "mixtures.hpp"
#include "normals.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

enum class Resampling : int { proper = 0, rubin = 1, efron = 2 };
enum class Weighting : int { weights = 0, resample = 1 };

// Draws of a replica from F0 that were made elsewhere, for priors the engine does not know.
template <class T>
struct GivenDraws {
    const T* points = nullptr;  // (n, d), or null to draw from the mixture
    std::int64_t n = 0;
};

// The same of all replicas of a block, one after the other.
template <class T>
struct GivenBlock {
    const T* points = nullptr;
    const std::int64_t* offsets = nullptr;  // (replicas + 1,)

    GivenDraws<T> of(std::int64_t b, int d) const {
        if (!points) return {};
        return {points + offsets[b] * d, offsets[b + 1] - offsets[b]};
    }
};

// What all replicas of one run share.
template <class T>
struct DrawPlan {
    std::uint64_t seed = 0;
    Resampling resampling = Resampling::proper;
    Weighting weighting = Weighting::weights;
    std::int64_t n_draws = 0;  // m
    double prior_weight = 0;   // omega = k / (k + n)
    const T* rows = nullptr;   // (n, d), centred
    std::int64_t n = 0;
    int d = 0;
    const double* row_weights = nullptr;        // (n,), mean one; null when all are one
    const double* row_cumulative = nullptr;     // (n,), cumulative shares; null when all are equal
    std::int64_t n_whole = 0;                   // rows of the whole table, n unless some are elsewhere
    const std::int64_t* row_numbers = nullptr;  // (n,), ascending; null when all rows are here
    Mixture<T> mixture;
    const MissingModel* missing = nullptr;  // null when no value is

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
    explicit Drawer(const DrawPlan<T>& plan) : plan_(plan) {
        std::fill_n(places_, stretch, std::int32_t(-1));
        if (plan.missing) completed_.emplace(plan);
        if (plan.row_numbers) find_stretches();
    }

    void draw(std::int64_t replica, const GivenDraws<T>& given, const StopFlag& stop, Replica<T>& out) {
        if (completed_) completed_->replica = replica;
        if (plan_.resampling == Resampling::rubin) weigh_all_rows(replica, stop, out);
        else draw_points(replica, given, stop, out);
        out.row.resize(out.panels.n);
        if (plan_.weighting == Weighting::resample && plan_.resampling != Resampling::efron)
            resample(replica, out.panels);
        else scale(static_cast<T>(static_cast<double>(total_draws()) / total_), out.panels);
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
            if (plan_.row_weights) gammas.next(n, plan_.row_weights + start, weights);
            else gammas.next(n, 1.0, weights);
            for (std::int64_t i = 0; i < n; ++i) add(start + i, weights[i], out);
            put_rows(start, n, [&](std::int64_t i) { return start + i; }, out);
            total_ += sum_of(weights, static_cast<int>(n));
        }
    }

    static constexpr std::int64_t chunk = 1024;
    static constexpr int line = 64 / sizeof(T);  // of memory
    static constexpr std::int64_t stretch = 4096;

    struct DrawnRow {
        std::int32_t row;
        T weight;
    };

    // Some draws: where they come from and what they weigh.
    struct Draws {
        std::int32_t n, n_data, n_prior;
        std::uint64_t words[chunk];  // one uniform decides a draw
        double weights[chunk];
        std::int32_t from_data[chunk], from_prior[chunk];

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
    void draw_points(std::int64_t replica, const GivenDraws<T>& given, const StopFlag& stop,
                     Replica<T>& out) {
        const bool efron = plan_.resampling == Resampling::efron;
        const double prior_weight = efron ? 0.0 : plan_.prior_weight;
        Stream random(make_key(plan_.seed, Stage::draws, 0, replica));
        Gammas gammas(plan_.seed, Stage::weights, replica);
        begin(plan_.n_draws, out);
        stretches_.resize(n_stretches());
        Draws& draws = draws_;
        std::fill_n(draws.weights, chunk, 1.0);
        std::int64_t prior_draws = 0;
        for (std::int64_t start = 0; start < plan_.n_draws; start += chunk) {
            stop.check();
            draws.n = static_cast<std::int32_t>(std::min(chunk, plan_.n_draws - start));
            random.words(draws.words, in_whole_blocks(draws.n));
            draws.split(prior_weight);
            if (!efron) gammas.next(draws.n, plan_.shape(), draws.weights);
            find_rows(draws, prior_weight);
            if (given.points) {
                if (prior_draws + draws.n_prior > given.n)
                    throw std::out_of_range("too few draws from the prior were given");
                add_given(draws, given.points + prior_draws * plan_.d, out);
            } else {
                draw_normals(replica, prior_draws, draws.n_prior);
                add_prior_draws(draws, out);
            }
            prior_draws += draws.n_prior;
            total_ += sum_of(draws.weights, draws.n);
        }
        for (std::size_t s = 0; s < stretches_.size(); ++s) {
            if (s % 64 == 0) stop.check();
            add_rows(first_of_stretch(s), stretches_[s], out);
            stretches_[s].clear();
        }
    }

    static double sum_of(const double* numbers, int n) {
        return sum_of_terms(n, [=](int i, auto take) { return take(numbers + i); });
    }

    const T* row(std::int64_t number) const { return plan_.rows + number * plan_.d; }

    // Rows are put by in stretches of the table, so that what belongs to them is in cache when they are
    // added: to go through a large table in the order of drawing takes much longer.
    void find_rows(const Draws& draws, double prior_weight) {
        for (std::int32_t t = 0; t < draws.n_data; ++t) {
            const std::int32_t i = draws.from_data[t];
            const std::int64_t number =
                row_at(share_of_data(uniform_from(draws.words[i]), prior_weight));
            stretches_[stretch_of(number)].push_back(
                {static_cast<std::int32_t>(number), static_cast<T>(draws.weights[i])});
        }
    }

    // Stretches are of the whole table, so that points have one order whichever rows are here.
    void find_stretches() {
        std::int64_t last = -1;
        for (std::int64_t i = 0; i < plan_.n; ++i) {
            const std::int64_t here = plan_.row_numbers[i] / stretch;
            if (here != last) first_of_.push_back(i);
            last = here;
            stretch_of_.push_back(static_cast<std::int32_t>(first_of_.size()) - 1);
        }
    }

    std::size_t n_stretches() const {
        return plan_.row_numbers ? first_of_.size()
                                 : static_cast<std::size_t>((plan_.n + stretch - 1) / stretch);
    }

    std::int64_t stretch_of(std::int64_t row) const {
        return plan_.row_numbers ? stretch_of_[row] : row / stretch;
    }

    std::int64_t first_of_stretch(std::size_t s) const {
        return plan_.row_numbers ? first_of_[s] : static_cast<std::int64_t>(s) * stretch;
    }

    // Those of a stretch; rows that were drawn before gain weight.
    void add_rows(std::int64_t begin, const std::vector<DrawnRow>& drawn, Replica<T>& out) {
        const std::int64_t first = out.panels.n;
        for (const DrawnRow& one : drawn) {
            std::int32_t& place = places_[one.row - begin];
            if (place >= 0) {
                out.panels.weights[place] += one.weight;
                continue;
            }
            place = static_cast<std::int32_t>(out.panels.n);
            for (int f = 0; f < plan_.d; f += line) prefetch(row(one.row) + f);
            add(one.row, one.weight, out);
        }
        for (const DrawnRow& one : drawn) places_[one.row - begin] = -1;
        put_rows(first, out.panels.n - first, [&](std::int64_t i) { return out.row[first + i]; }, out);
    }

    // number(i) is the i-th of some rows that become points; what they miss is drawn.
    template <class Number>
    void put_rows(std::int64_t first, std::int64_t count, Number&& number, Replica<T>& out) {
        if (completed_)
            rows_.put(first, count, [&](std::int64_t i) { return (*completed_)(number(i)); },
                      out.panels);
        else rows_.put(first, count, [&](std::int64_t i) { return row(number(i)); }, out.panels);
    }

    // Rows as they are in a replica, in turn in as many places as are looked at together.
    struct CompletedRows {
        const DrawPlan<T>& plan;
        Completer<T> completer;
        Buffer<T> values;  // (lanes, d)
        std::int64_t replica = 0;
        int next = 0;

        explicit CompletedRows(const DrawPlan<T>& plan)
            : plan(plan),
              completer(*plan.missing),
              values(static_cast<std::size_t>(lanes<T>) * plan.d) {}

        const T* operator()(std::int64_t number) {
            const T* row = plan.rows + number * plan.d;
            const std::int32_t place = plan.missing->place(number);
            if (place < 0) return row;
            T* out = values.data() + static_cast<std::int64_t>(next) * plan.d;
            next = (next + 1) % lanes<T>;
            completer.complete(place, replica, row, out, 1);
            return out;
        }
    };

    void add_given(const Draws& draws, const T* given, Replica<T>& out) {
        const std::int64_t first = out.panels.n;
        for (std::int32_t t = 0; t < draws.n_prior; ++t)
            add(-1, draws.weights[draws.from_prior[t]], out);
        rows_.put(first, draws.n_prior, [&](std::int64_t i) { return given + i * plan_.d; }, out.panels);
    }

    // Those of one component together, a register of them at a time.
    void add_prior_draws(const Draws& draws, Replica<T>& out) {
        sort_by_component(draws);
        constexpr int W = Mixture<T>::W;
        for (int j = 0; j < plan_.mixture.n_components; ++j)
            for (std::int32_t t = ends_[j]; t < ends_[j + 1]; t += W)
                add_block(draws, j, sorted_ + t, std::min(W, ends_[j + 1] - t), out);
    }

    // ends_[j] .. ends_[j + 1] of sorted_ are then the draws from component j.
    void sort_by_component(const Draws& draws) {
        const Mixture<T>& mixture = plan_.mixture;
        ends_.assign(mixture.n_components + 2, 0);
        for (std::int32_t t = 0; t < draws.n_prior; ++t) {
            const double u = uniform_from(draws.words[draws.from_prior[t]]) / plan_.prior_weight;
            components_[t] = mixture.component(u);
            ++ends_[components_[t] + 2];
        }
        for (int j = 0; j < mixture.n_components; ++j) ends_[j + 2] += ends_[j + 1];
        for (std::int32_t t = 0; t < draws.n_prior; ++t) sorted_[ends_[components_[t] + 1]++] = t;
    }

    void add_block(const Draws& draws, int component, const std::int32_t* which, int count,
                   Replica<T>& out) {
        constexpr int W = Mixture<T>::W;
        const Mixture<T>& mixture = plan_.mixture;
        const int rank = mixture.rank(component), d = plan_.d;
        lanes_.resize(static_cast<std::size_t>(rank + W) * W);
        block_.resize(static_cast<std::size_t>(d) * W);
        const float* normals[W];
        for (int i = 0; i < W; ++i) normals[i] = first_normal_ + which[std::min(i, count - 1)] * d;
        rows_to_lanes(normals, rank, lanes_.data());
        mixture.draw(component, lanes_.data(), block_.data());
        for (int i = 0; i < count; i += lanes<T>) {
            const int here = std::min(lanes<T>, count - i);
            out.panels.put(out.panels.n, block_.data() + static_cast<std::int64_t>(i) * d, here);
            for (int t = i; t < i + here; ++t) add(-1, draws.weights[draws.from_prior[which[t]]], out);
        }
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
            const std::int64_t at =
                std::upper_bound(cumulative.begin(), cumulative.end(), random.uniform() * total) -
                cumulative.begin();
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

    // The next point, of a row or of the prior; its values are put in place separately.
    void add(std::int64_t row, double weight, Replica<T>& out) {
        out.row[out.panels.n] = static_cast<std::int32_t>(row);
        out.panels.weights[out.panels.n++] = static_cast<T>(weight);
    }

    const DrawPlan<T>& plan_;
    Draws draws_;
    RowsToPanels<T> rows_;
    std::optional<CompletedRows> completed_;
    std::int32_t components_[chunk], sorted_[chunk];  // of draws from the prior
    std::vector<std::int32_t> ends_;
    Buffer<float> lanes_;  // (rank, W), normals of a block of draws
    Buffer<T> block_;      // their values
    std::vector<std::uint32_t> normal_halves_;
    std::vector<float> normals_;
    double total_ = 0;  // of the weights as drawn
    std::vector<double> cumulative_;
    const float* first_normal_ = nullptr;
    std::vector<std::vector<DrawnRow>> stretches_;
    std::vector<std::int32_t> stretch_of_;  // (n,), if some rows are elsewhere
    std::vector<std::int64_t> first_of_;    // rows of stretches
    std::int32_t places_[stretch];          // of rows of a stretch among the points, -1 if not drawn yet
};

// The rows of a whole table of n equal rows that a replica draws, in the order of drawing.
inline std::vector<std::int64_t> drawn_rows(std::uint64_t seed, std::int64_t replica,
                                            std::int64_t n_draws, double prior_weight, std::int64_t n) {
    Stream random(make_key(seed, Stage::draws, 0, replica));
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n_draws; ++i) {
        const double u = random.uniform();
        if (!(u < prior_weight)) rows.push_back(equal_share(share_of_data(u, prior_weight), n));
    }
    return rows;
}

// How many draws of a replica come from the prior.
inline std::int64_t count_prior_draws(std::uint64_t seed, std::int64_t replica, std::int64_t n_draws,
                                      double prior_weight) {
    Stream random(make_key(seed, Stage::draws, 0, replica));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n_draws; ++i) count += random.uniform() < prior_weight;
    return count;
}

}  // namespace bbclust
