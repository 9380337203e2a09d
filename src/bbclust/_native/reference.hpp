// The reference partition: the best of many seedings (Algorithm 3, step 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "kmeans.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

template <class T>
struct ReferencePlan {
    std::uint64_t seed = 0;
    const T* rows = nullptr;          // (n, d)
    const double* weights = nullptr;  // (n,)
    std::int64_t n = 0;
    int d = 0;
    int K = 0;
    int n_starts = 0;
    LloydSettings lloyd;

    Key start(std::uint64_t number) const { return make_key(seed, Stage::reference, number, 0); }

    std::int64_t smallest_sample() const {
        return StartPolicy::reference_factor * StartPolicy::smallest_sample(K);
    }
    bool has_room_for(std::int64_t sample) const { return StartPolicy::rows_per_sampled * sample <= n; }
};

// Seedings on samples; those that are worth it go on to all points.
template <class T, class S>
Lloyd<S> best_by_samples(const ReferencePlan<T>& plan, const Points<S>& points, double square,
                         const LloydSettings& settings, const StopFlag& stop) {
    Starts<S> starts(plan.K);
    starts.begin(points, square, plan.smallest_sample(), settings);
    for (int start = 0; start < plan.n_starts; ++start)
        starts.start_from_seeding(plan.start(start), stop);
    return std::move(starts.end(std::is_same_v<S, T>, stop));
}

// Every start on all points, to its end, shared out among threads.
template <class T, class S>
Lloyd<S> best_by_all_points(const ReferencePlan<T>& plan, const Points<S>& points, double square,
                            const LloydSettings& settings, int n_threads, StopFlag& stop) {
    n_threads = std::min(n_threads, plan.n_starts);
    std::vector<Starts<S>> workers(n_threads, Starts<S>(plan.K));
    std::mutex mutex;
    std::int64_t winner = -1;
    Lloyd<S> best;
    parallel_for(plan.n_starts, n_threads, stop, nullptr, [&](std::int64_t start, int thread) {
        Starts<S>& starts = workers[thread];
        starts.begin(points, square, points.n, settings);
        starts.start_from_seeding(plan.start(start), stop);
        const Lloyd<S>& found = starts.end(std::is_same_v<S, T>, stop);
        std::lock_guard<std::mutex> lock(mutex);
        if (winner < 0 || found.inertia < best.inertia ||
            (found.inertia == best.inertia && start < winner)) {
            winner = start;
            best = found;
        }
    });
    return best;
}

template <class T>
Lloyd<T> find_reference(const ReferencePlan<T>& plan, int n_threads, const InterruptCheck& interrupted) {
    Lloyd<T> reference;
    StopFlag stop;
    parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) {
        const Panels<T> points = make_panels(plan.rows, plan.weights, plan.n, plan.d);
        Lloyd<float> in_single;
        Lloyd<double> in_double;
        const auto search = [&]<class S>(const Points<S>& here, double square, double,
                                         const LloydSettings& settings) -> Lloyd<S>& {
            Lloyd<S>* found;
            if constexpr (std::is_same_v<S, float>) found = &in_single;
            else found = &in_double;
            *found = plan.has_room_for(plan.smallest_sample())
                         ? best_by_samples(plan, here, square, settings, stop)
                         : best_by_all_points(plan, here, square, settings, n_threads, stop);
            return *found;
        };
        SingleFirst<T> precision;
        reference = std::move(precision.find(points.view(), plan.K, plan.lloyd, stop, search));
    });
    return reference;
}

}  // namespace bbclust
