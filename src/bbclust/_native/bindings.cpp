// The engine as a Python module. Arrays marked OUT are allocated by the caller and written here;
// nothing is checked but types and layout: the stage modules and estimators do that.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <exception>
#include <optional>

#include "alignment.hpp"
#include "draws.hpp"
#include "entropies.hpp"
#include "kmeans.hpp"
#include "matrices.hpp"
#include "replicas.hpp"
#include "voting.hpp"

#ifndef BBCLUST_MODULE
#error "BBCLUST_MODULE and BBCLUST_ISA_NAME are set by CMakeLists.txt"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace bbclust {
namespace {

template <class T, int D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using MaybeIn = std::optional<In<T, D>>;

template <class A>
auto pointer(const std::optional<A>& array) {
    return array ? array->data() : nullptr;
}

// Runs `work(interrupted)` without the GIL. Ctrl-C, or any signal handler that raises, ends the
// work within a fraction of a second and its exception comes out here.
template <class Work>
void without_gil(Work&& work) {
    std::exception_ptr raised;
    const std::function<bool()> interrupted = [&raised] {
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

template <class T>
DrawPlan<T> make_draw_plan(std::uint64_t seed, int resampling, int weighting, std::int64_t n_draws,
                           double prior_weight, const In<T, 2>& rows,
                           const MaybeIn<double, 1>& row_weights,
                           const MaybeIn<double, 1>& row_cumulative, std::int64_t n_whole,
                           const MaybeIn<std::int64_t, 1>& row_numbers,
                           const In<double, 1>& mixture_cumulative, const In<double, 2>& mixture_means,
                           const In<double, 2>& factor_rows, const In<std::int64_t, 1>& factor_offsets) {
    DrawPlan<T> plan;
    plan.seed = seed;
    plan.resampling = static_cast<Resampling>(resampling);
    plan.weighting = static_cast<Weighting>(weighting);
    plan.n_draws = n_draws;
    plan.prior_weight = prior_weight;
    plan.rows = rows.data();
    plan.n = static_cast<std::int64_t>(rows.shape(0));
    plan.d = static_cast<int>(rows.shape(1));
    plan.row_weights = pointer(row_weights);
    plan.row_cumulative = pointer(row_cumulative);
    plan.n_whole = n_whole;
    plan.row_numbers = pointer(row_numbers);
    plan.mixture.n_components = static_cast<int>(mixture_cumulative.shape(0));
    plan.mixture.cumulative = mixture_cumulative.data();
    plan.mixture.offsets = factor_offsets.data();
    plan.mixture.set_rows(mixture_means.data(), factor_rows.data(),
                          static_cast<int>(mixture_means.shape(1)));
    return plan;
}

// Bytes of a (n, d) replica as numpy arrays that own them.
template <class T>
nb::tuple replica_as_arrays(const Replica<T>& replica) {
    const std::size_t n = static_cast<std::size_t>(replica.panels.n), d = replica.panels.d;
    T* points = new T[n * d];
    nb::capsule own_points(points, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    double* weights = new double[n];
    nb::capsule own_weights(weights, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    std::int64_t* rows = new std::int64_t[n];
    nb::capsule own_rows(rows, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
    for (std::size_t i = 0; i < n; ++i) {
        const T* x = replica.panels.view().point(static_cast<std::int64_t>(i));
        for (std::size_t f = 0; f < d; ++f) points[i * d + f] = x[f * lanes<T>];
        weights[i] = static_cast<double>(replica.panels.weights[i]);
        rows[i] = replica.row[i];
    }
    return nb::make_tuple(nb::ndarray<nb::numpy, T>(points, {n, d}, own_points),
                          nb::ndarray<nb::numpy, double>(weights, {n}, own_weights),
                          nb::ndarray<nb::numpy, std::int64_t>(rows, {n}, own_rows));
}

template <class T>
void write_partition(const Lloyd<T>& best, std::int64_t n, Out<double, 2>& centers,
                     Out<std::int32_t, 1>& labels) {
    std::copy(best.centers.begin(), best.centers.end(), centers.data());
    for (std::int64_t i = 0; i < n; ++i) labels.data()[i] = static_cast<std::int32_t>(best.labels[i]);
}

// Functions of the data, for one type of number. Overloads are told apart by the array's type.
template <class T>
void bind_kernels(nb::module_& m) {
    m.def("draw_replica",
          [](std::uint64_t seed, int resampling, int weighting, std::int64_t n_draws,
             double prior_weight, In<T, 2> rows, MaybeIn<double, 1> row_weights,
             MaybeIn<double, 1> row_cumulative, std::int64_t n_whole,
             MaybeIn<std::int64_t, 1> row_numbers, In<double, 1> mixture_cumulative,
             In<double, 2> mixture_means, In<double, 2> factor_rows,
             In<std::int64_t, 1> factor_offsets, MaybeIn<T, 2> given, std::int64_t replica) {
              const DrawPlan<T> plan = make_draw_plan<T>(
                  seed, resampling, weighting, n_draws, prior_weight, rows, row_weights,
                  row_cumulative, n_whole, row_numbers, mixture_cumulative, mixture_means, factor_rows, factor_offsets);
              Replica<T> out;
              Drawer<T>(plan).draw(replica, pointer(given), out);
              return replica_as_arrays(out);
          },
          "seed"_a, "resampling"_a, "weighting"_a, "n_draws"_a, "prior_weight"_a,
          nb::arg("rows").noconvert(), "row_weights"_a.none(), "row_cumulative"_a.none(),
          "n_whole"_a, "row_numbers"_a.none(),
          "mixture_cumulative"_a, "mixture_means"_a, "factor_rows"_a, "factor_offsets"_a,
          nb::arg("given").none().noconvert(), "replica"_a);

    m.def("seed_centers",
          [](In<T, 2> rows, In<double, 1> weights, std::uint64_t seed, std::uint64_t stage,
             std::uint64_t start, std::uint64_t replica, Out<double, 2> centers /* OUT */) {
              const Panels<T> points = make_panels(rows.data(), weights.data(),
                                                   static_cast<std::int64_t>(rows.shape(0)),
                                                   static_cast<int>(rows.shape(1)));
              Stream random(make_key(seed, static_cast<Stage>(stage), start, replica));
              Seeder<T> seeder;
              seeder.begin(points.view());
              Buffer<T> labels(points.padded());
              return seeder.seed(static_cast<int>(centers.shape(0)), random, StopFlag(),
                                 centers.data(), labels.data());
          },
          nb::arg("rows").noconvert(), "weights"_a, "seed"_a, "stage"_a, "start"_a, "replica"_a,
          nb::arg("centers").noconvert());

    m.def("lloyd",
          [](In<T, 2> rows, In<double, 1> weights, Out<double, 2> centers /* IN, OUT */,
             int max_iter, double tolerance, Out<std::int32_t, 1> labels /* OUT */) {
              const std::int64_t n = static_cast<std::int64_t>(rows.shape(0));
              const Panels<T> points = make_panels(rows.data(), weights.data(), n,
                                                   static_cast<int>(rows.shape(1)));
              Lloyd<T> run;  // on all points, however many
              run.start(points.view(), static_cast<int>(centers.shape(0)));
              run.use(static_cast<int>(centers.shape(0)));
              std::copy_n(centers.data(), run.centers.size(), run.centers.begin());
              const double square = total_square(points.view());
              run.run(points.view(), square, {max_iter, tolerance}, false, StopFlag(),
                      [] { return false; });
              run.polish(points.view(), square);
              write_partition(run, n, centers, labels);
              return nb::make_tuple(run.inertia, run.n_iter);
          },
          nb::arg("rows").noconvert(), "weights"_a, nb::arg("centers").noconvert(), "max_iter"_a,
          "tolerance"_a, nb::arg("labels").noconvert());

    // The best of n_starts seedings. Few rows: shared out among threads. Many: all starts on a sample,
    // eight times as large as a replica's because all else is measured by this partition.
    m.def("kmeans",
          [](In<T, 2> rows, In<double, 1> weights, std::uint64_t seed, int n_starts, int max_iter,
             double tolerance, int n_threads, Out<double, 2> centers /* OUT */,
             Out<std::int32_t, 1> labels /* OUT */) {
              const std::int64_t n = static_cast<std::int64_t>(rows.shape(0));
              const int d = static_cast<int>(rows.shape(1));
              const int K = static_cast<int>(centers.shape(0));
              const std::int64_t sample_size = 8 * screening_points(K);
              const bool screened = 4 * sample_size <= n;
              n_threads = screened ? 1 : std::min(n_threads, n_starts);
              struct Best {
                  int start = -1;
                  double inertia = 0;
                  Lloyd<T> partition;
              } winner;
              without_gil([&](const std::function<bool()>& interrupted) {
                  const Panels<T> points = make_panels(rows.data(), weights.data(), n, d);
                  std::vector<KMeans<T>> workers(n_threads);
                  std::mutex mutex;
                  StopFlag stop;
                  Panels<T> sample;
                  if (screened)
                      sample = sample_panels(rows.data(), weights.data(), n, d, sample_size,
                                             make_key(seed, Stage::reference, last_start, 0));
                  for (KMeans<T>& kmeans : workers) {
                      kmeans.K = K;
                      kmeans.settings = {max_iter, tolerance};
                  }
                  if (screened) {
                      parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) {
                          KMeans<T>& kmeans = workers[0];
                          kmeans.begin(points.view(), sample.view(), sample_size);
                          for (int start = 0; start < n_starts; ++start)
                              kmeans.start_from_seeding(
                                  make_key(seed, Stage::reference, start, 0), stop);
                          kmeans.end(stop);
                          winner.partition = kmeans.best();
                      });
                      return;
                  }
                  parallel_for(n_starts, n_threads, stop, interrupted,
                               [&](std::int64_t start, int thread) {
                      KMeans<T>& kmeans = workers[thread];
                      kmeans.begin(points.view());
                      kmeans.start_from_seeding(make_key(seed, Stage::reference, start, 0), stop);
                      const double inertia = kmeans.best().inertia;
                      std::lock_guard<std::mutex> lock(mutex);
                      if (winner.start < 0 || inertia < winner.inertia ||
                          (inertia == winner.inertia && start < winner.start)) {
                          winner.start = static_cast<int>(start);
                          winner.inertia = inertia;
                          winner.partition = kmeans.best();
                      }
                  });
                  winner.partition.polish(points.view(), total_square(points.view()));
              });
              write_partition(winner.partition, n, centers, labels);
              return nb::make_tuple(winner.partition.inertia, winner.partition.n_iter);
          },
          nb::arg("rows").noconvert(), "weights"_a, "seed"_a, "n_starts"_a, "max_iter"_a,
          "tolerance"_a, "n_threads"_a, nb::arg("centers").noconvert(),
          nb::arg("labels").noconvert());

    m.def("run_replicas",
          [](std::uint64_t seed, int resampling, int weighting, std::int64_t n_draws,
             double prior_weight, In<T, 2> rows, MaybeIn<double, 1> row_weights,
             MaybeIn<double, 1> row_cumulative, std::int64_t n_whole,
             MaybeIn<std::int64_t, 1> row_numbers, In<double, 1> mixture_cumulative,
             In<double, 2> mixture_means, In<double, 2> factor_rows,
             In<std::int64_t, 1> factor_offsets, MaybeIn<T, 2> given,
             MaybeIn<std::int64_t, 1> given_offsets, In<double, 2> reference_centers,
             In<std::int32_t, 1> reference_labels, bool vote_on_all,
             In<std::int64_t, 1> evaluation_rows, int n_init, int max_iter, double tolerance,
             std::int64_t first, int n_threads, Out<std::int32_t, 2> votes /* IN, OUT */,
             Out<double, 3> centers /* OUT */, Out<std::uint8_t, 2> occupied /* OUT */,
             Out<double, 1> margin /* OUT */, Out<double, 1> inertia /* OUT */,
             Out<std::int32_t, 1> n_iter /* OUT */,
             Out<std::int16_t, 2> evaluation_labels /* OUT */) {
              ReplicaPlan<T> plan;
              plan.draws = make_draw_plan<T>(
                  seed, resampling, weighting, n_draws, prior_weight, rows, row_weights,
                  row_cumulative, n_whole, row_numbers, mixture_cumulative, mixture_means, factor_rows, factor_offsets);
              plan.given = {pointer(given), pointer(given_offsets)};
              plan.K = static_cast<int>(reference_centers.shape(0));
              plan.n_init = n_init;
              plan.lloyd = {max_iter, tolerance};
              plan.reference_centers = reference_centers.data();
              plan.reference_labels = reference_labels.data();
              plan.vote_on_all = vote_on_all;
              plan.count_votes = votes.shape(0) > 0;
              plan.evaluation_rows = evaluation_rows.data();
              plan.n_evaluation = static_cast<std::int64_t>(evaluation_rows.shape(0));
              const ReplicaResults results{votes.data(),   centers.data(), occupied.data(),
                                           margin.data(),  inertia.data(), n_iter.data(),
                                           evaluation_labels.data()};
              without_gil([&](const std::function<bool()>& interrupted) {
                  run_replicas(plan, first, static_cast<std::int64_t>(margin.shape(0)), n_threads,
                               interrupted, results);
              });
          },
          "seed"_a, "resampling"_a, "weighting"_a, "n_draws"_a, "prior_weight"_a,
          nb::arg("rows").noconvert(), "row_weights"_a.none(), "row_cumulative"_a.none(),
          "n_whole"_a, "row_numbers"_a.none(),
          "mixture_cumulative"_a, "mixture_means"_a, "factor_rows"_a, "factor_offsets"_a,
          nb::arg("given").none().noconvert(), "given_offsets"_a.none(), "reference_centers"_a,
          "reference_labels"_a, "vote_on_all"_a, "evaluation_rows"_a, "n_init"_a, "max_iter"_a,
          "tolerance"_a, "first"_a, "n_threads"_a, nb::arg("votes").noconvert(),
          nb::arg("centers").noconvert(), nb::arg("occupied").noconvert(),
          nb::arg("margin").noconvert(), nb::arg("inertia").noconvert(),
          nb::arg("n_iter").noconvert(), nb::arg("evaluation_labels").noconvert());

    m.def("vote_by_centers",
          [](In<T, 2> rows, In<double, 3> centers, In<std::uint8_t, 2> occupied, int n_threads,
             Out<std::int32_t, 2> votes /* IN, OUT */) {
              without_gil([&](const std::function<bool()>& interrupted) {
                  vote_by_centers(rows.data(), static_cast<std::int64_t>(rows.shape(0)),
                                  static_cast<int>(rows.shape(1)), centers.data(), occupied.data(),
                                  static_cast<std::int64_t>(centers.shape(0)),
                                  static_cast<int>(centers.shape(1)), n_threads, interrupted,
                                  votes.data());
              });
          },
          nb::arg("rows").noconvert(), "centers"_a, "occupied"_a, "n_threads"_a,
          nb::arg("votes").noconvert());
}

const char* best_isa() {
#if defined(BBCLUST_X86) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "portable";
}

}  // namespace

NB_MODULE(BBCLUST_MODULE, m) {
    m.attr("ISA") = BBCLUST_ISA_NAME;
    m.def("best_isa", &best_isa, "The widest instruction set of this machine the engine knows.");

    bind_kernels<float>(m);
    bind_kernels<double>(m);

    m.def("random_words",
          [](std::uint64_t seed, std::uint64_t stage, std::uint64_t start, std::uint64_t replica,
             Out<std::uint64_t, 1> words /* OUT */) {
              Stream stream(make_key(seed, static_cast<Stage>(stage), start, replica));
              for (std::size_t i = 0; i < words.shape(0); ++i) words.data()[i] = stream.word();
          },
          "seed"_a, "stage"_a, "start"_a, "replica"_a, nb::arg("words").noconvert());

    m.def("standard_normals",
          [](std::uint64_t seed, std::uint64_t stage, std::uint64_t start, std::uint64_t replica,
             Out<double, 1> values /* OUT */) {
              Stream stream(make_key(seed, static_cast<Stage>(stage), start, replica));
              const std::int64_t n = static_cast<std::int64_t>(values.shape(0));
              std::vector<std::uint64_t> words((n + 3) / 4 * 4);
              stream.words(words.data(), static_cast<std::int64_t>(words.size()));
              normals_from(words.data(), n, values.data());
          },
          "seed"_a, "stage"_a, "start"_a, "replica"_a, nb::arg("values").noconvert());

    m.def("standard_normals",  // in single precision, from halves of words
          [](std::uint64_t seed, std::uint64_t stage, std::uint64_t start, std::uint64_t replica,
             Out<float, 1> values /* OUT */) {
              Stream stream(make_key(seed, static_cast<Stage>(stage), start, replica));
              const std::int64_t n = static_cast<std::int64_t>(values.shape(0));
              std::vector<std::uint64_t> words((n + 7) / 8 * 4);
              stream.words(words.data(), static_cast<std::int64_t>(words.size()));
              normals_from(reinterpret_cast<const std::uint32_t*>(words.data()), n, values.data());
          },
          "seed"_a, "stage"_a, "start"_a, "replica"_a, nb::arg("values").noconvert());

    m.def("standard_gammas",
          [](std::uint64_t seed, std::uint64_t stage, std::uint64_t replica, double shape,
             Out<double, 1> values /* OUT */) {
              Gammas(seed, static_cast<Stage>(stage), replica)
                  .next(static_cast<std::int64_t>(values.shape(0)), shape, values.data());
          },
          "seed"_a, "stage"_a, "replica"_a, "shape"_a,
          nb::arg("values").noconvert());

    m.def("drawn_rows",
          [](std::uint64_t seed, std::int64_t replica, std::int64_t n_draws, double prior_weight,
             std::int64_t n) {
              auto* rows = new std::vector<std::int64_t>(
                  drawn_rows(seed, replica, n_draws, prior_weight, n));
              nb::capsule owner(rows, [](void* p) noexcept {
                  delete static_cast<std::vector<std::int64_t>*>(p);
              });
              return nb::ndarray<nb::numpy, std::int64_t>(rows->data(), {rows->size()}, owner);
          },
          "seed"_a, "replica"_a, "n_draws"_a, "prior_weight"_a, "n"_a);
    m.def("count_prior_draws", &count_prior_draws, "seed"_a, "replica"_a, "n_draws"_a,
          "prior_weight"_a);

    m.def("align",
          [](In<std::int64_t, 2> overlap, In<double, 2> distance,
             Out<std::int32_t, 1> to_reference /* OUT */) {
              Aligner aligner;
              aligner.align(static_cast<int>(overlap.shape(0)), overlap.data(), distance.data(), true);
              std::copy(aligner.to_reference.begin(), aligner.to_reference.end(),
                        to_reference.data());
              return nb::make_tuple(aligner.best_overlap, aligner.second_overlap);
          },
          "overlap"_a, "distance"_a, nb::arg("to_reference").noconvert());

    m.def("weighted_gram",
          [](In<double, 2> rows, In<double, 1> weights, Out<double, 2> gram /* IN, OUT */) {
              weighted_gram(rows.data(), weights.data(), static_cast<std::int64_t>(rows.shape(0)),
                            static_cast<int>(rows.shape(1)), gram.data());
          },
          "rows"_a, "weights"_a, nb::arg("gram").noconvert());

    m.def("semidefinite_factor",
          [](Out<double, 2> matrix /* IN, OUT */) {
              semidefinite_factor(matrix.data(), static_cast<int>(matrix.shape(0)));
          },
          nb::arg("matrix").noconvert());

    m.def("count_labels",
          [](In<std::int16_t, 2> labels, Out<std::int32_t, 2> counts /* IN, OUT */) {
              count_labels(labels.data(), static_cast<std::int64_t>(labels.shape(0)),
                           static_cast<std::int64_t>(labels.shape(1)),
                           static_cast<int>(counts.shape(1)), counts.data());
          },
          "labels"_a, nb::arg("counts").noconvert());

    m.def("sum_moves",
          [](In<std::int16_t, 2> labels, In<double, 2> moves, Out<double, 1> moved /* OUT */) {
              sum_moves(labels.data(), moves.data(), static_cast<std::int64_t>(labels.shape(0)),
                        static_cast<std::int64_t>(labels.shape(1)),
                        static_cast<int>(moves.shape(1)), moved.data());
          },
          "labels"_a, "moves"_a, nb::arg("moved").noconvert());

    m.def("mean_pairwise_entropy",
          [](In<double, 2> memberships, MaybeIn<double, 1> weights, bool by_membership,
             Out<double, 2> means /* OUT */) {
              mean_pairwise_entropy(memberships.data(), pointer(weights),
                                    static_cast<std::int64_t>(memberships.shape(0)),
                                    static_cast<int>(memberships.shape(1)), by_membership,
                                    means.data());
          },
          "memberships"_a, "weights"_a.none(), "by_membership"_a, nb::arg("means").noconvert());
}

}  // namespace bbclust
