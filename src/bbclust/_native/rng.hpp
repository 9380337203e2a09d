// Counter-based randomness: every number is a function of (seed, stage, start, replica, position).
//
// Philox4x64-10 (Salmon et al. 2011), equal to numpy.random.Philox(key=...) word for word, so the
// slow oracle in the tests can read the very same words.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace bbclust {

// What a stream of words is used for. The values are part of the promise of reproducibility.
enum class Stage : std::uint64_t {
    selection = 1,   // one word per draw: prior or data, and which component or row
    normals = 2,     // halves of words, d for each draw from the prior, one after the other
    weights = 3,     // gammas behind the Dirichlet weights
    resampling = 4,  // the second resampling of weighting="resample"
    seeding = 5,     // k-means++ of a replica, one stream per start
    reference = 6,   // k-means++ of the reference partition
    evaluation = 7,  // the fixed sample of evaluation points
    prior = 8,       // numpy generators handed to priors written in Python
    // 9 and above are used in Python only: see streams.py
};

// The start whose stream picks the sample on which starts are tried.
inline constexpr std::uint64_t sample_start = 0xffff;

struct Key {
    std::uint64_t seed;
    std::uint64_t place;  // stage | start | replica, 8 + 16 + 40 bits
};

inline Key make_key(std::uint64_t seed, Stage stage, std::uint64_t start, std::uint64_t replica) {
    return {seed, static_cast<std::uint64_t>(stage) << 56 | (start & 0xffff) << 40 |
                      (replica & 0xffffffffffULL)};
}

struct Product128 {
    std::uint64_t high, low;
};

inline Product128 multiply(std::uint64_t a, std::uint64_t b) {
#if defined(_MSC_VER)
    Product128 r;
    r.low = _umul128(a, b, &r.high);
    return r;
#else
    __extension__ typedef unsigned __int128 wide;
    const wide product = static_cast<wide>(a) * b;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#endif
}

// Block `index` (four words) of the stream; numpy counts blocks from one.
inline void philox_block(const Key& key, std::uint64_t index, std::uint64_t out[4]) {
    std::uint64_t c0 = index + 1, c1 = 0, c2 = 0, c3 = 0;
    std::uint64_t k0 = key.seed, k1 = key.place;
    for (int round = 0; round < 10; ++round) {
        const Product128 p0 = multiply(0xD2E7470EE14C6C93ULL, c0);
        const Product128 p1 = multiply(0xCA5A826395121157ULL, c2);
        c0 = p1.high ^ c1 ^ k0;
        c1 = p1.low;
        c2 = p0.high ^ c3 ^ k1;
        c3 = p0.low;
        k0 += 0x9E3779B97F4A7C15ULL;
        k1 += 0xBB67AE8584CAA73BULL;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

// Blocks first .. first + n, four words each.
inline void philox_blocks(const Key& key, std::uint64_t first, std::int64_t n, std::uint64_t* out) {
    std::int64_t b = 0;
    // four at a time: the multiplications of one hide the latency of the others
    for (; b + 4 <= n; b += 4)
        for (int i = 0; i < 4; ++i) philox_block(key, first + b + i, out + 4 * (b + i));
    for (; b < n; ++b) philox_block(key, first + b, out + 4 * b);
}

inline double uniform_from(std::uint64_t word) {  // [0, 1)
    return static_cast<double>(word >> 11) * 0x1p-53;
}

inline double open_uniform_from(std::uint64_t word) {  // (0, 1), symmetric about one half
    // (k + 1/2) / 2^52, k the upper 52 bits: as the mantissa of a number in [1, 2), exact
    return std::bit_cast<double>(word >> 12 | 0x3FF0000000000000ULL) - (1.0 - 0x1p-53);
}

// Half a word is enough for a normal or a factor of a gamma: its uniforms are 2^-32 apart, and
// normals end at 6.3. Halves lie in memory as they do in the word, the lower first.
static_assert(std::endian::native == std::endian::little);

inline double centered_uniform_from(std::uint32_t half) {  // (-1/2, 1/2), symmetric about zero
    const std::int32_t signed_half = static_cast<std::int32_t>(half ^ 0x80000000U);
    return (static_cast<double>(signed_half) + 0.5) * 0x1p-32;
}

inline double centered_uniform_from(std::uint64_t word) {
    return open_uniform_from(word) - 0.5;
}

// Natural logarithm of a positive normal number, within two units in the last place. Without
// branches or calls, so that loops over it run in registers, and equal on every C library.
inline double log_of(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    // x = m 2^e with m in [sqrt(1/2), sqrt(2))
    const std::int64_t e = static_cast<std::int64_t>(bits - 0x3FE6A09E667F3BCDULL) >> 52;
    const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(e) << 52));
    const double exponent =
        std::bit_cast<double>(static_cast<std::uint64_t>(e) + 0x4338000000000000ULL) - 0x1.8p52;
    const double s = (m - 1.0) / (m + 1.0);  // log m = 2 artanh s
    const double z = s * s;
    const double series =
        z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 +
        z * (1.0 / 13 + z * (1.0 / 15 + z * (1.0 / 17 + z * (1.0 / 19 + z * (1.0 / 21))))))))));
    constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    return exponent * ln2_high + (2.0 * s + (2.0 * s * series + exponent * ln2_low));
}

// Quantile of the standard normal distribution at q + 1/2, relative error about 1e-16:
// algorithm AS 241 (PPND16), Wichura 1988, Applied Statistics 37, 477-484.
inline double normal_quantile_center(double q) {  // |q| <= 0.425
    const double r = 0.180625 - q * q;
    return q *
           (((((((2509.0809287301226727 * r + 33430.575583588128105) * r +
                 67265.770927008700853) * r + 45921.953931549871457) * r +
               13731.693765509461125) * r + 1971.5909503065514427) * r +
             133.14166789178437745) * r + 3.387132872796366608) /
           (((((((5226.495278852854561 * r + 28729.085735721942674) * r +
                 39307.89580009271061) * r + 21213.794301586595867) * r +
               5394.1960214247511077) * r + 687.1870074920579083) * r +
             42.313330701600911252) * r + 1.0);
}

inline double normal_quantile_tail(double root) {  // root = sqrt(-log(tail probability)) <= 5
    const double r = root - 1.6;
    return (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r +
                 0.24178072517745061177) * r + 1.27045825245236838258) * r +
               3.64784832476320460504) * r + 5.7694972214606914055) * r +
             4.6303378461565452959) * r + 1.42343711074968357734) /
           (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r +
                 0.0151986665636164571966) * r + 0.14810397642748007459) * r +
               0.68976733498510000455) * r + 1.6763848301838038494) * r +
             2.05319162663775882187) * r + 1.0);
}

inline double normal_quantile_far_tail(double root) {  // beyond
    const double r = root - 5.0;
    return (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r +
                 0.0012426609473880784386) * r + 0.026532189526576123093) * r +
               0.29656057182850489123) * r + 1.7848265399172913358) * r +
             5.4637849111641143699) * r + 6.6579046435011037772) /
           (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r +
                 1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r +
               0.0148753612908506148525) * r + 0.13692988092273580531) * r +
             0.59983220655588793769) * r + 1.0);
}

// n standard normals, one from each word or half. The centre, 85 of 100, is computed for all in
// registers; then the tails are gathered, computed in registers too, and put in place.
template <class Word>
inline void normals_from(const Word* words, std::int64_t n, double* out) {
    constexpr std::int64_t piece = 256;
    double offsets[piece], roots[piece], tails[piece];
    std::int64_t places[piece];
    for (std::int64_t begin = 0; begin < n; begin += piece) {
        const std::int64_t count = n - begin < piece ? n - begin : piece;
        double* values = out + begin;
        for (std::int64_t i = 0; i < count; ++i)
            values[i] = normal_quantile_center(centered_uniform_from(words[begin + i]));
        std::int64_t n_tails = 0;
        for (std::int64_t i = 0; i < count; ++i) {  // no branch: it could not be predicted
            const double q = centered_uniform_from(words[begin + i]);
            offsets[n_tails] = q;
            places[n_tails] = i;
            n_tails += std::fabs(q) > 0.425;
        }
        for (std::int64_t t = 0; t < n_tails; ++t) {
            roots[t] = std::sqrt(-log_of(0.5 - std::fabs(offsets[t])));
            tails[t] = normal_quantile_tail(roots[t]);
        }
        for (std::int64_t t = 0; t < n_tails; ++t) {
            const double size = roots[t] <= 5.0 ? tails[t] : normal_quantile_far_tail(roots[t]);
            values[places[t]] = std::copysign(size, offsets[t]);
        }
    }
}

// Natural logarithm of a positive normal number in single precision.
inline float log_of(float x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t e = (bits - 0x3F3504F3) >> 23;  // x = m 2^e, as above
    const float m = std::bit_cast<float>(bits - (e << 23));
    const float s = (m - 1.0F) / (m + 1.0F), z = s * s;
    const float series = z * (1.0F / 3 + z * (1.0F / 5 + z * (1.0F / 7 + z * (1.0F / 9))));
    return static_cast<float>(e) * 0.69314718F + (2.0F * s + 2.0F * s * series);
}

// n standard normals in single precision, one from each half: the inverse error function of Giles
// 2012, GPU Computing Gems Jade Edition, 109-116. Relative error below 1e-6, beyond 5.4 below 1e-3.
// Most pieces have no number in the far tails and need one polynomial only.
inline void normals_from(const std::uint32_t* halves, std::int64_t n, float* out) {
    constexpr std::int64_t piece = 64;
    constexpr float root_of_two = 1.41421356F;
    float logs[piece], signed_uniforms[piece];
    std::uint32_t last[piece] = {};
    for (std::int64_t begin = 0; begin < n; begin += piece) {
        const std::int64_t count = n - begin < piece ? n - begin : piece;
        const std::uint32_t* from = halves + begin;
        if (count < piece) from = std::copy_n(from, count, last) - count;
        std::int32_t farthest = 0;  // as bits: they have the order of the numbers
        for (int i = 0; i < piece; ++i) {
            const std::int32_t half = static_cast<std::int32_t>(from[i] ^ 0x80000000U);
            signed_uniforms[i] = (static_cast<float>(half) + 0.5F) * 0x1p-31F;  // (-1, 1)
            // the probability beyond it, counted from the end of the tail and so without rounding
            const std::int32_t beyond = half ^ (0x7FFFFFFF ^ (half >> 31));
            const float p = (static_cast<float>(beyond) + 0.5F) * 0x1p-32F;
            logs[i] = -log_of(4.0F * p * (1.0F - p));
            farthest = std::max(farthest, std::bit_cast<std::int32_t>(logs[i]));
        }
        float values[piece];
        for (int i = 0; i < piece; ++i) {
            const float w = logs[i] - 2.5F;
            values[i] = root_of_two * signed_uniforms[i] *
                (1.50140941F + w * (0.246640727F + w * (-0.00417768164F + w * (-0.00125372503F +
                w * (0.00021858087F + w * (-4.39150654e-06F + w * (-3.5233877e-06F +
                w * (3.43273939e-07F + w * 2.81022636e-08F))))))));
        }
        if (farthest >= std::bit_cast<std::int32_t>(5.0F))
            for (int i = 0; i < piece; ++i) {
                const float w = std::sqrt(logs[i]) - 3.0F;
                const float far = root_of_two * signed_uniforms[i] *
                    (2.83297682F + w * (1.00167406F + w * (0.00943887047F + w * (-0.0076224613F +
                    w * (0.00573950773F + w * (-0.00367342844F + w * (0.00134934322F +
                    w * (0.000100950558F + w * -0.000200214257F))))))));
                values[i] = logs[i] < 5.0F ? values[i] : far;
            }
        std::copy_n(values, count, out + begin);
    }
}

inline double normal_from(std::uint64_t word) {
    double value;
    normals_from(&word, 1, &value);
    return value;
}

// Reads one stream from a word on.
class Stream {
public:
    explicit Stream(const Key& key) : key_(key) {}

    std::uint64_t word() {
        if (used_ == 4) {
            philox_block(key_, next_block_++, buffer_);
            used_ = 0;
        }
        return buffer_[used_++];
    }
    double uniform() { return uniform_from(word()); }

    // The next n words, n a multiple of four, from a stream read in such pieces only.
    void words(std::uint64_t* out, std::int64_t n) {
        philox_blocks(key_, next_block_, n / 4, out);
        next_block_ += static_cast<std::uint64_t>(n / 4);
    }

    static std::uint64_t word_at(const Key& key, std::uint64_t index) {
        std::uint64_t block[4];
        philox_block(key, index / 4, block);
        return block[index % 4];
    }

private:
    Key key_;
    std::uint64_t next_block_ = 0;
    std::uint64_t buffer_[4] = {};
    int used_ = 4;
};

// Gamma(shape, 1) variables number 0, 1, 2, ... of a stage and replica.
//
// One shape for all, and it is 1 or 2, as in Rubin's bootstrap and at omega = 1/2 with m = n: minus
// the logarithm of the uniform from word i of the stream (start = 0), or of both from its halves.
// Else Marsaglia & Tsang 2000, ACM Transactions on Mathematical Software 26, 363-372: a candidate
// from one normal and one uniform, accepted more than 95 times in 100. Candidate a of variable i
// reads word i of the streams (start = 2a) and (start = 2a + 1), so no variable depends on the
// rejections of another. Below one: Gamma(shape + 1) U^(1 / shape), U from the last stream.
class Gammas {
public:
    Gammas(std::uint64_t seed, Stage stage, std::uint64_t replica)
        : seed_(seed), replica_(replica), stage_(stage), first_(key(0)), second_(key(1)) {}

    // The next `count` of one shape. Pieces but the last must be multiples of four.
    void next(std::int64_t count, double shape, double* out) {
        if (shape != 1.0 && shape != 2.0)
            return in_pieces(count, [&](std::int64_t begin, std::int64_t n, const std::uint64_t* first,
                                        const std::uint64_t* second) {
                by_rejection(n, [shape](std::int64_t) { return shape; }, first, second, out + begin);
            });
        std::uint64_t words[chunk];
        for (std::int64_t begin = 0; begin < count; begin += chunk) {
            const std::int64_t n = count - begin < chunk ? count - begin : chunk;
            first_.words(words, (n + 3) / 4 * 4);
            if (shape == 1.0)
                for (std::int64_t i = 0; i < n; ++i) out[begin + i] = -log_of(open_uniform_from(words[i]));
            else
                for (std::int64_t i = 0; i < n; ++i) {
                    const double u = 0.5 + centered_uniform_from(static_cast<std::uint32_t>(words[i]));
                    const double v = 0.5 + centered_uniform_from(static_cast<std::uint32_t>(words[i] >> 32));
                    out[begin + i] = -log_of(u * v);
                }
        }
    }

    // The next `count`, each of its own shape.
    void next(std::int64_t count, const double* shapes, double* out) {
        in_pieces(count, [&](std::int64_t begin, std::int64_t n, const std::uint64_t* first,
                             const std::uint64_t* second) {
            by_rejection(n, [=](std::int64_t i) { return shapes[begin + i]; }, first, second,
                         out + begin);
        });
    }

private:
    static constexpr std::int64_t chunk = 256;

    Key key(std::uint64_t start) const { return make_key(seed_, stage_, start, replica_); }

    template <class Piece>
    void in_pieces(std::int64_t count, Piece&& piece) {
        std::uint64_t first[chunk], second[chunk];
        for (std::int64_t begin = 0; begin < count; begin += chunk) {
            const std::int64_t n = count - begin < chunk ? count - begin : chunk;
            first_.words(first, (n + 3) / 4 * 4);
            second_.words(second, (n + 3) / 4 * 4);
            piece(begin, n, first, second);
            drawn_ += n;
        }
    }

    template <class Shape>
    void by_rejection(std::int64_t n, Shape&& shape, const std::uint64_t* normal_words,
                      const std::uint64_t* uniform_words, double* out) const {
        double normals[chunk];
        normals_from(normal_words, n, normals);
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = candidate(above_one(shape(i)) - 1.0 / 3.0, normals[i],
                               open_uniform_from(uniform_words[i]));
        for (std::int64_t i = 0; i < n; ++i) {
            const double a = shape(i);
            if (!(out[i] > 0)) out[i] = try_again(above_one(a), drawn_ + i);
            if (a < 1.0)
                out[i] *= std::pow(open_uniform_from(Stream::word_at(key(0xffff), drawn_ + i)),
                                   1.0 / a);
        }
    }

    static double above_one(double shape) { return shape < 1.0 ? shape + 1.0 : shape; }

    // A candidate that passes the test, or zero.
    static double candidate(double d, double x, double u) {
        const double root = 1.0 + x / std::sqrt(9.0 * d);
        const double v = root * root * root;
        const double safe = v > 0 ? v : 1.0;
        const bool passes = log_of(u) < 0.5 * x * x + d * (1.0 - v + log_of(safe));
        return passes & (v > 0) ? d * v : 0.0;
    }

    double try_again(double shape, std::int64_t index) const {
        for (std::uint64_t attempt = 1;; ++attempt) {
            const double value =
                candidate(shape - 1.0 / 3.0, normal_from(Stream::word_at(key(2 * attempt), index)),
                          open_uniform_from(Stream::word_at(key(2 * attempt + 1), index)));
            if (value > 0) return value;
        }
    }

    std::uint64_t seed_, replica_;
    Stage stage_;
    Stream first_, second_;
    std::int64_t drawn_ = 0;
};

}  // namespace bbclust
