// The fused loop of Algorithm 3: draw, weight, seed, Lloyd, align, vote.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "alignment.hpp"
#include "draws.hpp"
#include "kmeans.hpp"
#include "parallel.hpp"
#include "voting.hpp"

namespace bbclust {

template <class T>
struct ReplicaPlan {
    DrawPlan<T> draws;
    GivenDraws<T> given;  // draws from F0 made elsewhere, or empty
    int K = 0;
    int n_init = 0;
    LloydSettings lloyd;
    const double* reference_centers = nullptr;       // (K, d), centred
    const std::int32_t* reference_labels = nullptr;  // (n,)
    bool vote_on_all = false;
    bool count_votes = true;  // else only labels of the evaluation rows: no votes, no margins
    const std::int64_t* evaluation_rows = nullptr;  // (E,), rows whose labels are kept
    std::int64_t n_evaluation = 0;

    bool votes_on_drawn() const { return count_votes && !vote_on_all; }
};

// One slot per replica of the block, except `votes`, which is added to.
struct ReplicaResults {
    std::int32_t* votes = nullptr;              // (n, K), or nothing
    double* centers = nullptr;                  // (B, K, d), centred
    std::uint8_t* occupied = nullptr;           // (B, K), clusters that have points
    double* margin = nullptr;                   // (B,)
    double* inertia = nullptr;                  // (B,)
    std::int32_t* n_iter = nullptr;             // (B,)
    std::int16_t* evaluation_labels = nullptr;  // (B, E), -1 where the replica did not vote
};

// Everything one thread needs to compute replicas.
template <class T>
class ReplicaWorker {
public:
    // `votes`: where this thread counts votes on drawn rows; null for a place of its own.
    ReplicaWorker(const ReplicaPlan<T>& plan, const Points<T>& evaluation_points,
                  const std::int32_t* evaluation_slot, std::int32_t* votes)
        : plan_(plan), evaluation_(evaluation_points), slot_(evaluation_slot), votes_(votes),
          drawer_(plan.draws) {
        kmeans_.K = plan.K;
        kmeans_.settings = plan.lloyd;
    }

    // `replica` names the random streams, `b` is the place in the block.
    void compute(std::int64_t replica, std::int64_t b, const StopFlag& stop,
                 const ReplicaResults& out) {
        if (!votes_ && plan_.votes_on_drawn()) {  // here, where other threads are busy too
            own_votes_.assign(static_cast<std::size_t>(plan_.draws.n) * plan_.K, 0);
            votes_ = own_votes_.data();
        }
        const T* given = plan_.given.points;
        if (given) given += plan_.given.offsets[b] * plan_.draws.d;
        drawer_.draw(replica, given, replica_);
        cluster(replica, stop);
        align(b, stop, out);
        publish_centers(b, out);
        vote(b, out);
        out.inertia[b] = kmeans_.best().inertia;
        out.n_iter[b] = kmeans_.best().n_iter;
    }

    // Adds the votes that were counted here, those of rows begin .. end.
    void add_own_votes(std::int64_t begin, std::int64_t end, std::int32_t* to) const {
        if (own_votes_.empty()) return;
        for (std::int64_t e = begin * plan_.K; e < end * plan_.K; ++e) to[e] += own_votes_[e];
    }

private:
    void cluster(std::int64_t replica, const StopFlag& stop) {
        const Points<T> points = replica_.panels.view();  // in the order of drawing: a fair sample
        kmeans_.begin(points, points, screening_points(plan_.K));
        kmeans_.start_from(plan_.reference_centers, stop);
        for (int start = 1; start <= plan_.n_init; ++start)
            kmeans_.start_from_seeding(
                make_key(plan_.draws.seed, Stage::seeding, start, replica), stop);
        kmeans_.end(stop);
    }

    // Is point i of the replica a row of the table that takes part?
    bool votes_in_replica(std::int64_t i) const {
        return replica_.row[i] >= 0 && replica_.panels.weights[i] > 0;
    }

    void align(std::int64_t b, const StopFlag& stop, const ReplicaResults& out) {
        const int K = plan_.K, d = plan_.draws.d;
        const Lloyd<T>& best = kmeans_.best();
        occupied_.resize(K);
        for (int k = 0; k < K; ++k) occupied_[k] = best.counts[k] > 0;
        overlap_.assign(static_cast<std::size_t>(K) * K, 0);
        std::int64_t n_points = 0;
        if (plan_.vote_on_all) {
            book_.set(best.centers.data(), occupied_.data(), K, d);
            evaluation_labels_.resize(evaluation_.padded());
            for_nearest(evaluation_, book_, stop,
                        [&](std::int64_t first, std::int64_t count, const T* labels) {
                std::copy_n(labels, count, evaluation_labels_.data() + first);
            });
            n_points = plan_.n_evaluation;
            for (std::int64_t e = 0; e < n_points; ++e)
                count_overlap(evaluation_labels_[e], plan_.evaluation_rows[e]);
        } else {
            for (std::int64_t i = 0; i < replica_.panels.n; ++i) {
                if (!votes_in_replica(i)) continue;
                ++n_points;
                count_overlap(best.labels[i], replica_.row[i]);
            }
        }
        distance_.assign(static_cast<std::size_t>(K) * K, 0.0);
        for (int k = 0; k < K; ++k)
            for (int j = 0; occupied_[k] && j < K; ++j)
                for (int f = 0; f < d; ++f) {
                    const double difference =
                        best.centers[static_cast<std::int64_t>(k) * d + f] -
                        plan_.reference_centers[static_cast<std::int64_t>(j) * d + f];
                    distance_[static_cast<std::int64_t>(k) * K + j] += difference * difference;
                }
        aligner_.align(K, overlap_.data(), distance_.data(), plan_.count_votes);
        out.margin[b] = plan_.count_votes ? alignment_margin(aligner_, n_points)
                                          : std::numeric_limits<double>::quiet_NaN();
    }

    void count_overlap(T label, std::int64_t row) {
        ++overlap_[static_cast<std::int64_t>(label) * plan_.K + plan_.reference_labels[row]];
    }

    // Surplus centres stay at the reference centre.
    void publish_centers(std::int64_t b, const ReplicaResults& out) {
        const int K = plan_.K, d = plan_.draws.d;
        double* centers = out.centers + b * K * d;
        for (int k = 0; k < K; ++k) {
            const std::int64_t j = aligner_.to_reference[k];
            const double* from = occupied_[k] ? kmeans_.best().centers.data() + static_cast<std::int64_t>(k) * d
                                              : plan_.reference_centers + j * d;
            std::copy_n(from, d, centers + j * d);
            out.occupied[b * K + j] = occupied_[k];
        }
    }

    // On the rows it drew, and on the evaluation rows.
    void vote(std::int64_t b, const ReplicaResults& out) {
        const int K = plan_.K;
        const std::vector<int>& aligned = aligner_.to_reference;
        std::int16_t* kept = out.evaluation_labels + b * plan_.n_evaluation;
        if (plan_.vote_on_all) {
            for (std::int64_t e = 0; e < plan_.n_evaluation; ++e)
                kept[e] = static_cast<std::int16_t>(aligned[static_cast<int>(evaluation_labels_[e])]);
            return;
        }
        std::fill_n(kept, plan_.n_evaluation, std::int16_t(-1));
        for (std::int64_t i = 0; i < replica_.panels.n; ++i) {
            if (!votes_in_replica(i)) continue;
            const std::int64_t row = replica_.row[i];
            const int label = aligned[static_cast<int>(kmeans_.best().labels[i])];
            if (plan_.count_votes) ++votes_[row * K + label];
            if (slot_[row] >= 0) kept[slot_[row]] = static_cast<std::int16_t>(label);
        }
    }

    const ReplicaPlan<T>& plan_;
    Points<T> evaluation_;
    const std::int32_t* slot_;  // row -> evaluation point, -1 elsewhere
    std::int32_t* votes_;
    Buffer<std::int32_t> own_votes_;
    Drawer<T> drawer_;
    Replica<T> replica_;
    KMeans<T> kmeans_;
    Aligner aligner_;
    Codebook<T> book_;
    std::vector<std::uint8_t> occupied_;
    std::vector<std::int64_t> overlap_;
    std::vector<double> distance_;
    std::vector<T> evaluation_labels_;
};

// Replicas first .. first + count of a run. Integer votes make the sum free of order.
template <class T>
void run_replicas(const ReplicaPlan<T>& plan, std::int64_t first, std::int64_t count,
                  int n_threads, const std::function<bool()>& interrupted,
                  const ReplicaResults& out) {
    const std::int64_t n = plan.draws.n;
    const int d = plan.draws.d;
    Panels<T> evaluation;
    std::vector<std::int32_t> slot;
    if (plan.vote_on_all) {
        evaluation.reserve(plan.n_evaluation, d);
        for (std::int64_t e = 0; e < plan.n_evaluation; ++e)
            evaluation.append(plan.draws.rows + plan.evaluation_rows[e] * d, T(1));
        evaluation.close();
    } else {
        slot.assign(n, -1);
        for (std::int64_t e = 0; e < plan.n_evaluation; ++e)
            slot[plan.evaluation_rows[e]] = static_cast<std::int32_t>(e);
    }
    n_threads = static_cast<int>(std::min<std::int64_t>(n_threads, count));
    std::vector<ReplicaWorker<T>> workers;
    workers.reserve(n_threads);
    for (int t = 0; t < n_threads; ++t)  // the first thread counts in place
        workers.emplace_back(plan, evaluation.view(), slot.data(), t == 0 ? out.votes : nullptr);
    StopFlag stop;
    parallel_for(count, n_threads, stop, interrupted, [&](std::int64_t b, int thread) {
        workers[thread].compute(first + b, b, stop, out);
    });
    if (n_threads > 1 && plan.votes_on_drawn()) {
        constexpr std::int64_t block = 65536;
        parallel_for((n + block - 1) / block, n_threads, stop, interrupted, [&](std::int64_t job, int) {
            for (const ReplicaWorker<T>& worker : workers)
                worker.add_own_votes(job * block, std::min((job + 1) * block, n), out.votes);
        });
    }
    if (plan.vote_on_all && plan.count_votes)  // one pass over the rows for all replicas
        vote_by_centers(plan.draws.rows, n, d, out.centers, out.occupied, count, plan.K, n_threads,
                        interrupted, out.votes);
}

}  // namespace bbclust
