// The functions of rows with missing values as functions of Python.
#include "missing.hpp"

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "missing_moments.hpp"
#include "observed_kmeans.hpp"

namespace bbclust {
namespace {

// How many iterations it took.
int missing_moments(In<double, 2> rows, In<double, 1> weights, In<std::int32_t, 1> labels,
                    In<std::int32_t, 1> place, In<std::int32_t, 1> pattern, In<std::uint8_t, 2> patterns,
                    double prior_rows, double ridge, int max_iter, double tolerance, int n_threads,
                    Out<double, 2> means /* OUT */, Out<double, 3> covariances /* OUT */,
                    Out<double, 3> expected /* OUT */) {
    const std::int64_t n = length(rows), d = extent(rows, 1), K = length(means);
    require_points(rows, weights, means);
    require_gaussians(means, covariances, patterns, d);
    require_shape(expected, {K, d, d}, "expected must have shape (K, d, d)");
    require_shape(labels, {n}, "labels must have shape (n,)");
    require_within(labels, 0, K, "labels must be from 0 to K - 1");
    require_shape(place, {n}, "place must have shape (n,)");
    require_within(place, -1, length(pattern), "place must be of an incomplete row, or -1");
    require_within(pattern, 0, length(patterns), "pattern must be one of the patterns");
    const MomentsPlan plan{rows.data(),      weights.data(),   length(rows), extent(rows, 1),
                           extent(means, 0), labels.data(),    place.data(), pattern.data(),
                           patterns.data(),  length(patterns), prior_rows,   ridge,
                           max_iter,         tolerance};
    int n_iter = 0;
    without_gil([&](const InterruptCheck& interrupted) {
        StopFlag stop;
        parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) {
            MissingMoments moments(plan, stop);
            n_iter = moments.run(n_threads, stop);
            moments.publish(means.data(), covariances.data(), expected.data());
        });
    });
    return n_iter;
}

// Inertia and iterations.
nb::tuple observed_lloyd(In<double, 2> rows, In<double, 1> weights, int max_iter,
                         Out<double, 2> centers /* IN, OUT */, Out<std::int32_t, 1> labels /* OUT */) {
    require_points(rows, weights, centers);
    require_shape(labels, {length(rows)}, "labels must have shape (n,)");
    const ObservedRows observed{rows.data(), weights.data(), length(rows), extent(rows, 1)};
    ObservedLloyd lloyd(observed, extent(centers, 0), centers.data(), labels.data());
    int n_iter = 0;
    const double operations = 100.0 * static_cast<double>(centers.size()) * length(rows);
    interruptible(operations, [&](const StopFlag& stop) { n_iter = lloyd.run(max_iter, stop); });
    return nb::make_tuple(lloyd.inertia(), n_iter);
}

void component_shares_of_rows(In<double, 2> rows, In<double, 1> weights, In<double, 2> means,
                              In<double, 3> covariances, In<std::int32_t, 1> pattern,
                              In<std::uint8_t, 2> patterns, int n_threads,
                              Out<double, 2> cumulative /* OUT */) {
    const std::int64_t n = length(rows), d = extent(rows, 1), K = length(weights);
    require_gaussians(means, covariances, patterns, d);
    require(length(means) == K, "weights must have shape (K,)");
    require_shape(pattern, {n}, "pattern must have shape (n,)");
    require_within(pattern, 0, length(patterns), "pattern must be one of the patterns");
    require_shape(cumulative, {n, K}, "cumulative must have shape (n, K)");
    MissingPlan plan;
    plan.d = extent(rows, 1);
    plan.n_components = extent(weights, 0);
    plan.means = means.data();
    plan.covariances = covariances.data();
    plan.patterns = patterns.data();
    plan.n_patterns = length(patterns);
    plan.pattern = pattern.data();
    without_gil([&](const InterruptCheck& interrupted) {
        component_shares(plan, rows.data(), length(rows), weights.data(), n_threads, interrupted,
                         cumulative.data());
    });
}

}  // namespace

void bind_missing(nb::module_& m) {
    m.def("missing_moments", &missing_moments, "rows"_a, "weights"_a, "labels"_a, "place"_a, "pattern"_a,
          "patterns"_a, "prior_rows"_a, "ridge"_a, "max_iter"_a, "tolerance"_a, "n_threads"_a,
          as_is("means"), as_is("covariances"), as_is("expected"));
    m.def("observed_lloyd", &observed_lloyd, "rows"_a, "weights"_a, "max_iter"_a, as_is("centers"),
          as_is("labels"));
    m.def("component_shares", &component_shares_of_rows, "rows"_a, "weights"_a, "means"_a,
          "covariances"_a, "pattern"_a, "patterns"_a, "n_threads"_a, as_is("cumulative"));
}

}  // namespace bbclust
