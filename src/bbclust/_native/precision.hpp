// Tables in double precision: starts run in single precision, where a register holds twice as many
// numbers, and the partition they lead to is then made exact in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "lloyd.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

// Points rounded to single precision, in a unit in which they are about one.
class SingleCopy {
public:
    void take(const Points<double>& points, double square) {
        double mass = 0;
        for (std::int64_t i = 0; i < points.n; ++i) mass += points.weights[i];
        // a power of two: nothing is rounded by it
        const double mean = square / mass;
        unit = mean > 0 && std::isfinite(mean) ? std::exp2(-std::round(0.5 * std::log2(mean))) : 1.0;
        panels_.reserve(points.n, points.d);
        panels_.n = points.n;
        constexpr int ratio = lanes<float> / lanes<double>, W = lanes<double>;
        const std::int64_t n_panels = points.n_panels();
        const int d = points.d;
        for (std::int64_t p = 0; p < n_panels; ++p) {
            const double* from = points.panel(p);
            float* to = panels_.values.data() + (p / ratio) * d * lanes<float> + p % ratio * W;
            for (int f = 0; f < d; ++f)
                for (int i = 0; i < W; ++i)
                    to[f * lanes<float> + i] = static_cast<float>(unit * from[f * W + i]);
        }
        for (std::int64_t i = 0; i < points.n; ++i)
            panels_.weights[i] = static_cast<float>(points.weights[i]);
        panels_.close();
    }

    Points<float> view() const { return panels_.view(); }

    double unit = 1.0;  // of the numbers here, in those of the table

private:
    Panels<float> panels_;
};

// Runs a search for the best partition in single precision, then makes it exact.
template <class T>
class SingleFirst {
public:
    // search(points, square, unit, settings) finds a partition of points in either precision and gives the
    // run that ended there, exact if the points are of type T. Lengths are multiplied by the unit; the
    // total square is that of the points, but for rounding.
    template <class Search>
    Lloyd<T>& find(const Points<T>& points, int K, const LloydSettings& settings, const StopFlag& stop,
                   Search&& search) {
        const double square = total_square(points);
        if constexpr (std::is_same_v<T, double>) {
            single_.take(points, square);
            LloydSettings scaled = settings;
            scaled.tolerance *= single_.unit * single_.unit;
            const double scaled_square = square * single_.unit * single_.unit;
            const Lloyd<float>& found = search(single_.view(), scaled_square, single_.unit, scaled);
            if (tells_apart(found.inertia, scaled_square)) {
                make_exact(found, points, square, K, stop);
                return exact_;
            }
        }
        return search(points, square, 1.0, settings);
    }

private:
    // Rounding, some 2^-24 of the square of a point, is little beside what it costs.
    static bool tells_apart(double inertia, double square) { return inertia > 100 * 0x1p-24 * square; }

    // The nearest of the centres that were found, and the means of the clusters that are theirs.
    void make_exact(const Lloyd<float>& found, const Points<double>& points, double square, int K,
                    const StopFlag& stop) {
        exact_.begin(points, square, K, false);
        exact_.centers = found.centers;
        for (double& value : exact_.centers.values) value /= single_.unit;
        exact_.assign(stop);
        exact_.polish(stop);
        exact_.n_iter = found.n_iter;
    }

    SingleCopy single_;
    Lloyd<double> exact_;
};

}  // namespace bbclust
