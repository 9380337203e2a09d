// Weighted Lloyd iterations on panels of points.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "margins.hpp"
#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "shorts.hpp"
#include "sums.hpp"

namespace bbclust {

struct LloydSettings {
    int max_iter = 300;
    double tolerance = 0;  // on the summed squared shift of the centres, absolute
};

// Where centres are; those out of use have no place, see Lloyd::relocate.
struct Centers {
    std::vector<double> values;        // (K, d)
    std::vector<std::uint8_t> in_use;  // (K,)

    // All K in use, or the first few.
    void set(const double* from, int K, int d, int n_in_use) {
        values.assign(from, from + static_cast<std::size_t>(K) * d);
        in_use.assign(K, 0);
        std::fill_n(in_use.begin(), n_in_use, std::uint8_t(1));
    }
};

// Lloyd's algorithm on a set of points, once or several times from different centres.
template <class T>
class Lloyd {
public:
    Centers centers;
    Buffer<T> labels;    // (padded points,), or longer
    double inertia = 0;  // of the labels, to these centres
    int n_iter = 0;

    // Take these points, of which nothing is known. In order: neighbours are of one cluster, mostly.
    void begin(const Points<T>& points, double total_square, int K, bool in_order) {
        points_ = points;
        total_square_ = total_square;
        K_ = K;
        d_ = points.d;
        make_room(labels, points.padded());
        shifts_.resize(K);
        known_ = Known::nothing;
        settled_ = false;
        small_move_ = first_small_move;
        const double each = points.shorts && ShortNearest::pays(d_) ? ShortNearest::time : 1.0;
        worthwhile_share_ =
            in_order && !points.stay_in_cache() ? Margins<T>::worthwhile_share(K_, d_, each) : 0.0;
    }

    // Labels have been written, and centers of which they are the nearest.
    void take_labels(bool exact, const StopFlag& stop) {
        sums_.take(points_, labels.data(), K_, exact, stop);
        exact_ = exact;
        known_ = Known::labels;
        fresh_ = true;
    }

    // The centres go to other places. What is known of points far from all borders stays known.
    void jump(const Centers& to) {
        if (to.in_use != centers.in_use || known_ == Known::nothing) {
            known_ = known_ == Known::nothing ? known_ : Known::labels;
            centers = to;
            return;
        }
        for (int k = 0; k < K_; ++k) {
            const double* from = center(k);
            shifts_[k] = std::sqrt(squared_distance(&to.values[place(k)], from, d_));
        }
        centers = to;
        last_move_ = first_small_move;
        if (known_ == Known::margins) margins_.move(shifts_);
    }

    // Until nothing changes any more. False when `hopeless(inertia, gain of the last iteration)` says
    // that it need not go on.
    template <class Hopeless>
    bool run(const LloydSettings& settings, const StopFlag& stop, Hopeless&& hopeless) {
        double before = std::numeric_limits<double>::infinity();
        for (n_iter = 1;; ++n_iter) {
            const bool changed = n_iter == 1 && fresh_ ? true : assign(stop);
            fresh_ = false;
            if (n_iter > 1 && !changed) break;
            if (n_iter == lasting && points_.rows) points_.rows->fill(points_);
            relocate();
            const double shift = move_centers();
            if (hopeless(inertia, before - inertia)) return false;
            before = inertia;
            if (shift <= settings.tolerance || n_iter == settings.max_iter) {
                assign(stop);  // labels of the last centres
                break;
            }
        }
        inertia = total_square_ - gain();
        return true;
    }

    // The nearest centres of all points. True if any changed.
    bool assign(const StopFlag& stop) {
        return with_dimension_if_single<T>(d_, [&](auto D) { return assign_in<D()>(stop); });
    }

    // The means of the final labels and their inertia. Sums that have had points added and taken away
    // are made anew.
    void polish(const StopFlag& stop) {
        if (!exact_) sums_.take(points_, labels.data(), K_, true, stop);
        move_centers();
    }

    const std::vector<std::int64_t>& counts() const { return sums_.counts; }

private:
    static constexpr int W = lanes<T>;
    // Double precision is for the last few iterations only.
    static constexpr bool has_margins = std::is_same_v<T, float>;
    // Margins are worth their cost once centres move by this share of the spread of a cluster along
    // one axis; by less if that turns out to have been too early.
    static constexpr double first_small_move = 0.25;
    // Of few centres and features all are looked at in no time, and so are points that stay in cache.
    static constexpr double least_share = 0.1;
    // Where little is gained, only runs that last are worth it.
    static constexpr double early_share = 0.35;
    static constexpr int lasting = 3;  // iterations

    enum class Known { nothing, labels, margins };

    std::size_t place(int k) const { return static_cast<std::size_t>(k) * d_; }
    double* center(int k) { return centers.values.data() + place(k); }
    const double* center(int k) const { return centers.values.data() + place(k); }

    template <int D>
    bool assign_in(const StopFlag& stop) {
        book_.set(centers.values.data(), centers.in_use.data(), K_, d_);
        if (known_ == Known::nothing) {
            assign_first<D>(stop);
            return true;
        }
        bool changed = false;
        if constexpr (has_margins) {
            if (known_ == Known::margins) {
                constexpr std::int64_t block = Margins<T>::block;
                for (std::int64_t b = 0; b * block < points_.n_panels(); ++b) {
                    if (b % 64 == 0) stop.check();
                    if (!margins_.is_safe(b)) changed |= look_again<D>(b);
                }
                if (margins_.share_looked_at() > worthwhile_share_) {
                    known_ = Known::labels;
                    small_move_ = std::min(small_move_, 0.7 * last_move_);
                }
                return changed;
            }
            if (settled_) {
                begin_margins();
                for_groups<2>(0, points_.n_panels(), [&](std::int64_t p, auto R) {
                    if (p % 256 == 0) stop.check();
                    Pack<T> found[R()];
                    margins_.template look<D, R()>(points_, p, book_, found);
                    for (int r = 0; r < R(); ++r) changed |= take_panel(p + r, found[r]);
                });
                return changed;
            }
        }
        for_labels<D>(stop, [&](std::int64_t first, std::int64_t count, const T* now) {
            for (std::int64_t at = 0; at < count; at += W)
                changed |= take_panel((first + at) / W, load(now + at));
        });
        return changed;
    }

    // The nearest centres of all points, some at a time, see for_nearest.
    template <int D, class Visit>
    void for_labels(const StopFlag& stop, Visit&& visit) {
        if constexpr (std::is_same_v<T, float> && (D == 0 || D >= ShortNearest::least_features)) {
            if (points_.shorts && ShortNearest::pays(d_) && points_.shorts->fill(points_)) {
                short_nearest_.set(book_, *points_.shorts);
                if (points_.stay_in_cache())
                    short_nearest_.for_labels<false>(points_, *points_.shorts, book_, stop, visit);
                else short_nearest_.for_labels<true>(points_, *points_.shorts, book_, stop, visit);
                return;
            }
        }
        for_nearest_in<D>(points_, book_, stop, visit);
    }

    // Labels and sums of points of which nothing is known.
    template <int D>
    void assign_first(const StopFlag& stop) {
        sums_.clear(K_, d_);
        exact_ = true;
        known_ = Known::labels;
        if constexpr (has_margins) {
            if (settled_) {
                begin_margins();
                constexpr std::int64_t block = ClusterSums<T>::block;
                for (std::int64_t p = 0; p < points_.n_panels(); p += block) {
                    if (p % 256 == 0) stop.check();
                    const std::int64_t end = std::min(p + block, points_.n_panels());
                    for_groups<2>(p, end, [&](std::int64_t q, auto R) {
                        Pack<T> found[R()];
                        margins_.template look<D, R()>(points_, q, book_, found);
                        for (int r = 0; r < R(); ++r) store(labels.data() + (q + r) * W, found[r]);
                    });
                    sums_.add(points_, labels.data(), p, end, true);
                }
                return;
            }
        }
        for_labels<D>(stop, [&](std::int64_t first, std::int64_t count, const T* now) {
            std::copy_n(now, count, labels.data() + first);
            sums_.add(points_, labels.data(), first / W, (first + count) / W, true);
        });
    }

    // At the panels of a block that have lost a margin. True if any point changed.
    template <int D>
    bool look_again(std::int64_t b) {
        constexpr std::int64_t block = Margins<T>::block;
        const std::int64_t begin = b * block, end = std::min(begin + block, points_.n_panels());
        const auto least_in = [&](std::int64_t p) { return margins_.least(p, labels.data() + p * W); };
        T least[block];
        std::uint32_t lost = 0;  // panels as bits
        for (std::int64_t p = begin; p < end; ++p) {
            least[p - begin] = least_in(p);
            lost |= static_cast<std::uint32_t>(least[p - begin] < 0) << (p - begin);
        }
        bool changed = false;
        for_groups<2>(begin, end, [&](std::int64_t p, auto R) {
            const std::uint32_t here = lost >> (p - begin) & ((1U << R()) - 1),
                                later = lost >> (p - begin) >> R();
            if (!here) return;
            const T* next = points_.panel(later ? p + R() + std::countr_zero(later) : end);
            if (here == 3) changed |= look_again_at<D, R()>(p, next);
            else changed |= look_again_at<D, 1>(p + std::countr_zero(here), next);
            for (int r = 0; r < R(); ++r)
                if (here >> r & 1) least[p + r - begin] = std::max(least_in(p + r), T(0));
        });
        margins_.set_safe(b, *std::min_element(least, least + (end - begin)));
        return changed;
    }

    template <int D, int R>
    bool look_again_at(std::int64_t p, const T* next) {
        Pack<T> found[R];
        margins_.template look_again<D, R>(points_, p, book_, labels.data() + p * W, next, found);
        bool changed = false;
        for (int r = 0; r < R; ++r) changed |= take_panel(p + r, found[r]);
        return changed;
    }

    void begin_margins() {
        margins_.begin(points_.n_panels(), K_);
        known_ = Known::margins;
    }

    // Only points that changed cluster touch the sums. True if any did.
    bool take_panel(std::int64_t p, const Pack<T>& found) {
        T now[W];
        store(now, found);
        T* before = labels.data() + p * W;
        std::uint32_t differing = differing_lanes(before, now);
        if (!differing) return false;
        exact_ = false;
        for (; differing; differing &= differing - 1) {
            const int i = std::countr_zero(differing);
            sums_.move(points_, p * W + i, static_cast<int>(before[i]), static_cast<int>(now[i]));
            before[i] = now[i];
        }
        return true;
    }

    // Empty clusters take over the points farthest from their centres. Points that sit on their
    // centre, and points alone in a cluster, stay: then the cluster goes out of use, because the
    // replica has fewer distinct points than clusters.
    void relocate() {
        std::vector<int> empty;
        for (int k = 0; k < K_; ++k)
            if (sums_.counts[k] == 0) empty.push_back(k);
        if (empty.empty()) return;
        known_ = Known::labels;  // a centre that comes from nowhere has no margins
        std::vector<std::pair<double, std::int64_t>> far;
        for (std::int64_t i = 0; i < points_.n; ++i) {
            if (!(points_.weights[i] > 0)) continue;
            const T* x = points_.point(i);
            const double* c = center(static_cast<int>(labels[i]));
            double distance = 0, norm = 0;
            for (int f = 0; f < d_; ++f) {
                const double value = static_cast<double>(x[f * W]);
                distance += (value - c[f]) * (value - c[f]);
                norm += value * value;
            }
            if (distance > 1e-26 * norm) far.emplace_back(-distance, i);
        }
        // few are needed, so they are not sorted
        const auto nearer = [](const auto& a, const auto& b) { return b < a; };
        std::make_heap(far.begin(), far.end(), nearer);
        const auto next = [&]() -> std::int64_t {  // the farthest that is not alone, or -1
            while (!far.empty()) {
                std::pop_heap(far.begin(), far.end(), nearer);
                const std::int64_t i = far.back().second;
                far.pop_back();
                if (sums_.counts[static_cast<int>(labels[i])] >= 2) return i;
            }
            return -1;
        };
        for (int k : empty) {
            const std::int64_t i = next();
            centers.in_use[k] = i >= 0;
            if (!centers.in_use[k]) continue;
            exact_ = false;
            sums_.move(points_, i, static_cast<int>(labels[i]), k);
            labels[i] = static_cast<T>(k);
        }
    }

    // To the mean of its points; the squared shift.
    double move_center(double* c, const double* sum, double inverse) const {
        constexpr int W = lanes<double>;
        Pack<double> squares = broadcast(0.0);
        int f = 0;
        for (; f + W <= d_; f += W) {
            const Pack<double> mean = load(sum + f) * broadcast(inverse), by = mean - load(c + f);
            store(c + f, mean);
            squares = squares + by * by;
        }
        double shift = sum_of_lanes<double>(squares);
        for (; f < d_; ++f) {
            const double mean = sum[f] * inverse, by = mean - c[f];
            c[f] = mean;
            shift += by * by;
        }
        return shift;
    }

    // All of them, and the inertia with it; the summed squared shift.
    double move_centers() {
        double total = 0, moved = 0;
        for (int k = 0; k < K_; ++k) {
            shifts_[k] = 0;
            if (sums_.counts[k] == 0) continue;
            const double shift = move_center(center(k), sums_.sum(k), 1.0 / sums_.mass(k));
            total += shift;
            moved += sums_.mass(k) * shift;
            shifts_[k] = std::sqrt(shift);
        }
        inertia = total_square_ - gain();
        if constexpr (has_margins) {
            last_move_ = std::sqrt(moved * d_ / inertia);
            settled_ = last_move_ <= small_move_ &&
                       worthwhile_share_ > (n_iter < lasting ? early_share : least_share);
            if (known_ == Known::margins) margins_.move(shifts_);
        }
        return total;
    }

    // sum of w|x|^2 - w|x - c|^2 over the points, from the sums alone.
    double gain() const {
        double gain = 0;
        for (int k = 0; k < K_; ++k) {
            if (sums_.counts[k] == 0) continue;
            const double* c = center(k);
            const double* sum = sums_.sum(k);
            gain += sum_of_terms(d_, [=, mass = sums_.mass(k)](int f, auto take) {
                const auto here = take(c + f), total = take(sum + f);
                return here * (total + total - mass * here);
            });
        }
        return gain;
    }

    Points<T> points_;
    double total_square_ = 0;
    int K_ = 0, d_ = 0;
    Known known_ = Known::nothing;
    bool fresh_ = false;    // are the labels those of the present centres?
    bool settled_ = false;  // do the centres move but little?
    bool exact_ = false;    // are the sums fresh?
    double small_move_ = first_small_move, last_move_ = 0, worthwhile_share_ = 0;
    ClusterSums<T> sums_;
    Margins<T> margins_;
    Codebook<T> book_;
    ShortNearest short_nearest_;
    std::vector<double> shifts_;  // (K,), of the last move
};

}  // namespace bbclust
