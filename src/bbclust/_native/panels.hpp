// Points in panels: `lanes` points side by side, feature by feature, so that one register holds the
// same feature of that many points and every kernel works on whole registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "simd.hpp"

namespace bbclust {

template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t n) {
        return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64)));
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
};
template <class T>
using Buffer = std::vector<T, AlignedAllocator<T>>;

// A weighted set of points. A point of weight zero is as good as absent: it is never chosen as a
// centre, never counted, never votes. The last panel is filled up with such points.
template <class T>
struct Panels {
    static constexpr int W = lanes<T>;

    std::int64_t n = 0;  // points
    int d = 0;
    Buffer<T> values;
    Buffer<T> weights;

    std::int64_t n_panels() const { return (n + W - 1) / W; }
    std::int64_t padded() const { return n_panels() * W; }
    const T* panel(std::int64_t p) const { return values.data() + p * d * W; }

    // First value of point i; its features are W apart.
    T* point(std::int64_t i) { return values.data() + (i / W) * d * W + i % W; }
    const T* point(std::int64_t i) const { return values.data() + (i / W) * d * W + i % W; }

    void reserve(std::int64_t points, int dimensions) {
        d = dimensions;
        n = 0;
        const std::size_t room = static_cast<std::size_t>((points + W - 1) / W * W);
        if (values.size() < room * d) values.resize(room * d);
        if (weights.size() < room) weights.resize(room);
    }

    // D: the dimension where it is known at compile time, else zero.
    template <int D = 0, class S>
    void append(const S* row, T weight) {
        const int dimensions = D ? D : d;
        T* to = values.data() + (n / W) * dimensions * W + n % W;
        for (int f = 0; f < dimensions; ++f) to[f * W] = static_cast<T>(row[f]);
        weights[n++] = weight;
    }

    // Fill the last panel with copies of the last point: they follow it from cluster to cluster
    // and so never delay convergence.
    void close() {
        if (n == 0) return;
        const T* last = point(n - 1);
        for (std::int64_t i = n; i < padded(); ++i) {
            T* to = point(i);
            for (int f = 0; f < d; ++f) to[f * W] = last[f * W];
            weights[i] = 0;
        }
    }
};

template <class T>
Panels<T> make_panels(const T* rows, const double* weights, std::int64_t n, int d) {
    Panels<T> panels;
    panels.reserve(n, d);
    for (std::int64_t i = 0; i < n; ++i)
        panels.append(rows + i * d, weights ? static_cast<T>(weights[i]) : T(1));
    panels.close();
    return panels;
}

}  // namespace bbclust
