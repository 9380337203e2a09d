// The engine as a Python module. Arrays marked OUT are allocated by the caller and written here;
// nothing is checked but types and layout: the stage modules and estimators do that.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "alignment.hpp"
#include "draws.hpp"
#include "entropies.hpp"
#include "kmeans.hpp"
#include "matrices.hpp"
#include "reference.hpp"
#include "replicas.hpp"
#include "voting.hpp"

#ifndef BBCLUST_MODULE
#error "BBCLUST_MODULE and BBCLUST_ISA_NAME are set by CMakeLists.txt"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace bbclust {
namespace {

// --- arrays and their names ---------------------------------------------------------------------

template <class T, int D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using MaybeIn = std::optional<In<T, D>>;

// An array that is never converted: its type chooses among overloads, or it is written to.
auto as_is(const char* name) { return nb::arg(name).noconvert(); }

template <class A>
auto pointer(const std::optional<A>& array) {
    return array ? array->data() : nullptr;
}

template <class A>
std::int64_t length(const A& array) {
    return static_cast<std::int64_t>(array.shape(0));
}

template <class A>
int extent(const A& array, int axis) {
    return static_cast<int>(array.shape(axis));
}

// A numpy array that owns its numbers.
template <class V>
auto to_numpy(std::vector<V> numbers, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<V>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
    return nb::ndarray<nb::numpy, V>(kept->data(), shape, owner);
}

// Runs `work(interrupted)` without the GIL. Ctrl-C, or any signal handler that raises, ends the
// work within a fraction of a second and its exception comes out here.
template <class Work>
void without_gil(Work&& work) {
    std::exception_ptr raised;
    const InterruptCheck interrupted = [&raised] {
        nb::gil_scoped_acquire gil;
        if (!raised && PyErr_CheckSignals() != 0)
            raised = std::make_exception_ptr(nb::python_error());
        return raised != nullptr;
    };
    try {
        nb::gil_scoped_release released;
        work(interrupted);
    } catch (const Interrupted&) {
        if (!raised) throw;
    }
    if (raised) std::rethrow_exception(raised);
}

// The same for work(stop), which looks at the flag, on a thread of its own. A thread costs as much as
// some ten thousand operations: what takes less than a hundred times that is done here and now.
template <class Work>
void interruptible(double operations, Work&& work) {
    if (operations < 1e6) return work(StopFlag());
    without_gil([&](const InterruptCheck& interrupted) {
        StopFlag stop;
        parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) { work(stop); });
    });
}

// --- random numbers -----------------------------------------------------------------------------

// Binds body(key, ...): the key of a stream comes first in Python, as the four numbers that name it.
template <class... More, class... Names>
void def_on_stream(nb::module_& m, const char* name, void (*body)(Key, More...),
                   const Names&... names) {
    m.def(name,
          [body](std::uint64_t seed, std::uint64_t stage, std::uint64_t start,
                 std::uint64_t replica, More... more) {
              body(make_key(seed, static_cast<Stage>(stage), start, replica), more...);
          },
          "seed"_a, "stage"_a, "start"_a, "replica"_a, names...);
}

void random_words(Key key, Out<std::uint64_t, 1> words /* OUT */) {
    Stream stream(key);
    for (std::int64_t i = 0; i < length(words); ++i) words.data()[i] = stream.word();
}

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

void standard_gammas(std::uint64_t seed, std::uint64_t stage, std::uint64_t replica, double shape,
                     Out<double, 1> values /* OUT */) {
    Gammas(seed, static_cast<Stage>(stage), replica).next(length(values), shape, values.data());
}

// --- replicas -----------------------------------------------------------------------------------

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
                 In<std::int64_t, 1> factor_offsets, More... more) {
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
              plan.mixture.set_rows(mixture_means.data(), factor_rows.data(),
                                    extent(mixture_means, 1));
              return body(std::move(plan), more...);
          },
          "seed"_a, "resampling"_a, "weighting"_a, "n_draws"_a, "prior_weight"_a, as_is("rows"),
          "row_weights"_a.none(), "row_cumulative"_a.none(), "n_whole"_a, "row_numbers"_a.none(),
          "mixture_cumulative"_a, "mixture_means"_a, "factor_rows"_a, "factor_offsets"_a, names...);
}

// Points, weights and rows.
template <class T>
nb::tuple draw_replica(DrawPlan<T> plan, MaybeIn<T, 2> given, std::int64_t replica) {
    Replica<T> drawn;
    const double operations = 100.0 * static_cast<double>(std::max(plan.n, plan.n_draws)) * plan.d;
    interruptible(operations, [&](const StopFlag& stop) {
        Drawer<T>(plan).draw(replica, pointer(given), stop, drawn);
    });
    const Points<T> view = drawn.panels.view();
    const std::size_t n = static_cast<std::size_t>(view.n), d = static_cast<std::size_t>(view.d);
    std::vector<T> points(n * d);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 0; f < d; ++f)
            points[i * d + f] = view.point(static_cast<std::int64_t>(i))[f * lanes<T>];
    return nb::make_tuple(
        to_numpy(std::move(points), {n, d}),
        to_numpy(std::vector<double>(view.weights, view.weights + n), {n}),
        to_numpy(std::vector<std::int64_t>(drawn.row.begin(), drawn.row.end()), {n}));
}

template <class T>
void run_kmeans_replicas(DrawPlan<T> draws, MaybeIn<T, 2> given,
                         MaybeIn<std::int64_t, 1> given_offsets, In<double, 2> reference_centers,
                         In<std::int32_t, 1> reference_labels, bool vote_on_all,
                         In<std::int64_t, 1> evaluation_rows, int n_init, int max_iter,
                         double tolerance, std::int64_t first, int n_threads,
                         Out<std::int32_t, 2> votes /* IN, OUT */, Out<double, 3> centers /* OUT */,
                         Out<std::uint8_t, 2> occupied /* OUT */, Out<double, 1> margin /* OUT */,
                         Out<double, 1> inertia /* OUT */, Out<std::int32_t, 1> n_iter /* OUT */,
                         Out<std::int16_t, 2> evaluation_labels /* OUT */) {
    ReplicaPlan<T> plan;
    plan.draws = std::move(draws);
    plan.given = {pointer(given), pointer(given_offsets)};
    plan.K = extent(reference_centers, 0);
    plan.reference_centers = reference_centers.data();
    plan.reference_labels = reference_labels.data();
    plan.vote_on_all = vote_on_all;
    plan.count_votes = votes.shape(0) > 0;
    plan.evaluation_rows = evaluation_rows.data();
    plan.n_evaluation = length(evaluation_rows);
    const KMeans<T> kmeans(plan.K, {max_iter, tolerance}, n_init);
    const ReplicaResults results{votes.data(),   centers.data(), occupied.data(),
                                 margin.data(),  inertia.data(), n_iter.data(),
                                 evaluation_labels.data()};
    without_gil([&](const InterruptCheck& interrupted) {
        run_replicas(plan, kmeans, first, length(margin), n_threads, interrupted, results);
    });
}

auto drawn_rows_as_array(std::uint64_t seed, std::int64_t replica, std::int64_t n_draws,
                         double prior_weight, std::int64_t n) {
    std::vector<std::int64_t> rows = drawn_rows(seed, replica, n_draws, prior_weight, n);
    const std::size_t count = rows.size();
    return to_numpy(std::move(rows), {count});
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
nb::tuple lloyd(In<T, 2> rows, In<double, 1> weights, Out<double, 2> centers /* IN, OUT */,
                int max_iter, double tolerance, Out<std::int32_t, 1> labels /* OUT */) {
    Lloyd<T> run;
    const double operations = 100.0 * static_cast<double>(centers.size()) * length(rows);
    interruptible(operations, [&](const StopFlag& stop) {
        const Panels<T> points = panels_of<T>(rows, weights);
        run.begin(points.view(), total_square(points.view()), extent(centers, 0));
        run.centers.set(centers.data(), extent(centers, 0), extent(rows, 1), extent(centers, 0));
        run.run({max_iter, tolerance}, stop, [](double, double) { return false; });
        run.polish(stop);
    });
    return publish(run, length(rows), centers, labels);
}

template <class T>
nb::tuple kmeans(In<T, 2> rows, In<double, 1> weights, std::uint64_t seed, int n_starts,
                 int max_iter, double tolerance, int n_threads, Out<double, 2> centers /* OUT */,
                 Out<std::int32_t, 1> labels /* OUT */) {
    const ReferencePlan<T> plan{seed,           rows.data(),         weights.data(),
                                length(rows),   extent(rows, 1),     extent(centers, 0),
                                n_starts,       {max_iter, tolerance}};
    Lloyd<T> best;
    without_gil([&](const InterruptCheck& interrupted) {
        best = find_reference(plan, n_threads, interrupted);
    });
    return publish(best, plan.n, centers, labels);
}

// --- votes and the rest -------------------------------------------------------------------------

template <class T>
void vote_by_centers_on_rows(In<T, 2> rows, In<double, 3> centers, In<std::uint8_t, 2> occupied,
                             int n_threads, Out<std::int32_t, 2> votes /* IN, OUT */) {
    without_gil([&](const InterruptCheck& interrupted) {
        vote_by_centers(rows.data(), length(rows), extent(rows, 1), centers.data(), occupied.data(),
                        length(centers), extent(centers, 1), n_threads, interrupted, votes.data());
    });
}

nb::tuple align(In<std::int64_t, 2> overlap, In<double, 2> distance,
                Out<std::int32_t, 1> to_reference /* OUT */) {
    Aligner aligner;
    const double K = extent(overlap, 0);
    interruptible(K * K * K, [&](const StopFlag& stop) {
        aligner.align(extent(overlap, 0), overlap.data(), distance.data(), true, stop);
    });
    std::copy(aligner.to_reference.begin(), aligner.to_reference.end(), to_reference.data());
    return nb::make_tuple(aligner.best_overlap, aligner.second_overlap);
}

// What each module needs is listed in CMakeLists.txt, of which its flags are made too.
const char* best_isa() {
#if defined(BBCLUST_AVX2_FEATURES)
    __builtin_cpu_init();
#define FEATURE(name) &&__builtin_cpu_supports(#name)
    if (true BBCLUST_AVX512_FEATURES) return "avx512";
    if (true BBCLUST_AVX2_FEATURES) return "avx2";
#undef FEATURE
#endif
    return "portable";
}

// Functions of the data, for one type of number. Overloads are told apart by the array's type.
template <class T>
void bind_kernels(nb::module_& m) {
    def_on_stream(m, "standard_normals", &standard_normals<T>, as_is("values"));
    def_on_draws(m, "draw_replica", &draw_replica<T>, as_is("given").none(), "replica"_a);
    def_on_draws(m, "run_replicas", &run_kmeans_replicas<T>, as_is("given").none(),
                 "given_offsets"_a.none(), "reference_centers"_a, "reference_labels"_a,
                 "vote_on_all"_a, "evaluation_rows"_a, "n_init"_a, "max_iter"_a, "tolerance"_a,
                 "first"_a, "n_threads"_a, as_is("votes"), as_is("centers"), as_is("occupied"),
                 as_is("margin"), as_is("inertia"), as_is("n_iter"), as_is("evaluation_labels"));
    m.def("seed_centers", &seed_centers<T>, as_is("rows"), "weights"_a, "seed"_a, "stage"_a,
          "start"_a, "replica"_a, as_is("centers"));
    m.def("lloyd", &lloyd<T>, as_is("rows"), "weights"_a, as_is("centers"), "max_iter"_a,
          "tolerance"_a, as_is("labels"));
    m.def("kmeans", &kmeans<T>, as_is("rows"), "weights"_a, "seed"_a, "n_starts"_a, "max_iter"_a,
          "tolerance"_a, "n_threads"_a, as_is("centers"), as_is("labels"));
    m.def("vote_by_centers", &vote_by_centers_on_rows<T>, as_is("rows"), "centers"_a, "occupied"_a,
          "n_threads"_a, as_is("votes"));
}

}  // namespace

NB_MODULE(BBCLUST_MODULE, m) {
    m.attr("ISA") = BBCLUST_ISA_NAME;
    m.def("best_isa", &best_isa, "The widest instruction set of this machine the engine knows.");

    bind_kernels<float>(m);
    bind_kernels<double>(m);

    def_on_stream(m, "random_words", &random_words, as_is("words"));
    m.def("standard_gammas", &standard_gammas, "seed"_a, "stage"_a, "replica"_a, "shape"_a,
          as_is("values"));
    m.def("drawn_rows", &drawn_rows_as_array, "seed"_a, "replica"_a, "n_draws"_a, "prior_weight"_a,
          "n"_a);
    m.def("count_prior_draws", &count_prior_draws, "seed"_a, "replica"_a, "n_draws"_a,
          "prior_weight"_a);
    m.def("align", &align, "overlap"_a, "distance"_a, as_is("to_reference"));

    m.def("weighted_gram",
          [](In<double, 2> rows, In<double, 1> weights, Out<double, 2> gram /* IN, OUT */) {
              const double operations = static_cast<double>(rows.size()) * extent(rows, 1);
              interruptible(operations, [&](const StopFlag& stop) {
                  weighted_gram(rows.data(), weights.data(), length(rows), extent(rows, 1), stop,
                                gram.data());
              });
          },
          "rows"_a, "weights"_a, as_is("gram"));
    m.def("semidefinite_factor",
          [](Out<double, 2> matrix /* IN, OUT */) {
              semidefinite_factor(matrix.data(), extent(matrix, 0));
          },
          as_is("matrix"));
    m.def("count_labels",
          [](In<std::int16_t, 2> labels, Out<std::int32_t, 2> counts /* IN, OUT */) {
              count_labels(labels.data(), length(labels), labels.shape(1), extent(counts, 1),
                           counts.data());
          },
          "labels"_a, as_is("counts"));
    m.def("sum_moves",
          [](In<std::int16_t, 2> labels, In<double, 2> moves, Out<double, 1> moved /* OUT */) {
              sum_moves(labels.data(), moves.data(), length(labels), labels.shape(1),
                        extent(moves, 1), moved.data());
          },
          "labels"_a, "moves"_a, as_is("moved"));
    m.def("mean_pairwise_entropy",
          [](In<double, 2> memberships, MaybeIn<double, 1> weights, bool by_membership,
             Out<double, 2> means /* OUT */) {
              const double K = extent(memberships, 1);
              const double operations = 10.0 * static_cast<double>(length(memberships)) * K * K;
              interruptible(operations, [&](const StopFlag& stop) {
                  mean_pairwise_entropy(memberships.data(), pointer(weights), length(memberships),
                                        extent(memberships, 1), by_membership, stop, means.data());
              });
          },
          "memberships"_a, "weights"_a.none(), "by_membership"_a, as_is("means"));
}

}  // namespace bbclust
