// The nearest centres from numbers of 16 bits and from single precision.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "shorts.hpp"

using namespace bbclust;

// Labels by either way; whether numbers of 16 bits can hold the points. Centres come from where they
// were before, all that are not in use from there too, as in the course of iterations.
extern "C" bool find_nearest(const float* values, std::int64_t n, int d, const double* before,
                             const double* centers, const std::uint8_t* in_use, int K, float* by_shorts,
                             float* by_floats) {
    const Panels<float> panels = make_panels<float>(values, nullptr, n, d);
    const Points<float> points = panels.view();
    Codebook<float> book;
    book.set(before, nullptr, K, d);
    ShortPoints shorts;
    ShortNearest nearest;
    const bool hold = ShortNearest::pays(d) && shorts.fill(points);
    if (hold) nearest.set(book, shorts);
    std::vector<int> moved;
    for (int k = 0; k < K; ++k) {
        const double *from = before + k * d, *to = centers + k * d;
        if (in_use[k] && std::equal(from, from + d, to)) continue;
        book.set_center(k, to, in_use[k]);
        moved.push_back(k);
    }
    const StopFlag stop;
    const auto write_to = [n](float* labels) {
        return [n, labels](std::int64_t first, std::int64_t count, const float* found) {
            std::copy_n(found, std::min(count, n - first), labels + first);
        };
    };
    for_nearest(points, book, stop, write_to(by_floats));
    if (!hold) return false;
    nearest.follow(book, shorts, moved);
    nearest.for_labels<true>(points, 0, points.n_panels(), shorts, book, stop, write_to(by_shorts));
    return true;
}
