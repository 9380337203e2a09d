// Greedy weighted k-means++ (Arthur & Vassilvitskii 2007): several candidates per centre, drawn with
// probability proportional to weight times squared distance; the one that lowers the cost most stays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

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
        sum_amounts(weights_, [](std::int64_t) { return broadcast(T(1)); });
    }

    // Writes up to K centres, (K, d), and the nearest of them to each point, and returns how many:
    // fewer when the points run out, that is, when every point already sits on a centre.
    int seed(int K, Stream& random, const StopFlag& stop, double* centers, T* labels) {
        const int d = points_.d, n_trials = 2 + static_cast<int>(std::log(static_cast<double>(K)));
        candidates_.resize(static_cast<std::size_t>(n_trials) * d);
        chosen_.resize(n_trials);
        std::fill(closest_.begin(), closest_.end(), std::numeric_limits<T>::infinity());
        accept(pick(weights_, random.uniform(), [](std::int64_t) { return T(1); }), 0, centers, labels);
        for (int k = 1; k < K; ++k) {
            stop.check();
            if (!(costs_.total > 0)) return k;
            for (std::int64_t& candidate : chosen_)
                candidate = pick(costs_, random.uniform(), [&](std::int64_t i) { return closest_[i]; });
            const std::int64_t best =
                with_dimension(d, [&](auto D) { return best_candidate<D()>(); });
            accept(best, k, centers + static_cast<std::int64_t>(k) * d, labels);
        }
        return K;
    }

private:
    static constexpr int W = lanes<T>;
    // Points are looked for by chunk, then by column (their number modulo 16), then down the
    // column. The order is the same for every vector width, so every machine picks the same points.
    static constexpr int columns = 16;
    static constexpr int packs = columns / W;
    static constexpr std::int64_t chunk_points = 1024, chunk_panels = chunk_points / W;

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
        auto descend = [&left](auto amount, std::int64_t begin, std::int64_t end) {
            std::int64_t last = begin;
            for (std::int64_t i = begin; i < end; ++i) {
                const double here = static_cast<double>(amount(i));
                if (!(here > 0)) continue;
                last = i;
                if (left < here) break;
                left -= here;
            }
            return last;
        };
        const std::int64_t chunk =
            descend([&](std::int64_t c) { return amounts.chunks[c]; }, 0, n_chunks());
        const T* of_columns = amounts.columns.data() + chunk * columns;
        const std::int64_t column = descend([&](std::int64_t v) { return of_columns[v]; }, 0, columns);
        const std::int64_t first = chunk * chunk_points + column;
        const std::int64_t end = std::min((chunk + 1) * chunk_points, points_.n);
        const std::int64_t row = descend(
            [&](std::int64_t r) {
                const std::int64_t i = first + r * columns;
                return value(i) * points_.weights[i];
            },
            0, (end - first + columns - 1) / columns);
        return first + row * columns;
    }

    template <int D>
    std::int64_t best_candidate() {
        const int n_trials = static_cast<int>(chosen_.size()), d = points_.d;
        for (int t = 0; t < n_trials; ++t) copy_point(chosen_[t], candidates_.data() + t * d);
        trial_costs_.assign(n_trials, 0.0);
        for (std::int64_t c = 0; c < n_chunks(); ++c) {  // a chunk stays in cache for all
            int t = 0;
            for (; t + 3 <= n_trials; t += 3) try_candidates<D, 3>(c, t);
            for (; t < n_trials; ++t) try_candidates<D, 1>(c, t);
        }
        return chosen_[std::min_element(trial_costs_.begin(), trial_costs_.end()) -
                       trial_costs_.begin()];
    }

    // Cost of a chunk with each of N candidates as a further centre.
    template <int D, int N>
    void try_candidates(std::int64_t chunk, int first) {
        const int d = D ? D : points_.d;
        Pack<T> cost[N];
        for (int t = 0; t < N; ++t) cost[t] = broadcast(T(0));
        for (std::int64_t p = chunk * chunk_panels; p < chunk_end(chunk); ++p) {
            const Pack<T> before = load(closest_.data() + p * W);
            const Pack<T> weight = load(points_.weights + p * W);
            for (int t = 0; t < N; ++t) {
                const Pack<T> distance = distances<D>(p, candidates_.data() + (first + t) * d);
                cost[t] = cost[t] + choose_less<T>(distance, before, distance, before) * weight;
            }
        }
        for (int t = 0; t < N; ++t) trial_costs_[first + t] += sum_of_lanes<T>(cost[t]);
    }

    void accept(std::int64_t chosen, int k, double* center, T* labels) {
        copy_point(chosen, candidates_.data());
        for (int f = 0; f < points_.d; ++f) center[f] = static_cast<double>(candidates_[f]);
        with_dimension(points_.d, [&](auto D) {
            sum_amounts(costs_, [&](std::int64_t panel) {
                const Pack<T> distance = distances<D()>(panel, candidates_.data());
                const Pack<T> before = load(closest_.data() + panel * W);
                const Pack<T> now = choose_less<T>(distance, before, distance, before);
                const Pack<T> label = load(labels + panel * W);
                store(labels + panel * W,
                      choose_less<T>(distance, before, broadcast(static_cast<T>(k)), label));
                store(closest_.data() + panel * W, now);
                return now;
            });
        });
    }

    // Squared distances of the points of a panel to a centre.
    template <int D>
    Pack<T> distances(std::int64_t panel, const T* center) const {
        const int d = D ? D : points_.d;
        const T* x = points_.values + panel * d * W;
        Pack<T> distance = broadcast(T(0));
        for (int f = 0; f < d; ++f) {
            const Pack<T> difference = load(x + f * W) - broadcast(center[f]);
            distance = distance + difference * difference;
        }
        return distance;
    }

    void copy_point(std::int64_t i, T* to) const {
        const T* from = points_.point(i);
        for (int f = 0; f < points_.d; ++f) to[f] = from[f * W];
    }

    Points<T> points_;
    Buffer<T> closest_;  // squared distance to the nearest centre so far
    Amounts weights_;    // of the points alone: where the first centre comes from
    Amounts costs_;      // weight times squared distance
    std::vector<T> candidates_;
    std::vector<std::int64_t> chosen_;
    std::vector<double> trial_costs_;
};

}  // namespace bbclust
