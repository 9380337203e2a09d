// One vector register of numbers, in the widest form the compiler was told it may use.
//
// The engine is compiled once per instruction set, each time into an extension module of its own,
// so the width is a compile-time constant and nothing here is decided at run time.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bbclust {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

// Numbers of type T that fit into one register; also the width of a panel of points.
template <class T>
inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

#if defined(__GNUC__) || defined(__clang__)

template <class T>
struct PackOf;
template <>
struct PackOf<float> {
    typedef float type __attribute__((vector_size(vector_bytes)));
};
template <>
struct PackOf<double> {
    typedef double type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Pack = typename PackOf<T>::type;

template <class T>
inline Pack<T> broadcast(T value) {
    return value - Pack<T>{};  // x - 0 is exact, and the form every compiler turns into a splat
}

template <class T>
inline Pack<T> choose_less(Pack<T> a, Pack<T> b, Pack<T> if_less, Pack<T> otherwise) {
    return a < b ? if_less : otherwise;
}

template <class T>
inline Pack<T> choose_equal(Pack<T> a, Pack<T> b, Pack<T> if_equal, Pack<T> otherwise) {
    return a == b ? if_equal : otherwise;
}

#else  // compilers without vector types (MSVC): plain loops of fixed length

template <class T>
struct Pack {
    T lane[lanes<T>];
    T& operator[](int i) { return lane[i]; }
    const T& operator[](int i) const { return lane[i]; }
};

#define BBCLUST_PACK_OPERATOR(op)                                        \
    template <class T>                                                   \
    inline Pack<T> operator op(const Pack<T>& a, const Pack<T>& b) {     \
        Pack<T> r;                                                       \
        for (int i = 0; i < lanes<T>; ++i) r.lane[i] = a.lane[i] op b.lane[i]; \
        return r;                                                        \
    }
BBCLUST_PACK_OPERATOR(+)
BBCLUST_PACK_OPERATOR(-)
BBCLUST_PACK_OPERATOR(*)
#undef BBCLUST_PACK_OPERATOR

template <class T>
inline Pack<T> broadcast(T value) {
    Pack<T> r;
    for (int i = 0; i < lanes<T>; ++i) r.lane[i] = value;
    return r;
}

template <class T>
inline Pack<T> choose_less(const Pack<T>& a, const Pack<T>& b, const Pack<T>& if_less,
                           const Pack<T>& otherwise) {
    Pack<T> r;
    for (int i = 0; i < lanes<T>; ++i)
        r.lane[i] = a.lane[i] < b.lane[i] ? if_less.lane[i] : otherwise.lane[i];
    return r;
}

template <class T>
inline Pack<T> choose_equal(const Pack<T>& a, const Pack<T>& b, const Pack<T>& if_equal,
                            const Pack<T>& otherwise) {
    Pack<T> r;
    for (int i = 0; i < lanes<T>; ++i)
        r.lane[i] = a.lane[i] == b.lane[i] ? if_equal.lane[i] : otherwise.lane[i];
    return r;
}

#endif

template <class T>
inline Pack<T> load(const T* from) {
    Pack<T> r;
    std::memcpy(&r, from, sizeof r);
    return r;
}

template <class T>
inline void store(T* to, const Pack<T>& value) {
    std::memcpy(to, &value, sizeof value);
}

// Lanes joined by op in pairs, halves first: one order for every compiler.
#if defined(__GNUC__) || defined(__clang__)
template <class T, int N, class Op>
inline T join_halves(const void* numbers, Op op) {
    typedef T Half __attribute__((vector_size(sizeof(T) * N / 2)));
    Half low, high;
    std::memcpy(&low, numbers, sizeof low);
    std::memcpy(&high, static_cast<const char*>(numbers) + sizeof low, sizeof high);
    low = op(low, high);
    if constexpr (N == 2)
        return low[0];
    else
        return join_halves<T, N / 2>(&low, op);
}
template <class T, class Op>
inline T join_lanes(const Pack<T>& a, Op op) {
    return join_halves<T, lanes<T>>(&a, op);
}
#else
template <class T, class Op>
inline T join_lanes(const Pack<T>& a, Op op) {
    T part[lanes<T>];
    std::memcpy(part, &a, sizeof part);
    for (int half = lanes<T> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) part[i] = op(part[i], part[i + half]);
    return part[0];
}
#endif

template <class T>
inline double sum_of_lanes(const Pack<T>& a) {
    return static_cast<double>(join_lanes<T>(a, [](auto low, auto high) { return low + high; }));
}

template <class T>
inline T least_of_lanes(const Pack<T>& a) {
    return join_lanes<T>(a, [](auto low, auto high) { return low < high ? low : high; });
}

// Bit i is set where lane i of two stored registers of labels differs.
template <class T>
inline std::uint32_t differing_lanes(const T* a, const T* b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        return _mm512_cmp_ps_mask(_mm512_loadu_ps(a), _mm512_loadu_ps(b), _CMP_NEQ_UQ);
    else
        return _mm512_cmp_pd_mask(_mm512_loadu_pd(a), _mm512_loadu_pd(b), _CMP_NEQ_UQ);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
        return static_cast<std::uint32_t>(_mm256_movemask_ps(
            _mm256_cmp_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b), _CMP_NEQ_UQ)));
    else
        return static_cast<std::uint32_t>(_mm256_movemask_pd(
            _mm256_cmp_pd(_mm256_loadu_pd(a), _mm256_loadu_pd(b), _CMP_NEQ_UQ)));
#else
    std::uint32_t differing = 0;
    for (int i = 0; i < lanes<T>; ++i) differing |= static_cast<std::uint32_t>(a[i] != b[i]) << i;
    return differing;
#endif
}

// Bit i is set where lane i of a stored register is less.
template <class T>
inline std::uint32_t lanes_less(const T* a, const Pack<T>& b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        return _mm512_cmp_ps_mask(_mm512_loadu_ps(a), (__m512)b, _CMP_LT_OQ);
    else
        return _mm512_cmp_pd_mask(_mm512_loadu_pd(a), (__m512d)b, _CMP_LT_OQ);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
        return static_cast<std::uint32_t>(
            _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(a), (__m256)b, _CMP_LT_OQ)));
    else
        return static_cast<std::uint32_t>(
            _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(a), (__m256d)b, _CMP_LT_OQ)));
#else
    std::uint32_t less = 0;
    for (int i = 0; i < lanes<T>; ++i) less |= static_cast<std::uint32_t>(a[i] < b[i]) << i;
    return less;
#endif
}

// The least number in each of eight rows of one register.
inline void least_of_eight_rows(const float* rows, float* out) {
    constexpr int W = lanes<float>;
#if defined(__AVX2__)
    const auto row = [rows](int r) {
        __m256 least = _mm256_loadu_ps(rows + r * W);
        if constexpr (W == 16) least = _mm256_min_ps(least, _mm256_loadu_ps(rows + r * W + 8));
        return least;
    };
    const auto two = [&](int r) {  // a0 b0 a1 b1 | a2 b2 a3 b3
        const __m256 a = row(r), b = row(r + 1);
        return _mm256_min_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    };
    const auto four = [&](int r) {  // a0 b0 c0 d0 | a1 b1 c1 d1
        const __m256 a = two(r), b = two(r + 2);
        return _mm256_min_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xEE));
    };
    const __m256 a = four(0), b = four(4);
    _mm256_storeu_ps(out, _mm256_min_ps(_mm256_permute2f128_ps(a, b, 0x20),
                                        _mm256_permute2f128_ps(a, b, 0x31)));
#else
    for (int r = 0; r < 8; ++r) out[r] = least_of_lanes<float>(load(rows + r * W));
#endif
}

// One register of T as registers of S, which is T itself or twice as long.
template <class T, class S>
inline void widen(const Pack<T>& from, Pack<S> (&to)[sizeof(S) / sizeof(T)]) {
    if constexpr (std::is_same_v<T, S>) {
        to[0] = from;
    } else {
#if defined(__GNUC__) || defined(__clang__)
        typedef T Half __attribute__((vector_size(vector_bytes / 2)));
        Half halves[2];
        std::memcpy(halves, &from, sizeof from);
        for (int h = 0; h < 2; ++h) to[h] = __builtin_convertvector(halves[h], Pack<S>);
#else
        for (int h = 0; h < 2; ++h)
            for (int i = 0; i < lanes<S>; ++i) to[h][i] = static_cast<S>(from[h * lanes<S> + i]);
#endif
    }
}

// A hint: the line of memory will be read soon.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// Calls f(D), D the dimension as a compile-time constant where it is small, else zero: short loops
// over features are unrolled, which is worth a tenth of the time at d = 4. Each costs time to compile.
template <class F>
inline auto with_dimension(int d, F&& f) {
    switch (d) {
        case 2: return f(std::integral_constant<int, 2>{});
        case 3: return f(std::integral_constant<int, 3>{});
        case 4: return f(std::integral_constant<int, 4>{});
        case 8: return f(std::integral_constant<int, 8>{});
        default: return f(std::integral_constant<int, 0>{});
    }
}

// The same where searches run, which is in single precision: others have the general code only.
template <class T, class F>
inline auto with_dimension_if_single(int d, F&& f) {
    if constexpr (std::is_same_v<T, float>)
        return with_dimension(d, f);
    else
        return f(std::integral_constant<int, 0>{});
}

// Calls f(first, size) for tiles of up to six of `count` things, the size as a compile-time constant.
// They are of equal size as far as possible: small ones wait for their sums.
template <class F>
inline void for_tiles(int count, F&& f) {
    for (int k = 0, tiles = (count + 5) / 6; k < count; --tiles) {
        const int size = (count - k + tiles - 1) / tiles;
        switch (size) {
            case 6: f(k, std::integral_constant<int, 6>{}); break;
            case 5: f(k, std::integral_constant<int, 5>{}); break;
            case 4: f(k, std::integral_constant<int, 4>{}); break;
            case 3: f(k, std::integral_constant<int, 3>{}); break;
            case 2: f(k, std::integral_constant<int, 2>{}); break;
            case 1: f(k, std::integral_constant<int, 1>{}); break;
        }
        k += size;
    }
}

}  // namespace bbclust
