// Counter-based randomness: every number is a function of (seed, stage, start, replica, position).
//
// Philox4x64-10 (Salmon et al. 2011), equal to numpy.random.Philox(key=...) word for word, so the
// slow oracle in the tests can read the very same words.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace bbclust {

// What a stream of words is used for. The values are part of the promise of reproducibility.
enum class Stage : std::uint64_t {
    draws = 1,       // one word per draw: prior or data, and which component or row
    normals = 2,     // halves of words, d for each draw from the prior, one after the other
    weights = 3,     // gammas behind the Dirichlet weights
    resampling = 4,  // the second resampling of weighting="resample"
    seeding = 5,     // k-means++ of a replica, one stream per start
    reference = 6,   // k-means++ of the reference partition
    evaluation = 7,  // the fixed sample of evaluation points
    prior = 8,       // numpy generators handed to priors written in Python
    missing = 19,    // missing values: a block for the component and the normals of a row, or more
    // 9 to 18, 20 and above are used in Python only: see random_streams.py
};

// The last start, for a stream beside those of the starts that are counted from zero.
inline constexpr std::uint64_t last_start = 0xffff;

struct Key {
    std::uint64_t seed;
    std::uint64_t place;  // stage | start | replica, 8 + 16 + 40 bits
};

inline Key make_key(std::uint64_t seed, Stage stage, std::uint64_t start, std::uint64_t replica) {
    return {seed, static_cast<std::uint64_t>(stage) << 56 | (start & last_start) << 40 |
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
inline void philox_block(Key key, std::uint64_t index, std::uint64_t out[4]) {
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

#if defined(__AVX512F__)
// Eight blocks side by side, out of products of halves: faster than one after the other by the
// processor's own multiplication. On AVX2, with four, it is not.
class EightBlocks {
public:
    explicit EightBlocks(std::uint64_t first) {
        c0_ = _mm512_add_epi64(all(first + 1), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        c1_ = c2_ = c3_ = _mm512_setzero_si512();
    }

    void round(std::uint64_t k0, std::uint64_t k1) {
        const Product p0 = multiply(c0_, 0xD2E7470EE14C6C93ULL),
                      p1 = multiply(c2_, 0xCA5A826395121157ULL);
        constexpr int exclusive_or = 0x96;  // of three
        c0_ = _mm512_ternarylogic_epi64(p1.high, c1_, all(k0), exclusive_or);
        c1_ = p1.low;
        c2_ = _mm512_ternarylogic_epi64(p0.high, c3_, all(k1), exclusive_or);
        c3_ = p0.low;
    }

    // Block after block.
    void write(void* out) const {
        const __m512i low_01 = _mm512_unpacklo_epi64(c0_, c1_), low_23 = _mm512_unpacklo_epi64(c2_, c3_);
        const __m512i high_01 = _mm512_unpackhi_epi64(c0_, c1_),
                      high_23 = _mm512_unpackhi_epi64(c2_, c3_);
        const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        const __m512i b02 = _mm512_permutex2var_epi64(low_01, front, low_23);
        const __m512i b46 = _mm512_permutex2var_epi64(low_01, back, low_23);
        const __m512i b13 = _mm512_permutex2var_epi64(high_01, front, high_23);
        const __m512i b57 = _mm512_permutex2var_epi64(high_01, back, high_23);
        char* to = static_cast<char*>(out);
        _mm512_storeu_si512(to, _mm512_shuffle_i64x2(b02, b13, 0x44));
        _mm512_storeu_si512(to + 64, _mm512_shuffle_i64x2(b02, b13, 0xEE));
        _mm512_storeu_si512(to + 128, _mm512_shuffle_i64x2(b46, b57, 0x44));
        _mm512_storeu_si512(to + 192, _mm512_shuffle_i64x2(b46, b57, 0xEE));
    }

private:
    struct Product {
        __m512i high, low;
    };

    static __m512i all(std::uint64_t word) { return _mm512_set1_epi64(static_cast<long long>(word)); }

    static Product multiply(__m512i a, std::uint64_t by) {
        const __m512i by_low = all(by & 0xFFFFFFFF), by_high = all(by >> 32);
        const __m512i a_high = _mm512_srli_epi64(a, 32);
        const __m512i low = _mm512_mul_epu32(a, by_low);
        const __m512i middle =
            _mm512_add_epi64(_mm512_mul_epu32(a_high, by_low), _mm512_srli_epi64(low, 32));
        const __m512i carry =
            _mm512_add_epi64(_mm512_mul_epu32(a, by_high), _mm512_and_si512(middle, all(0xFFFFFFFF)));
        const __m512i high =
            _mm512_add_epi64(_mm512_mul_epu32(a_high, by_high), _mm512_srli_epi64(middle, 32));
        return {_mm512_add_epi64(high, _mm512_srli_epi64(carry, 32)),
                _mm512_mask_blend_epi32(0xAAAA, low, _mm512_slli_epi64(carry, 32))};
    }

    __m512i c0_, c1_, c2_, c3_;
};
#endif

// Words, or halves of words, in a block.
template <class Part>
inline constexpr std::int64_t parts_per_block = 4 * sizeof(std::uint64_t) / sizeof(Part);

// Blocks first .. first + n, as words or as halves of words.
template <class Part>
inline void philox_blocks(Key key, std::uint64_t first, std::int64_t n, Part* out) {
    const auto write = [&](std::int64_t b) {
        std::uint64_t block[4];
        philox_block(key, first + b, block);
        // word by word: as one copy, it would wait for all four to be in memory
        for (int word = 0; word < 4; ++word)
            std::memcpy(out + parts_per_block<Part> * b + word * (parts_per_block<Part> / 4),
                        &block[word], sizeof block[word]);
    };
    std::int64_t b = 0;
#if defined(__AVX512F__)
    for (; b + 16 <= n; b += 16) {  // two times eight: one hides the latency of the other
        EightBlocks eight(first + b), more(first + b + 8);
        std::uint64_t k0 = key.seed, k1 = key.place;
        for (int round = 0; round < 10; ++round) {
            eight.round(k0, k1);
            more.round(k0, k1);
            k0 += 0x9E3779B97F4A7C15ULL;
            k1 += 0xBB67AE8584CAA73BULL;
        }
        eight.write(out + parts_per_block<Part> * b);
        more.write(out + parts_per_block<Part> * (b + 8));
    }
#endif
    // four at a time: the multiplications of one hide the latency of the others
    for (; b + 4 <= n; b += 4)
        for (int i = 0; i < 4; ++i) write(b + i);
    for (; b < n; ++b) write(b);
}

// Words of the blocks that hold n words.
inline std::int64_t in_whole_blocks(std::int64_t n) { return (n + 3) / 4 * 4; }

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

inline double centered_uniform_from(std::uint64_t word) { return open_uniform_from(word) - 0.5; }

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

}  // namespace bbclust
