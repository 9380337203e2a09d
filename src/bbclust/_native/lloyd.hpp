// Weighted Lloyd iterations on panels of points.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

struct LloydSettings {
    int max_iter = 300;
    double tolerance = 0;  // on the summed squared shift of the centres, absolute
    bool exact = false;    // sums in double from the beginning, not only once the run is over
};

// One run of Lloyd's algorithm, from given centres to a partition.
template <class T>
class Lloyd {
public:
    std::vector<double> centers;       // (K, d)
    std::vector<std::uint8_t> in_use;  // (K,), centres that have a place; see relocate
    std::vector<std::int64_t> counts;  // (K,), points of positive weight
    Buffer<T> labels;                  // (padded points,)
    double inertia = 0;
    int n_iter = 0;

    void start(const Points<T>& points, int K) {
        K_ = K;
        d_ = points.d;
        centers.assign(static_cast<std::size_t>(K) * d_, 0.0);
        labels.resize(points.padded());
        sums_.resize(centers.size());
        mass_.resize(K);
        counts.resize(K);
    }

    void use(int n_centers) {
        in_use.assign(K_, 0);
        std::fill_n(in_use.begin(), n_centers, std::uint8_t(1));
    }

    // False, with nothing to report, when `arrived` said that the centres need not go on.
    template <class Arrived>
    bool run(const Points<T>& points, double total_square, const LloydSettings& settings,
             bool labels_known, const StopFlag& stop, Arrived&& arrived) {
        exact_ = settings.exact || std::is_same_v<T, double> || !masks_clusters();
        bool stable = false;
        for (n_iter = 1; n_iter <= settings.max_iter; ++n_iter) {
            if (n_iter > 1)
                stable = !assign(points, stop);
            else
                assign_first(points, labels_known, stop);
            if (stable) break;
            relocate(points);
            const double shift = move_centers();
            if (arrived()) return false;
            if (shift <= settings.tolerance) break;
        }
        n_iter = std::min(n_iter, settings.max_iter);
        if (!stable) assign(points, stop);  // labels of the last centres
        inertia = total_square - gain();
        return true;
    }

    // The means of the final labels and their inertia, from sums that are made anew: those of the run
    // have had points added and taken away.
    void polish(const Points<T>& points, double total_square, const StopFlag& stop) {
        sum_up<double>(points, stop);
        move_centers();
        inertia = total_square - gain();
    }

private:
    static constexpr int W = lanes<T>;

    void assign_first(const Points<T>& points, bool labels_known, const StopFlag& stop) {
        if (!labels_known) {
            book_.set(centers.data(), in_use.data(), K_, d_);
            clear_sums();
            for_nearest(points, book_, stop,
                        [&](std::int64_t first, std::int64_t count, const T* now) {
                std::copy_n(now, count, labels.data() + first);
                const std::int64_t begin = first / W, end = (first + count) / W;
                exact_ ? sum_up<double>(points, begin, end) : sum_up<T>(points, begin, end);
            });
            return;
        }
        exact_ ? sum_up<double>(points, stop) : sum_up<T>(points, stop);
    }

    // Sums, masses and counts of all clusters from the labels. S: the type of partial sums of a few
    // dozen numbers, the type of the data to be fast or double to be exact; totals are double.
    template <class S>
    void sum_up(const Points<T>& points, const StopFlag& stop) {
        clear_sums();
        constexpr std::int64_t block = 32;
        for (std::int64_t p = 0; p < points.n_panels(); p += block) {
            if (p % 1024 == 0) stop.check();
            sum_up<S>(points, p, std::min(p + block, points.n_panels()));
        }
    }

    void clear_sums() {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(mass_.begin(), mass_.end(), 0.0);
        std::fill(counts.begin(), counts.end(), 0);
    }

    // Few clusters are summed side by side, with the weights of the points of all others masked; many
    // are summed point by point, and then always exactly.
    bool masks_clusters() const { return K_ <= W; }

    // Adds the points of a few panels.
    template <class S>
    void sum_up(const Points<T>& points, std::int64_t begin, std::int64_t end) {
        if (!masks_clusters()) {
            with_dimension(d_, [&](auto D) {
                for (std::int64_t i = begin * W; i < std::min(end * W, points.n); ++i)
                    move<D()>(points, i, -1, static_cast<int>(labels[i]));
            });
            return;
        }
        for (int k = 0; k < K_; ++k) mask<S>(points, begin, end, k);
        for_tiles(K_, [&](int k, auto tile) {
            constexpr int together = tile() <= 3 ? 4 : 2;  // enough sums to keep busy
            int f = 0;
            for (; f + together <= d_; f += together)
                sum_up_masked<S, tile(), together>(points, begin, end, k, f);
            for (; f < d_; ++f) sum_up_masked<S, tile(), 1>(points, begin, end, k, f);
        });
    }

    // The weights of the points of cluster k, zero for all others; their number and sum.
    template <class S>
    void mask(const Points<T>& points, std::int64_t begin, std::int64_t end, int k) {
        constexpr int N = static_cast<int>(sizeof(S) / sizeof(T));
        Buffer<S>& masked = masked_weights<S>();
        masked.resize(static_cast<std::size_t>(K_) * (end - begin) * W);
        S* to = masked.data() + k * (end - begin) * W;
        const Pack<T> zero = broadcast(T(0)), one = broadcast(T(1)), name = broadcast(T(k));
        Pack<T> count = zero;
        Pack<S> mass[N], weights[N];
        for (int h = 0; h < N; ++h) mass[h] = broadcast(S(0));
        for (std::int64_t p = begin; p < end; ++p, to += W) {
            const Pack<T> weight = choose_equal<T>(load(labels.data() + p * W), name,
                                                   load(points.weights + p * W), zero);
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

    // Features f .. f + F of clusters k .. k + KT.
    template <class S, int KT, int F>
    void sum_up_masked(const Points<T>& points, std::int64_t begin, std::int64_t end, int k, int f) {
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
                        sum[j][t][h] = sum[j][t][h] + load(weights + j * stride + h * lanes<S>) * values[h];
            }
        for (int j = 0; j < KT; ++j)
            for (int t = 0; t < F; ++t)
                for (int h = 0; h < N; ++h)
                    sums_[static_cast<std::int64_t>(k + j) * d_ + f + t] += sum_of_lanes<S>(sum[j][t][h]);
    }

    template <class S>
    Buffer<S>& masked_weights() {
        if constexpr (std::is_same_v<S, T>) return masked_;
        else return masked_double_;
    }

    // Nearest centres; only points that changed cluster touch the sums. True if any did.
    bool assign(const Points<T>& points, const StopFlag& stop) {
        return with_dimension(d_, [&](auto D) { return assign_in<D()>(points, stop); });
    }

    template <int D>
    bool assign_in(const Points<T>& points, const StopFlag& stop) {
        book_.set(centers.data(), in_use.data(), K_, d_);
        bool changed = false;
        for_nearest_in<D>(points, book_, stop, [&](std::int64_t first, std::int64_t count, const T* now) {
            T* before = labels.data() + first;
            for (std::int64_t at = 0; at < count; at += W) {
                std::uint32_t differing = differing_lanes(before + at, now + at);
                changed |= differing != 0;
                for (; differing; differing &= differing - 1) {
                    const std::int64_t i = at + std::countr_zero(differing);
                    move<D>(points, first + i, static_cast<int>(before[i]), static_cast<int>(now[i]));
                    before[i] = now[i];
                }
            }
        });
        return changed;
    }

    template <int D>
    void move(const Points<T>& points, std::int64_t i, int from, int to) {
        if (!(points.weights[i] > 0)) return;
        if (from >= 0) {
            add<D>(points, i, from, -1.0);
            --counts[from];
        }
        add<D>(points, i, to, 1.0);
        ++counts[to];
    }

    template <int D>
    void add(const Points<T>& points, std::int64_t i, int k, double sign) {
        const int d = D ? D : d_;
        const double weight = sign * static_cast<double>(points.weights[i]);
        const T* x = points.values + (i / W) * d * W + i % W;
        double* sum = sums_.data() + static_cast<std::int64_t>(k) * d;
        for (int f = 0; f < d; ++f) sum[f] += weight * static_cast<double>(x[f * W]);
        mass_[k] += weight;
    }

    // Empty clusters take over the points farthest from their centres. Points that sit on their
    // centre, and points alone in a cluster, stay: then the cluster goes out of use, because the
    // replica has fewer distinct points than clusters.
    void relocate(const Points<T>& points) {
        std::vector<int> empty;
        for (int k = 0; k < K_; ++k)
            if (counts[k] == 0) empty.push_back(k);
        if (empty.empty()) return;
        std::vector<std::pair<double, std::int64_t>> far;
        for (std::int64_t i = 0; i < points.n; ++i) {
            if (!(points.weights[i] > 0)) continue;
            const T* x = points.point(i);
            const double* c = centers.data() + static_cast<std::int64_t>(labels[i]) * d_;
            double distance = 0, norm = 0;
            for (int f = 0; f < d_; ++f) {
                const double value = static_cast<double>(x[f * W]);
                distance += (value - c[f]) * (value - c[f]);
                norm += value * value;
            }
            if (distance > 1e-26 * norm) far.emplace_back(-distance, i);
        }
        // few are needed, so they are not sorted
        const auto nearer = [](const auto& a, const auto& b) { return b < a; };
        std::make_heap(far.begin(), far.end(), nearer);
        const auto next = [&]() -> std::int64_t {  // the farthest that is not alone, or -1
            while (!far.empty()) {
                std::pop_heap(far.begin(), far.end(), nearer);
                const std::int64_t i = far.back().second;
                far.pop_back();
                if (counts[static_cast<int>(labels[i])] >= 2) return i;
            }
            return -1;
        };
        for (int k : empty) {
            const std::int64_t i = next();
            in_use[k] = i >= 0;
            if (!in_use[k]) continue;
            move<0>(points, i, static_cast<int>(labels[i]), k);
            labels[i] = static_cast<T>(k);
        }
    }

    double move_centers() {
        double shift = 0;
        for (int k = 0; k < K_; ++k) {
            if (counts[k] == 0) continue;
            double* c = centers.data() + static_cast<std::int64_t>(k) * d_;
            const double* sum = sums_.data() + static_cast<std::int64_t>(k) * d_;
            const double inverse = 1.0 / mass_[k];
            for (int f = 0; f < d_; ++f) {
                const double mean = sum[f] * inverse;
                shift += (mean - c[f]) * (mean - c[f]);
                c[f] = mean;
            }
        }
        return shift;
    }

    // sum of w|x|^2 - w|x - c|^2 over the points, from the sums alone.
    double gain() const {
        double gain = 0;
        for (int k = 0; k < K_; ++k) {
            if (counts[k] == 0) continue;
            const double* c = centers.data() + static_cast<std::int64_t>(k) * d_;
            const double* sum = sums_.data() + static_cast<std::int64_t>(k) * d_;
            for (int f = 0; f < d_; ++f) gain += c[f] * (2.0 * sum[f] - mass_[k] * c[f]);
        }
        return gain;
    }

    int K_ = 0, d_ = 0;
    bool exact_ = false;  // are the sums?
    Codebook<T> book_;
    std::vector<double> sums_;  // weighted sums of the points of each cluster
    std::vector<double> mass_;  // their weights
    Buffer<T> masked_;          // (K, points of a few panels), see mask
    Buffer<double> masked_double_;
};

// sum of w|x|^2, in double: inertias are small differences from it
template <class T>
double total_square(const Points<T>& points) {
    constexpr int W = lanes<T>, N = static_cast<int>(sizeof(double) / sizeof(T));
    Pack<double> total[N];
    for (int h = 0; h < N; ++h) total[h] = broadcast(0.0);
    for (std::int64_t p = 0; p < points.n_panels(); ++p) {
        Pack<double> square[N], value[N], weight[N];
        for (int h = 0; h < N; ++h) square[h] = broadcast(0.0);
        for (int f = 0; f < points.d; ++f) {
            widen<T, double>(load(points.panel(p) + f * W), value);
            for (int h = 0; h < N; ++h) square[h] = square[h] + value[h] * value[h];
        }
        widen<T, double>(load(points.weights + p * W), weight);
        for (int h = 0; h < N; ++h) total[h] = total[h] + square[h] * weight[h];
    }
    double sum = 0;
    for (int h = 0; h < N; ++h) sum += sum_of_lanes<double>(total[h]);
    return sum;
}

}  // namespace bbclust
