// Natural logarithms of positive normal numbers, without branches or calls, so that loops over them
// run in registers, and equal on every C library.
#pragma once

#include <bit>
#include <cstdint>

namespace bbclust {

// Within two units in the last place.
inline double log_of(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    // x = m 2^e with m in [sqrt(1/2), sqrt(2))
    const std::int64_t e = static_cast<std::int64_t>(bits - 0x3FE6A09E667F3BCDULL) >> 52;
    const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(e) << 52));
    const double exponent =
        std::bit_cast<double>(static_cast<std::uint64_t>(e) + 0x4338000000000000ULL) - 0x1.8p52;
    const double s = (m - 1.0) / (m + 1.0);  // log m = 2 artanh s
    const double z = s * s;
    // clang-format off
    const double series =
        z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 +
        z * (1.0 / 13 + z * (1.0 / 15 + z * (1.0 / 17 + z * (1.0 / 19 + z * (1.0 / 21))))))))));
    // clang-format on
    constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    return exponent * ln2_high + (2.0 * s + (2.0 * s * series + exponent * ln2_low));
}

inline float log_of(float x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t e = (bits - 0x3F3504F3) >> 23;  // x = m 2^e, as above
    const float m = std::bit_cast<float>(bits - (e << 23));
    const float s = (m - 1.0F) / (m + 1.0F), z = s * s;
    const float series = z * (1.0F / 3 + z * (1.0F / 5 + z * (1.0F / 7 + z * (1.0F / 9))));
    return static_cast<float>(e) * 0.69314718F + (2.0F * s + 2.0F * s * series);
}

}  // namespace bbclust
