// The engine as a Python module.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "alignment.hpp"
#include "arrays.hpp"
#include "checks.hpp"
#include "draws.hpp"
#include "entropies.hpp"
#include "gammas.hpp"
#include "kept_memory.hpp"
#include "matrices.hpp"
#include "voting.hpp"

#ifndef BBCLUST_MODULE
#error "BBCLUST_MODULE and BBCLUST_ISA_NAME are set by CMakeLists.txt"
#endif

namespace bbclust {
namespace {

void random_words(Key key, Out<std::uint64_t, 1> words /* OUT */) {
    Stream stream(key);
    for (std::int64_t i = 0; i < length(words); ++i) words.data()[i] = stream.word();
}

void standard_gammas(std::uint64_t seed, std::uint64_t stage, std::uint64_t replica, double shape,
                     Out<double, 1> values /* OUT */) {
    require(shape > 0 && std::isfinite(shape), "shape must be positive");
    Gammas(seed, static_cast<Stage>(stage), replica).next(length(values), shape, values.data());
}

auto drawn_rows_as_array(std::uint64_t seed, std::int64_t replica, std::int64_t n_draws,
                         double prior_weight, std::int64_t n) {
    require_draws(n_draws, prior_weight, n);
    std::vector<std::int64_t> rows = drawn_rows(seed, replica, n_draws, prior_weight, n);
    const std::size_t count = rows.size();
    return to_numpy(std::move(rows), {count});
}

std::int64_t checked_count_of_prior_draws(std::uint64_t seed, std::int64_t replica, std::int64_t n_draws,
                                          double prior_weight) {
    require_draws(n_draws, prior_weight, 1);
    return count_prior_draws(seed, replica, n_draws, prior_weight);
}

nb::tuple align(In<std::int64_t, 2> overlap, In<double, 2> distance,
                Out<std::int32_t, 1> to_reference /* OUT */) {
    Aligner aligner;
    const double K = extent(overlap, 0);
    require(K >= 1, "there must be clusters");
    require_shape(overlap, {length(overlap), length(overlap)}, "overlap must have shape (K, K)");
    require_shape(distance, {length(overlap), length(overlap)}, "distance must have shape (K, K)");
    require_shape(to_reference, {length(overlap)}, "to_reference must have shape (K,)");
    require_within(overlap, 0, most_rows, "overlaps must be numbers of rows");
    interruptible(K * K * K, [&](const StopFlag& stop) {
        aligner.align(extent(overlap, 0), overlap.data(), distance.data(), true, stop);
    });
    std::copy(aligner.to_reference.begin(), aligner.to_reference.end(), to_reference.data());
    return nb::make_tuple(aligner.best_overlap, aligner.second_overlap);
}

// What each module needs is listed in CMakeLists.txt, of which its flags are made too.
const char* best_isa() {
#define FEATURE(name) &&__builtin_cpu_supports(#name)
#if defined(BBCLUST_AVX512_FEATURES)
    if (true BBCLUST_AVX512_FEATURES) return "avx512";
#endif
#if defined(BBCLUST_AVX2_FEATURES)
    if (true BBCLUST_AVX2_FEATURES) return "avx2";
#endif
#undef FEATURE
    return "portable";
}

}  // namespace

NB_MODULE(BBCLUST_MODULE, m) {
    m.attr("ISA") = BBCLUST_ISA_NAME;
    m.def("best_isa", &best_isa, "The widest instruction set that this machine has and that was built.");

    m.def("keep_memory", [] { KeptMemory::shared().begin(); },
          "Keep large blocks of memory for the next call, until release_memory is called as often.");
    m.def("release_memory", [] { KeptMemory::shared().end(); });

    bind_kernels_of_float(m);
    bind_kernels_of_double(m);
    bind_missing(m);

    def_on_stream(m, "random_words", &random_words, as_is("words"));
    m.def("standard_gammas", &standard_gammas, "seed"_a, "stage"_a, "replica"_a, "shape"_a,
          as_is("values"));
    m.def("drawn_rows", &drawn_rows_as_array, "seed"_a, "replica"_a, "n_draws"_a, "prior_weight"_a,
          "n"_a);
    m.def("count_prior_draws", &checked_count_of_prior_draws, "seed"_a, "replica"_a, "n_draws"_a,
          "prior_weight"_a);
    m.def("align", &align, "overlap"_a, "distance"_a, as_is("to_reference"));

    m.def("weighted_gram",
          [](In<double, 2> rows, In<double, 1> weights, Out<double, 2> gram /* IN, OUT */) {
        const std::int64_t d = extent(rows, 1);
        require_shape(weights, {length(rows)}, "weights must have shape (n,)");
        require_shape(gram, {d, d}, "gram must have shape (d, d)");
        const double operations = static_cast<double>(rows.size()) * extent(rows, 1);
        interruptible(operations, [&](const StopFlag& stop) {
            weighted_gram(rows.data(), weights.data(), length(rows), extent(rows, 1), stop, gram.data());
        });
    }, "rows"_a, "weights"_a, as_is("gram"));
    m.def("semidefinite_factor", [](Out<double, 2> matrix /* IN, OUT */) {
        require_shape(matrix, {length(matrix), length(matrix)}, "matrix must have shape (d, d)");
        semidefinite_factor(matrix.data(), extent(matrix, 0));
    }, as_is("matrix"));
    m.def("count_labels", [](In<std::int16_t, 2> labels, Out<std::int32_t, 2> counts /* IN, OUT */) {
        require(length(counts) == extent(labels, 1), "counts must have shape (E, K)");
        require(length(labels) <= most_rows, "labels must have shape (B, E), of fewer replicas");
        require_within(labels, -1, extent(counts, 1), "labels must be below K");
        count_labels(labels.data(), length(labels), labels.shape(1), extent(counts, 1), counts.data());
    }, "labels"_a, as_is("counts"));
    m.def("sum_moves",
          [](In<std::int16_t, 2> labels, In<double, 2> moves, Out<double, 1> moved /* OUT */) {
        require(length(moves) == extent(labels, 1), "moves must have shape (E, 1 + K)");
        require_within(labels, -1, extent(moves, 1) - 1, "labels must be below K");
        require_shape(moved, {length(labels)}, "moved must have shape (B,)");
        sum_moves(labels.data(), moves.data(), length(labels), labels.shape(1), extent(moves, 1),
                  moved.data());
    }, "labels"_a, "moves"_a, as_is("moved"));
    m.def("mean_pairwise_entropy",
          [](In<double, 2> memberships, MaybeIn<double, 1> weights, bool by_membership,
             Out<double, 2> means /* OUT */) {
        const std::int64_t n_clusters = extent(memberships, 1);
        require(n_clusters >= 1, "there must be clusters");
        require_shape(weights, {length(memberships)}, "weights must have shape (n,)");
        require_shape(means, {n_clusters, n_clusters}, "means must have shape (K, K)");
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
