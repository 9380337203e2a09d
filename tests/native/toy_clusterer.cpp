// A clusterer other than k-means, for tests only: each point goes to its nearest reference centre,
// and the means of the clusters are the centres. It is made of the headers alone.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "clusterer.hpp"
#include "nearest.hpp"
#include "replicas.hpp"

namespace {

using namespace bbclust;

class NearestReference {
public:
    explicit NearestReference(int K) : K_(K) {}

    // Cluster K - 1 - k belongs to reference centre k: to undo that is the alignment's task.
    Clustering<double> cluster(const Points<double>& points, const double* reference_centers,
                               const ReplicaStreams&, const StopFlag& stop) {
        book_.set(reference_centers, nullptr, K_, points.d);
        labels_.resize(points.padded());
        for_nearest(points, book_, stop,
                    [&](std::int64_t first, std::int64_t count, const double* nearest) {
            for (std::int64_t i = 0; i < count; ++i) labels_[first + i] = K_ - 1 - nearest[i];
        });
        take_means(points);
        double inertia = 0;
        for (std::int64_t i = 0; i < points.n; ++i)
            for (int f = 0; f < points.d; ++f) {
                const double difference = value(points, i, f) - center(i, points.d)[f];
                inertia += points.weights[i] * difference * difference;
            }
        return {centers_.data(), counts_.data(), labels_.data(), inertia, 1};
    }

private:
    static double value(const Points<double>& points, std::int64_t i, int f) {
        return points.point(i)[f * lanes<double>];
    }
    double* center(std::int64_t i, int d) { return &centers_[static_cast<int>(labels_[i]) * d]; }

    void take_means(const Points<double>& points) {
        centers_.assign(K_ * points.d, 0.0);
        counts_.assign(K_, 0);
        std::vector<double> mass(K_, 0.0);
        for (std::int64_t i = 0; i < points.n; ++i) {
            mass[static_cast<int>(labels_[i])] += points.weights[i];
            counts_[static_cast<int>(labels_[i])] += points.weights[i] > 0;
            for (int f = 0; f < points.d; ++f)
                center(i, points.d)[f] += points.weights[i] * value(points, i, f);
        }
        for (std::int64_t e = 0; e < K_ * points.d; ++e) centers_[e] /= mass[e / points.d];
    }

    int K_;
    Codebook<double> book_;
    std::vector<double> centers_, labels_;
    std::vector<std::int64_t> counts_;
};

static_assert(Clusterer<NearestReference, double>);

}  // namespace

// The proper Bayesian bootstrap with Dirichlet weights, of rows of equal weight.
extern "C" void run_toy_replicas(
    std::int64_t seed, std::int64_t n_draws, double prior_weight, std::int64_t n, std::int64_t d,
    const double* rows, std::int64_t n_components, const double* mixture_cumulative,
    const double* mixture_means, const double* factor_rows, const std::int64_t* factor_offsets,
    std::int64_t K, const double* reference_centers, const std::int32_t* reference_labels,
    std::int64_t vote_on_all, std::int64_t n_evaluation, const std::int64_t* evaluation_rows,
    std::int64_t first, std::int64_t count, std::int64_t n_threads, std::int32_t* votes, double* centers,
    std::uint8_t* occupied, double* margin, double* inertia, std::int32_t* n_iter,
    std::int16_t* evaluation_labels) {
    ReplicaPlan<double> plan;
    plan.draws.seed = static_cast<std::uint64_t>(seed);
    plan.draws.n_draws = n_draws;
    plan.draws.prior_weight = prior_weight;
    plan.draws.rows = rows;
    plan.draws.n = plan.draws.n_whole = n;
    plan.draws.d = static_cast<int>(d);
    plan.draws.mixture.n_components = static_cast<int>(n_components);
    plan.draws.mixture.cumulative = mixture_cumulative;
    plan.draws.mixture.offsets = factor_offsets;
    plan.draws.mixture.set_rows(mixture_means, factor_rows, plan.draws.d);
    plan.K = static_cast<int>(K);
    plan.reference_centers = reference_centers;
    plan.reference_labels = reference_labels;
    plan.vote_on_all = vote_on_all != 0;
    plan.evaluation_rows = evaluation_rows;
    plan.n_evaluation = n_evaluation;
    run_replicas(plan, NearestReference(plan.K), first, count, static_cast<int>(n_threads), [] {
        return false;
    }, {votes, centers, occupied, margin, inertia, n_iter, evaluation_labels});
}
