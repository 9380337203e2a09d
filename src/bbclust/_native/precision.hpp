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
    // The total square of the points, which are read once: the unit of the points before is mostly theirs.
    double take(const Points<double>& points) {
        panels_.reserve(points.n, points.d);
        panels_.n = points.n;
        double mass = 0;
        for (std::int64_t i = 0; i < points.n; ++i) {
            mass += points.weights[i];
            panels_.weights[i] = static_cast<float>(points.weights[i]);
        }
        const double square = copy(points), before = unit;
        unit = unit_of(square / mass);
        if (unit != before) copy(points);
        panels_.close();
        return square;
    }

    Points<float> view() const { return panels_.view(); }

    double unit = 1.0;  // of the numbers here, in those of the table

private:
    // A power of two: nothing is rounded by it.
    static double unit_of(double mean) {
        return mean > 0 && std::isfinite(mean) ? std::exp2(-std::round(0.5 * std::log2(mean))) : 1.0;
    }

    // In the unit; their total square, as it is without.
    double copy(const Points<double>& points) {
        constexpr int ratio = lanes<float> / lanes<double>, W = lanes<double>;
        const int d = points.d;
        return total_square(points, [&, scale = broadcast(unit)](std::int64_t p, int f, auto values) {
            float* to = panels_.values.data() + ((p / ratio) * d + f) * lanes<float> + p % ratio * W;
            const Pack<double> scaled = scale * values;
            for (int i = 0; i < W; ++i) to[i] = static_cast<float>(scaled[i]);
        });
    }

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
        double square;
        if constexpr (std::is_same_v<T, double>) {
            square = single_.take(points);
            LloydSettings scaled = settings;
            scaled.tolerance *= single_.unit * single_.unit;
            const double scaled_square = square * single_.unit * single_.unit;
            const Lloyd<float>& found = search(single_.view(), scaled_square, single_.unit, scaled);
            if (tells_apart(found.inertia, scaled_square)) {
                make_exact(found, points, square, K, stop);
                return exact_;
            }
        } else {
            square = total_square(points);
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
