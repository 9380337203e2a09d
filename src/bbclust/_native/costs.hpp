// What points cost under different partitions, and whether one of these is clearly the worse.
#pragma once

#include <cmath>
#include <cstdint>

#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

// What each point costs, w |x - c|^2 / 2, without w |x|^2 / 2, which all partitions share.
template <class T>
void weigh_costs(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop,
                 Buffer<T>& costs) {
    costs.resize(points.padded());
    for_nearest(points, book, stop,
                [&](std::int64_t first, std::int64_t count, const T*, const T* scores) {
        for (std::int64_t i = 0; i < count; ++i)
            costs[first + i] = scores[i] * points.weights[first + i];
    });
}

// Costs of the same points under two partitions: most of what they cost cancels out.
struct Difference {
    double sum, error;  // of the first over the second, and its standard error
};

template <class T>
Difference compare_costs(const Buffer<T>& a, const Buffer<T>& b) {
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
    return {2.0 * sum, 2.0 * std::sqrt(square)};
}

}  // namespace bbclust
