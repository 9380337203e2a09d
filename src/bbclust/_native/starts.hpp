// k-means from several starts: the lowest inertia wins, the earliest start among equals.
//
// Work is left out where it would find nothing, never where the outcome is open. On fewer points than
// two of the smallest samples have, a thousand if clusters are few, every start runs to its end. Of more:
// - A seeding runs on a fair sample first, each on one of its own, then on larger ones, and goes on from
//   there on all points. It is dropped if it is clearly worse than the best on the same sample.
// - A run that is much farther above the best than it came down in its last iteration ends.
// - On all points, a run begins with what is known of the points from the runs before: if it leads to
//   much the same partition, few points have to be looked at again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "costs.hpp"
#include "lloyd.hpp"
#include "random.hpp"
#include "samples.hpp"
#include "seeding.hpp"
#include "shorts.hpp"

namespace bbclust {

// The numbers that decide which starts go on. Sizes of samples are multiples of sixteen.
struct StartPolicy {
    // The smallest sample: enough points for every cluster.
    static constexpr std::int64_t least_points = 512, points_per_cluster = 16;
    // The smallest is at most half of all points: a larger one saves little.
    static constexpr std::int64_t points_per_sampled = 2;
    // From one sample to the next, as long as it is at most half of all.
    static constexpr std::int64_t growth = 4, points_per_next = 2;
    // On a sample a run has to show where it leads: it goes on from there on more points.
    static constexpr int sample_iterations = 50;
    // Standard errors of the difference in cost by which a partition of a sample is clearly worse.
    static constexpr double clearly_worse = 5.0;
    // Two runs on the same sample have led to the same partition if centres are closer than this share
    // of the half way to the next.
    static constexpr double same = 0.1;
    // A run is given up if it is so many times its last gain above the best. Runs come down slowly and for
    // long, and gain little before they gain much: given up earlier, runs are lost that would have won, and
    // entropies are too low. The more clusters' costs it is above, the more would have to come, so that
    // fewer times are enough. benchmarks/same_measure.py compares with runs that all go on.
    static constexpr double most_gains_left = 2000.0, gains_left_at_a_cluster = 100.0;
    // The reference partition is looked for on samples so many times as large as a replica's, because
    // all else is measured by it, if there are so many times as many rows.
    static constexpr std::int64_t reference_factor = 8, rows_per_sampled = 4;

    static std::int64_t smallest_sample(int K) {
        return std::max(least_points, points_per_cluster * static_cast<std::int64_t>(K));
    }
};

template <class T>
class Starts {
public:
    explicit Starts(int K) : K_(K) {}

    // Take these points, with their total square. Seedings begin on samples of the given size if there
    // are points enough.
    void begin(const Points<T>& points, double square, std::int64_t sample_size,
               const LloydSettings& settings);

    // From centres near which a partition is expected, before all other starts.
    void start_from(const double* centers, const StopFlag& stop);

    void start_from_seeding(const Key& key, const StopFlag& stop);

    // The run that led to the best partition, which is made exact if it is final.
    Lloyd<T>& end(bool final, const StopFlag& stop);

private:
    struct Best {
        Centers centers;
        double inertia = 0;
        int n_iter = 0;
    };

    // Of points, in other forms.
    struct Copies {
        Rows<T> rows;
        ShortPoints shorts;
    };

    void seed(const Points<T>& points, double square, Stream& random, const StopFlag& stop) {
        part_.begin(points, square, K_, false);
        seeds_.resize(static_cast<std::size_t>(K_) * points.d);
        const int found = seeder_.seed(K_, random, stop, seeds_.data(), part_.labels.data());
        part_.centers.set(seeds_.data(), K_, points.d, found);
        part_.take_labels(false, stop);
    }

    // From sample to sample, unless the candidate is dropped, and on to all points.
    void climb_through_samples(Stream& random, const StopFlag& stop) {
        const int number = n_seedings_++;
        int n_iter = 0;
        for (std::int64_t size = sample_size_;; size *= StartPolicy::growth) {
            const bool smallest = size == sample_size_;
            const bool last = StartPolicy::growth * StartPolicy::points_per_next * size > points_.n;
            Points<T> sample = take_sample(points_, size, !smallest, number, sample_);
            keep_copies(sample, sample_copies_);
            const double square = total_square(sample);
            if (has_best()) repeat_best(sample, square, stop);
            if (smallest) {
                seeder_.begin(sample);
                seed(sample, square, random, stop);
            } else {
                part_.begin(sample, square, K_, false);
                part_.centers = candidate_;
            }
            const bool ended = part_.run(on_sample(), stop, hopeless(repeated_.inertia));
            n_iter += part_.n_iter;
            candidate_ = part_.centers;
            if (!ended && clearly_worse(sample, stop)) return;
            if (has_best() && !last && is_same_partition(stop)) {
                approach_best(size, stop);
                break;
            }
            if (last) break;
        }
        run_on_all(n_iter, stop);
    }

    // For the runs to come, of which any may need them.
    static void keep_copies(Points<T>& points, Copies& copies) {
        copies.rows.clear();
        copies.shorts.clear();
        points.rows = points.stay_in_cache() ? &copies.rows : nullptr;
        const std::int64_t values = points.padded() * points.d;
        const bool short_too = std::is_same_v<T, float> && values >= ShortPoints::least_values &&
                               values <= ShortPoints::most_values;
        points.shorts = short_too ? &copies.shorts : nullptr;
    }

    LloydSettings on_sample() const {
        LloydSettings here = settings_;
        here.max_iter = std::min(here.max_iter, StartPolicy::sample_iterations);
        return here;
    }

    bool has_best() const { return best_.inertia < std::numeric_limits<double>::infinity(); }

    auto hopeless(double best) const {
        return [best, of_cluster = best / K_](double inertia, double gain) {
            const double above = inertia - best, clusters = above / of_cluster;
            const double enough = StartPolicy::gains_left_at_a_cluster / (clusters * clusters);
            return above > gain * std::min(StartPolicy::most_gains_left, enough);
        };
    }

    // By the nearest centres of the candidate.
    void sort(const StopFlag& stop) {
        book_.set(candidate_.values.data(), candidate_.in_use.data(), K_, points_.d);
        for_nearest(points_, book_, stop, [&](std::int64_t first, std::int64_t count, const T* found) {
            std::copy_n(found, count, whole_.labels.data() + first);
        });
        sorter_.take(points_, K_, whole_.labels);
        points_ = sorter_.view();
        keep_copies(points_, copies_);
        sorted_ = true;
        whole_.begin(points_, square_, K_, true);
        whole_.take_labels(true, stop);
    }

    // From the candidate.
    void run_on_all(int n_iter_before, const StopFlag& stop) {
        if (has_best()) {
            put_in_order(whole_.centers, stop, candidate_);
            whole_.jump(candidate_);
        } else {
            whole_.centers = candidate_;
        }
        if (whole_.run(settings_, stop, hopeless(best_.inertia)) && whole_.inertia < best_.inertia)
            remember(n_iter_before);
    }

    void remember(int n_iter_before) {
        best_ = {whole_.centers, whole_.inertia, n_iter_before + whole_.n_iter};
    }

    // So that each centre has the number of one that is near.
    void put_in_order(const Centers& like, const StopFlag& stop, Centers& centers) const {
        const int d = points_.d;
        Centers ordered = centers;
        std::vector<std::uint8_t> used(K_, 0);
        for (int k = 0; k < K_; ++k) {
            stop.check();
            double least = std::numeric_limits<double>::infinity();
            int nearest = -1;
            for (int j = 0; j < K_; ++j) {
                if (used[j]) continue;
                const double square = squared_distance(&centers.values[j * d], &like.values[k * d], d);
                if (nearest < 0 || square < least) {
                    least = square;
                    nearest = j;
                }
            }
            used[nearest] = 1;
            std::copy_n(centers.values.begin() + nearest * d, d, ordered.values.begin() + k * d);
            ordered.in_use[k] = centers.in_use[nearest];
        }
        centers = std::move(ordered);
    }

    // Where the best partition so far leads on a sample.
    void repeat_best(const Points<T>& sample, double square, const StopFlag& stop) {
        part_.begin(sample, square, K_, false);
        part_.centers = best_.centers;
        part_.run(on_sample(), stop, [](double, double) { return false; });
        repeated_.centers = part_.centers;
        repeated_.inertia = part_.inertia;
    }

    // Is the candidate, than that?
    bool clearly_worse(const Points<T>& sample, const StopFlag& stop) {
        weigh(candidate_, sample, stop, costs_);
        weigh(repeated_.centers, sample, stop, costs_of_best_);
        const Difference difference = compare_costs<T>(costs_, costs_of_best_);
        return difference.sum > StartPolicy::clearly_worse * difference.error;
    }

    // Has the candidate led to the same place as the best, on the same sample?
    bool is_same_partition(const StopFlag& stop) {
        const int d = points_.d;
        const auto& in_use = candidate_.in_use;
        const Centers& best = repeated_.centers;
        if (std::find(in_use.begin(), in_use.end(), 0) != in_use.end() || best.in_use != in_use)
            return false;
        put_in_order(best, stop, candidate_);
        const auto at = [d](const Centers& centers, int k) { return &centers.values[k * d]; };
        for (int k = 0; k < K_; ++k) {
            stop.check();
            const double apart = squared_distance(at(candidate_, k), at(best, k), d);
            for (int j = 0; j < K_; ++j) {
                const double between = squared_distance(at(best, k), at(best, j), d);
                if (j != k && 4 * apart > StartPolicy::same * StartPolicy::same * between) return false;
            }
        }
        return true;
    }

    // The optimum of a sample is away from that of all points by an amount that falls with the root of
    // its size: the candidate goes as near as that of another sample of as many points would be.
    void approach_best(std::int64_t size, const StopFlag& stop) {
        put_in_order(best_.centers, stop, candidate_);
        const double nearer = std::sqrt(static_cast<double>(size) / static_cast<double>(points_.n));
        for (std::size_t e = 0; e < candidate_.values.size(); ++e) {
            const double best = best_.centers.values[e];
            candidate_.values[e] = best + nearer * (candidate_.values[e] - best);
        }
    }

    void weigh(const Centers& centers, const Points<T>& sample, const StopFlag& stop, Buffer<T>& costs) {
        book_.set(centers.values.data(), centers.in_use.data(), K_, sample.d);
        weigh_costs(sample, book_, stop, costs);
    }

    int K_;
    LloydSettings settings_;
    Points<T> points_;
    double square_ = 0;
    std::int64_t sample_size_ = 0;
    bool sampled_ = false, sorted_ = false;
    int n_seedings_ = 0;
    Seeder<T> seeder_;
    Lloyd<T> whole_, part_;  // on all points, and on a sample or from a seeding
    Panels<T> sample_;
    Copies copies_, sample_copies_;  // of all points and of the sample
    Sorted<T> sorter_;
    Centers candidate_;
    Best best_, repeated_;  // on all points, and where it leads on a sample
    std::vector<double> seeds_;
    Codebook<T> book_;
    Buffer<T> costs_, costs_of_best_;
};

// What the class is used by stands outside of it: it is compiled once for all units that use it.

template <class T>
void Starts<T>::begin(const Points<T>& points, double square, std::int64_t sample_size,
                      const LloydSettings& settings) {
    points_ = points;
    keep_copies(points_, copies_);
    settings_ = settings;
    square_ = square;
    sample_size_ = sample_size;
    sampled_ = StartPolicy::points_per_sampled * sample_size <= points.n;
    n_seedings_ = 0;
    best_.inertia = repeated_.inertia = std::numeric_limits<double>::infinity();
    sorted_ = false;
    whole_.begin(points_, square_, K_, false);
    if (!sampled_) seeder_.begin(points_);
}

template <class T>
void Starts<T>::start_from(const double* centers, const StopFlag& stop) {
    candidate_.set(centers, K_, points_.d, K_);
    if (sampled_) sort(stop);
    run_on_all(0, stop);
}

template <class T>
void Starts<T>::start_from_seeding(const Key& key, const StopFlag& stop) {
    Stream random(key);
    if (!sampled_) {
        seed(points_, square_, random, stop);
        part_.run(settings_, stop, [](double, double) { return false; });
        if (part_.inertia < best_.inertia) {
            std::swap(part_, whole_);
            remember(0);
        }
        return;
    }
    climb_through_samples(random, stop);
}

template <class T>
Lloyd<T>& Starts<T>::end(bool final, const StopFlag& stop) {
    if (!has_best()) throw std::domain_error("points or weights are not finite");
    if (sampled_) {
        whole_.jump(best_.centers);
        whole_.assign(stop);
    }
    if (final) {
        whole_.polish(stop);
        best_.inertia = whole_.inertia;
    }
    if (sorted_) sorter_.undo(whole_.labels);
    whole_.inertia = best_.inertia;
    whole_.n_iter = best_.n_iter;
    return whole_;
}

}  // namespace bbclust
