// The functions of the data as functions of Python, for one type of number: each has a unit of its own,
// so that they are compiled side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "cluster_moments.hpp"
#include "draws.hpp"
#include "kmeans.hpp"
#include "missing_rows.hpp"
#include "normals.hpp"
#include "reference.hpp"
#include "replicas.hpp"
#include "voting.hpp"

namespace bbclust {

// In double precision from words, in single precision from halves of words.
template <class T>
void standard_normals(Key key, Out<T, 1> values /* OUT */) {
    using Part = std::conditional_t<std::is_same_v<T, double>, std::uint64_t, std::uint32_t>;
    constexpr std::int64_t per_block = parts_per_block<Part>;
    const std::int64_t n = length(values), n_blocks = (n + per_block - 1) / per_block;
    std::vector<Part> parts(n_blocks * per_block);
    philox_blocks(key, 0, n_blocks, parts.data());
    normals_from(parts.data(), n, values.data());
}

// --- replicas -----------------------------------------------------------------------------------

// Weights (C,), means (C, d) and factors, one below the other, none of more rows than columns.
inline void require_mixture(const In<double, 1>& cumulative, const In<double, 2>& means,
                            const In<double, 2>& factor_rows, const In<std::int64_t, 1>& offsets) {
    const std::int64_t C = length(cumulative), d = extent(means, 1);
    require(C >= 1 && C <= most_rows && d >= 1, "a mixture must have components");
    require_shape(means, {C, d}, "mixture_means must have shape (components, d)");
    require(extent(factor_rows, 1) == d, "factor_rows must have shape (rows, d)");
    require_shape(offsets, {C + 1}, "factor_offsets must have shape (components + 1,)");
    require_within(offsets, 0, length(factor_rows) + 1, "factor_offsets must be of factor_rows");
    for (std::int64_t j = 0; j < C; ++j) {
        const std::int64_t rank = offsets.data()[j + 1] - offsets.data()[j];
        require(rank >= 0 && rank <= d, "a factor must have from 0 to d rows");
    }
}

// Binds body(plan, ...): what says how replicas are drawn comes first in Python, one by one.
template <class T, class Result, class... More, class... Names>
void def_on_draws(nb::module_& m, const char* name, Result (*body)(DrawPlan<T>, More...),
                  const Names&... names) {
    m.def(name,
          [body](std::uint64_t seed, int resampling, int weighting, std::int64_t n_draws,
                 double prior_weight, In<T, 2> rows, MaybeIn<double, 1> row_weights,
                 MaybeIn<double, 1> row_cumulative, std::int64_t n_whole,
                 MaybeIn<std::int64_t, 1> row_numbers, In<double, 1> mixture_cumulative,
                 In<double, 2> mixture_means, In<double, 2> factor_rows,
                 In<std::int64_t, 1> factor_offsets, std::optional<nb::tuple> missing, More... more) {
        const std::int64_t n = length(rows), d = extent(rows, 1);
        require(n >= 1 && d >= 1 && n <= most_rows, "rows must have shape (n, d), neither zero");
        require_draws(n_draws, prior_weight, n_whole);
        require(resampling >= 0 && resampling <= 2, "resampling must be 0, 1 or 2");
        require(weighting >= 0 && weighting <= 1, "weighting must be 0 or 1");
        require_shape(row_weights, {n}, "row_weights must have shape (n,)");
        if (row_weights) require_shapes_of_gammas(row_weights->data(), row_weights->size());
        require_shape(row_cumulative, {n}, "row_cumulative must have shape (n,)");
        require_shape(row_numbers, {n}, "row_numbers must have shape (n,)");
        require_mixture(mixture_cumulative, mixture_means, factor_rows, factor_offsets);
        DrawPlan<T> plan;
        plan.seed = seed;
        plan.resampling = static_cast<Resampling>(resampling);
        plan.weighting = static_cast<Weighting>(weighting);
        plan.n_draws = n_draws;
        plan.prior_weight = prior_weight;
        plan.rows = rows.data();
        plan.n = length(rows);
        plan.d = extent(rows, 1);
        plan.row_weights = pointer(row_weights);
        plan.row_cumulative = pointer(row_cumulative);
        plan.n_whole = n_whole;
        plan.row_numbers = pointer(row_numbers);
        plan.mixture.n_components = extent(mixture_cumulative, 0);
        plan.mixture.cumulative = mixture_cumulative.data();
        plan.mixture.offsets = factor_offsets.data();
        plan.mixture.set_rows(mixture_means.data(), factor_rows.data(), extent(mixture_means, 1));
        const MissingRows rows_with_gaps(missing, n, d);
        plan.missing = rows_with_gaps.model();
        return body(std::move(plan), more...);
    },
          "seed"_a, "resampling"_a, "weighting"_a, "n_draws"_a, "prior_weight"_a, as_is("rows"),
          "row_weights"_a.none(), "row_cumulative"_a.none(), "n_whole"_a, "row_numbers"_a.none(),
          "mixture_cumulative"_a, "mixture_means"_a, "factor_rows"_a, "factor_offsets"_a,
          "missing"_a.none(), names...);
}

// Draws from F0 are of as many features as the rows.
template <class T>
void require_prior(const DrawPlan<T>& plan, const MaybeIn<T, 2>& given) {
    if (given) require(extent(*given, 1) == plan.d, "given must have shape (draws, d)");
    else if (plan.resampling == Resampling::proper && plan.prior_weight > 0)
        require(plan.mixture.d() == plan.d, "mixture_means must have shape (components, d)");
}

// Points, weights and rows.
template <class T>
nb::tuple draw_replica(DrawPlan<T> plan, MaybeIn<T, 2> given, std::int64_t replica) {
    Replica<T> drawn;
    require_prior(plan, given);
    const double operations = 100.0 * static_cast<double>(std::max(plan.n, plan.n_draws)) * plan.d;
    interruptible(operations, [&](const StopFlag& stop) {
        const GivenDraws<T> of_replica{pointer(given), given ? length(*given) : 0};
        Drawer<T>(plan).draw(replica, of_replica, stop, drawn);
    });
    const Points<T> view = drawn.panels.view();
    const std::size_t n = static_cast<std::size_t>(view.n), d = static_cast<std::size_t>(view.d);
    std::vector<T> points(n * d);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < d; ++f)
            points[i * d + f] = view.point(static_cast<std::int64_t>(i))[f * lanes<T>];
    return nb::make_tuple(to_numpy(std::move(points), {n, d}),
                          to_numpy(std::vector<double>(view.weights, view.weights + n), {n}),
                          to_numpy(std::vector<std::int64_t>(drawn.row.begin(), drawn.row.end()), {n}));
}

template <class T>
void run_kmeans_replicas(DrawPlan<T> draws, MaybeIn<T, 2> given, MaybeIn<std::int64_t, 1> given_offsets,
                         In<double, 2> reference_centers, In<std::int32_t, 1> reference_labels,
                         bool vote_on_all, In<std::int64_t, 1> evaluation_rows, int n_init, int max_iter,
                         double tolerance, std::int64_t first, int n_threads,
                         Out<std::int32_t, 2> votes /* IN, OUT */, Out<double, 3> centers /* OUT */,
                         Out<std::uint8_t, 2> occupied /* OUT */, Out<double, 1> margin /* OUT */,
                         Out<double, 1> inertia /* OUT */, Out<std::int32_t, 1> n_iter /* OUT */,
                         Out<std::int16_t, 2> evaluation_labels /* OUT */) {
    ReplicaPlan<T> plan;
    plan.draws = std::move(draws);
    const std::int64_t n = plan.draws.n, d = plan.draws.d, K = length(reference_centers);
    const std::int64_t B = length(margin), E = length(evaluation_rows);
    require_prior(plan.draws, given);
    require(given.has_value() == given_offsets.has_value(), "given goes with given_offsets");
    require_shape(given_offsets, {B + 1}, "given_offsets must have shape (B + 1,)");
    if (given && given_offsets)
        require_within(*given_offsets, 0, length(*given) + 1, "given_offsets must be of given");
    require(K >= 1 && K <= most_clusters, "there must be from 1 to 32,767 clusters");
    require_shape(reference_centers, {K, d}, "reference_centers must have shape (K, d)");
    require_shape(reference_labels, {n}, "reference_labels must have shape (n,)");
    require_within(reference_labels, 0, K, "reference_labels must be from 0 to K - 1");
    require_within(evaluation_rows, 0, n, "evaluation_rows must be from 0 to n - 1");
    require(n_init >= 0 && max_iter >= 1 && n_threads >= 1, "n_init, max_iter or n_threads is too low");
    require(length(votes) == n || length(votes) == 0, "votes must have shape (n, K) or (0, K)");
    require(extent(votes, 1) == K, "votes must have shape (n, K) or (0, K)");
    require_shape(centers, {B, K, d}, "centers must have shape (B, K, d)");
    require_shape(occupied, {B, K}, "occupied must have shape (B, K)");
    require_shape(inertia, {B}, "inertia must have shape (B,)");
    require_shape(n_iter, {B}, "n_iter must have shape (B,)");
    require_shape(evaluation_labels, {B, E}, "evaluation_labels must have shape (B, E)");
    plan.given = {pointer(given), pointer(given_offsets)};
    plan.K = extent(reference_centers, 0);
    plan.reference_centers = reference_centers.data();
    plan.reference_labels = reference_labels.data();
    plan.vote_on_all = vote_on_all;
    plan.count_votes = votes.shape(0) > 0;
    plan.evaluation_rows = evaluation_rows.data();
    plan.n_evaluation = length(evaluation_rows);
    const KMeans<T> kmeans(plan.K, {max_iter, tolerance}, n_init);
    const ReplicaResults results{votes.data(),   centers.data(), occupied.data(),         margin.data(),
                                 inertia.data(), n_iter.data(),  evaluation_labels.data()};
    without_gil([&](const InterruptCheck& interrupted) {
        run_replicas(plan, kmeans, first, length(margin), n_threads, interrupted, results);
    });
}

// --- k-means ------------------------------------------------------------------------------------

template <class T>
Panels<T> panels_of(const In<T, 2>& rows, const In<double, 1>& weights) {
    return make_panels(rows.data(), weights.data(), length(rows), extent(rows, 1));
}

// Inertia and iterations; the partition is written to the arrays.
template <class T>
nb::tuple publish(const Lloyd<T>& run, std::int64_t n, Out<double, 2>& centers,
                  Out<std::int32_t, 1>& labels) {
    std::copy(run.centers.values.begin(), run.centers.values.end(), centers.data());
    std::transform(run.labels.begin(), run.labels.begin() + n, labels.data(),
                   [](T label) { return static_cast<std::int32_t>(label); });
    return nb::make_tuple(run.inertia, run.n_iter);
}

template <class T>
int seed_centers(In<T, 2> rows, In<double, 1> weights, std::uint64_t seed, std::uint64_t stage,
                 std::uint64_t start, std::uint64_t replica, Out<double, 2> centers /* OUT */) {
    int found = 0;
    require_points(rows, weights, centers);
    const double operations = 10.0 * static_cast<double>(centers.size()) * length(rows);
    interruptible(operations, [&](const StopFlag& stop) {
        const Panels<T> points = panels_of<T>(rows, weights);
        Stream random(make_key(seed, static_cast<Stage>(stage), start, replica));
        Seeder<T> seeder;
        seeder.begin(points.view());
        Buffer<T> labels(points.padded());
        found = seeder.seed(extent(centers, 0), random, stop, centers.data(), labels.data());
    });
    return found;
}

// On all points, however many.
template <class T>
nb::tuple lloyd(In<T, 2> rows, In<double, 1> weights, Out<double, 2> centers /* IN, OUT */, int max_iter,
                double tolerance, Out<std::int32_t, 1> labels /* OUT */) {
    Lloyd<T> run;
    require_points(rows, weights, centers);
    require_shape(labels, {length(rows)}, "labels must have shape (n,)");
    require(max_iter >= 1, "max_iter must be at least 1");
    const double operations = 100.0 * static_cast<double>(centers.size()) * length(rows);
    interruptible(operations, [&](const StopFlag& stop) {
        const Panels<T> points = panels_of<T>(rows, weights);
        run.begin(points.view(), total_square(points.view()), extent(centers, 0), false);
        run.centers.set(centers.data(), extent(centers, 0), extent(rows, 1), extent(centers, 0));
        run.run({max_iter, tolerance}, stop, [](double, double) { return false; });
        run.polish(stop);
    });
    return publish(run, length(rows), centers, labels);
}

template <class T>
nb::tuple kmeans(In<T, 2> rows, In<double, 1> weights, std::uint64_t seed, int n_starts, int max_iter,
                 double tolerance, int n_threads, Out<double, 2> centers /* OUT */,
                 Out<std::int32_t, 1> labels /* OUT */) {
    require_points(rows, weights, centers);
    require_shape(labels, {length(rows)}, "labels must have shape (n,)");
    require(n_starts >= 1 && max_iter >= 1 && n_threads >= 1,
            "n_starts, max_iter or n_threads is too low");
    const ReferencePlan<T> plan{seed,         rows.data(),          weights.data(),
                                length(rows), extent(rows, 1),      extent(centers, 0),
                                n_starts,     {max_iter, tolerance}};
    Lloyd<T> best;
    without_gil(
        [&](const InterruptCheck& interrupted) { best = find_reference(plan, n_threads, interrupted); });
    return publish(best, plan.n, centers, labels);
}

// --- votes --------------------------------------------------------------------------------------

template <class T>
void vote_by_centers_on_rows(In<T, 2> rows, In<double, 3> centers, In<std::uint8_t, 2> occupied,
                             std::optional<nb::tuple> missing, std::int64_t first_replica, int n_threads,
                             Out<std::int32_t, 2> votes /* IN, OUT */) {
    const std::int64_t n = length(rows), d = extent(rows, 1), B = length(centers),
                       K = extent(centers, 1);
    require(d >= 1 && K >= 1 && K <= most_centers, "rows and centers must have features and clusters");
    require_shape(centers, {B, K, d}, "centers must have shape (B, K, d)");
    require_shape(occupied, {B, K}, "occupied must have shape (B, K)");
    require_shape(votes, {n, K}, "votes must have shape (n, K)");
    const MissingRows incomplete(missing, n, d);
    without_gil([&](const InterruptCheck& interrupted) {
        vote_by_centers(rows.data(), length(rows), extent(rows, 1), centers.data(), occupied.data(),
                        length(centers), extent(centers, 1), n_threads, interrupted, votes.data(),
                        incomplete.model(), first_replica);
    });
}

// Labels are those that centres (K, d), less the origin, vote for; products (K, d, d), or (0, d, d) if
// they are not wanted, are written below the diagonal and on it.
template <class T>
void cluster_moments(In<T, 2> rows, In<double, 1> origin, In<double, 2> centers, In<double, 2> about,
                     Out<std::int64_t, 1> counts /* IN, OUT */, Out<double, 2> sums /* IN, OUT */,
                     Out<double, 3> products /* IN, OUT */) {
    const std::int64_t n = length(rows), d = extent(rows, 1), K = length(centers);
    require(d >= 1, "rows must have features");
    require(K >= 1 && K <= most_centers, "there must be from 1 to 2**24 centers");
    require_shape(origin, {d}, "origin must have shape (d,)");
    require_shape(centers, {K, d}, "centers must have shape (K, d)");
    require_shape(about, {K, d}, "about must have shape (K, d)");
    require_shape(counts, {K}, "counts must have shape (K,)");
    require_shape(sums, {K, d}, "sums must have shape (K, d)");
    const bool wanted = length(products) > 0;
    require_shape(products, {wanted ? K : 0, d, d}, "products must have shape (K, d, d) or (0, d, d)");
    const ClusterMoments out{counts.data(), sums.data(), wanted ? products.data() : nullptr};
    const double operations = static_cast<double>(rows.size()) * (K + (wanted ? d : 1.0));
    interruptible(operations, [&](const StopFlag& stop) {
        Codebook<T> book;
        book.set(centers.data(), nullptr, extent(centers, 0), extent(rows, 1));
        add_moments(rows.data(), n, extent(rows, 1), origin.data(), book, about.data(), stop, out);
    });
}

// completed (n, d): the rows, with what they miss as it is in one replica.
template <class T>
void complete_rows(In<T, 2> rows, std::optional<nb::tuple> missing, std::int64_t replica,
                   Out<T, 2> completed /* OUT */) {
    const std::int64_t n = length(rows), d = extent(rows, 1);
    require(missing.has_value(), "missing must be given");
    require_shape(completed, {n, d}, "completed must have shape (n, d)");
    const MissingRows incomplete(missing, n, d);
    interruptible(static_cast<double>(rows.size() * rows.shape(1)), [&](const StopFlag& stop) {
        Completer<T> completer(*incomplete.model());
        for (std::int64_t i = 0; i < length(rows); ++i) {
            if (i % 64 == 0) stop.check();
            const std::int32_t place = incomplete.model()->place(i);
            const T* row = rows.data() + i * d;
            T* out = completed.data() + i * d;
            if (place >= 0) completer.complete(place, replica, row, out, 1);
            else std::copy_n(row, d, out);
        }
    });
}

template <class T>
void bind_kernels(nb::module_& m) {
    def_on_stream(m, "standard_normals", &standard_normals<T>, as_is("values"));
    def_on_draws(m, "draw_replica", &draw_replica<T>, as_is("given").none(), "replica"_a);
    def_on_draws(m, "run_replicas", &run_kmeans_replicas<T>, as_is("given").none(),
                 "given_offsets"_a.none(), "reference_centers"_a, "reference_labels"_a, "vote_on_all"_a,
                 "evaluation_rows"_a, "n_init"_a, "max_iter"_a, "tolerance"_a, "first"_a, "n_threads"_a,
                 as_is("votes"), as_is("centers"), as_is("occupied"), as_is("margin"), as_is("inertia"),
                 as_is("n_iter"), as_is("evaluation_labels"));
    m.def("seed_centers", &seed_centers<T>, as_is("rows"), "weights"_a, "seed"_a, "stage"_a, "start"_a,
          "replica"_a, as_is("centers"));
    m.def("lloyd", &lloyd<T>, as_is("rows"), "weights"_a, as_is("centers"), "max_iter"_a, "tolerance"_a,
          as_is("labels"));
    m.def("kmeans", &kmeans<T>, as_is("rows"), "weights"_a, "seed"_a, "n_starts"_a, "max_iter"_a,
          "tolerance"_a, "n_threads"_a, as_is("centers"), as_is("labels"));
    m.def("vote_by_centers", &vote_by_centers_on_rows<T>, as_is("rows"), "centers"_a, "occupied"_a,
          "missing"_a.none(), "first_replica"_a, "n_threads"_a, as_is("votes"));
    m.def("cluster_moments", &cluster_moments<T>, as_is("rows"), "origin"_a, "centers"_a, "about"_a,
          as_is("counts"), as_is("sums"), as_is("products"));
    m.def("complete_rows", &complete_rows<T>, as_is("rows"), "missing"_a, "replica"_a,
          as_is("completed"));
}

}  // namespace bbclust
