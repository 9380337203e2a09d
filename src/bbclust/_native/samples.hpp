// Fair samples of a set of points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panels.hpp"

namespace bbclust {

// Points are taken one by one, or sixteen at a time, out of stretches of equal length, at places in
// these that follow no pattern: the order of the points may mean something. With the weights they
// have, all points are equally likely to be taken, and a sample stands for all of them. Sixteen points
// are whole panels of any width, so every machine takes the same.
inline constexpr std::int64_t block_points = 16;

// `size` is a multiple of sixteen and at most half of the points. Samples of other numbers are others.
template <class T>
Points<T> take_sample(const Points<T>& points, std::int64_t size, bool in_blocks, int number,
                      Panels<T>& to) {
    constexpr double golden = 0.6180339887498949, plastic = 0.7548776662466927;
    constexpr int W = lanes<T>;
    const std::int64_t together = in_blocks ? block_points : 1, count = size / together;
    const std::int64_t places = points.n / together;
    const double stretch = static_cast<double>(places) / static_cast<double>(count);
    const int d = points.d;
    to.reserve(size, d);
    to.n = size;
    for (std::int64_t t = 0; t < count; ++t) {
        const double place = plastic * number + golden * static_cast<double>(t);
        const std::int64_t from =
            together *
            static_cast<std::int64_t>((static_cast<double>(t) + place - std::floor(place)) * stretch);
        std::copy_n(points.weights + from, together, to.weights.data() + t * together);
        if (in_blocks) {
            std::copy_n(points.point(from), together * d, to.point(t * together));
        } else {
            const T* x = points.point(from);
            T* y = to.point(t);
            for (int f = 0; f < d; ++f) y[f * W] = x[f * W];
        }
    }
    return to.view();
}

// The same points in the order of their labels, so that most panels are of one label.
template <class T>
class Sorted {
public:
    // Labels are sorted too.
    void take(const Points<T>& points, int K, Buffer<T>& labels) {
        constexpr int W = lanes<T>;
        const int d = points.d;
        next_.assign(K + 1, 0);
        for (std::int64_t i = 0; i < points.n; ++i) ++next_[static_cast<int>(labels[i]) + 1];
        for (int k = 0; k < K; ++k) next_[k + 1] += next_[k];
        panels_.reserve(points.n, d);
        panels_.n = points.n;
        make_room(order_, points.n);
        make_room(sorted_labels_, points.padded());
        with_dimension_if_single<T>(d, [&](auto D) {
            const int d = D() ? D() : points.d;
            for (std::int64_t i = 0; i < points.n; ++i) {
                const std::int64_t to = next_[static_cast<int>(labels[i])]++;
                order_[i] = static_cast<std::int32_t>(to);
                sorted_labels_[to] = labels[i];
                panels_.weights[to] = points.weights[i];
                const T* x = points.values + (i / W) * d * W + i % W;
                T* y = panels_.values.data() + (to / W) * d * W + to % W;
                if (to % W ==
                    0)  // the next panel of the label, whose lines are far from those of others
                    for (int f = 0; f < d; ++f) prefetch_to_write(y + (d + f) * W);
                for (int f = 0; f < d; ++f) y[f * W] = x[f * W];
            }
        });
        panels_.close();
        close(labels);
    }

    Points<T> view() const { return panels_.view(); }

    // Back to the order of before.
    void undo(Buffer<T>& labels) {
        for (std::int64_t i = 0; i < panels_.n; ++i) sorted_labels_[i] = labels[order_[i]];
        close(labels);
    }

private:
    // The last panel is filled up with copies of the last point.
    void close(Buffer<T>& labels) {
        std::fill_n(sorted_labels_.begin() + panels_.n, panels_.padded() - panels_.n,
                    sorted_labels_[panels_.n - 1]);
        labels.swap(sorted_labels_);
    }

    Panels<T> panels_;
    Buffer<std::int32_t> order_;  // where each point is now
    Buffer<T> sorted_labels_;
    std::vector<std::int64_t> next_;
};

}  // namespace bbclust
