// Replica labels onto reference labels: the assignment problem, its margin and its tie rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace bbclust {

// Maximises the summed overlap over permutations; among equal overlaps takes the smallest summed
// squared distance. Solved by shortest augmenting paths (Jonker & Volgenant 1987), O(K^3).
class Aligner {
public:
    std::vector<int> to_reference;  // replica cluster -> reference cluster
    std::int64_t best_overlap = 0;
    std::int64_t second_overlap = 0;  // of the best other permutation; -1 when K = 1 or not wanted

    // overlap, distance: (K, K), rows are replica clusters.
    void align(int K, const std::int64_t* overlap, const double* distance, bool with_second,
               const StopFlag& stop) {
        K_ = K;
        overlap_ = overlap;
        // Overlaps are whole numbers; distances are shrunk until no sum of K of them reaches
        // one half, so they decide only between equal overlaps.
        const double largest = *std::max_element(distance, distance + static_cast<std::int64_t>(K) * K);
        const double shrink = largest > 0 ? 0.4 / (largest * K) : 0.0;
        cost_.resize(static_cast<std::size_t>(K) * K);
        for (std::size_t e = 0; e < cost_.size(); ++e)
            cost_[e] = shrink * distance[e] - static_cast<double>(overlap[e]);
        row_price_.assign(K, 0.0);
        column_price_.assign(K, 0.0);
        column_of_.assign(K, -1);
        row_of_.assign(K, -1);
        assign_cheapest();
        for (int row = 0; row < K; ++row) {
            stop.check();
            if (column_of_[row] < 0) augment(row);
        }
        to_reference = column_of_;
        best_overlap = total();
        second_overlap = with_second && K > 1 ? best_overlap - least_loss(stop) : -1;
    }

private:
    double cost_less_prices(int row, int column) const {
        return cost_[static_cast<std::int64_t>(row) * K_ + column] - row_price_[row] -
               column_price_[column];
    }

    // Rows get their cheapest column as long as it is free: where clusters are told apart that is all.
    void assign_cheapest() {
        for (int row = 0; row < K_; ++row) {
            const double* costs = cost_.data() + static_cast<std::int64_t>(row) * K_;
            const int column = static_cast<int>(std::min_element(costs, costs + K_) - costs);
            row_price_[row] = costs[column];
            if (row_of_[column] >= 0) continue;
            row_of_[column] = row;
            column_of_[row] = column;
        }
    }

    // Overlap that the best other permutation loses. It differs from the best one in some row: there
    // the shortest path from the row to its own column, all but that one step, is what it costs, in
    // costs less prices. What two rows lose that change places is a limit, and no path need be followed
    // further than that, so this takes about O(K^2) where clusters are told apart, O(K^3) at worst.
    std::int64_t least_loss(const StopFlag& stop) {
        double least = std::numeric_limits<double>::infinity();
        for (int row = 0; row < K_; ++row)
            for (int other = 0; other < row; ++other)
                least = std::min(least, cost_less_prices(row, column_of_[other]) +
                                            cost_less_prices(other, column_of_[row]));
        for (int row = 0; row < K_; ++row) {
            stop.check();
            const int own = column_of_[row];
            row_of_[own] = -1;
            find_path(row, own, least);
            least = std::min(least, reach_[own]);
            row_of_[own] = row;
        }
        // distances add less than one half to the whole number of points
        return std::llround(least);
    }

    std::int64_t total() const {
        std::int64_t sum = 0;
        for (int row = 0; row < K_; ++row)
            sum += overlap_[static_cast<std::int64_t>(row) * K_ + column_of_[row]];
        return sum;
    }

    // Shortest path from a row to a free column (Dijkstra on costs less prices), not by way of the
    // forbidden one at its first step, nor further than `limit`. The column, -1 beyond the limit.
    int find_path(int from, int forbidden, double limit) {
        const double infinity = std::numeric_limits<double>::infinity();
        reach_.assign(K_, infinity);
        parent_.assign(K_, from);
        open_.assign(K_, 0.0);  // infinity once the shortest path to a column is known
        int row = from;
        double distance = 0;
        for (;;) {
            go_on_from(row, distance, row == from ? forbidden : -1);
            const int nearest = nearest_open();
            if (nearest < 0 || !(reach_[nearest] < limit)) return -1;
            distance = reach_[nearest];
            open_[nearest] = infinity;
            if (row_of_[nearest] < 0) return nearest;
            row = row_of_[nearest];
        }
    }

    // From a row to all open columns but a forbidden one. No branches, so that columns go side by side.
    void go_on_from(int row, double distance, int forbidden) {
        const double* cost = cost_.data() + static_cast<std::int64_t>(row) * K_;
        const double* column_price = column_price_.data();
        const double* open = open_.data();
        double* reach = reach_.data();
        int* parent = parent_.data();
        const double kept = forbidden < 0 ? 0.0 : reach[forbidden], row_price = row_price_[row];
        const int kept_parent = forbidden < 0 ? 0 : parent[forbidden];
        for (int c = 0; c < K_; ++c) {
            const double via = distance + (cost[c] - row_price - column_price[c]) + open[c];
            parent[c] = via < reach[c] ? row : parent[c];
            reach[c] = via < reach[c] ? via : reach[c];
        }
        if (forbidden < 0) return;
        reach[forbidden] = kept;
        parent[forbidden] = kept_parent;
    }

    // The nearest of them, the first of equals; -1 if none can be reached.
    int nearest_open() const {
        constexpr int W = lanes<double>;
        const double* reach = reach_.data();
        const double* open = open_.data();
        double least = std::numeric_limits<double>::infinity();
        int c = 0;
        if (K_ >= W) {
            Pack<double> part = load(reach) + load(open);
            for (c = W; c + W <= K_; c += W)
                part = lesser<double>(load(reach + c) + load(open + c), part);
            least = least_of_lanes<double>(part);
        }
        for (; c < K_; ++c) least = std::min(least, reach[c] + open[c]);
        if (!(least < std::numeric_limits<double>::infinity())) return -1;
        for (c = 0; reach[c] + open[c] != least; ++c) {
        }
        return c;
    }

    // Gives a free row a column.
    void augment(int free_row) {
        int column = find_path(free_row, -1, std::numeric_limits<double>::infinity());
        if (column < 0) throw std::domain_error("centres are not finite");
        const double distance = reach_[column];
        row_price_[free_row] += distance;
        for (int c = 0; c < K_; ++c) {
            if (open_[c] == 0 || c == column) continue;
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
    std::vector<double> cost_, row_price_, column_price_, reach_, open_;
    std::vector<int> column_of_, row_of_, parent_;
};

// Margin of an alignment: how much overlap the best other permutation would lose, per point.
inline double alignment_margin(const Aligner& aligner, std::int64_t n_points) {
    if (aligner.second_overlap < 0) return 1.0;
    if (n_points == 0) return 0.0;
    return static_cast<double>(aligner.best_overlap - aligner.second_overlap) /
           static_cast<double>(n_points);
}

}  // namespace bbclust
