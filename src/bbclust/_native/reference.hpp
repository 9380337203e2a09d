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
    bool has_room_for(std::int64_t sample) const {
        return StartPolicy::rows_per_sampled * sample <= n;
    }
};

// A random sample of the rows, whose own order may mean something: the largest there is room for.
// It ends with a whole panel and need not be closed.
template <class T>
Panels<T> sample_rows(const ReferencePlan<T>& plan) {
    std::int64_t size = plan.smallest_sample();
    while (plan.has_room_for(StartPolicy::growth * size)) size *= StartPolicy::growth;
    Stream random(plan.start(last_start));
    Panels<T> sample;
    sample.reserve(size, plan.d);
    for (std::int64_t t = 0; t < size; ++t) {
        const std::int64_t i =
            static_cast<std::int64_t>(random.uniform() * static_cast<double>(plan.n));
        sample.append(plan.rows + i * plan.d, static_cast<T>(plan.weights[i]));
    }
    return sample;
}

// All starts on a sample; those that are worth it go on to all points.
template <class T>
Lloyd<T> best_by_sample(const ReferencePlan<T>& plan, const Points<T>& points,
                        const InterruptCheck& interrupted) {
    const Panels<T> sample = sample_rows(plan);
    KMeans<T> kmeans(plan.K, plan.lloyd);
    StopFlag stop;
    parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) {
        kmeans.begin(points, sample.view(), plan.smallest_sample());
        for (int start = 0; start < plan.n_starts; ++start)
            kmeans.start_from_seeding(plan.start(start), stop);
        kmeans.end(stop);
    });
    return kmeans.best();
}

// Every start on all points, to its end, shared out among threads.
template <class T>
Lloyd<T> best_by_all_points(const ReferencePlan<T>& plan, const Points<T>& points, int n_threads,
                            const InterruptCheck& interrupted) {
    n_threads = std::min(n_threads, plan.n_starts);
    std::vector<KMeans<T>> workers(n_threads, KMeans<T>(plan.K, plan.lloyd));
    std::mutex mutex;
    std::int64_t winner = -1;
    Lloyd<T> best;
    StopFlag stop;
    parallel_for(plan.n_starts, n_threads, stop, interrupted, [&](std::int64_t start, int thread) {
        KMeans<T>& kmeans = workers[thread];
        kmeans.begin(points);
        kmeans.start_from_seeding(plan.start(start), stop);
        const double inertia = kmeans.best().inertia;
        std::lock_guard<std::mutex> lock(mutex);
        if (winner < 0 || inertia < best.inertia || (inertia == best.inertia && start < winner)) {
            winner = start;
            best = kmeans.best();
        }
    });
    best.polish(points, total_square(points), stop);
    return best;
}

template <class T>
Lloyd<T> find_reference(const ReferencePlan<T>& plan, int n_threads,
                        const InterruptCheck& interrupted) {
    const Panels<T> points = make_panels(plan.rows, plan.weights, plan.n, plan.d);
    return plan.has_room_for(plan.smallest_sample())
               ? best_by_sample(plan, points.view(), interrupted)
               : best_by_all_points(plan, points.view(), n_threads, interrupted);
}

}  // namespace bbclust
