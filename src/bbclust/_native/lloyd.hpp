// Weighted Lloyd iterations on panels of points.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

// Centres in the form the assignment wants. The nearest centre minimises |c|^2 / 2 - x.c; a centre
// that is not in use has +infinity there and is never nearest.
template <class T>
struct Codebook {
    int K = 0, d = 0;
    std::vector<T> centers;
    std::vector<T> half_norms;

    void set(const double* from, const std::uint8_t* in_use, int n_centers, int dimensions) {
        K = n_centers;
        d = dimensions;
        centers.resize(static_cast<std::size_t>(K) * d);
        half_norms.resize(K);
        for (int k = 0; k < K; ++k) {
            double norm = 0;
            for (int f = 0; f < d; ++f) {
                const T value = static_cast<T>(from[static_cast<std::int64_t>(k) * d + f]);
                centers[static_cast<std::size_t>(k) * d + f] = value;
                norm += static_cast<double>(value) * static_cast<double>(value);
            }
            half_norms[k] = !in_use || in_use[k] ? static_cast<T>(0.5 * norm)
                                                 : std::numeric_limits<T>::infinity();
        }
    }
};

// Scores of R panels against KT centres, kept in registers.
template <int D, class T, int R, int KT>
inline void score_tile(const T* x, std::int64_t stride, const Codebook<T>& book, int k0,
                       Pack<T> (&best)[R], Pack<T> (&label)[R]) {
    constexpr int W = lanes<T>;
    const int d = D ? D : book.d;
    const T* c = book.centers.data() + static_cast<std::int64_t>(k0) * d;
    Pack<T> score[R][KT];
    for (int r = 0; r < R; ++r)
        for (int j = 0; j < KT; ++j) score[r][j] = broadcast(book.half_norms[k0 + j]);
    for (int f = 0; f < d; ++f) {
        Pack<T> xf[R];
        for (int r = 0; r < R; ++r) xf[r] = load(x + r * stride + f * W);
        for (int j = 0; j < KT; ++j) {
            const Pack<T> cf = broadcast(c[static_cast<std::int64_t>(j) * d + f]);
            for (int r = 0; r < R; ++r) score[r][j] = score[r][j] - xf[r] * cf;
        }
    }
    for (int j = 0; j < KT; ++j) {
        const Pack<T> name = broadcast(static_cast<T>(k0 + j));
        for (int r = 0; r < R; ++r) {
            label[r] = choose_less<T>(score[r][j], best[r], name, label[r]);
            best[r] = choose_less<T>(score[r][j], best[r], score[r][j], best[r]);
        }
    }
}

// Nearest centre of the points of R neighbouring panels. Labels are numbers of type T, so that
// they live in the same registers as the scores.
template <int D, class T, int R>
inline void nearest_of_panels(const T* x, const Codebook<T>& book, T* labels) {
    constexpr int W = lanes<T>;
    const std::int64_t stride = static_cast<std::int64_t>(D ? D : book.d) * W;
    Pack<T> best[R], label[R];
    for (int r = 0; r < R; ++r) {
        best[r] = broadcast(std::numeric_limits<T>::infinity());
        label[r] = broadcast(T(0));
    }
    // Tiles of up to six centres, of equal size as far as possible: small ones wait for their sums.
    for (int k = 0, tiles = (book.K + 5) / 6; k < book.K; --tiles) {
        const int size = (book.K - k + tiles - 1) / tiles;
        switch (size) {
            case 6: score_tile<D, T, R, 6>(x, stride, book, k, best, label); break;
            case 5: score_tile<D, T, R, 5>(x, stride, book, k, best, label); break;
            case 4: score_tile<D, T, R, 4>(x, stride, book, k, best, label); break;
            case 3: score_tile<D, T, R, 3>(x, stride, book, k, best, label); break;
            case 2: score_tile<D, T, R, 2>(x, stride, book, k, best, label); break;
            case 1: score_tile<D, T, R, 1>(x, stride, book, k, best, label); break;
        }
        k += size;
    }
    for (int r = 0; r < R; ++r) store(labels + r * W, label[r]);
}

// As many as registers allow: each centre that is loaded then serves that many panels.
inline constexpr int panels_at_once = vector_bytes == 64 ? 4 : 2;

template <int D, class T, class Visit>
void for_nearest_in(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop,
                    Visit&& visit) {
    constexpr int W = lanes<T>;
    constexpr std::int64_t block = 32;
    alignas(64) T labels[block * W];
    const std::int64_t n_panels = points.n_panels();
    for (std::int64_t first = 0; first < n_panels; first += block) {
        if (first % 1024 == 0) stop.check();
        const std::int64_t end = std::min(first + block, n_panels);
        std::int64_t p = first;
        for (; p + panels_at_once <= end; p += panels_at_once)
            nearest_of_panels<D, T, panels_at_once>(points.panel(p), book, labels + (p - first) * W);
        for (; p < end; ++p)
            nearest_of_panels<D, T, 1>(points.panel(p), book, labels + (p - first) * W);
        visit(first * W, (end - first) * W, labels);
    }
}

// Calls visit(first, count, labels) for the points, some at a time: labels[0 .. count) are the
// nearest centres of points first .. first + count, padding included.
template <class T, class Visit>
void for_nearest(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop,
                 Visit&& visit) {
    with_dimension(book.d,
                   [&](auto D) { for_nearest_in<D()>(points, book, stop, visit); });
}

struct LloydSettings {
    int max_iter = 300;
    double tolerance = 0;  // on the summed squared shift of the centres, absolute
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

    // Inertia of the centres as they are.
    double cost(const Points<T>& points, double total_square, const StopFlag& stop) {
        assign_first(points, false, stop);
        return total_square - gain();
    }

    // The means of the final labels. The sums are at hand: in double, what thousands of updates add
    // to their rounding is far below that of the points.
    void polish() { move_centers(); }

private:
    static constexpr int W = lanes<T>;

    void assign_first(const Points<T>& points, bool labels_known, const StopFlag& stop) {
        if (!labels_known) {
            book_.set(centers.data(), in_use.data(), K_, d_);
            clear_sums();
            for_nearest(points, book_, stop,
                        [&](std::int64_t first, std::int64_t count, const T* now) {
                std::copy_n(now, count, labels.data() + first);
                sum_up(points, first / W, (first + count) / W);  // while they are in cache
            });
            return;
        }
        sum_up(points);
    }

    // Sums, masses and counts of all clusters from the labels. A few clusters are summed one after
    // the other, the points of the others masked; many are summed point by point.
    void sum_up(const Points<T>& points) {
        clear_sums();
        for (std::int64_t p = 0; p < points.n_panels(); p += 256)
            sum_up(points, p, std::min(p + 256, points.n_panels()));
    }

    void clear_sums() {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(mass_.begin(), mass_.end(), 0.0);
        std::fill(counts.begin(), counts.end(), 0);
    }

    // Adds the points of some panels.
    void sum_up(const Points<T>& points, std::int64_t begin, std::int64_t end) {
        with_dimension(d_, [&](auto D) {
            if (D() > 0 && K_ <= 8)
                for (int k = 0; k < K_; ++k) sum_up_masked<D()>(points, begin, end, k);
            else
                for (std::int64_t i = begin * W; i < std::min(end * W, points.n); ++i)
                    move<D()>(points, i, -1, static_cast<int>(labels[i]));
        });
    }

    template <int D>
    void sum_up_masked(const Points<T>& points, std::int64_t begin, std::int64_t end, int k) {
        constexpr int N = doubles_per_pack<T>;
        Pack<double> count[N], mass[N], sum[D + 1][N];
        for (int h = 0; h < N; ++h) {
            count[h] = mass[h] = broadcast(0.0);
            for (int f = 0; f < D; ++f) sum[f][h] = broadcast(0.0);
        }
        const Pack<T> zero = broadcast(T(0)), one = broadcast(T(1)), name = broadcast(T(k));
        for (std::int64_t p = begin; p < end; ++p) {
            const T* x = points.values + p * D * W;
            const Pack<T> masked = choose_equal<T>(load(labels.data() + p * W), name,
                                                   load(points.weights + p * W), zero);
            Pack<double> present[N], weight[N], value[N];
            widen<T>(choose_less<T>(zero, masked, one, zero), present);
            widen<T>(masked, weight);
            for (int h = 0; h < N; ++h) {
                count[h] = count[h] + present[h];
                mass[h] = mass[h] + weight[h];
            }
            for (int f = 0; f < D; ++f) {
                widen<T>(load(x + f * W), value);
                for (int h = 0; h < N; ++h) sum[f][h] = sum[f][h] + weight[h] * value[h];
            }
        }
        for (int h = 0; h < N; ++h) {
            counts[k] += static_cast<std::int64_t>(sum_of_lanes<double>(count[h]));
            mass_[k] += sum_of_lanes<double>(mass[h]);
            for (int f = 0; f < D; ++f)
                sums_[static_cast<std::int64_t>(k) * D + f] += sum_of_lanes<double>(sum[f][h]);
        }
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
        std::sort(far.begin(), far.end());
        std::size_t next = 0;
        for (int k : empty) {
            while (next < far.size() && counts[static_cast<int>(labels[far[next].second])] < 2) ++next;
            in_use[k] = next < far.size();
            if (!in_use[k]) continue;
            const std::int64_t i = far[next++].second;
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
    Codebook<T> book_;
    std::vector<double> sums_;  // weighted sums of the points of each cluster
    std::vector<double> mass_;  // their weights
};

// sum of w|x|^2, in double: inertias are small differences from it
template <class T>
double total_square(const Points<T>& points) {
    constexpr int W = lanes<T>, N = doubles_per_pack<T>;
    Pack<double> total[N];
    for (int h = 0; h < N; ++h) total[h] = broadcast(0.0);
    for (std::int64_t p = 0; p < points.n_panels(); ++p) {
        Pack<double> square[N], value[N], weight[N];
        for (int h = 0; h < N; ++h) square[h] = broadcast(0.0);
        for (int f = 0; f < points.d; ++f) {
            widen<T>(load(points.panel(p) + f * W), value);
            for (int h = 0; h < N; ++h) square[h] = square[h] + value[h] * value[h];
        }
        widen<T>(load(points.weights + p * W), weight);
        for (int h = 0; h < N; ++h) total[h] = total[h] + square[h] * weight[h];
    }
    double sum = 0;
    for (int h = 0; h < N; ++h) sum += sum_of_lanes<double>(total[h]);
    return sum;
}

}  // namespace bbclust
