// Standard normal variables from random words, by inverting the distribution function.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "logarithm.hpp"
#include "random.hpp"

namespace bbclust {

// clang-format off: polynomials, a coefficient after the other

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

// clang-format on

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
            // clang-format off
            values[i] = root_of_two * signed_uniforms[i] *
                (1.50140941F + w * (0.246640727F + w * (-0.00417768164F + w * (-0.00125372503F +
                w * (0.00021858087F + w * (-4.39150654e-06F + w * (-3.5233877e-06F +
                w * (3.43273939e-07F + w * 2.81022636e-08F))))))));
            // clang-format on
        }
        if (farthest >= std::bit_cast<std::int32_t>(5.0F))
            for (int i = 0; i < piece; ++i) {
                const float w = std::sqrt(logs[i]) - 3.0F;
                // clang-format off
                const float far = root_of_two * signed_uniforms[i] *
                    (2.83297682F + w * (1.00167406F + w * (0.00943887047F + w * (-0.0076224613F +
                    w * (0.00573950773F + w * (-0.00367342844F + w * (0.00134934322F +
                    w * (0.000100950558F + w * -0.000200214257F))))))));
                // clang-format on
                values[i] = logs[i] < 5.0F ? values[i] : far;
            }
        if (count == piece) std::copy_n(values, piece, out + begin);  // of known size: no call, no loop
        else std::copy_n(values, count, out + begin);
    }
}

inline double normal_from(std::uint64_t word) {
    double value;
    normals_from(&word, 1, &value);
    return value;
}

}  // namespace bbclust
