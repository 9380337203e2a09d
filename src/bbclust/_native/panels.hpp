// Points in panels: `lanes` points side by side, feature by feature, so that one register holds the
// same feature of that many points and every kernel works on whole registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kept_memory.hpp"
#include "simd.hpp"

namespace bbclust {

template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    // Large blocks in large pages: a page fault per 2 MiB instead of one per 4 KiB, and random rows
    // of the table are found without walking page tables.
    static constexpr std::size_t large_page = std::size_t(1) << 21;
    static constexpr std::align_val_t alignment(std::size_t bytes) {
        return std::align_val_t(bytes >= 4 * large_page ? large_page : 64);
    }
    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        if (bytes >= KeptMemory::least)
            if (void* const kept = KeptMemory::shared().take(bytes)) return static_cast<T*>(kept);
        void* block = ::operator new(bytes, alignment(bytes));
#if defined(__linux__)
        if (bytes >= 4 * large_page) madvise(block, bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(block);
    }
    // Numbers are written before they are read: no need to clear the memory first.
    template <class U>
    void construct(U* p) {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Arguments>
    void construct(U* p, Arguments&&... arguments) {
        ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        const std::size_t bytes = n * sizeof(T);
        if (bytes >= KeptMemory::least && KeptMemory::shared().keep(p, bytes, alignment(bytes))) return;
        ::operator delete(p, alignment(bytes));
    }
    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
};
template <class T>
using Buffer = std::vector<T, AlignedAllocator<T>>;

// At least `count` numbers, whatever they are: what was there before is gone. A few more, so that the next
// replica, which has some points more or fewer, does not need another block beside this one.
template <class T>
void make_room(Buffer<T>& buffer, std::int64_t count) {
    const std::size_t n = static_cast<std::size_t>(count);
    if (buffer.size() >= n) return;
    Buffer<T>().swap(buffer);
    buffer.resize(n + n / 64);
}

template <class T>
struct Points;
class ShortPoints;

// The values of points row by row, filled up with zeros to whole registers: a single point is a few lines
// of memory, not one for each feature. Worth it for points that stay in cache and are looked up often.
template <class T>
class Rows {
public:
    void clear() { there_ = false; }
    bool are_there() const { return there_; }
    const T* row(std::int64_t i) const { return values_.data() + i * length_; }

    // Once, if they are not there.
    void fill(const Points<T>& points) {
        constexpr int W = lanes<T>;
        if (there_) return;
        length_ = (points.d + W - 1) / W * W;
        make_room(values_, points.padded() * length_);
        for (std::int64_t p = 0; p < points.n_panels(); ++p)
            for (int f = 0; f < points.d; f += W) {
                Pack<T> square[W];
                points.features_of_panel(p, f, square);
                for (int i = 0; i < W; ++i) store(values_.data() + (p * W + i) * length_ + f, square[i]);
            }
        there_ = true;
    }

private:
    Buffer<T> values_;
    std::int64_t length_ = 0;
    bool there_ = false;
};

// A weighted set of points that somebody else keeps. A point of weight zero is as good as absent: it
// is never chosen as a centre, never counted, never votes. The last panel is filled up with such
// points.
template <class T>
struct Points {
    static constexpr int W = lanes<T>;
    static constexpr std::int64_t cached_values = 1 << 18;

    std::int64_t n = 0;
    int d = 0;
    const T* values = nullptr;
    const T* weights = nullptr;
    // The same values once more, if somebody keeps these too.
    Rows<T>* rows = nullptr;
    ShortPoints* shorts = nullptr;

    std::int64_t n_panels() const { return (n + W - 1) / W; }
    std::int64_t padded() const { return n_panels() * W; }
    const T* panel(std::int64_t p) const { return values + p * d * W; }
    bool stay_in_cache() const { return padded() * d <= cached_values; }

    // First value of point i; its features are W apart.
    const T* point(std::int64_t i) const { return values + (i / W) * d * W + i % W; }

    // Features f .. f + W of point i; zeros beyond the last.
    Pack<T> features(std::int64_t i, int f) const {
        if (rows && rows->are_there()) return load(rows->row(i) + f);
        return load_column(point(i) + f * W, d - f);
    }

    // Those of all points of a panel, each in a register.
    void features_of_panel(std::int64_t p, int f, Pack<T> (&square)[W]) const {
        for (int t = 0; t < W; ++t)
            square[t] = f + t < d ? load(panel(p) + (f + t) * W) : broadcast(T(0));
        transpose<T>(square);
    }
};

// A weighted set of points in memory of its own.
template <class T>
struct Panels {
    static constexpr int W = lanes<T>;

    std::int64_t n = 0;  // points
    int d = 0;
    Buffer<T> values;
    Buffer<T> weights;

    Points<T> view() const { return {n, d, values.data(), weights.data()}; }
    std::int64_t padded() const { return view().padded(); }
    T* point(std::int64_t i) { return values.data() + (i / W) * d * W + i % W; }

    void reserve(std::int64_t points, int dimensions) {
        d = dimensions;
        n = 0;
        const std::int64_t room = (points + W - 1) / W * W;
        make_room(values, room * d);
        make_room(weights, room);
    }

    // D: the dimension where it is known at compile time, else zero.
    template <int D = 0, class S>
    void append(const S* row, T weight) {
        const int dimensions = D ? D : d;
        T* to = values.data() + (n / W) * dimensions * W + n % W;
        for (int f = 0; f < dimensions; ++f) to[f * W] = static_cast<T>(row[f]);
        weights[n++] = weight;
    }

    // The values of points at .. at + count, one a lane of a block of d registers.
    void put(std::int64_t at, const T* block, int count) {
        const int lane = static_cast<int>(at % W), here = std::min(count, W - lane);
        T* to = values.data() + (at / W) * d * W;
        if (count == W && lane == 0) {
            std::copy_n(block, d * W, to);
            return;
        }
        for (int f = 0; f < d; ++f) store_first(to + f * W + lane, block + f * W, here);
        to += d * W;
        for (int f = 0; f < d && here < count; ++f)
            store_first(to + f * W, block + f * W + here, count - here);
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

// W rows of d numbers, wherever each is, become lanes of registers, one a feature. What is written is
// filled up to a multiple of W registers.
template <class T>
void rows_to_lanes(const T* const (&rows)[lanes<T>], int d, T* block) {
    constexpr int W = lanes<T>;
    for (int f = 0; f < d; f += W) {
        Pack<T> square[W];
        for (int i = 0; i < W; ++i) square[i] = load_first(rows[i] + f, std::min(W, d - f));
        transpose<T>(square);
        for (int t = 0; t < W; ++t) store(block + (f + t) * W, square[t]);
    }
}

// Rows of a table as points of panels.
template <class T>
class RowsToPanels {
public:
    static constexpr int W = lanes<T>;

    // row(i) is the i-th of `count` rows; they become points at, at + 1, ...
    template <class Row>
    void put(std::int64_t at, std::int64_t count, Row&& row, Panels<T>& to) {
        const int d = to.d;
        block_.resize(static_cast<std::size_t>(d + W) * W);
        for (std::int64_t first = 0; first < count; first += W) {
            const int here = static_cast<int>(std::min<std::int64_t>(W, count - first));
            const T* rows[W];
            for (int i = 0; i < W; ++i) rows[i] = row(first + std::min(i, here - 1));
            rows_to_lanes(rows, d, block_.data());
            to.put(at + first, block_.data(), here);
        }
    }

private:
    Buffer<T> block_;  // (features, W)
};

template <class T>
Panels<T> make_panels(const T* rows, const double* weights, std::int64_t n, int d) {
    Panels<T> panels;
    panels.reserve(n, d);
    panels.n = n;
    RowsToPanels<T>().put(0, n, [=](std::int64_t i) { return rows + i * d; }, panels);
    for (std::int64_t i = 0; i < n; ++i) panels.weights[i] = weights ? static_cast<T>(weights[i]) : T(1);
    panels.close();
    return panels;
}

}  // namespace bbclust
