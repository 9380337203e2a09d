// The nearest centres from numbers of 16 bits and from single precision.
#include <algorithm>
#include <cstdint>

#include "shorts.hpp"

using namespace bbclust;

// Labels by either way; whether numbers of 16 bits can hold the points.
extern "C" bool find_nearest(const float* values, std::int64_t n, int d, const double* centers,
                             const std::uint8_t* in_use, int K, float* by_shorts, float* by_floats) {
    const Panels<float> panels = make_panels<float>(values, nullptr, n, d);
    const Points<float> points = panels.view();
    Codebook<float> book;
    book.set(centers, in_use, K, d);
    const StopFlag stop;
    const auto write_to = [n](float* labels) {
        return [n, labels](std::int64_t first, std::int64_t count, const float* found) {
            std::copy_n(found, std::min(count, n - first), labels + first);
        };
    };
    for_nearest(points, book, stop, write_to(by_floats));
    ShortPoints shorts;
    if (!ShortNearest::pays(d) || !shorts.fill(points)) return false;
    ShortNearest nearest;
    nearest.set(book, shorts);
    nearest.for_labels<true>(points, shorts, book, stop, write_to(by_shorts));
    return true;
}
