// Where runs of k-means ended: is another run on its way there, and which of two is the better?
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lloyd.hpp"
#include "nearest.hpp"
#include "panels.hpp"

namespace bbclust {

// Where a run ended.
struct Optimum {
    double inertia;
    bool on_all_points = false;  // else on a sample of them
    std::vector<double> centers;  // (K, d)
    std::vector<std::uint8_t> in_use;

    template <class T>
    explicit Optimum(const Lloyd<T>& run)
        : inertia(run.inertia), centers(run.centers), in_use(run.in_use),
          K_(static_cast<int>(in_use.size())), d_(static_cast<int>(centers.size()) / K_),
          reach_(K_, std::numeric_limits<double>::infinity()) {
        for (int k = 0; k < K_; ++k)
            for (int j = 0; j < k; ++j) {
                const double half = 0.25 * squared_distance(center(k), center(j));
                reach_[k] = std::min(reach_[k], half);
                reach_[j] = std::min(reach_[j], half);
            }
    }

    // Is a run under way closing in on these centres? One of its own must lie near each, within a
    // share of the half way to the next, and the distance must have shrunk enough since this was
    // last asked: where it shrinks slowly the run may well end elsewhere, and on data without
    // clusters it often does.
    template <class T>
    bool attracts(const Lloyd<T>& run, double share, double shrinkage) {
        const double before = distance_;
        distance_ = std::numeric_limits<double>::infinity();
        if (!all(in_use) || !all(run.in_use)) return false;
        double sum = 0;
        bool near = true;
        for (int k = 0; k < K_; ++k) {
            double apart = 0;
            int j = 0;
            const auto distance = [&] {
                return squared_distance(&run.centers[place(j)], center(k));
            };
            while (j < K_ && (apart = distance()) > reach_[k]) ++j;
            if (j == K_) return false;
            near = near && apart <= share * share * reach_[k];
            sum += apart;
        }
        distance_ = sum;
        return near && sum <= shrinkage * shrinkage * before;
    }

private:
    std::size_t place(int k) const { return static_cast<std::size_t>(k) * d_; }
    const double* center(int k) const { return &centers[place(k)]; }

    static bool all(const std::vector<std::uint8_t>& flags) {
        return std::find(flags.begin(), flags.end(), 0) == flags.end();
    }

    double squared_distance(const double* a, const double* b) const {
        double sums[4] = {};  // side by side: one sum would wait for itself
        int f = 0;
        for (; f + 4 <= d_; f += 4)
            for (int t = 0; t < 4; ++t) sums[t] += (a[f + t] - b[f + t]) * (a[f + t] - b[f + t]);
        for (; f < d_; ++f) sums[0] += (a[f] - b[f]) * (a[f] - b[f]);
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }

    int K_, d_;
    std::vector<double> reach_;  // (K,), squared half way to the nearest other centre
    double distance_ = 0;        // squared distance of the run under way when it was last asked
};

// What each point costs, w |x - c|^2 / 2, without w |x|^2 / 2, which all partitions share.
template <class T>
void weigh_costs(const Points<T>& points, const Codebook<T>& book, Buffer<T>& costs) {
    constexpr int W = lanes<T>;
    costs.resize(points.padded());
    for (std::int64_t p = 0; p < points.n_panels(); ++p) {
        Pack<T> least = broadcast(std::numeric_limits<T>::infinity());
        for (int k = 0; k < book.K; ++k) {
            const T* center = book.centers.data() + static_cast<std::size_t>(k) * points.d;
            Pack<T> cost = broadcast(book.half_norms[k]);
            for (int f = 0; f < points.d; ++f)
                cost = cost - load(points.panel(p) + f * W) * broadcast(center[f]);
            least = choose_less<T>(cost, least, cost, least);
        }
        store(costs.data() + p * W, least * load(points.weights + p * W));
    }
}

// By how many standard errors of the difference the first costs are higher. Both are of the same
// points, so most of what these cost cancels out.
template <class T>
double standard_errors_above(const Buffer<T>& a, const Buffer<T>& b) {
    constexpr int N = static_cast<int>(sizeof(double) / sizeof(T));
    Pack<double> sums[N], squares[N], differences[N];
    for (int h = 0; h < N; ++h) sums[h] = squares[h] = broadcast(0.0);
    for (std::size_t i = 0; i < a.size(); i += lanes<T>) {
        widen<T, double>(load(a.data() + i) - load(b.data() + i), differences);
        for (int h = 0; h < N; ++h) {
            sums[h] = sums[h] + differences[h];
            squares[h] = squares[h] + differences[h] * differences[h];
        }
    }
    double sum = 0, square = 0;
    for (int h = 0; h < N; ++h) {
        sum += sum_of_lanes<double>(sums[h]);
        square += sum_of_lanes<double>(squares[h]);
    }
    return square > 0 ? sum / std::sqrt(square) : 0.0;
}

}  // namespace bbclust
