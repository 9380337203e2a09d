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
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lloyd.hpp"
#include "random.hpp"
#include "seeding.hpp"

namespace bbclust {

// Points of the smallest sample: enough for every cluster, a multiple of sixteen.
inline std::int64_t screening_points(int K) {
    return std::max<std::int64_t>(512, 64 * static_cast<std::int64_t>(K));
}

// Where a run ended.
template <class T>
struct Optimum {
    double inertia = 0;
    bool on_all_points = false;  // else on a sample of them
    std::vector<double> centers;  // (K, d)
    std::vector<std::uint8_t> in_use;
    std::vector<double> reach;  // (K,), squared half way to the nearest other centre
    double distance = 0;        // squared distance of the run under way, after its last iteration

    void set_reach(int K, int d) {
        reach.assign(K, std::numeric_limits<double>::infinity());
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < k; ++j) {
                const double half = 0.25 * squared_distance(
                    &centers[static_cast<std::size_t>(k) * d], &centers[static_cast<std::size_t>(j) * d], d);
                reach[k] = std::min(reach[k], half);
                reach[j] = std::min(reach[j], half);
            }
    }

    // Are other centres closing in on these? One must lie near each, within a share of the half way to
    // the next, and the distance must have shrunk to less than half: where it shrinks slowly the run
    // may well end elsewhere, and on data without clusters it often does.
    bool attracts(const std::vector<double>& others, const std::vector<std::uint8_t>& others_in_use,
                  int K, int d, double share) {
        const double before = distance;
        distance = std::numeric_limits<double>::infinity();
        if (!all(in_use) || !all(others_in_use)) return false;
        double sum = 0;
        bool near = true;
        for (int k = 0; k < K; ++k) {
            const double* center = &centers[static_cast<std::size_t>(k) * d];
            double apart = 0;
            int j = 0;
            while (j < K && (apart = squared_distance(&others[static_cast<std::size_t>(j) * d],
                                                      center, d)) > reach[k])
                ++j;
            if (j == K) return false;
            near = near && apart <= share * share * reach[k];
            sum += apart;
        }
        distance = sum;
        return near && sum <= 0.25 * before;
    }

private:
    static bool all(const std::vector<std::uint8_t>& flags) {
        return std::find(flags.begin(), flags.end(), 0) == flags.end();
    }

    static double squared_distance(const double* a, const double* b, int d) {
        double sums[4] = {};  // side by side: one sum would wait for itself
        int f = 0;
        for (; f + 4 <= d; f += 4)
            for (int t = 0; t < 4; ++t) sums[t] += (a[f + t] - b[f + t]) * (a[f + t] - b[f + t]);
        for (; f < d; ++f) sums[0] += (a[f] - b[f]) * (a[f] - b[f]);
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
};

// A random sample of rows, for a table whose own order may mean something: at most a quarter of it.
template <class T>
Panels<T> sample_panels(const T* rows, const double* weights, std::int64_t n, int d,
                        std::int64_t size, const Key& key) {
    while (8 * size * 4 <= n) size *= 8;
    Stream random(key);
    Panels<T> sample;
    sample.reserve(size, d);
    for (std::int64_t t = 0; t < size; ++t) {
        const std::int64_t i = static_cast<std::int64_t>(random.uniform() * static_cast<double>(n));
        sample.append(rows + i * d, static_cast<T>(weights[i]));
    }
    return sample;
}

template <class T>
class KMeans {
public:
    int K = 0;
    LloydSettings settings;

    const Lloyd<T>& best() const { return best_; }

    // Take these points, for several starts.
    void begin(const Points<T>& points) { begin(points, points, points.n); }

    // The same, seedings on the first `size` points of `sample` if there are twice as many points.
    // The first points of the sample, however many, must be a fair sample of all.
    void begin(const Points<T>& points, const Points<T>& sample, std::int64_t size) {
        points_ = points;
        sample_ = sample;
        size_ = size;
        sampled_ = 2 * size <= points.n;
        many_ = 16 * size <= points.n;
        found_ = false;
        known_.clear();
        total_square_ = total_square(points);
        if (sampled_) sample_square_ = total_square(sample.first(size));
        seeder_.begin(sampled_ ? sample.first(size) : points);
    }

    void start_from(const double* centers, const StopFlag& stop) {
        trial_.start(points_, K);
        trial_.use(K);
        std::copy_n(centers, trial_.centers.size(), trial_.centers.begin());
        run_on_all(false, stop);
        if (many_) repeat_on_sample(sample_.first(size_), sample_square_, stop);
    }

    void start_from_seeding(const Key& key, const StopFlag& stop) {
        Stream random(key);
        trial_.start(sampled_ ? sample_.first(size_) : points_, K);
        trial_.use(seeder_.seed(K, random, stop, trial_.centers.data(), trial_.labels.data()));
        if (sampled_)
            run_on_sample(sample_.first(size_), sample_square_, true, stop);
        else
            run_on_all(true, stop);
    }

    // Those that are worth it go on from the sample to all points.
    void end(const StopFlag& stop) {
        if (sampled_) climb(stop);
        best_.polish(points_, total_square_);
    }

private:
    // From sample to sample: what is left goes on, the best partition of all points ahead of it.
    void climb(const StopFlag& stop) {
        const bool apart = sample_.values != points_.values;
        drop_clearly_worse(sample_.first(size_));
        for (std::int64_t size = 8 * size_; size * (apart ? 1 : 2) <= sample_.n; size *= 8) {
            if (nothing_new()) return;
            const Points<T> sample = sample_.first(size);
            const double square = total_square(sample);
            for (const Optimum<T>& before : in_order()) {
                if (before.on_all_points) {
                    repeat_on_sample(sample, square, stop);
                } else {
                    take(before.centers, before.in_use, sample);
                    run_on_sample(sample, square, false, stop);
                }
            }
            drop_clearly_worse(sample);
        }
        for (const Optimum<T>& before : in_order()) {
            if (before.on_all_points) continue;
            take(before.centers, before.in_use, points_);
            run_on_all(false, stop);
        }
    }

    bool nothing_new() const { return known_.size() == 1 && known_[0].on_all_points; }

    // Where the runs so far ended, best first after that of all points; they are forgotten.
    std::vector<Optimum<T>> in_order() {
        std::vector<Optimum<T>> before;
        before.swap(known_);
        std::stable_sort(before.begin(), before.end(), [](const Optimum<T>& a, const Optimum<T>& b) {
            return a.on_all_points != b.on_all_points ? a.on_all_points : a.inertia < b.inertia;
        });
        return before;
    }

    // Clearly worse than the leader: by three standard errors of the difference.
    void drop_clearly_worse(const Points<T>& sample) {
        if (known_.empty()) return;
        const Optimum<T>& first = known_[leader()];
        weigh_costs(sample, first, costs_of_first_);
        std::vector<std::uint8_t> worse;
        for (const Optimum<T>& other : known_) {
            worse.push_back(!other.on_all_points && &other != &first);
            if (!worse.back()) continue;
            weigh_costs(sample, other, costs_);
            worse.back() = excess(costs_, costs_of_first_) > 3.0;
        }
        std::size_t at = 0;
        std::erase_if(known_, [&](const Optimum<T>&) { return worse[at++]; });
    }

    // What each point costs, w |x - c|^2 / 2, without w |x|^2 / 2, which all partitions share.
    void weigh_costs(const Points<T>& sample, const Optimum<T>& optimum, Buffer<T>& costs) {
        constexpr int W = lanes<T>;
        book_.set(optimum.centers.data(), optimum.in_use.data(), K, sample.d);
        costs.resize(sample.padded());
        for (std::int64_t p = 0; p < sample.n_panels(); ++p) {
            Pack<T> least = broadcast(std::numeric_limits<T>::infinity());
            for (int k = 0; k < K; ++k) {
                Pack<T> cost = broadcast(book_.half_norms[k]);
                for (int f = 0; f < sample.d; ++f)
                    cost = cost - load(sample.panel(p) + f * W) *
                                      broadcast(book_.centers[static_cast<std::size_t>(k) * sample.d + f]);
                least = choose_less<T>(cost, least, cost, least);
            }
            store(costs.data() + p * W, least * load(sample.weights + p * W));
        }
    }

    // By how many standard errors of the difference the first costs are higher. Both are of the same
    // points, so most of what these cost cancels out.
    static double excess(const Buffer<T>& a, const Buffer<T>& b) {
        constexpr int N = static_cast<int>(sizeof(double) / sizeof(T));
        Pack<double> sums[N], squares[N], differences[N];
        for (int h = 0; h < N; ++h) sums[h] = squares[h] = broadcast(0.0);
        for (std::size_t i = 0; i < a.size(); i += lanes<T>) {
            widen<T, double>(load(a.data() + i) - load(b.data() + i), differences);
            for (int h = 0; h < N; ++h) {
                sums[h] = sums[h] + differences[h];
                squares[h] = squares[h] + differences[h] * differences[h];
            }
        }
        double sum = 0, square = 0;
        for (int h = 0; h < N; ++h) {
            sum += sum_of_lanes<double>(sums[h]);
            square += sum_of_lanes<double>(squares[h]);
        }
        return square > 0 ? sum / std::sqrt(square) : 0.0;
    }

    std::size_t leader() const {
        return std::min_element(known_.begin(), known_.end(), [](const Optimum<T>& a, const Optimum<T>& b) {
            return a.inertia < b.inertia;
        }) - known_.begin();
    }

    void run_on_all(bool labels_known, const StopFlag& stop) {
        LloydSettings here = settings;
        here.exact = !found_;  // the first is likely to be the best
        trial_.run(points_, total_square_, here, labels_known, stop, [] { return false; });
        if (!found_ || trial_.inertia < best_.inertia) std::swap(trial_, best_);
        found_ = true;
    }

    // Remembers where it ends, if that is new.
    void run_on_sample(const Points<T>& sample, double square, bool labels_known,
                       const StopFlag& stop) {
        LloydSettings here = settings;
        here.max_iter = std::min(here.max_iter, sample_iterations);
        const double share = many_ ? near : arrived;
        for (Optimum<T>& known : known_)
            known.attracts(trial_.centers, trial_.in_use, K, sample.d, share);  // where it begins
        if (trial_.run(sample, square, here, labels_known, stop, [&] {
            for (Optimum<T>& known : known_)
                if (known.attracts(trial_.centers, trial_.in_use, K, sample.d, share)) return true;
            return false;
        }))
            remember(trial_);
    }

    void remember(const Lloyd<T>& run) {
        known_.push_back({run.inertia, false, run.centers, run.in_use, {}, 0});
        known_.back().set_reach(K, points_.d);
    }

    // Where the best partition of all points leads on a sample.
    void repeat_on_sample(const Points<T>& sample, double square, const StopFlag& stop) {
        take(best_.centers, best_.in_use, sample);
        run_on_sample(sample, square, false, stop);
        known_.back().on_all_points = true;
    }

    void take(const std::vector<double>& centers, const std::vector<std::uint8_t>& in_use,
              const Points<T>& points) {
        trial_.start(points, K);
        trial_.in_use = in_use;
        std::copy(centers.begin(), centers.end(), trial_.centers.begin());
    }

    static constexpr int sample_iterations = 8;
    // How close to a known partition of a sample a run ends, in shares of the half way between
    // centres. Partitions that differ by a few points are part of the instability that is measured,
    // so it must have arrived, except where a sample leads to the same partition anyhow.
    static constexpr double arrived = 1e-3, near = 0.2;

    Points<T> points_, sample_;
    std::int64_t size_ = 0;
    double total_square_ = 0, sample_square_ = 0;
    bool sampled_ = false, many_ = false, found_ = false;
    Seeder<T> seeder_;
    Lloyd<T> trial_, best_;
    std::vector<Optimum<T>> known_;
    Codebook<T> book_;
    Buffer<T> costs_, costs_of_first_;
};

}  // namespace bbclust
