// Votes: by the centres of many replicas, and counted from labels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "missing.hpp"
#include "nearest.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace bbclust {

// Counts that a caller hands in may be anything; nobody casts so many votes that they wrap around.
inline void add_votes(std::int32_t& votes, std::uint32_t more) {
    votes = static_cast<std::int32_t>(static_cast<std::uint32_t>(votes) + more);
}

// Votes of many replicas on a block of points, in bytes: the compiler counts dozens at a time.
class ByteVotes {
public:
    ByteVotes(std::int64_t n_points, int K)
        : n_(n_points), K_(K), counts_(static_cast<std::size_t>(n_points) * K, 0) {}

    // Labels of points first .. first + count by one replica.
    template <class T>
    void add(std::int64_t first, std::int64_t count, const T* labels) {
        constexpr std::int64_t step = 256;
        for (std::int64_t start = 0; start < count; start += step) {
            const std::int64_t here = std::min(step, count - start);
            std::uint8_t names[step];
            for (std::int64_t i = 0; i < here; ++i)
                names[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(labels[start + i]));
            for (int k = 0; k < K_; ++k) {
                std::uint8_t* counts = counts_.data() + k * n_ + first + start;
                const std::uint8_t name = static_cast<std::uint8_t>(k);
                for (std::int64_t i = 0; i < here; ++i)
                    counts[i] += static_cast<std::uint8_t>(names[i] == name);
            }
        }
    }

    // Adds the counts to votes (points, K), and begins anew. Due every 255 replicas.
    void flush(std::int64_t n_points, std::int32_t* votes) {
        for (int k = 0; k < K_; ++k)
            for (std::int64_t i = 0; i < n_points; ++i)
                add_votes(votes[i * K_ + k], counts_[k * n_ + i]);
        std::fill(counts_.begin(), counts_.end(), std::uint8_t(0));
    }

private:
    std::int64_t n_;
    int K_;
    std::vector<std::uint8_t> counts_;  // (K, points)
};

// Votes of many replicas, one after the other, each at most one in a place: in bytes, which stay in cache
// four times as long as whole numbers, until these might overflow.
class CountedVotes {
public:
    // Room for the votes of one more replica.
    void begin_replica(std::int64_t n_places) {
        if (bytes_.empty()) bytes_.assign(static_cast<std::size_t>(n_places), 0);
        if (in_bytes_ == std::numeric_limits<std::uint8_t>::max()) {
            if (sums_.empty()) sums_.assign(bytes_.size(), 0);
            for (std::size_t e = 0; e < bytes_.size(); ++e) sums_[e] += bytes_[e];
            std::fill(bytes_.begin(), bytes_.end(), std::uint8_t(0));
            in_bytes_ = 0;
        }
        ++in_bytes_;
    }

    std::uint8_t* bytes() { return bytes_.data(); }
    const std::uint8_t* bytes() const { return bytes_.data(); }

    // Those of places begin .. end.
    void add_to(std::int32_t* to, std::int64_t begin, std::int64_t end) const {
        if (bytes_.empty()) return;
        for (std::int64_t e = begin; e < end; ++e) add_votes(to[e], bytes_[e]);
        if (sums_.empty()) return;
        for (std::int64_t e = begin; e < end; ++e) add_votes(to[e], sums_[e]);
    }

private:
    Buffer<std::uint8_t> bytes_;
    Buffer<std::uint32_t> sums_;
    int in_bytes_ = 0;
};

// Points, some of which are incomplete rows: `missing` places them.
template <class T>
class IncompletePoints {
public:
    // number(i) is the row of the i-th point.
    template <class Number>
    IncompletePoints(const MissingModel& missing, const T* rows, std::int64_t n_points, Number&& number)
        : completer_(missing), rows_(rows), d_(missing.plan.d) {
        for (std::int64_t i = 0; i < n_points; ++i)
            if (missing.place(number(i)) >= 0)
                points_.push_back({i, number(i), missing.place(number(i))});
    }

    // Their values in one replica.
    void complete(std::int64_t replica, Panels<T>& panels) {
        for (const Point& one : points_)
            completer_.complete(one.place, replica, rows_ + one.row * d_, panels.point(one.number),
                                lanes<T>);
    }

private:
    struct Point {
        std::int64_t number, row;
        std::int32_t place;
    };

    Completer<T> completer_;
    const T* rows_;
    int d_;
    std::vector<Point> points_;
};

// votes (n, K), added to: every replica's centres vote on every point. Centres without points of
// their own abstain. What rows miss is drawn for each replica, counted from `first_replica`.
template <class T>
void vote_by_centers(const T* rows, std::int64_t n, int d, const double* centers,
                     const std::uint8_t* occupied, std::int64_t n_replicas, int K, int n_threads,
                     const InterruptCheck& interrupted, std::int32_t* votes,
                     const MissingModel* missing = nullptr, std::int64_t first_replica = 0) {
    std::vector<Codebook<T>> books(n_replicas);
    for (std::int64_t b = 0; b < n_replicas; ++b)
        books[b].set(centers + b * K * d, occupied + b * K, K, d);
    constexpr std::int64_t block = 1024;  // points that stay in cache for all replicas
    StopFlag stop;
    parallel_for((n + block - 1) / block, n_threads, stop, interrupted, [&](std::int64_t job, int) {
        const std::int64_t begin = job * block, count = std::min(block, n - begin);
        Panels<T> points = make_panels(rows + begin * d, nullptr, count, d);
        std::optional<IncompletePoints<T>> incomplete;
        if (missing)
            incomplete.emplace(*missing, rows, count, [=](std::int64_t i) { return begin + i; });
        std::int32_t* here = votes + begin * K;
        ByteVotes bytes(block, std::min(K, 256));
        for (std::int64_t b = 0; b < n_replicas; ++b) {
            if (incomplete) incomplete->complete(first_replica + b, points);
            for_nearest(points.view(), books[b], stop,
                        [&](std::int64_t first, std::int64_t n_labels, const T* labels) {
                if (K <= 256) {
                    bytes.add(first, n_labels, labels);
                    return;
                }
                const std::int64_t end = std::min(first + n_labels, count);
                for (std::int64_t i = first; i < end; ++i)
                    add_votes(here[i * K + static_cast<std::int64_t>(labels[i - first])], 1);
            });
            if (K <= 256 && (b % 255 == 254 || b + 1 == n_replicas)) bytes.flush(count, here);
        }
    });
}

// counts (E, K), added to: votes of B replicas on E points. Label -1: no vote.
inline void count_labels(const std::int16_t* labels, std::int64_t n_replicas, std::int64_t n_points,
                         int K, std::int32_t* counts) {
    for (std::int64_t b = 0; b < n_replicas; ++b)
        for (std::int64_t e = 0; e < n_points; ++e) {
            const int label = labels[b * n_points + e];
            if (label >= 0) add_votes(counts[e * K + label], 1);
        }
}

// out (B,): what the votes of each replica move a mean over E points, when a vote for k on point e
// moves it by moves[e, 1 + k]. Label -1, no vote, picks the first column, which is zero.
inline void sum_moves(const std::int16_t* labels, const double* moves, std::int64_t n_replicas,
                      std::int64_t n_points, int n_columns, double* out) {
    for (std::int64_t b = 0; b < n_replicas; ++b) {
        double sum = 0;
        for (std::int64_t e = 0; e < n_points; ++e)
            sum += moves[e * n_columns + 1 + labels[b * n_points + e]];
        out[b] = sum;
    }
}

}  // namespace bbclust
