// Weighted sums of the points of each cluster, kept up to date while points move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

template <class T>
class ClusterSums {
public:
    std::vector<std::int64_t> counts;  // (K,), points of positive weight

    void clear(int K, int d) {
        K_ = K;
        d_ = d;
        stride_ = (d + W - 1) / W * W;
        sums_.assign(static_cast<std::size_t>(K) * stride_, 0.0);
        mass_.assign(K, 0.0);
        counts.assign(K, 0);
    }

    const double* sum(int k) const { return sums_.data() + static_cast<std::int64_t>(k) * stride_; }
    double mass(int k) const { return mass_[k]; }

    // Those of all points, from their labels.
    void take(const Points<T>& points, const T* labels, int K, bool exact, const StopFlag& stop) {
        clear(K, points.d);
        for (std::int64_t p = 0; p < points.n_panels(); p += block) {
            if (p % 1024 == 0) stop.check();
            add(points, labels, p, std::min(p + block, points.n_panels()), exact);
        }
    }

    static constexpr std::int64_t block = 32;

    // Adds panels begin .. end, at most a block. Partial sums, of a few dozen numbers, are in double to
    // be exact or in the type of the data to be fast; totals are in double.
    void add(const Points<T>& points, const T* labels, std::int64_t begin, std::int64_t end,
             bool exact) {
        for (std::int64_t p = begin; p < end;) {
            std::int64_t next = p;
            while (next < end && is_of(labels + next * W, labels[p * W])) ++next;
            if (next > p) {  // panels of one cluster
                const int k = static_cast<int>(labels[p * W]);
                exact ? add_clusters<double>(points, labels, p, next, k, 1)
                      : add_clusters<T>(points, labels, p, next, k, 1);
                p = next;
            } else if (K_ <= masked_at_most) {  // few clusters are summed side by side
                exact ? add_clusters<double>(points, labels, p, end, 0, K_)
                      : add_clusters<T>(points, labels, p, end, 0, K_);
                p = end;
            } else {
                add_points(points, labels, p++);
            }
        }
    }

    // A point leaves a cluster for another.
    void move(const Points<T>& points, std::int64_t i, int from, int to) {
        if (!(points.weights[i] > 0)) return;
        const double weight = static_cast<double>(points.weights[i]);
        double *const less = sum_of(from), *const more = sum_of(to);
        for (int f = 0, d = d_; f < d; f += W) {
            const Pack<T> values = points.features(i, f);
            add_product(values, -weight, less + f);
            add_product(values, weight, more + f);
        }
        mass_[from] -= weight;
        mass_[to] += weight;
        --counts[from];
        ++counts[to];
    }

private:
    static constexpr int W = lanes<T>;

    // Of more clusters, points are added one by one: it takes as long for any number.
    static constexpr int masked_at_most = 6;

    double* sum_of(int k) { return sums_.data() + static_cast<std::int64_t>(k) * stride_; }

    // A register of features of one point to a sum of as many.
    static void add_product(const Pack<T>& values, double weight, double* sum) {
        constexpr int N = static_cast<int>(sizeof(double) / sizeof(T));
        Pack<double> wide[N];
        widen<T, double>(values, wide);
        for (int h = 0; h < N; ++h)
            store(sum + h * lanes<double>, load(sum + h * lanes<double>) + broadcast(weight) * wide[h]);
    }

    // Those of a panel.
    void add_points(const Points<T>& points, const T* labels, std::int64_t p) {
        const T* weights = points.weights + p * W;
        int names[W];
        for (int i = 0; i < W; ++i) {
            names[i] = static_cast<int>(labels[p * W + i]);
            mass_[names[i]] += static_cast<double>(weights[i]);
            counts[names[i]] += weights[i] > 0;
        }
        for (int f = 0; f < d_; f += W) {
            Pack<T> block[W];
            points.features_of_panel(p, f, block);
            for (int i = 0; i < W; ++i)
                add_product(block[i], static_cast<double>(weights[i]), sum_of(names[i]) + f);
        }
    }

    // Are all points of a panel of one cluster?
    static bool is_of(const T* labels, T name) {
        T names[W];
        std::fill_n(names, W, name);
        return differing_lanes(labels, names) == 0;
    }

    // The points of `count` clusters from `first` on, with the weights of all others masked.
    template <class S>
    void add_clusters(const Points<T>& points, const T* labels, std::int64_t begin, std::int64_t end,
                      int first, int count) {
        for (int k = 0; k < count; ++k) mask<S>(points, labels, begin, end, first + k, k);
        for_tiles(count, [&](int k, auto tile) {
            constexpr int together = tile() <= 3 ? 4 : 2;  // enough sums to keep busy
            int f = 0;
            for (; f + together <= d_; f += together)
                sum_up_masked<S, tile(), together>(points, begin, end, first, k, f);
            for (; f < d_; ++f) sum_up_masked<S, tile(), 1>(points, begin, end, first, k, f);
        });
    }

    // The weights of the points of cluster k, zero for all others; their number and sum.
    template <class S>
    void mask(const Points<T>& points, const T* labels, std::int64_t begin, std::int64_t end, int k,
              int place) {
        constexpr int N = static_cast<int>(sizeof(S) / sizeof(T));
        Buffer<S>& masked = masked_weights<S>();
        masked.resize(static_cast<std::size_t>(masked_at_most) * block * W);
        S* to = masked.data() + place * (end - begin) * W;
        const Pack<T> zero = broadcast(T(0)), one = broadcast(T(1)), name = broadcast(T(k));
        Pack<T> count = zero;
        Pack<S> mass[N], weights[N];
        for (int h = 0; h < N; ++h) mass[h] = broadcast(S(0));
        for (std::int64_t p = begin; p < end; ++p, to += W) {
            const Pack<T> weight =
                choose_equal<T>(load(labels + p * W), name, load(points.weights + p * W), zero);
            count = count + choose_less<T>(zero, weight, one, zero);
            widen<T, S>(weight, weights);
            for (int h = 0; h < N; ++h) {
                mass[h] = mass[h] + weights[h];
                store(to + h * lanes<S>, weights[h]);
            }
        }
        counts[k] += static_cast<std::int64_t>(sum_of_lanes<T>(count));
        for (int h = 0; h < N; ++h) mass_[k] += sum_of_lanes<S>(mass[h]);
    }

    // Features f .. f + F of clusters k .. k + KT, counted from the first.
    template <class S, int KT, int F>
    void sum_up_masked(const Points<T>& points, std::int64_t begin, std::int64_t end, int first, int k,
                       int f) {
        constexpr int N = static_cast<int>(sizeof(S) / sizeof(T));
        const std::int64_t stride = (end - begin) * W;
        const S* weights = masked_weights<S>().data() + k * stride;
        Pack<S> sum[KT][F][N], values[N];
        for (int j = 0; j < KT; ++j)
            for (int t = 0; t < F; ++t)
                for (int h = 0; h < N; ++h) sum[j][t][h] = broadcast(S(0));
        for (std::int64_t p = begin; p < end; ++p, weights += W)
            for (int t = 0; t < F; ++t) {
                widen<T, S>(load(points.panel(p) + (f + t) * W), values);
                for (int j = 0; j < KT; ++j)
                    for (int h = 0; h < N; ++h)
                        sum[j][t][h] =
                            sum[j][t][h] + load(weights + j * stride + h * lanes<S>) * values[h];
            }
        for (int j = 0; j < KT; ++j)
            for (int t = 0; t < F; ++t)
                for (int h = 0; h < N; ++h)
                    sums_[static_cast<std::int64_t>(first + k + j) * stride_ + f + t] +=
                        sum_of_lanes<S>(sum[j][t][h]);
    }

    template <class S>
    Buffer<S>& masked_weights() {
        if constexpr (std::is_same_v<S, T>) return masked_;
        else return masked_double_;
    }

    int K_ = 0, d_ = 0, stride_ = 0;
    Buffer<double> sums_;       // (K, d filled up to whole registers)
    std::vector<double> mass_;  // (K,), the weights
    Buffer<T> masked_;          // (clusters, points of a block), see mask
    Buffer<double> masked_double_;
};

// sum of w|x|^2, in double: inertias are small differences from it. On the way visit(panel, feature,
// values) sees them all, a register at a time.
template <class T, class Visit>
double total_square(const Points<T>& points, Visit&& visit) {
    constexpr int W = lanes<T>, N = static_cast<int>(sizeof(double) / sizeof(T));
    Pack<double> total[N];
    for (int h = 0; h < N; ++h) total[h] = broadcast(0.0);
    for (std::int64_t p = 0; p < points.n_panels(); ++p) {
        Pack<double> square[N], value[N], weight[N];
        for (int h = 0; h < N; ++h) square[h] = broadcast(0.0);
        for (int f = 0; f < points.d; ++f) {
            const Pack<T> values = load(points.panel(p) + f * W);
            visit(p, f, values);
            widen<T, double>(values, value);
            for (int h = 0; h < N; ++h) square[h] = square[h] + value[h] * value[h];
        }
        widen<T, double>(load(points.weights + p * W), weight);
        for (int h = 0; h < N; ++h) total[h] = total[h] + square[h] * weight[h];
    }
    double sum = 0;
    for (int h = 0; h < N; ++h) sum += sum_of_lanes<double>(total[h]);
    return sum;
}

template <class T>
double total_square(const Points<T>& points) {
    return total_square(points, [](std::int64_t, int, const Pack<T>&) {});
}

}  // namespace bbclust
