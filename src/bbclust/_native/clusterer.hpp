// What a replica asks of its clusterer, P of Algorithm 3. k-means (kmeans.hpp) is one.
#pragma once

#include <concepts>
#include <cstdint>

#include "panels.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

// The random streams of a replica's clusterer, one per start.
struct ReplicaStreams {
    std::uint64_t seed, replica;

    Key start(std::uint64_t number) const { return make_key(seed, Stage::seeding, number, replica); }
};

// A partition in memory of the clusterer, which keeps it until it is called again.
template <class T>
struct Clustering {
    const double* centers;       // (K, d)
    const std::int64_t* counts;  // (K,), points of positive weight; clusters without any abstain
    const T* labels;             // (n,), 0 .. K - 1 as numbers of type T
    double inertia;
    int n_iter;
};

// cluster(points, reference_centers, streams, stop) puts weighted points, in the order of drawing,
// into as many clusters as there are reference centres, (K, d), numbered in any way. The partition
// depends on these alone, not on calls before. Each thread has a copy of the clusterer of its own.
template <class C, class T>
concept Clusterer = std::copy_constructible<C> &&
                    requires(C clusterer, const Points<T>& points, const double* reference_centers,
                             const ReplicaStreams& streams, const StopFlag& stop) {
                        {
                            clusterer.cluster(points, reference_centers, streams, stop)
                        } -> std::same_as<Clustering<T>>;
                    };

}  // namespace bbclust
