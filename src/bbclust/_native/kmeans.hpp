// k-means as the clusterer of a replica: starts from the reference centres and from k-means++ seedings.
// Reference only hides instability (true K found .56 instead of .92); k-means++ only misses the optimum
// at large K.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "clusterer.hpp"
#include "precision.hpp"
#include "starts.hpp"

namespace bbclust {

template <class T>
class KMeans {
public:
    // n_init: seedings, besides the start from the reference centres.
    KMeans(int K, const LloydSettings& settings, int n_init)
        : K_(K), n_init_(n_init), settings_(settings) {}

    Clustering<T> cluster(const Points<T>& points, const double* reference_centers,
                          const ReplicaStreams& streams, const StopFlag& stop) {
        const Lloyd<T>& found =
            precision_.find(points, K_, settings_, stop,
                            [&]<class S>(const Points<S>& here, double square, double unit,
                                         const LloydSettings& settings) -> Lloyd<S>& {
            centers_.resize(static_cast<std::size_t>(K_) * points.d);
            std::transform(reference_centers, reference_centers + centers_.size(), centers_.begin(),
                           [unit](double c) { return unit * c; });
            Starts<S>& starts = this->starts<S>();
            starts.begin(here, square, StartPolicy::smallest_sample(K_), settings);
            starts.start_from(centers_.data(), stop);
            for (int start = 1; start <= n_init_; ++start)
                starts.start_from_seeding(streams.start(start), stop);
            return starts.end(std::is_same_v<S, T>, stop);
        });
        return {found.centers.values.data(), found.counts().data(), found.labels.data(), found.inertia,
                found.n_iter};
    }

private:
    template <class S>
    Starts<S>& starts() {
        if constexpr (std::is_same_v<S, float>) return in_single_;
        else return in_double_;
    }

    int K_, n_init_;
    LloydSettings settings_;
    SingleFirst<T> precision_;
    Starts<float> in_single_{K_};
    Starts<double> in_double_{K_};
    std::vector<double> centers_;
};

}  // namespace bbclust
