// One vector register of numbers, in the widest form the compiler was told it may use.
//
// The engine is compiled once per instruction set, each time into an extension module of its own,
// so the width is a compile-time constant and nothing here is decided at run time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
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
template <>
struct PackOf<std::int32_t> {
    typedef std::int32_t type __attribute__((vector_size(vector_bytes)));
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

#define BBCLUST_PACK_OPERATOR(op)                                              \
    template <class T>                                                         \
    inline Pack<T> operator op(const Pack<T>& a, const Pack<T>& b) {           \
        Pack<T> r;                                                             \
        for (int i = 0; i < lanes<T>; ++i) r.lane[i] = a.lane[i] op b.lane[i]; \
        return r;                                                              \
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

// Written so that each becomes one instruction; both numbers are finite.
template <class T>
inline Pack<T> lesser(const Pack<T>& a, const Pack<T>& b) {
#if defined(__AVX512F__)
    if constexpr (std::is_integral_v<T>) return (Pack<T>)_mm512_min_epi32((__m512i)a, (__m512i)b);
    else if constexpr (sizeof(T) == 4) return (Pack<T>)_mm512_min_ps((__m512)a, (__m512)b);
    else return (Pack<T>)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    if constexpr (std::is_integral_v<T>) return (Pack<T>)_mm256_min_epi32((__m256i)a, (__m256i)b);
    else if constexpr (sizeof(T) == 4) return (Pack<T>)_mm256_min_ps((__m256)a, (__m256)b);
    else return (Pack<T>)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return choose_less<T>(a, b, a, b);
#endif
}

template <class T>
inline Pack<T> greater(const Pack<T>& a, const Pack<T>& b) {
#if defined(__AVX512F__)
    if constexpr (std::is_integral_v<T>) return (Pack<T>)_mm512_max_epi32((__m512i)a, (__m512i)b);
    else if constexpr (sizeof(T) == 4) return (Pack<T>)_mm512_max_ps((__m512)a, (__m512)b);
    else return (Pack<T>)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    if constexpr (std::is_integral_v<T>) return (Pack<T>)_mm256_max_epi32((__m256i)a, (__m256i)b);
    else if constexpr (sizeof(T) == 4) return (Pack<T>)_mm256_max_ps((__m256)a, (__m256)b);
    else return (Pack<T>)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return choose_less<T>(b, a, a, b);
#endif
}

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

// Lanes below `count`, as instructions that leave out the others want them.
#if defined(__AVX512F__)
template <class T>
inline auto first_lanes(int count) {
    using Mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
    return static_cast<Mask>((1U << count) - 1);
}
#elif defined(__AVX2__)
template <class T>
inline __m256i first_lanes(int count) {
    if constexpr (sizeof(T) == 4)
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    else return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

// The first `count` numbers, at most a register of them; beyond these, zeros.
template <class T>
inline Pack<T> load_first(const T* from, int count) {
    if (count >= lanes<T>) return load(from);
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Pack<T>)_mm512_maskz_loadu_ps(first_lanes<T>(count), from);
    else return (Pack<T>)_mm512_maskz_loadu_pd(first_lanes<T>(count), from);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) return (Pack<T>)_mm256_maskload_ps(from, first_lanes<T>(count));
    else return (Pack<T>)_mm256_maskload_pd(from, first_lanes<T>(count));
#else
    T numbers[lanes<T>] = {};
    for (int i = 0; i < count; ++i) numbers[i] = from[i];
    return load(numbers);
#endif
}

// Copies as many.
template <class T>
inline void store_first(T* to, const T* from, int count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        _mm512_mask_storeu_ps(to, first_lanes<T>(count), (__m512)load_first(from, count));
    else _mm512_mask_storeu_pd(to, first_lanes<T>(count), (__m512d)load_first(from, count));
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
        _mm256_maskstore_ps(to, first_lanes<T>(count), (__m256)load_first(from, count));
    else _mm256_maskstore_pd(to, first_lanes<T>(count), (__m256d)load_first(from, count));
#else
    for (int i = 0; i < count; ++i) to[i] = from[i];
#endif
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
    if constexpr (N == 2) return low[0];
    else return join_halves<T, N / 2>(&low, op);
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
    else return _mm512_cmp_pd_mask(_mm512_loadu_pd(a), _mm512_loadu_pd(b), _CMP_NEQ_UQ);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
        return static_cast<std::uint32_t>(
            _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b), _CMP_NEQ_UQ)));
    else
        return static_cast<std::uint32_t>(
            _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(a), _mm256_loadu_pd(b), _CMP_NEQ_UQ)));
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
    if constexpr (sizeof(T) == 4) return _mm512_cmp_ps_mask(_mm512_loadu_ps(a), (__m512)b, _CMP_LT_OQ);
    else return _mm512_cmp_pd_mask(_mm512_loadu_pd(a), (__m512d)b, _CMP_LT_OQ);
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

// Numbers of 32 bits that are two of 16: sum + the products of both, lane by lane.
inline Pack<std::int32_t> add_short_products(const Pack<std::int32_t>& sum, const Pack<std::int32_t>& a,
                                             const Pack<std::int32_t>& b) {
    using Ints = Pack<std::int32_t>;
#if defined(__AVX512VNNI__)
    return (Ints)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX512BW__)
    return (Ints)_mm512_add_epi32((__m512i)sum, _mm512_madd_epi16((__m512i)a, (__m512i)b));
#elif defined(__AVX2__)
    return (Ints)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)a, (__m256i)b));
#elif defined(__SSE2__)
    return (Ints)_mm_add_epi32((__m128i)sum, _mm_madd_epi16((__m128i)a, (__m128i)b));
#else
    Ints r = sum;
    for (int i = 0; i < lanes<std::int32_t>; ++i) {
        const auto low = [](std::int32_t two) { return static_cast<std::int16_t>(two); };
        r[i] += low(a[i]) * low(b[i]) + (a[i] >> 16) * (b[i] >> 16);
    }
    return r;
#endif
}

// Does it multiply more numbers in the same time than single precision does?
#if defined(__SSE2__)
inline constexpr bool has_short_products = true;
#else
inline constexpr bool has_short_products = false;
#endif

// The nearest whole numbers, below 2^22, as numbers of both kinds.
struct Rounded {
    Pack<float> value;
    Pack<std::int32_t> whole;
};
inline Rounded round_to_whole(const Pack<float>& values) {
    constexpr std::int32_t bits = 0x4B400000;  // of 1.5 * 2^23, where floats are one apart
    const Pack<float> shift = broadcast(12582912.0F), shifted = values + shift;
    Pack<std::int32_t> whole;
    std::memcpy(&whole, &shifted, sizeof whole);
    return {shifted - shift, whole - broadcast(bits)};
}

// Two whole numbers of 16 bits in each lane of 32.
inline Pack<std::int32_t> pair_up(const Pack<std::int32_t>& low, const Pack<std::int32_t>& high) {
#if defined(__GNUC__) || defined(__clang__)
    return (low & 0xFFFF) | (high << 16);
#else
    Pack<std::int32_t> r;
    for (int i = 0; i < lanes<std::int32_t>; ++i) r[i] = (low[i] & 0xFFFF) | high[i] * 65536;
    return r;
#endif
}

// Whole numbers of 32 bits as such of 16, if they are small enough.
inline void store_short(std::int16_t* to, const Pack<std::int32_t>& numbers) {
#if defined(__GNUC__) || defined(__clang__)
    typedef std::int16_t Shorts __attribute__((vector_size(vector_bytes / 2)));
    const Shorts narrow = __builtin_convertvector(numbers, Shorts);
    std::memcpy(to, &narrow, sizeof narrow);
#else
    for (int i = 0; i < lanes<std::int32_t>; ++i) to[i] = static_cast<std::int16_t>(numbers[i]);
#endif
}

// Bit i is set where lane i of the first is at least that of the second.
inline std::uint32_t lanes_at_least(const Pack<std::int32_t>& a, const Pack<std::int32_t>& b) {
#if defined(__AVX512F__)
    return _mm512_cmpge_epi32_mask((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    const __m256i less = _mm256_cmpgt_epi32((__m256i)b, (__m256i)a);
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(less))) ^ 0xFF;
#elif defined(__SSE2__)
    const __m128i less = _mm_cmplt_epi32((__m128i)a, (__m128i)b);
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(less))) ^ 0xF;
#else
    std::uint32_t found = 0;
    for (int i = 0; i < lanes<std::int32_t>; ++i) found |= static_cast<std::uint32_t>(a[i] >= b[i]) << i;
    return found;
#endif
}

// Whole numbers as floats.
inline Pack<float> to_floats(const Pack<std::int32_t>& numbers) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_convertvector(numbers, Pack<float>);
#else
    Pack<float> r;
    for (int i = 0; i < lanes<float>; ++i) r[i] = static_cast<float>(numbers[i]);
    return r;
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
    _mm256_storeu_ps(
        out, _mm256_min_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
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
#if defined(__AVX512F__)
        to[0] = (Pack<S>)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)from));
        to[1] = (Pack<S>)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)from, 1));
#elif defined(__AVX2__)
        to[0] = (Pack<S>)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)from));
        to[1] = (Pack<S>)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)from, 1));
#elif defined(__GNUC__) || defined(__clang__)
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

// A square block of numbers, one row a register: rows become columns.
#if defined(__GNUC__) || defined(__clang__)
// One step of it, for pairs of rows that are `apart`: numbers whose place has that bit change over.
template <class T, int apart, int... i>
inline void swap_places(Pack<T>& a, Pack<T>& b, std::integer_sequence<int, i...>) {
    constexpr int W = lanes<T>;
#if defined(__clang__)
    const Pack<T> low = __builtin_shufflevector(a, b, (i & apart ? W + (i ^ apart) : i)...);
    const Pack<T> high = __builtin_shufflevector(a, b, (i & apart ? W + i : i | apart)...);
#else
    using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    typedef Place Places __attribute__((vector_size(vector_bytes)));
    const Pack<T> low = __builtin_shuffle(a, b, Places{(i & apart ? W + (i ^ apart) : i)...});
    const Pack<T> high = __builtin_shuffle(a, b, Places{(i & apart ? W + i : i | apart)...});
#endif
    a = low;
    b = high;
}
template <class T, int apart = lanes<T> / 2>
inline void transpose(Pack<T> (&rows)[lanes<T>]) {
    for (int i = 0; i < lanes<T>; ++i)
        if (!(i & apart))
            swap_places<T, apart>(rows[i], rows[i | apart], std::make_integer_sequence<int, lanes<T>>());
    if constexpr (apart > 1) transpose<T, apart / 2>(rows);
}
#else
template <class T>
inline void transpose(Pack<T> (&rows)[lanes<T>]) {
    for (int i = 0; i < lanes<T>; ++i)
        for (int j = 0; j < i; ++j) std::swap(rows[i][j], rows[j][i]);
}
#endif

// The first `count` numbers, at most a register of them, that are a register apart; else zeros.
template <class T>
inline Pack<T> load_column(const T* from, int count) {
    constexpr int W = lanes<T>;
    count = std::min(count, W);
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __m512i places =
            _mm512_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240);
        return (Pack<T>)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), first_lanes<T>(count), places,
                                                 from, 4);
    } else {
        const __m512i places = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
        return (Pack<T>)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), first_lanes<T>(count), places,
                                                 from, 8);
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        const __m256i places = _mm256_setr_epi32(0, 8, 16, 24, 32, 40, 48, 56);
        return (Pack<T>)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, places,
                                                 _mm256_castsi256_ps(first_lanes<T>(count)), 4);
    } else {
        const __m256i places = _mm256_setr_epi64x(0, 4, 8, 12);
        return (Pack<T>)_mm256_mask_i64gather_pd(_mm256_setzero_pd(), from, places,
                                                 _mm256_castsi256_pd(first_lanes<T>(count)), 8);
    }
#else
    Pack<T> r = broadcast(T(0));
    for (int i = 0; i < count; ++i) r[i] = from[i * W];
    return r;
#endif
}

// term(0) + ... + term(n - 1). A term is asked for as a number, or for a register of them at once: one
// sum after the other would wait for itself.
template <class Term>
inline double sum_of_terms(int n, Term&& term) {
    constexpr int W = lanes<double>;
    int i = 0;
    double sum = 0;
    if (n >= W) {
        Pack<double> sums = broadcast(0.0);
        for (; i + W <= n; i += W) sums = sums + term(i, [](const double* from) { return load(from); });
        sum = sum_of_lanes<double>(sums);
    }
    for (; i < n; ++i) sum += term(i, [](const double* from) { return *from; });
    return sum;
}

// As it is after a conversion to T and back.
template <class T>
inline double rounded(double value) {
    return static_cast<double>(static_cast<T>(value));
}
template <class T>
inline Pack<double> rounded(const Pack<double>& values) {
    if constexpr (std::is_same_v<T, double>) return values;
#if defined(__AVX512F__)
    return (Pack<double>)_mm512_cvtps_pd(_mm512_cvtpd_ps((__m512d)values));
#elif defined(__AVX2__)
    return (Pack<double>)_mm256_cvtps_pd(_mm256_cvtpd_ps((__m256d)values));
#elif defined(__GNUC__) || defined(__clang__)
    typedef T Short __attribute__((vector_size(lanes<double> * sizeof(T))));
    return __builtin_convertvector(__builtin_convertvector(values, Short), Pack<double>);
#else
    Pack<double> r;
    for (int i = 0; i < lanes<double>; ++i) r[i] = rounded<T>(values[i]);
    return r;
#endif
}

inline double squared_distance(const double* a, const double* b, int d) {
    return sum_of_terms(d, [=](int f, auto take) {
        const auto difference = take(a + f) - take(b + f);
        return difference * difference;
    });
}

// A hint: the line of memory will be read soon.
inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// The same if it will be written.
inline void prefetch_to_write(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, 1);
#else
    (void)address;
#endif
}

// Register number f of those that lie one behind the other: a hint for each line of memory, not for each
// register. Processors follow one stream of memory by themselves, but less well several panels side by
// side: without hints a replica of 200,000 x 16 rows takes a twentieth to a tenth longer.
template <class T>
inline void prefetch_register(const T* registers, int f) {
    constexpr int per_line = 64 / vector_bytes;
    if (f % per_line == 0) prefetch(registers + f * lanes<T>);
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
    if constexpr (std::is_same_v<T, float>) return with_dimension(d, f);
    else return f(std::integral_constant<int, 0>{});
}

// Calls f(p, size) for begin .. end in groups of the largest size, and what is left in halves of it; the
// size is a compile-time constant.
template <int largest, class F>
inline void for_groups(std::int64_t begin, std::int64_t end, F&& f) {
    for (; begin + largest <= end; begin += largest) f(begin, std::integral_constant<int, largest>{});
    if constexpr (largest > 1) for_groups<largest / 2>(begin, end, f);
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
            default: f(k, std::integral_constant<int, 1>{});
        }
        k += size;
    }
}

}  // namespace bbclust
