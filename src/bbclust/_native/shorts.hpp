// The nearest of several centres from numbers of 16 bits, of which an instruction multiplies twice as many
// as in single precision. What they cannot decide is decided in single precision: labels are the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"

namespace bbclust {

// The largest norm, in the unit of points and in that of centres. Products of two, and half the square of
// one beside them, stay below 2^31.
inline constexpr double short_limit = 32700.0, half_norm_limit = 0x1.cp29;

// The values of points once more, in a unit in which the longest just fits, two features in a lane.
class ShortPoints {
public:
    static constexpr int W = lanes<float>;
    // What they take is half of the points'. Of more values they would be too much beside the table; of
    // few, to make them and the centres takes longer than what they save.
    static constexpr std::int64_t least_values = 3000, most_values = std::int64_t(1) << 23;

    void clear() { known_ = usable_ = false; }

    // Once, if they are not there. False if the points have no unit: squares that vanish or overflow.
    bool fill(const Points<float>& points) {
        if (known_) return usable_;
        known_ = true;
        const double longest = longest_of(points);
        usable_ = longest > 1e-15 && longest < 1e15;
        if (usable_) {
            scale = short_limit / longest;
            round_all(points);
        }
        return usable_;
    }

    const std::int32_t* panel(std::int64_t p) const { return values_.data() + p * pairs * W; }

    int pairs = 0;          // of features
    double scale = 0;       // one over the unit
    double most_error = 0;  // by which a point is off, in units

private:
    static double longest_of(const Points<float>& points) {
        Pack<float> longest = broadcast(0.0F);
        for (std::int64_t p = 0; p < points.n_panels(); ++p) {
            Pack<float> norm = broadcast(0.0F);
            for (int f = 0; f < points.d; ++f) {
                const Pack<float> x = load(points.panel(p) + f * W);
                norm = norm + x * x;
            }
            longest = greater<float>(norm, longest);
        }
        return root_of_most(longest, points.d);
    }

    // Of sums of d squares, and a little more for their rounding.
    static double root_of_most(const Pack<float>& sums, int d) {
        const float most = -least_of_lanes<float>(broadcast(0.0F) - sums);
        return std::sqrt(static_cast<double>(most)) * (1.0 + d * 0x1p-23);
    }

    void round_all(const Points<float>& points) {
        const int d = points.d;
        pairs = (d + 1) / 2;
        make_room(values_, points.n_panels() * pairs * W);
        const Pack<float> by = broadcast(static_cast<float>(scale)), zero = broadcast(0.0F);
        Pack<float> most = zero;
        for (std::int64_t p = 0; p < points.n_panels(); ++p) {
            const float* x = points.panel(p);
            Pack<float> error = zero;
            for (int t = 0; t < pairs; ++t) {
                const Pack<float> first = by * load(x + 2 * t * W),
                                  second = 2 * t + 1 < d ? by * load(x + (2 * t + 1) * W) : zero;
                const Rounded a = round_to_whole(first), b = round_to_whole(second);
                const Pack<float> off_a = first - a.value, off_b = second - b.value;
                error = error + off_a * off_a + off_b * off_b;
                store(values_.data() + (p * pairs + t) * W, pair_up(a.whole, b.whole));
            }
            most = greater<float>(error, most);
        }
        // and by the rounding of the scale and of products with it
        most_error = root_of_most(most, d) + short_limit * 0x1p-22;
    }

    Buffer<std::int32_t> values_;  // (panels, pairs, W)
    bool known_ = false, usable_ = false;
};

// Centres in the same form, with the doubt that is left between two of them.
class ShortCenters {
public:
    void set(const Codebook<float>& book, const ShortPoints& points) {
        constexpr int W = lanes<float>;
        const int K = book.K, d = book.d;
        length_ = (d + W - 1) / W * W;
        values_.resize(static_cast<std::size_t>(K) * length_);
        half_norms_.resize(K);
        const auto in_use = [&](int k) {
            return book.half_norms[k] < std::numeric_limits<float>::infinity();
        };
        double half = 0;  // the largest half of a square
        for (int k = 0; k < K; ++k)
            if (in_use(k)) half = std::max(half, static_cast<double>(book.half_norms[k]));
        const double longest = std::sqrt(2.0 * half) * (1.0 + 1e-5);
        const double scale =
            longest > 0 ? std::min(short_limit / longest, half_norm_limit / (half * points.scale)) : 1.0;
        double most_error = 0;
        for (int k = 0; k < K; ++k) {
            const double norm = static_cast<double>(book.half_norms[k]) * points.scale * scale;
            half_norms_[k] = in_use(k) ? static_cast<std::int32_t>(std::lrint(norm)) : never;
            const double error = round(book.centers.data() + static_cast<std::int64_t>(k) * d, d,
                                       in_use(k) ? -scale : 0.0, values_.data() + k * length_);
            most_error = std::max(most_error, error);
        }
        most_error += short_limit * 0x1p-22;
        // By how much two scores may be off, beside each other: by the rounding of points and of centres;
        // and by that of single precision, whose labels are wanted.
        const double center = scale * longest;
        const double rounding = 2.0 + 2.0 * points.most_error * (center + most_error) +
                                2.0 * (short_limit + points.most_error) * most_error;
        const double single = (4.0 * d + 8.0) * 0x1p-24 * (half_norm_limit + short_limit * short_limit);
        doubt = static_cast<std::int32_t>(std::ceil(rounding + single));
    }

    const std::int16_t* center(int k) const { return values_.data() + k * length_; }
    std::int32_t half_norm(int k) const { return half_norms_[k]; }
    std::int64_t stride() const { return length_; }

    std::int32_t doubt = 0;  // scores that are nearer to each other say nothing

private:
    // The score of a centre that is not in use.
    static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

    // One centre, times a factor, filled up with zeros; by how much it is off.
    static double round(const float* from, int d, double factor, std::int16_t* to) {
        constexpr int W = lanes<float>;
        const Pack<float> by = broadcast(static_cast<float>(factor));
        Pack<float> error = broadcast(0.0F);
        for (int f = 0; f < d; f += W) {
            const Pack<float> scaled = by * load_first(from + f, std::min(W, d - f));
            const Rounded whole = round_to_whole(scaled);
            const Pack<float> off = scaled - whole.value;
            error = error + off * off;
            store_short(to + f, whole.whole);
        }
        return std::sqrt(sum_of_lanes<float>(error)) * (1.0 + d * 0x1p-23);
    }

    std::int64_t length_ = 0;
    std::vector<std::int16_t> values_;  // (K, length), in whole registers, with their signs turned
    std::vector<std::int32_t> half_norms_;
};

// Labels of points from both.
class ShortNearest {
public:
    static constexpr int W = lanes<float>;
    static constexpr std::int64_t block = 32;  // panels

    // About, for a centre, beside single precision.
    static constexpr double time = 0.5;
    // Of few features there is nothing to gain; of very many, rounding leaves too much in doubt.
    static constexpr int least_features = 4, most_features = 4096;
    static bool pays(int d) { return has_short_products && d >= least_features && d <= most_features; }

    void set(const Codebook<float>& book, const ShortPoints& points) { centers_.set(book, points); }

    // Calls visit(first, count, labels) like for_nearest.
    template <bool hints, class Visit>
    void for_labels(const Points<float>& points, const ShortPoints& shorts, const Codebook<float>& book,
                    const StopFlag& stop, Visit&& visit) {
        alignas(64) float labels[block * W];
        const std::int64_t n_panels = points.n_panels();
        for (std::int64_t first = 0; first < n_panels; first += block) {
            if (first % 1024 == 0) stop.check();
            const std::int64_t end = std::min(first + block, n_panels);
            n_doubtful_ = 0;
            for_groups<panels_at_once>(first, end, [&](std::int64_t p, auto R) {
                nearest_of_panels<R(), hints>(shorts, book.K, p, p - first, labels);
            });
            if (n_doubtful_ > 0) decide(points, book, first, labels);
            visit(first * W, (end - first) * W, static_cast<const float*>(labels));
        }
    }

private:
    // Labels of R panels, and the points that are in doubt.
    template <int R, bool hints>
    void nearest_of_panels(const ShortPoints& shorts, int K, std::int64_t p, std::int64_t at,
                           float* labels) {
        using Ints = Pack<std::int32_t>;
        const Ints far = broadcast(std::numeric_limits<std::int32_t>::max());
        Ints best[R], second[R], label[R];
        for (int r = 0; r < R; ++r) {
            best[r] = second[r] = far;
            label[r] = broadcast(0);
        }
        for_tiles(K, [&](int k, auto tile) {
            if (hints && k == 0) score_tile<R, tile(), hints>(shorts, p, k, best, second, label);
            else score_tile<R, tile(), false>(shorts, p, k, best, second, label);
        });
        const Ints doubt = broadcast(centers_.doubt);
        for (int r = 0; r < R; ++r) {
            store(labels + (at + r) * W, to_floats(label[r]));
            std::uint32_t doubtful = lanes_at_least(best[r], second[r] - doubt);
            for (; doubtful; doubtful &= doubtful - 1)
                doubtful_[n_doubtful_++] =
                    static_cast<std::int32_t>((at + r) * W + std::countr_zero(doubtful));
        }
    }

    template <int R, int KT, bool hints>
    void score_tile(const ShortPoints& shorts, std::int64_t p, int k0, Pack<std::int32_t> (&best)[R],
                    Pack<std::int32_t> (&second)[R], Pack<std::int32_t> (&label)[R]) const {
        using Ints = Pack<std::int32_t>;
        const int pairs = shorts.pairs;
        const std::int64_t stride = centers_.stride(), panel = static_cast<std::int64_t>(pairs) * W;
        const std::int32_t* x = shorts.panel(p);
        const std::int16_t* c = centers_.center(k0);
        Ints score[R][KT];
        for (int r = 0; r < R; ++r)
            for (int j = 0; j < KT; ++j) score[r][j] = broadcast(centers_.half_norm(k0 + j));
        for (int t = 0; t < pairs; ++t) {
            Ints xt[R];
            for (int r = 0; r < R; ++r) xt[r] = load(x + r * panel + t * W);
            if constexpr (hints)
                for (int r = 0; r < R; ++r) prefetch_register(x + (R + r) * panel, t);
            for (int j = 0; j < KT; ++j) {
                std::int32_t two;
                std::memcpy(&two, c + j * stride + 2 * t, sizeof two);
                const Ints ct = broadcast(two);
                for (int r = 0; r < R; ++r) score[r][j] = add_short_products(score[r][j], xt[r], ct);
            }
        }
        for (int r = 0; r < R; ++r) {
            Ints least = best[r], next = second[r], name = label[r];
            for (int j = 0; j < KT; ++j) {
                const Ints here = score[r][j];
                next = lesser<std::int32_t>(next, greater<std::int32_t>(here, least));
                name = choose_less<std::int32_t>(here, least, broadcast(k0 + j), name);
                least = lesser<std::int32_t>(here, least);
            }
            best[r] = least;
            second[r] = next;
            label[r] = name;
        }
    }

    // In single precision, side by side in panels of their own.
    void decide(const Points<float>& points, const Codebook<float>& book, std::int64_t first_panel,
                float* labels) {
        const int d = points.d;
        panel_.resize(static_cast<std::size_t>(d + W) * W);
        alignas(64) float found[W], scores[W];
        for (std::int64_t t = 0; t < n_doubtful_; t += W) {
            const int count = static_cast<int>(std::min<std::int64_t>(W, n_doubtful_ - t));
            for (int i = 0; i < W; ++i) {
                const float* x = points.point(first_panel * W + doubtful_[t + std::min(i, count - 1)]);
                for (int f = 0; f < d; ++f) panel_[f * W + i] = x[f * W];
            }
            bbclust::nearest_of_panels<0, float, 1, false>(panel_.data(), book, found, scores);
            for (int i = 0; i < count; ++i) labels[doubtful_[t + i]] = found[i];
        }
    }

    ShortCenters centers_;
    std::int32_t doubtful_[block * W];  // points of a block
    std::int64_t n_doubtful_ = 0;
    Buffer<float> panel_;
};

}  // namespace bbclust
