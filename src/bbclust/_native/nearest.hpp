// The nearest of several centres to each point, panels of points at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
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
            const double* row = from + static_cast<std::int64_t>(k) * d;
            T* to = centers.data() + static_cast<std::size_t>(k) * d;
            for (int f = 0; f < d; ++f) to[f] = static_cast<T>(row[f]);
            const double norm = sum_of_terms(d, [row](int f, auto take) {
                const auto value = rounded<T>(take(row + f));
                return value * value;
            });
            half_norms[k] =
                !in_use || in_use[k] ? static_cast<T>(0.5 * norm) : std::numeric_limits<T>::infinity();
        }
    }
};

// The least of scores and what is best so far, and its name; the first of equals. Panel by panel, in
// registers of its own: compilers keep `best` and `label`, if they are changed in place, in memory, where
// each centre waits for the one before (a third of the time at d = 8, a tenth at d = 40).
template <class T, int R, int KT, class Name>
inline void choose_nearest(const Pack<T> (&score)[R][KT], Name&& name_of, Pack<T> (&best)[R],
                           Pack<T> (&label)[R]) {
    for (int r = 0; r < R; ++r) {
        Pack<T> least = best[r], name = label[r];
        for (int j = 0; j < KT; ++j) {
            name = choose_less<T>(score[r][j], least, broadcast(static_cast<T>(name_of(j))), name);
            least = lesser<T>(score[r][j], least);
        }
        best[r] = least;
        label[r] = name;
    }
}

// Scores of R panels against KT centres, kept in registers. With hints the R panels after them are asked
// for on the way.
template <int D, class T, int R, int KT, bool hints>
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
        if constexpr (hints)
            for (int r = 0; r < R; ++r) prefetch_register(x + (R + r) * stride, f);
        for (int j = 0; j < KT; ++j) {
            const Pack<T> cf = broadcast(c[static_cast<std::int64_t>(j) * d + f]);
            for (int r = 0; r < R; ++r) score[r][j] = score[r][j] - xf[r] * cf;
        }
    }
    choose_nearest<T, R, KT>(score, [k0](int j) { return k0 + j; }, best, label);
}

// Nearest centre of the points of R neighbouring panels. Labels are numbers of type T, so that
// they live in the same registers as the scores, |c|^2 / 2 - x.c.
template <int D, class T, int R, bool hints>
inline void nearest_of_panels(const T* x, const Codebook<T>& book, T* labels, T* scores) {
    constexpr int W = lanes<T>;
    const std::int64_t stride = static_cast<std::int64_t>(D ? D : book.d) * W;
    Pack<T> best[R], label[R];
    for (int r = 0; r < R; ++r) {
        best[r] = broadcast(std::numeric_limits<T>::infinity());
        label[r] = broadcast(T(0));
    }
    for_tiles(book.K, [&](int k, auto tile) {
        if (hints && k == 0) score_tile<D, T, R, tile(), hints>(x, stride, book, k, best, label);
        else score_tile<D, T, R, tile(), false>(x, stride, book, k, best, label);
    });
    for (int r = 0; r < R; ++r) {
        store(labels + r * W, label[r]);
        store(scores + r * W, best[r]);
    }
}

// As many as registers allow, of which there are 32 or 16: each centre that is loaded then serves that
// many panels.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int panels_at_once = 4;
#else
inline constexpr int panels_at_once = 2;
#endif

template <int D, bool hints, class T, class Visit>
void for_nearest_with_hints(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop,
                            Visit&& visit) {
    constexpr int W = lanes<T>;
    constexpr std::int64_t block = 32;
    alignas(64) T labels[block * W], scores[block * W];
    const std::int64_t n_panels = points.n_panels();
    for (std::int64_t first = 0; first < n_panels; first += block) {
        if (first % 1024 == 0) stop.check();
        const std::int64_t end = std::min(first + block, n_panels);
        for_groups<panels_at_once>(first, end, [&](std::int64_t p, auto R) {
            nearest_of_panels<D, T, R(), hints>(points.panel(p), book, labels + (p - first) * W,
                                                scores + (p - first) * W);
        });
        if constexpr (std::is_invocable_v<Visit, std::int64_t, std::int64_t, const T*, const T*>)
            visit(first * W, (end - first) * W, labels, scores);
        else visit(first * W, (end - first) * W, labels);
    }
}

// Points that stay in cache are as fast without hints, and few features are one stream of memory.
template <int D, class T, class Visit>
void for_nearest_in(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop,
                    Visit&& visit) {
    if (D == 0 && !points.stay_in_cache()) for_nearest_with_hints<D, D == 0>(points, book, stop, visit);
    else for_nearest_with_hints<D, false>(points, book, stop, visit);
}

// Calls visit(first, count, labels) for the points, some at a time: labels[0 .. count) are the
// nearest centres of points first .. first + count, padding included. A fourth argument, if there is
// one, has their scores.
template <class T, class Visit>
void for_nearest(const Points<T>& points, const Codebook<T>& book, const StopFlag& stop, Visit&& visit) {
    with_dimension(book.d, [&](auto D) { for_nearest_in<D()>(points, book, stop, visit); });
}

}  // namespace bbclust
