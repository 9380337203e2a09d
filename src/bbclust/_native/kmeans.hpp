// k-means from several starts: the lowest inertia wins, the earliest start among equals.
//
// A replica starts from the reference centres and from k-means++ seedings. Reference only hides
// instability (true K found .56 instead of .92); k-means++ only misses the optimum at large K.
//
// Work is left out where it would find nothing new, never where the outcome is open. Every start runs
// to its end on a thousand points or fewer. Seedings of more run on a small sample first:
// - Those that end at the same partition of the sample count as one, and clearly worse ones not at
//   all; the others go on to all points.
// - Of many points, they go on to a sample eight times as large, and so on up to all points. There a
//   sample leads so close to the final partition that seedings which merely come near the partition
//   that the start from the reference has found are not pursued.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "clusterer.hpp"
#include "lloyd.hpp"
#include "optimum.hpp"
#include "random.hpp"
#include "seeding.hpp"

namespace bbclust {

// The numbers that decide which starts go on. Sizes of samples are multiples of sixteen, so that no
// panel of any width is cut.
struct StartPolicy {
    // The smallest sample: enough points for every cluster.
    static constexpr std::int64_t least_points = 512, points_per_cluster = 64;
    // A sample of a set of points is at most half of it: a larger one saves little.
    static constexpr std::int64_t points_per_sampled = 2;
    // From one sample to the next: few of them, and all but the last cost little.
    static constexpr std::int64_t growth = 8;
    // Points are many where there is room for a second sample.
    static constexpr std::int64_t points_per_sampled_of_many = growth * points_per_sampled;
    // On a sample a run only has to show where it leads: it goes on from there on more points.
    static constexpr int sample_iterations = 8;
    // How close to a known partition of a sample a run ends, in shares of the half way between
    // centres. Partitions that differ by a few points are part of the instability that is measured,
    // so it must have arrived: to end it near one hid 5% of the mean entropy at 2,000 rows. Of many
    // points a sample leads to the same partition anyhow.
    static constexpr double arrived = 1e-3, near_of_many = 0.2;
    // And in one iteration it has come closer by this factor: slow runs may well end elsewhere.
    static constexpr double shrinkage = 0.5;
    // Standard errors of the difference in cost by which a partition of a sample is clearly worse.
    static constexpr double clearly_worse = 3.0;
    // The reference partition is tried on a sample so many times as large as a replica's, because
    // all else is measured by it, and drawn from at least so many times as many rows.
    static constexpr std::int64_t reference_factor = 8, rows_per_sampled = 4;

    static std::int64_t smallest_sample(int K) {
        return std::max(least_points, points_per_cluster * static_cast<std::int64_t>(K));
    }
};

template <class T>
class KMeans {
public:
    // n_init: seedings of a replica, besides the start from the reference centres.
    KMeans(int K, const LloydSettings& settings, int n_init = 0)
        : K_(K), n_init_(n_init), settings_(settings) {}

    Clustering<T> cluster(const Points<T>& points, const double* reference_centers,
                          const ReplicaStreams& streams, const StopFlag& stop) {
        // in the order of drawing, the first points are a fair sample
        begin(points, points, StartPolicy::smallest_sample(K_));
        start_from(reference_centers, stop);
        for (int start = 1; start <= n_init_; ++start)
            start_from_seeding(streams.start(start), stop);
        end(stop);
        return {best_.centers.data(), best_.counts.data(), best_.labels.data(), best_.inertia,
                best_.n_iter};
    }

    // Take these points, for several starts.
    void begin(const Points<T>& points) { begin(points, points, points.n); }

    // The same, seedings on the first `size` points of `sample` if there are twice as many points.
    // The first points of the sample, however many, must be a fair sample of all.
    void begin(const Points<T>& points, const Points<T>& sample, std::int64_t size) {
        all_ = measure(points);
        sample_ = sample;
        sampled_ = StartPolicy::points_per_sampled * size <= points.n;
        many_ = StartPolicy::points_per_sampled_of_many * size <= points.n;
        seeded_ = sampled_ ? measure(sample.first(size)) : all_;
        found_ = false;
        known_.clear();
        seeder_.begin(seeded_.points);
    }

    void start_from(const double* centers, const StopFlag& stop) {
        trial_.start(all_.points, K_);
        trial_.use(K_);
        std::copy_n(centers, trial_.centers.size(), trial_.centers.begin());
        run_on_all(false, stop);
        if (many_) repeat_on_sample(seeded_, stop);
    }

    void start_from_seeding(const Key& key, const StopFlag& stop) {
        Stream random(key);
        trial_.start(seeded_.points, K_);
        trial_.use(seeder_.seed(K_, random, stop, trial_.centers.data(), trial_.labels.data()));
        if (sampled_)
            run_on_sample(seeded_, true, stop);
        else
            run_on_all(true, stop);
    }

    // Those that are worth it go on from the sample to all points.
    void end(const StopFlag& stop) {
        if (sampled_) {
            drop_clearly_worse(seeded_.points);
            climb_through_samples(stop);
            go_on_to_all_points(stop);
        }
        best_.polish(all_.points, all_.total_square, stop);
    }

    // Of the starts that have run on all points.
    const Lloyd<T>& best() const { return best_; }

private:
    struct MeasuredPoints {
        Points<T> points;
        double total_square = 0;
    };

    static MeasuredPoints measure(const Points<T>& points) {
        return {points, total_square(points)};
    }

    void run_on_all(bool labels_known, const StopFlag& stop) {
        LloydSettings here = settings_;
        here.exact = !found_;  // the first is likely to be the best
        trial_.run(all_.points, all_.total_square, here, labels_known, stop, [] { return false; });
        if (!found_ || trial_.inertia < best_.inertia) std::swap(trial_, best_);
        found_ = true;
    }

    // Remembers where the run ends, if that is new: those that coincide count as one.
    void run_on_sample(const MeasuredPoints& sample, bool labels_known, const StopFlag& stop) {
        LloydSettings here = settings_;
        here.max_iter = std::min(here.max_iter, StartPolicy::sample_iterations);
        const auto attracts = [this](Optimum& known) {
            return known.attracts(trial_, many_ ? StartPolicy::near_of_many : StartPolicy::arrived,
                                  StartPolicy::shrinkage);
        };
        for (Optimum& known : known_) attracts(known);  // from how far away it begins
        if (trial_.run(sample.points, sample.total_square, here, labels_known, stop,
                       [&] { return std::any_of(known_.begin(), known_.end(), attracts); }))
            known_.emplace_back(trial_);
    }

    // Where the best partition of all points leads on a sample.
    void repeat_on_sample(const MeasuredPoints& sample, const StopFlag& stop) {
        take(best_, sample.points);
        run_on_sample(sample, false, stop);
        known_.back().on_all_points = true;
    }

    // Begins where a run or an optimum ended, on other points.
    template <class Ended>
    void take(const Ended& ended, const Points<T>& points) {
        trial_.start(points, K_);
        trial_.in_use = ended.in_use;
        std::copy(ended.centers.begin(), ended.centers.end(), trial_.centers.begin());
    }

    // Clearly worse than the leader, which is the one of lowest inertia.
    void drop_clearly_worse(const Points<T>& sample) {
        if (known_.empty()) return;
        const auto weigh = [&](const Optimum& optimum, Buffer<T>& costs) {
            book_.set(optimum.centers.data(), optimum.in_use.data(), K_, sample.d);
            weigh_costs(sample, book_, costs);
        };
        const Optimum& leader = *std::min_element(known_.begin(), known_.end(), by_inertia);
        weigh(leader, costs_of_leader_);
        std::vector<std::uint8_t> worse;
        for (const Optimum& other : known_) {
            worse.push_back(!other.on_all_points && &other != &leader);
            if (!worse.back()) continue;
            weigh(other, costs_);
            worse.back() =
                standard_errors_above<T>(costs_, costs_of_leader_) > StartPolicy::clearly_worse;
        }
        std::size_t at = 0;
        std::erase_if(known_, [&](const Optimum&) { return worse[at++]; });
    }

    // From sample to sample: what is left goes on, the best partition of all points ahead of it.
    void climb_through_samples(const StopFlag& stop) {
        const bool apart = sample_.values != all_.points.values;
        const std::int64_t largest = sample_.n / (apart ? 1 : StartPolicy::points_per_sampled);
        for (std::int64_t size = StartPolicy::growth * seeded_.points.n;
             size <= largest && !nothing_new(); size *= StartPolicy::growth) {
            const MeasuredPoints sample = measure(sample_.first(size));
            for (const Optimum& before : forget_in_order()) {
                if (before.on_all_points) {
                    repeat_on_sample(sample, stop);
                } else {
                    take(before, sample.points);
                    run_on_sample(sample, false, stop);
                }
            }
            drop_clearly_worse(sample.points);
        }
    }

    bool nothing_new() const { return known_.size() == 1 && known_[0].on_all_points; }

    void go_on_to_all_points(const StopFlag& stop) {
        for (const Optimum& before : forget_in_order()) {
            if (before.on_all_points) continue;
            take(before, all_.points);
            run_on_all(false, stop);
        }
    }

    // Where the runs so far ended, best first after that of all points; they are forgotten.
    std::vector<Optimum> forget_in_order() {
        std::vector<Optimum> before;
        before.swap(known_);
        std::stable_sort(before.begin(), before.end(), [](const Optimum& a, const Optimum& b) {
            return a.on_all_points != b.on_all_points ? a.on_all_points : by_inertia(a, b);
        });
        return before;
    }

    static bool by_inertia(const Optimum& a, const Optimum& b) { return a.inertia < b.inertia; }

    int K_, n_init_;
    LloydSettings settings_;
    MeasuredPoints all_, seeded_;  // all points, and those on which seedings run first
    Points<T> sample_;             // of all points, from which larger and larger samples are taken
    bool sampled_ = false, many_ = false, found_ = false;
    Seeder<T> seeder_;
    Lloyd<T> trial_, best_;
    std::vector<Optimum> known_;  // partitions of the present sample
    Codebook<T> book_;
    Buffer<T> costs_, costs_of_leader_;
};

}  // namespace bbclust
