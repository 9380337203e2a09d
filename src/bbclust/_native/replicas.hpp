// The fused loop of Algorithm 3: draw, weight, cluster, align, vote.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "alignment.hpp"
#include "clusterer.hpp"
#include "draws.hpp"
#include "nearest.hpp"
#include "parallel.hpp"
#include "voting.hpp"

namespace bbclust {

template <class T>
struct ReplicaPlan {
    DrawPlan<T> draws;
    GivenBlock<T> given;  // draws from F0 made elsewhere, or empty
    int K = 0;
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

// The evaluation rows: as points if centres vote on them, else the place of each row among them.
template <class T>
struct Evaluation {
    Panels<T> points;
    Buffer<std::int32_t> slot;  // row -> evaluation point, -1 elsewhere

    explicit Evaluation(const ReplicaPlan<T>& plan) {
        const std::int64_t* rows = plan.evaluation_rows;
        if (plan.vote_on_all) {
            points.reserve(plan.n_evaluation, plan.draws.d);
            for (std::int64_t e = 0; e < plan.n_evaluation; ++e)
                points.append(plan.draws.rows + rows[e] * plan.draws.d, T(1));
            points.close();
        } else {
            slot.assign(plan.draws.n, -1);
            for (std::int64_t e = 0; e < plan.n_evaluation; ++e)
                slot[rows[e]] = static_cast<std::int32_t>(e);
        }
    }
};

// Everything one thread needs to compute replicas.
template <class T, Clusterer<T> P>
class ReplicaWorker {
public:
    ReplicaWorker(const ReplicaPlan<T>& plan, const P& clusterer, const Evaluation<T>& evaluation)
        : plan_(plan), clusterer_(clusterer), evaluation_(evaluation), drawer_(plan.draws) {
        if (!plan.draws.missing || !plan.vote_on_all) return;
        evaluation_points_ = evaluation.points;
        incomplete_.emplace(*plan.draws.missing, plan.draws.rows, plan.n_evaluation,
                            [&](std::int64_t e) { return plan.evaluation_rows[e]; });
    }

    // `replica` names the random streams, `b` is the place in the block.
    void compute(std::int64_t replica, std::int64_t b, const StopFlag& stop, const ReplicaResults& out) {
        if (plan_.votes_on_drawn())  // here, where other threads are busy too
            votes_.begin_replica(plan_.draws.n * plan_.K);
        drawer_.draw(replica, plan_.given.of(b, plan_.draws.d), stop, replica_);
        if (incomplete_) incomplete_->complete(replica, evaluation_points_);
        found_ = clusterer_.cluster(replica_.panels.view(), plan_.reference_centers,
                                    {plan_.draws.seed, static_cast<std::uint64_t>(replica)}, stop);
        out.margin[b] = align(stop);
        publish_centers(b, out);
        vote(out.evaluation_labels + b * plan_.n_evaluation);
        out.inertia[b] = found_.inertia;
        out.n_iter[b] = found_.n_iter;
    }

    // Adds the votes on rows begin .. end that were counted here.
    void add_votes_to(std::int32_t* to, std::int64_t begin, std::int64_t end) const {
        votes_.add_to(to, begin * plan_.K, end * plan_.K);
    }

private:
    // Calls f(row, label) for the points of the replica that are rows of the table and take part. What
    // it reads of a row, fetch(row) asks for in advance.
    template <class Fetch, class F>
    void for_drawn_rows(Fetch&& fetch, F&& f) const {
        constexpr std::int64_t ahead = 32;
        const Points<T> points = replica_.panels.view();
        const std::int32_t* row = replica_.row.data();
        const T* labels = found_.labels;
        for (std::int64_t i = 0; i < points.n; ++i) {
            if (i + ahead < points.n && row[i + ahead] >= 0) fetch(row[i + ahead]);
            if (row[i] >= 0 && points.weights[i] > 0) f(row[i], static_cast<int>(labels[i]));
        }
    }

    // Clusters of the replica onto those of the reference; the margin.
    double align(const StopFlag& stop) {
        occupied_.resize(plan_.K);
        for (int k = 0; k < plan_.K; ++k) occupied_[k] = found_.counts[k] > 0;
        if (plan_.vote_on_all) label_evaluation_points(stop);
        const std::int64_t n_points = count_overlap();
        measure_distances();
        aligner_.align(plan_.K, overlap_.data(), distance_.data(), plan_.count_votes, stop);
        return plan_.count_votes ? alignment_margin(aligner_, n_points)
                                 : std::numeric_limits<double>::quiet_NaN();
    }

    void label_evaluation_points(const StopFlag& stop) {
        book_.set(found_.centers, occupied_.data(), plan_.K, plan_.draws.d);
        const Panels<T>& points = incomplete_ ? evaluation_points_ : evaluation_.points;
        evaluation_labels_.resize(points.padded());
        for_nearest(points.view(), book_, stop,
                    [&](std::int64_t first, std::int64_t count, const T* labels) {
            std::copy_n(labels, count, evaluation_labels_.data() + first);
        });
    }

    // On the points that are voted on; how many there are.
    std::int64_t count_overlap() {
        const std::int64_t K = plan_.K;
        overlap_.assign(K * K, 0);
        std::int64_t n_points = 0;
        const auto count = [&, overlap = overlap_.data(), reference = plan_.reference_labels](
                               std::int64_t row, int label) {
            ++n_points;
            ++overlap[label * K + reference[row]];
        };
        if (plan_.vote_on_all)
            for (std::int64_t e = 0; e < plan_.n_evaluation; ++e)
                count(plan_.evaluation_rows[e], static_cast<int>(evaluation_labels_[e]));
        else for_drawn_rows([this](std::int64_t row) { prefetch(plan_.reference_labels + row); }, count);
        return n_points;
    }

    // Squared, between centres of the replica and of the reference.
    void measure_distances() {
        const std::int64_t K = plan_.K, d = plan_.draws.d;
        distance_.assign(K * K, 0.0);
        for (std::int64_t k = 0; k < K; ++k)
            for (std::int64_t j = 0; occupied_[k] && j < K; ++j)
                distance_[k * K + j] = squared_distance(
                    found_.centers + k * d, plan_.reference_centers + j * d, static_cast<int>(d));
    }

    // Surplus centres stay at the reference centre.
    void publish_centers(std::int64_t b, const ReplicaResults& out) {
        const std::int64_t K = plan_.K, d = plan_.draws.d;
        for (std::int64_t k = 0; k < K; ++k) {
            const std::int64_t j = aligner_.to_reference[k];
            const double* from = occupied_[k] ? found_.centers + k * d : plan_.reference_centers + j * d;
            std::copy_n(from, d, out.centers + (b * K + j) * d);
            out.occupied[b * K + j] = occupied_[k];
        }
    }

    // On the rows it drew, and on the evaluation rows, whose labels are kept.
    void vote(std::int16_t* kept) {
        const std::vector<int>& aligned = aligner_.to_reference;
        if (plan_.vote_on_all) {
            for (std::int64_t e = 0; e < plan_.n_evaluation; ++e) {
                const int label = aligned[static_cast<int>(evaluation_labels_[e])];
                kept[e] = static_cast<std::int16_t>(label);
            }
            return;
        }
        std::fill_n(kept, plan_.n_evaluation, std::int16_t(-1));
        const std::int32_t* slot = evaluation_.slot.data();
        const auto fetch = [this, slot](std::int64_t row) {
            if (plan_.count_votes) prefetch(votes_.bytes() + row * plan_.K);
            prefetch(slot + row);
        };
        for_drawn_rows(fetch, [&, K = plan_.K, votes = plan_.count_votes ? votes_.bytes() : nullptr](
                                  std::int64_t row, int found) {
            const int label = aligned[found];
            if (votes) ++votes[row * K + label];
            if (slot[row] >= 0) kept[slot[row]] = static_cast<std::int16_t>(label);
        });
    }

    const ReplicaPlan<T>& plan_;
    P clusterer_;
    const Evaluation<T>& evaluation_;
    CountedVotes votes_;  // on drawn rows
    Drawer<T> drawer_;
    std::optional<IncompletePoints<T>> incomplete_;  // of the evaluation points
    Panels<T> evaluation_points_;                    // as they are in a replica, if some are incomplete
    Replica<T> replica_;
    Clustering<T> found_{};
    Aligner aligner_;
    Codebook<T> book_;
    std::vector<std::uint8_t> occupied_;
    std::vector<std::int64_t> overlap_;
    std::vector<double> distance_;
    std::vector<T> evaluation_labels_;
};

// Replicas first .. first + count of a run. Integer votes make the sum free of order.
template <class T, Clusterer<T> P>
void run_replicas(const ReplicaPlan<T>& plan, const P& clusterer, std::int64_t first, std::int64_t count,
                  int n_threads, const InterruptCheck& interrupted, const ReplicaResults& out) {
    const std::int64_t n = plan.draws.n;
    const Evaluation<T> evaluation(plan);
    n_threads = static_cast<int>(std::min<std::int64_t>(n_threads, count));
    std::vector<ReplicaWorker<T, P>> workers;
    workers.reserve(n_threads);
    for (int t = 0; t < n_threads; ++t) workers.emplace_back(plan, clusterer, evaluation);
    StopFlag stop;
    parallel_for(count, n_threads, stop, interrupted,
                 [&](std::int64_t b, int thread) { workers[thread].compute(first + b, b, stop, out); });
    if (plan.votes_on_drawn()) {
        constexpr std::int64_t block = 65536;
        const auto add_votes = [&](std::int64_t job, int) {
            for (const ReplicaWorker<T, P>& worker : workers)
                worker.add_votes_to(out.votes, job * block, std::min((job + 1) * block, n));
        };
        parallel_for((n + block - 1) / block, n_threads, stop, interrupted, add_votes);
    }
    if (plan.vote_on_all && plan.count_votes)  // one pass over the rows for all replicas
        vote_by_centers(plan.draws.rows, n, plan.draws.d, out.centers, out.occupied, count, plan.K,
                        n_threads, interrupted, out.votes, plan.draws.missing, first);
}

}  // namespace bbclust
