// Greedy weighted k-means++ (Arthur & Vassilvitskii 2007): several candidates per centre, drawn with
// probability proportional to weight times squared distance; the one that lowers the cost most stays.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

template <class T>
class Seeder {
public:
    // Take these points, for one or several seedings.
    void begin(const Points<T>& points) {
        points_ = points;
        closest_.resize(points.padded());
        with_dimension_if_single<T>(points.d, [&](auto D) { take_norms<D()>(); });
        sum_amounts(weights_, [](std::int64_t) { return broadcast(T(1)); });
    }

    // Writes up to K centres, (K, d), and the nearest of them to each point, and returns how many:
    // fewer when the points run out, that is, when every point already sits on a centre.
    int seed(int K, Stream& random, const StopFlag& stop, double* centers, T* labels) {
        const int d = points_.d, n_trials = 2 + static_cast<int>(std::log(static_cast<double>(K)));
        candidates_.resize(static_cast<std::size_t>(n_trials) * d);
        distances_.resize(static_cast<std::size_t>(n_trials) * points_.padded());
        std::fill(closest_.begin(), closest_.end(), std::numeric_limits<T>::infinity());
        // points that are infinitely far from all centres stay there
        std::fill_n(labels, points_.padded(), T(0));
        chosen_.assign(1, pick(weights_, random.uniform(), [](std::int64_t) { return T(1); }));
        accept(best_candidate(stop), 0, centers, labels);
        chosen_.resize(n_trials);
        for (int k = 1; k < K; ++k) {
            if (!(costs_.total > 0)) return k;
            for (std::int64_t& candidate : chosen_)
                candidate = pick(costs_, random.uniform(), [&](std::int64_t i) { return closest_[i]; });
            accept(best_candidate(stop), k, centers + static_cast<std::int64_t>(k) * d, labels);
        }
        return K;
    }

private:
    static constexpr int W = lanes<T>;
    // Points are looked for by chunk, then by column (their number modulo 16), then down the
    // column. The order is the same for every vector width, so every machine picks the same points.
    static constexpr int columns = 16;
    static constexpr int packs = columns / W;
    static constexpr std::int64_t chunk_points = 256, chunk_panels = chunk_points / W;
    // Panels that stay in cache for all candidates.
    static constexpr std::int64_t block_panels = 1024 / W;

    // An amount for every point, summed so that a share of the total is quickly found.
    struct Amounts {
        Buffer<T> columns;           // (chunks, 16)
        std::vector<double> chunks;  // per chunk
        double total = 0;
    };

    std::int64_t n_chunks() const { return (points_.n_panels() + chunk_panels - 1) / chunk_panels; }
    std::int64_t chunk_end(std::int64_t chunk) const {
        return std::min((chunk + 1) * chunk_panels, points_.n_panels());
    }

    // Amounts are weight times value(panel).
    template <class Value>
    void sum_amounts(Amounts& out, Value&& value) {
        out.columns.resize(n_chunks() * columns);
        out.chunks.resize(n_chunks());
        out.total = 0;
        for (std::int64_t c = 0; c < n_chunks(); ++c) {
            Pack<T> sum[packs];
            for (int v = 0; v < packs; ++v) sum[v] = broadcast(T(0));
            auto add = [&](std::int64_t p, int v) {
                sum[v] = sum[v] + value(p) * load(points_.weights + p * W);
            };
            std::int64_t p = c * chunk_panels;
            for (; p + packs <= chunk_end(c); p += packs)
                for (int v = 0; v < packs; ++v) add(p + v, v);
            for (int v = 0; p + v < chunk_end(c); ++v) add(p + v, v);
            T* of_columns = out.columns.data() + c * columns;
            for (int v = 0; v < packs; ++v) store(of_columns + v * W, sum[v]);
            double part[columns];
            for (int v = 0; v < columns; ++v) part[v] = static_cast<double>(of_columns[v]);
            for (int half = columns / 2; half > 0; half /= 2)
                for (int v = 0; v < half; ++v) part[v] += part[v + half];
            out.chunks[c] = part[0];
            out.total += part[0];
        }
    }

    // The point at share u of the total. Where rounding leads past the end, the last point that
    // has an amount.
    template <class Value>
    std::int64_t pick(const Amounts& amounts, double u, Value&& value) const {
        double left = u * amounts.total;
        // Sixteen at a time, all of them: where the share ends could not be predicted.
        auto descend = [&left](auto amount, std::int64_t begin, std::int64_t end) {
            std::int64_t last = begin;
            for (std::int64_t first = begin; first < end; first += columns) {
                const int count = static_cast<int>(std::min<std::int64_t>(columns, end - first));
                double before[columns + 1];
                std::uint32_t some = 0, beyond = 0;
                before[0] = left;
                for (int i = 0; i < count; ++i) {
                    const double here = static_cast<double>(amount(first + i));
                    some |= static_cast<std::uint32_t>(here > 0) << i;
                    before[i + 1] = before[i] - (here > 0 ? here : 0.0);
                    beyond |= static_cast<std::uint32_t>(before[i + 1] < 0) << i;
                }
                if (beyond) {
                    const int at = std::countr_zero(beyond);
                    left = before[at];
                    return first + at;
                }
                if (some) last = first + std::bit_width(some) - 1;
                left = before[count];
            }
            return last;
        };
        const std::int64_t chunk =
            descend([&](std::int64_t c) { return amounts.chunks[c]; }, 0, n_chunks());
        const T* of_columns = amounts.columns.data() + chunk * columns;
        const std::int64_t column = descend([&](std::int64_t v) { return of_columns[v]; }, 0, columns);
        const std::int64_t first = chunk * chunk_points + column;
        const std::int64_t end = std::min((chunk + 1) * chunk_points, points_.n);
        const std::int64_t row = descend([&](std::int64_t r) {
            const std::int64_t i = first + r * columns;
            return value(i) * points_.weights[i];
        }, 0, (end - first + columns - 1) / columns);
        return first + row * columns;
    }

    // Which of the chosen points lowers the cost most as a further centre.
    int best_candidate(const StopFlag& stop) {
        const int n_trials = static_cast<int>(chosen_.size()), d = points_.d;
        for (int t = 0; t < n_trials; ++t)
            for (int f = 0; f < d; ++f) candidates_[t * d + f] = points_.point(chosen_[t])[f * W];
        trial_costs_.assign(n_trials, 0.0);
        with_dimension_if_single<T>(d, [&](auto D) {
            for (std::int64_t p = 0; p < points_.n_panels(); p += block_panels) {
                stop.check();
                const std::int64_t end = std::min(p + block_panels, points_.n_panels());
                for_tiles(n_trials, [&](int t, auto tile) { try_candidates<D(), tile()>(p, end, t); });
            }
        });
        return static_cast<int>(std::min_element(trial_costs_.begin(), trial_costs_.end()) -
                                trial_costs_.begin());
    }

    // Distances of some panels with each of N candidates as a further centre, and their cost.
    template <int D, int N>
    void try_candidates(std::int64_t begin, std::int64_t end, int first) {
        Pack<T> cost[N];
        for (int t = 0; t < N; ++t) cost[t] = broadcast(T(0));
        for_groups<panels_at_once>(
            begin, end, [&](std::int64_t p, auto R) { try_on_panels<D, N, R()>(p, first, cost); });
        for (int t = 0; t < N; ++t) trial_costs_[first + t] += sum_of_lanes<T>(cost[t]);
    }

    // |x - c|^2 as |x|^2 - 2 x.c + |c|^2. Products and norms are summed in the same order, so that
    // it is zero, without rounding, where x and c are equal.
    template <int D, int N, int R>
    void try_on_panels(std::int64_t panel, int first, Pack<T> (&cost)[N]) {
        const int d = D ? D : points_.d;
        const T* x = points_.values + panel * d * W;
        const T* c = candidates_.data() + first * d;
        Pack<T> product[R][N];
        for (int r = 0; r < R; ++r)
            for (int t = 0; t < N; ++t) product[r][t] = broadcast(T(0));
        for (int f = 0; f < d; ++f) {
            Pack<T> xf[R];
            for (int r = 0; r < R; ++r) xf[r] = load(x + (r * d + f) * W);
            for (int t = 0; t < N; ++t) {
                const Pack<T> cf = broadcast(c[t * d + f]);
                for (int r = 0; r < R; ++r) product[r][t] = product[r][t] + xf[r] * cf;
            }
        }
        const Pack<T> zero = broadcast(T(0)), two = broadcast(T(2));
        for (int r = 0; r < R; ++r) {
            const std::int64_t at = (panel + r) * W;
            const Pack<T> norm = load(norms_.data() + at), weight = load(points_.weights + at);
            const Pack<T> before = load(closest_.data() + at);
            for (int t = 0; t < N; ++t) {
                const Pack<T> square =
                    (norm - two * product[r][t]) + broadcast(norms_[chosen_[first + t]]);
                const Pack<T> now = lesser<T>(greater<T>(square, zero), before);
                store(distances_.data() + (first + t) * points_.padded() + at, now);
                cost[t] = cost[t] + now * weight;
            }
        }
    }

    void accept(int best, int k, double* center, T* labels) {
        for (int f = 0; f < points_.d; ++f)
            center[f] = static_cast<double>(candidates_[best * points_.d + f]);
        const T* distances = distances_.data() + best * points_.padded();
        const Pack<T> name = broadcast(static_cast<T>(k));
        sum_amounts(costs_, [&](std::int64_t panel) {
            const Pack<T> before = load(closest_.data() + panel * W);
            const Pack<T> now = load(distances + panel * W), label = load(labels + panel * W);
            store(labels + panel * W, choose_less<T>(now, before, name, label));
            store(closest_.data() + panel * W, now);
            return now;
        });
    }

    template <int D>
    void take_norms() {
        const int d = D ? D : points_.d;
        norms_.resize(points_.padded());
        for (std::int64_t p = 0; p < points_.n_panels(); ++p) {
            Pack<T> norm = broadcast(T(0));
            for (int f = 0; f < d; ++f) {
                const Pack<T> xf = load(points_.values + (p * d + f) * W);
                norm = norm + xf * xf;
            }
            store(norms_.data() + p * W, norm);
        }
    }

    Points<T> points_;
    Buffer<T> norms_;      // squared, of the points
    Buffer<T> closest_;    // squared distance to the nearest centre so far
    Buffer<T> distances_;  // (trials, points), the same with each candidate as a further centre
    Amounts weights_;      // of the points alone: where the first centre comes from
    Amounts costs_;        // weight times squared distance
    std::vector<T> candidates_;
    std::vector<std::int64_t> chosen_;
    std::vector<double> trial_costs_;
};

}  // namespace bbclust
