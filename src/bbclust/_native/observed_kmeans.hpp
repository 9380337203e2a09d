// Lloyd's algorithm on what is observed: distances and means over the values that there are. It ends
// where k-POD does (Chi, Chi & Baraniuk 2016, The American Statistician 70, 91-99).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace bbclust {

struct ObservedRows {
    const double* values = nullptr;   // (n, d), NaN where missing
    const double* weights = nullptr;  // (n,)
    std::int64_t n = 0;
    int d = 0;

    const double* row(std::int64_t i) const { return values + i * d; }

    double squared_distance(std::int64_t i, const double* center) const {
        const double* x = row(i);
        double sum = 0;
        for (int f = 0; f < d; ++f) {
            const double difference = x[f] == x[f] ? x[f] - center[f] : 0.0;
            sum += difference * difference;
        }
        return sum;
    }
};

class ObservedLloyd {
public:
    ObservedLloyd(const ObservedRows& rows, int K, double* centers, std::int32_t* labels)
        : rows_(rows), K_(K), centers_(centers), labels_(labels), costs_(rows.n), counts_(K) {
        std::fill_n(labels_, rows.n, std::int32_t(-1));
    }

    // Until labels stay; the number of iterations.
    int run(int max_iter, const StopFlag& stop) {
        int n_iter = 0;
        while (assign(stop) && n_iter < max_iter) {
            fill_empty_clusters();
            move_centers();
            ++n_iter;
        }
        return n_iter;
    }

    // Weighted sum of squared distances, over what is observed.
    double inertia() const {
        double sum = 0;
        for (std::int64_t i = 0; i < rows_.n; ++i) sum += rows_.weights[i] * costs_[i];
        return sum;
    }

private:
    // Whether any row has another nearest centre than before.
    bool assign(const StopFlag& stop) {
        bool changed = false;
        std::fill(counts_.begin(), counts_.end(), std::int64_t(0));
        for (std::int64_t i = 0; i < rows_.n; ++i) {
            if (i % 1024 == 0) stop.check();
            double best = std::numeric_limits<double>::infinity();
            std::int32_t label = 0;
            for (int k = 0; k < K_; ++k) {
                const double distance = rows_.squared_distance(i, center(k));
                if (distance < best) {
                    best = distance;
                    label = k;
                }
            }
            changed |= labels_[i] != label;
            labels_[i] = label;
            costs_[i] = best;
            ++counts_[label];
        }
        return changed;
    }

    // With the rows that are farthest from their centres and not alone there.
    void fill_empty_clusters() {
        for (int k = 0; k < K_; ++k) {
            if (counts_[k] > 0) continue;
            std::int64_t farthest = -1;
            for (std::int64_t i = 0; i < rows_.n; ++i)
                if (counts_[labels_[i]] > 1 && costs_[i] > 0 &&
                    (farthest < 0 || costs_[i] > costs_[farthest]))
                    farthest = i;
            if (farthest < 0) return;
            --counts_[labels_[farthest]];
            ++counts_[k];
            labels_[farthest] = k;
            costs_[farthest] = 0;
        }
    }

    // To the mean of what is observed; where nothing is, a coordinate stays.
    void move_centers() {
        const std::int64_t d = rows_.d;
        std::vector<double> sum(K_ * d, 0.0), mass(K_ * d, 0.0);
        for (std::int64_t i = 0; i < rows_.n; ++i) {
            const double* x = rows_.row(i);
            for (int f = 0; f < d; ++f) {
                if (x[f] != x[f]) continue;
                sum[labels_[i] * d + f] += rows_.weights[i] * x[f];
                mass[labels_[i] * d + f] += rows_.weights[i];
            }
        }
        for (std::int64_t e = 0; e < K_ * d; ++e)
            if (mass[e] > 0) centers_[e] = sum[e] / mass[e];
    }

    const double* center(int k) const { return centers_ + static_cast<std::int64_t>(k) * rows_.d; }

    ObservedRows rows_;
    int K_;
    double* centers_;
    std::int32_t* labels_;
    std::vector<double> costs_;
    std::vector<std::int64_t> counts_;
};

}  // namespace bbclust
