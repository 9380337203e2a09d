// k-means from several starts: the lowest inertia wins, the earliest start among equals.
//
// A replica starts from the reference centres and from k-means++ seedings. Reference only hides
// instability (true K found .56 instead of .92); k-means++ only misses the optimum at large K.
#pragma once

#include <utility>

#include "lloyd.hpp"
#include "rng.hpp"
#include "seeding.hpp"

namespace bbclust {

template <class T>
class KMeans {
public:
    int K = 0;
    LloydSettings settings;

    const Lloyd<T>& best() const { return best_; }

    // Forget earlier results and take these points.
    void begin(const Panels<T>& points) {
        points_ = &points;
        total_square_ = total_square(points);
        seeder_.begin(points);
        any_ = false;
    }

    void start_from(const double* centers, const StopFlag& stop) {
        trial_.start(*points_, K);
        trial_.use(K);
        std::copy_n(centers, trial_.centers.size(), trial_.centers.begin());
        run(false, stop);
    }

    void start_from_seeding(const Key& key, const StopFlag& stop) {
        Stream random(key);
        trial_.start(*points_, K);
        trial_.use(seeder_.seed(K, random, stop, trial_.centers.data(), trial_.labels.data()));
        run(true, stop);
    }

    void end() { best_.polish(*points_); }

private:
    void run(bool labels_known, const StopFlag& stop) {
        const double known = any_ ? best_.inertia : std::numeric_limits<double>::infinity();
        trial_.run(*points_, total_square_, settings, known, labels_known, stop);
        if (!any_ || trial_.inertia < best_.inertia) std::swap(trial_, best_);
        any_ = true;
    }

    const Panels<T>* points_ = nullptr;
    double total_square_ = 0;
    bool any_ = false;
    Seeder<T> seeder_;
    Lloyd<T> trial_, best_;
};

}  // namespace bbclust
