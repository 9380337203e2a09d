// Centres that need not be looked at again, by the triangle inequality (Elkan 2003, Using the triangle
// inequality to accelerate k-means, ICML, 147-153), for panels of points instead of single ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "nearest.hpp"
#include "panels.hpp"

namespace bbclust {

// The margin of a centre in a panel: by how much more than its own centre it is away from a point, the
// least over the points of the panel. It shrinks by what either of the two moves, and while it is
// above zero no point of the panel can change to that centre.
template <class T>
class Margins {
public:
    void begin(std::int64_t n_panels, int K) {
        K_ = K;
        stride_ = (K + W - 1) / W * W;
        kept_.assign(static_cast<std::size_t>(n_panels) * stride_, T(0));
        own_path_then_.resize(n_panels);
        make_room(norms_, n_panels * W);
        safe_until_.assign((n_panels + block - 1) / block, T(0));
        path_.assign(stride_, T(0));
        std::fill(path_.begin() + K, path_.end(), std::numeric_limits<T>::lowest());
        longest_path_ = 0;
        list_.resize(K);
        scores_.assign(static_cast<std::size_t>(panels_at_once) * (stride_ + 8) * W, T(0));
        looked_at_ = 0;
        lost_.resize(stride_ / W);
    }

    // Centres move, each by a distance.
    void move(const std::vector<double>& shifts) {
        double longest = 0;
        for (int k = 0; k < K_; ++k) {
            path_[k] += static_cast<T>(shifts[k]);
            longest = std::max(longest, shifts[k]);
        }
        longest_path_ += static_cast<T>(longest);
    }

    // The nearest centres of the points of R neighbouring panels of which nothing is known.
    template <int D, int R>
    void look(const Points<T>& points, std::int64_t p, const Codebook<T>& book, Pack<T> (&found)[R]) {
        const int d = D ? D : points.d;
        for (int r = 0; r < R; ++r) {
            Pack<T> norm = broadcast(T(0));
            for (int f = 0; f < d; ++f) {
                const Pack<T> xf = load(points.values + ((p + r) * d + f) * W);
                norm = norm + xf * xf;
            }
            store(norms_.data() + (p + r) * W, norm);
        }
        evaluate<D, R>(points, p, book, list_all(), points.panel(p + R), found);
    }

    // The least margin in a panel: below zero, points may have changed.
    T least(std::int64_t p, const T* labels) const {
        const Pack<T> own = broadcast(own_path(labels) - own_path_then_[p]);
        const T* kept = kept_.data() + p * stride_;
        Pack<T> least = load(kept) - (load(path_.data()) + own);
        for (int k = W; k < stride_; k += W) {
            const Pack<T> here = load(kept + k) - (load(path_.data() + k) + own);
            least = choose_less<T>(here, least, here, least);
        }
        return least_of_lanes<T>(least);
    }

    // Panels of a block are passed over together until centres may have moved too far for one of them.
    static constexpr std::int64_t block = 16;
    bool is_safe(std::int64_t block) const { return longest_path_ < safe_until_[block]; }
    void set_safe(std::int64_t block, T least) { safe_until_[block] = longest_path_ + T(0.49) * least; }

    // The nearest centres of R neighbouring panels, of which some have lost a margin. `next` is the panel
    // that will be asked for next.
    template <int D, int R>
    void look_again(const Points<T>& points, std::int64_t p, const Codebook<T>& book, const T* labels,
                    const T* next, Pack<T> (&found)[R]) {
        int count = K_;
        if (K_ <= W) {
            list_all();
        } else {
            std::fill(lost_.begin(), lost_.end(), 0);
            for (int r = 0; r < R; ++r) find_lost(p + r, labels + r * W);
            count = 0;
            for (int k = 0; k < stride_; k += W)  // in order: the first of equals wins
                for (std::uint32_t here = lost_[k / W]; here; here &= here - 1)
                    list_[count++] = k + std::countr_zero(here);
        }
        looked_at_ += R * count;
        evaluate<D, R>(points, p, book, count, next, found);
    }

    // Up to which share of centres and panels looked at it is cheaper than to look at all without
    // margins, which takes `each` as long for a centre. In multiplications of a register: for a panel, to
    // find out whether any margin is lost costs about 20, to look again 34 besides, and to keep a margin 7.
    static double worthwhile_share(int K, int d, double each) {
        const double all = static_cast<double>(K) * d;
        return (each - 20.0 / all) / (1.0 + (7.0 * K + 34.0) / all);
    }

    // Of all centres and panels, how many were looked at since this was last asked.
    double share_looked_at() {
        const double all = static_cast<double>(own_path_then_.size()) * K_;
        return static_cast<double>(std::exchange(looked_at_, 0)) / all;
    }

private:
    static constexpr int W = lanes<T>;

    // How far the centres of a panel's points have moved so far, or the longest any may have.
    T own_path(const T* labels) const {
        T first[W];
        std::fill_n(first, W, labels[0]);
        return differing_lanes(labels, first) == 0 ? path_[static_cast<int>(labels[0])] : longest_path_;
    }

    int list_all() {
        for (int k = 0; k < K_; ++k) list_[k] = k;
        return K_;
    }

    // Marks the centres whose margin is lost, and those of the points. Other margins are as of now.
    void find_lost(std::int64_t p, const T* labels) {
        const T own = own_path(labels) - own_path_then_[p];
        T* kept = kept_.data() + p * stride_;
        for (int k = 0; k < stride_; k += W) {
            lost_[k / W] |= lanes_less(kept + k, load(path_.data() + k) + broadcast(own));
            store(kept + k, load(kept + k) - broadcast(own));
        }
        for (int i = 0; i < W; ++i) {
            const int k = static_cast<int>(labels[i]);
            lost_[k / W] |= std::uint32_t(1) << (k % W);
        }
    }

    // The nearest of the centres on the list, and the margins of all of these.
    template <int D, int R>
    void evaluate(const Points<T>& points, std::int64_t p, const Codebook<T>& book, int count,
                  const T* next, Pack<T> (&label)[R]) {
        Pack<T> best[R];
        for (int r = 0; r < R; ++r) {
            best[r] = broadcast(std::numeric_limits<T>::infinity());
            label[r] = broadcast(T(0));
        }
        for_tiles(count, [&](int t, auto tile) {
            if (t == 0) score<D, R, tile(), true>(points, p, book, t, next, best, label);
            else score<D, R, tile(), false>(points, p, book, t, next, best, label);
        });
        for (int r = 0; r < R; ++r)
            keep(p + r, scores_.data() + r * (stride_ + 8) * W, count, best[r], label[r]);
    }

    // Margins of the centres on the list. With a the distance of the own centre and s by how much a
    // squared distance exceeds its square, the margin is sqrt(a^2 + s) - a: at least that of the
    // largest a and the least s of the panel, which takes one root for a centre instead of many.
    // The scores are overwritten.
    void keep(std::int64_t p, T* scores, int count, const Pack<T>& best, const Pack<T>& label) {
        const Pack<T> infinity = broadcast(std::numeric_limits<T>::infinity());
        const Pack<T> square = load(norms_.data() + p * W) + (best + best);
        const T own_square = std::max(-least_of_lanes<T>(-square), T(0));
        const T own = std::sqrt(own_square);
        const auto excess = [&](int t) {
            const Pack<T> name = broadcast(static_cast<T>(list_[t]));
            return choose_equal<T>(label, name, infinity, load(scores + t * W) - best);
        };
        T* kept = kept_.data() + p * stride_;
        for (int t = 0; t < count; ++t) store(scores + t * W, excess(t));
        for (int t = 0; t < count; t += 8) {  // what is beyond the list is never read
            T margins[8];
            least_of_eight_rows(scores + t * W, margins);
            for (T& margin : margins) margin = std::sqrt(own_square + 2 * margin) - own;
            for (int j = 0; j < std::min(8, count - t); ++j)
                kept[list_[t + j]] = margins[j] + path_[list_[t + j]];
        }
        T labels[W];
        store(labels, label);
        own_path_then_[p] = own_path(labels);
    }

    template <int D, int R, int N, bool hints>
    void score(const Points<T>& points, std::int64_t p, const Codebook<T>& book, int first,
               const T* next, Pack<T> (&best)[R], Pack<T> (&label)[R]) {
        const int d = D ? D : points.d;
        const T* x = points.values + p * d * W;
        const T* center[N];
        Pack<T> score[R][N];
        for (int j = 0; j < N; ++j) {
            center[j] = book.centers.data() + static_cast<std::int64_t>(list_[first + j]) * d;
            for (int r = 0; r < R; ++r) score[r][j] = broadcast(book.half_norms[list_[first + j]]);
        }
        for (int f = 0; f < d; ++f) {
            Pack<T> xf[R];
            for (int r = 0; r < R; ++r) xf[r] = load(x + (r * d + f) * W);
            if constexpr (hints)
                for (int r = 0; r < R; ++r) prefetch_register(next + r * d * W, f);
            for (int j = 0; j < N; ++j) {
                const Pack<T> cf = broadcast(center[j][f]);
                for (int r = 0; r < R; ++r) score[r][j] = score[r][j] - xf[r] * cf;
            }
        }
        for (int r = 0; r < R; ++r)
            for (int j = 0; j < N; ++j)
                store(scores_.data() + (r * (stride_ + 8) + first + j) * W, score[r][j]);
        choose_nearest<T, R, N>(score, [&](int j) { return list_[first + j]; }, best, label);
    }

    int K_ = 0, stride_ = 0;
    Buffer<T> kept_;  // (panels, K filled up to whole registers), plus the path of the centre then
    Buffer<T> own_path_then_;          // (panels,)
    Buffer<T> norms_;                  // (panels, W), squared, of the points
    Buffer<T> path_;                   // (K,), how far each centre has moved
    T longest_path_ = 0;               // and, move by move, the farthest of them
    Buffer<T> safe_until_;             // (blocks,), that path
    std::vector<int> list_;            // of the centres to look at
    std::vector<std::uint32_t> lost_;  // the same as bits
    Buffer<T> scores_;                 // of the centres on the list
    std::int64_t looked_at_ = 0;
};

}  // namespace bbclust
