// Gamma variables, of which Dirichlet weights are made.
#pragma once

#include <cmath>
#include <cstdint>

#include "logarithm.hpp"
#include "normals.hpp"
#include "random.hpp"

namespace bbclust {

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
            first_.words(words, in_whole_blocks(n));
            if (shape == 1.0)
                for (std::int64_t i = 0; i < n; ++i)
                    out[begin + i] = -log_of(open_uniform_from(words[i]));
            else
                for (std::int64_t i = 0; i < n; ++i) {
                    const double u = 0.5 + centered_uniform_from(static_cast<std::uint32_t>(words[i]));
                    const double v =
                        0.5 + centered_uniform_from(static_cast<std::uint32_t>(words[i] >> 32));
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
            first_.words(first, in_whole_blocks(n));
            second_.words(second, in_whole_blocks(n));
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
                out[i] *=
                    std::pow(open_uniform_from(Stream::word_at(key(last_start), drawn_ + i)), 1.0 / a);
        }
    }

    static double above_one(double shape) { return shape < 1.0 ? shape + 1.0 : shape; }

    // A candidate that passes the test, or zero.
    static double candidate(double d, double x, double u) {
        const double root = 1.0 + x / std::sqrt(9.0 * d);
        const double v = root * root * root;
        const double safe = v > 0 ? v : 1.0;
        const bool passes = log_of(u) < 0.5 * x * x + d * (1.0 - v + log_of(safe));
        return (passes & (v > 0)) ? d * v : 0.0;
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
