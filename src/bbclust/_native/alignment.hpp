// Replica labels onto reference labels: the assignment problem, its margin and its tie rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace bbclust {

// Maximises the summed overlap over permutations; among equal overlaps takes the smallest summed
// squared distance. Solved by shortest augmenting paths (Jonker & Volgenant 1987), O(K^3).
class Aligner {
public:
    std::vector<int> to_reference;  // replica cluster -> reference cluster
    std::int64_t best_overlap = 0;
    std::int64_t second_overlap = 0;  // of the best other permutation; -1 when K = 1 or not wanted

    // overlap, distance: (K, K), rows are replica clusters.
    void align(int K, const std::int64_t* overlap, const double* distance, bool with_second) {
        K_ = K;
        overlap_ = overlap;
        // Overlaps are whole numbers; distances are shrunk until no sum of K of them reaches
        // one half, so they decide only between equal overlaps.
        const double largest =
            *std::max_element(distance, distance + static_cast<std::int64_t>(K) * K);
        const double shrink = largest > 0 ? 0.4 / (largest * K) : 0.0;
        cost_.resize(static_cast<std::size_t>(K) * K);
        for (std::size_t e = 0; e < cost_.size(); ++e)
            cost_[e] = shrink * distance[e] - static_cast<double>(overlap[e]);
        row_price_.assign(K, 0.0);
        column_price_.assign(K, 0.0);
        column_of_.assign(K, -1);
        row_of_.assign(K, -1);
        for (int row = 0; row < K; ++row) augment(row, -1);
        to_reference = column_of_;
        best_overlap = total();
        second_overlap = -1;
        if (with_second) find_second();
    }

private:
    // Every other permutation differs from the best in some row: forbid that row's column and
    // repair with one more augmenting path from the optimal prices.
    void find_second() {
        const std::vector<double> row_price = row_price_, column_price = column_price_;
        const std::vector<int> column_of = column_of_, row_of = row_of_;
        for (int row = 0; K_ > 1 && row < K_; ++row) {
            row_price_ = row_price;
            column_price_ = column_price;
            column_of_ = column_of;
            row_of_ = row_of;
            const int forbidden = column_of_[row];
            row_of_[forbidden] = -1;
            column_of_[row] = -1;
            augment(row, forbidden);
            second_overlap = std::max(second_overlap, total());
        }
    }

    std::int64_t total() const {
        std::int64_t sum = 0;
        for (int row = 0; row < K_; ++row)
            sum += overlap_[static_cast<std::int64_t>(row) * K_ + column_of_[row]];
        return sum;
    }

    // Shortest augmenting path from a free row (Dijkstra on reduced costs).
    void augment(int free_row, int forbidden_column) {
        const double infinity = std::numeric_limits<double>::infinity();
        reach_.assign(K_, infinity);
        parent_.assign(K_, free_row);
        done_.assign(K_, 0);
        int row = free_row, column = -1;
        double distance = 0;
        for (;;) {
            int nearest = -1;
            for (int c = 0; c < K_; ++c) {
                if (done_[c]) continue;
                if (row != free_row || c != forbidden_column) {
                    const double via = distance + cost_[static_cast<std::int64_t>(row) * K_ + c] -
                                       row_price_[row] - column_price_[c];
                    if (via < reach_[c]) {
                        reach_[c] = via;
                        parent_[c] = row;
                    }
                }
                if (nearest < 0 || reach_[c] < reach_[nearest]) nearest = c;
            }
            column = nearest;
            distance = reach_[column];
            done_[column] = 1;
            if (row_of_[column] < 0) break;
            row = row_of_[column];
        }
        row_price_[free_row] += distance;
        for (int c = 0; c < K_; ++c) {
            if (!done_[c] || c == column) continue;
            row_price_[row_of_[c]] += distance - reach_[c];
            column_price_[c] -= distance - reach_[c];
        }
        while (column >= 0) {  // flip the path
            const int parent = parent_[column];
            row_of_[column] = parent;
            std::swap(column, column_of_[parent]);
            if (parent == free_row) break;
        }
    }

    int K_ = 0;
    const std::int64_t* overlap_ = nullptr;
    std::vector<double> cost_, row_price_, column_price_, reach_;
    std::vector<int> column_of_, row_of_, parent_;
    std::vector<char> done_;
};

// Margin of an alignment: how much overlap the best other permutation would lose, per point.
inline double alignment_margin(const Aligner& aligner, std::int64_t n_points) {
    if (aligner.second_overlap < 0) return 1.0;
    if (n_points == 0) return 0.0;
    return static_cast<double>(aligner.best_overlap - aligner.second_overlap) /
           static_cast<double>(n_points);
}

}  // namespace bbclust
