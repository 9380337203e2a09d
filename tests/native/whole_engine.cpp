// The engine from a table to votes, without Python: what it finds is printed, for processors on which
// there is no interpreter to load it.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "draws.hpp"
#include "kmeans.hpp"
#include "normals.hpp"
#include "random.hpp"
#include "reference.hpp"
#include "replicas.hpp"

using namespace bbclust;

// Clusters of standard normals, four apart along the first features.
template <class T>
std::vector<T> make_rows(std::int64_t n, int d, int K) {
    const std::int64_t n_words = in_whole_blocks(n * d);
    std::vector<std::uint64_t> words(n_words);
    philox_blocks(make_key(1, Stage::normals, 0, 0), 0, n_words / 4, words.data());
    std::vector<double> normals(n_words);
    normals_from(words.data(), n_words, normals.data());
    std::vector<T> rows(n * d);
    for (std::int64_t i = 0; i < n; ++i)
        for (int f = 0; f < d; ++f)
            rows[i * d + f] = static_cast<T>(normals[i * d + f] + (i % K == f ? 4.0 : 0.0));
    return rows;
}

// Centres and inertia of the reference, then of each replica; then the votes for each cluster.
template <class T>
void run(std::int64_t n, int d, int K, std::int64_t B) {
    const std::vector<T> rows = make_rows<T>(n, d, K);
    const std::vector<double> ones(n, 1.0);
    const Lloyd<T> reference =
        find_reference(ReferencePlan<T>{7, rows.data(), ones.data(), n, d, K, 30, {300, 1e-9}}, 2,
                       [] { return false; });
    const std::vector<std::int32_t> labels(reference.labels.begin(), reference.labels.begin() + n);
    ReplicaPlan<T> plan;
    plan.draws.seed = 7;
    plan.draws.n_draws = n;
    plan.draws.prior_weight = 0.5;
    plan.draws.rows = rows.data();
    plan.draws.n = plan.draws.n_whole = n;
    plan.draws.d = d;
    std::vector<double> cumulative(K), factors(static_cast<std::size_t>(K) * d * d);
    std::vector<std::int64_t> offsets(K + 1), evaluation(n);
    for (int k = 0; k < K; ++k) {
        cumulative[k] = (k + 1.0) / K;
        offsets[k + 1] = (k + 1) * d;
        for (int f = 0; f < d; ++f) factors[(k * d + f) * d + f] = 1.0;
    }
    std::iota(evaluation.begin(), evaluation.end(), 0);
    plan.draws.mixture.n_components = K;
    plan.draws.mixture.cumulative = cumulative.data();
    plan.draws.mixture.offsets = offsets.data();
    plan.draws.mixture.set_rows(reference.centers.values.data(), factors.data(), d);
    plan.K = K;
    plan.reference_centers = reference.centers.values.data();
    plan.reference_labels = labels.data();
    plan.evaluation_rows = evaluation.data();
    plan.n_evaluation = n;
    std::vector<std::int32_t> votes(n * K), n_iter(B);
    std::vector<double> centers(B * K * d), margin(B), inertia(B);
    std::vector<std::uint8_t> occupied(B * K);
    std::vector<std::int16_t> kept(B * n);
    run_replicas(plan, KMeans<T>(K, {300, 1e-9}, 5), 0, B, 2, [] { return false; },
                 {votes.data(), centers.data(), occupied.data(), margin.data(), inertia.data(),
                  n_iter.data(), kept.data()});
    std::printf("%.9g", reference.inertia);
    for (double value : reference.centers.values) std::printf(" %.9g", value);
    for (std::int64_t b = 0; b < B; ++b) std::printf(" %.9g %.9g", inertia[b], margin[b]);
    for (double value : centers) std::printf(" %.9g", value);
    for (int k = 0; k < K; ++k) {
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += votes[i * K + k];
        std::printf(" %lld", static_cast<long long>(total));
    }
    std::printf("\n");
}

int main() {
    run<float>(300, 4, 3, 20);
    run<double>(300, 4, 3, 20);
    run<float>(5000, 21, 5, 3);
    run<double>(5000, 21, 5, 3);
}
