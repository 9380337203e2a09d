// Means and covariances of clusters whose rows have missing values: the EM algorithm for Gaussians.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "missing.hpp"
#include "parallel.hpp"

namespace bbclust {

struct MomentsPlan {
    const double* rows = nullptr;     // (n, d), columns centred on what is observed
    const double* weights = nullptr;  // (n,)
    std::int64_t n = 0;
    int d = 0;
    int n_clusters = 0;
    const std::int32_t* labels = nullptr;    // (n,)
    const std::int32_t* place = nullptr;     // (n,), place among the incomplete rows, -1 for others
    const std::int32_t* pattern = nullptr;   // (incomplete,)
    const std::uint8_t* patterns = nullptr;  // (n_patterns, d)
    std::int64_t n_patterns = 0;
    double prior_rows = 0;  // rows that the covariance within clusters, pooled, counts as
    double ridge = 0;       // share of a column's variance that every Gaussian has
    int max_iter = 0;
    double tolerance = 0;
};

class MissingMoments {
public:
    MissingMoments(const MomentsPlan& plan, const StopFlag& stop)
        : plan_(plan),
          patterns_(make_patterns(plan.patterns, plan.n_patterns, plan.d)),
          clusters_(plan.n_clusters),
          variance_(plan.d),
          pooled_(square()) {
        find_origins();
        for (Cluster& cluster : clusters_) begin(cluster);
        sum_complete_rows(stop);
        find_covariances();
    }

    // Iterations until nothing moves; how many.
    int run(int n_threads, StopFlag& stop) {
        for (int iteration = 1; iteration <= plan_.max_iter; ++iteration) {
            parallel_for(plan_.n_clusters, n_threads, stop, nullptr,
                         [&](std::int64_t j, int) { expect(clusters_[j], stop); });
            pool();
            const double shift = find_covariances();
            if (shift <= plan_.tolerance) return iteration;
        }
        return plan_.max_iter;
    }

    // means (K, d); covariances (K, d, d) of the model, and those expected of the clusters' own rows.
    void publish(double* means, double* covariances, double* expected) const {
        const std::int64_t d = plan_.d;
        for (const Cluster& cluster : clusters_) {
            for (int f = 0; f < d; ++f) means[f] = cluster.origin[f] + cluster.mean[f];
            std::copy(cluster.covariance.begin(), cluster.covariance.end(), covariances);
            std::copy(cluster.expected.begin(), cluster.expected.end(), expected);
            // Where the clusters differ in a column, one without any value of it may lie anywhere.
            for (int f = 0; f < d; ++f)
                if (!cluster.seen[f])
                    covariances[f * d + f] += std::max(0.0, variance_[f] - pooled_[f * d + f]);
            means += d;
            covariances += square();
            expected += square();
        }
    }

private:
    struct Group {  // rows of a cluster with the same pattern
        std::int32_t pattern;
        double mass = 0;
        std::vector<std::int64_t> rows;
    };

    struct Cluster {
        double mass = 0;
        std::vector<double> origin;  // (d,), about the mean: what follows is relative to it
        std::vector<std::uint8_t> seen;
        std::vector<Group> groups;
        std::vector<double> complete_sum, complete_gram;
        std::vector<double> mean, mean_before, expected, covariance, lower, y, z;
    };

    std::int64_t square() const { return static_cast<std::int64_t>(plan_.d) * plan_.d; }

    // The mean of what is observed in each cluster, exact where all values are alike; variances of
    // columns, of all rows and, as a start for the covariances, within clusters.
    void find_origins() {
        const std::int64_t d = plan_.d, K = plan_.n_clusters;
        constexpr double infinity = std::numeric_limits<double>::infinity();
        std::vector<double> mass(K * d, 0.0), sum(K * d, 0.0), low(K * d, infinity),
            high(K * d, -infinity);
        std::vector<double> column_mass(d, 0.0);
        for_observed([&](std::int64_t at, int f, double w, double x) {
            mass[at] += w;
            sum[at] += w * x;
            low[at] = std::min(low[at], x);
            high[at] = std::max(high[at], x);
            column_mass[f] += w;
            variance_[f] += w * x * x;
        });
        for (int j = 0; j < K; ++j) {
            clusters_[j].origin.assign(d, 0.0);
            clusters_[j].seen.assign(d, 0);
            for (int f = 0; f < d; ++f) {
                const std::int64_t at = j * d + f;
                clusters_[j].seen[f] = mass[at] > 0;
                if (mass[at] > 0)
                    clusters_[j].origin[f] = low[at] == high[at] ? low[at] : sum[at] / mass[at];
            }
        }
        for_observed([&](std::int64_t at, int f, double w, double x) {
            const double deviation = x - clusters_[at / d].origin[f];
            pooled_[f * d + f] += w * deviation * deviation;
        });
        for (int f = 0; f < d; ++f) {
            variance_[f] /= column_mass[f];
            pooled_[f * d + f] /= column_mass[f];
        }
    }

    // f(cluster * d + column, column, weight, value)
    template <class F>
    void for_observed(F&& f) const {
        for (std::int64_t i = 0; i < plan_.n; ++i)
            for (int c = 0; c < plan_.d; ++c) {
                const double x = plan_.rows[i * plan_.d + c];
                if (x == x)
                    f(static_cast<std::int64_t>(plan_.labels[i]) * plan_.d + c, c, plan_.weights[i], x);
            }
    }

    void begin(Cluster& cluster) const {
        const std::int64_t d = plan_.d;
        cluster.complete_sum.assign(d, 0.0);
        cluster.mean.assign(d, 0.0);
        cluster.mean_before.assign(d, 0.0);
        cluster.y.assign(d, 0.0);
        cluster.z.assign(d, 0.0);
        for (auto* matrix : {&cluster.complete_gram, &cluster.covariance, &cluster.lower})
            matrix->assign(square(), 0.0);
        cluster.expected = pooled_;
        cluster.groups.resize(plan_.n_patterns);
        for (std::int32_t p = 0; p < plan_.n_patterns; ++p) cluster.groups[p].pattern = p;
    }

    void sum_complete_rows(const StopFlag& stop) {
        for (std::int64_t i = 0; i < plan_.n; ++i) {
            if (i % 1024 == 0) stop.check();
            Cluster& cluster = clusters_[plan_.labels[i]];
            cluster.mass += plan_.weights[i];
            if (plan_.place[i] >= 0) {
                Group& group = cluster.groups[plan_.pattern[plan_.place[i]]];
                group.mass += plan_.weights[i];
                group.rows.push_back(i);
                continue;
            }
            for (int f = 0; f < plan_.d; ++f)
                cluster.y[f] = plan_.rows[i * plan_.d + f] - cluster.origin[f];
            add(cluster.y.data(), plan_.weights[i], cluster.complete_sum, cluster.complete_gram);
        }
        for (Cluster& cluster : clusters_)
            std::erase_if(cluster.groups, [](const Group& group) { return group.rows.empty(); });
    }

    // Only the lower triangle of the gram.
    void add(const double* y, double weight, std::vector<double>& sum, std::vector<double>& gram) const {
        const int d = plan_.d;
        for (int f = 0; f < d; ++f) {
            const double scaled = weight * y[f];
            sum[f] += scaled;
            double* row = gram.data() + static_cast<std::int64_t>(f) * d;
            for (int g = 0; g <= f; ++g) row[g] += scaled * y[g];
        }
    }

    // E-step and the moments of one cluster: missing values by their conditional means, and what is
    // not known of them by their conditional covariance.
    void expect(Cluster& cluster, const StopFlag& stop) const {
        const int d = plan_.d;
        if (cluster.mass == 0) {  // a cluster that could not be filled
            cluster.expected = pooled_;
            return;
        }
        std::vector<double> sum = cluster.complete_sum, gram = cluster.complete_gram;
        std::vector<double> mean(d);  // of the Gaussian, where the rows are
        for (int f = 0; f < d; ++f) mean[f] = cluster.origin[f] + cluster.mean[f];
        for (const Group& group : cluster.groups) {
            stop.check();
            const Pattern& pattern = patterns_[group.pattern];
            const int n_observed = pattern.n_observed;
            OrderedGaussian::factor(cluster.covariance.data(), pattern, cluster.lower.data());
            const OrderedGaussian gaussian(mean.data(), cluster.lower.data(), pattern);
            for (const std::int64_t i : group.rows) {
                const double* row = plan_.rows + i * d;
                gaussian.solve(row, cluster.z.data());
                for (int t = 0; t < d; ++t) {
                    const int f = pattern.columns[t];
                    const double x =
                        t < n_observed ? row[f] : gaussian.value(t, cluster.z.data(), n_observed);
                    cluster.y[f] = x - cluster.origin[f];
                }
                add(cluster.y.data(), plan_.weights[i], sum, gram);
            }
            for (int t = n_observed; t < d; ++t)
                for (int u = n_observed; u <= t; ++u) {
                    double covariance = 0;
                    for (int s = n_observed; s <= u; ++s)
                        covariance += cluster.lower[t * d + s] * cluster.lower[u * d + s];
                    const auto [low, high] = std::minmax(pattern.columns[t], pattern.columns[u]);
                    gram[static_cast<std::int64_t>(high) * d + low] += group.mass * covariance;
                }
        }
        cluster.mean_before = cluster.mean;
        for (int f = 0; f < d; ++f) cluster.mean[f] = sum[f] / cluster.mass;
        for (int f = 0; f < d; ++f)
            for (int g = 0; g <= f; ++g) {
                const double expected = gram[static_cast<std::int64_t>(f) * d + g] / cluster.mass -
                                        cluster.mean[f] * cluster.mean[g];
                cluster.expected[static_cast<std::int64_t>(f) * d + g] =
                    cluster.expected[static_cast<std::int64_t>(g) * d + f] = expected;
            }
        for (int f = 0; f < d; ++f)
            if (!cluster.seen[f]) cluster.mean[f] = 0;
    }

    // The covariance within clusters, all together.
    void pool() {
        double total = 0;
        std::fill(pooled_.begin(), pooled_.end(), 0.0);
        for (const Cluster& cluster : clusters_) {
            total += cluster.mass;
            for (std::int64_t e = 0; e < square(); ++e) pooled_[e] += cluster.mass * cluster.expected[e];
        }
        for (double& covariance : pooled_) covariance /= total;
    }

    // The Gaussians' covariances; the largest move of theirs and the means', in units of the columns.
    double find_covariances() {
        const std::int64_t d = plan_.d;
        double largest = 0;
        const auto moved = [&](double by, double unit) {
            if (unit > 0) largest = std::max(largest, std::fabs(by) / unit);
        };
        for (Cluster& cluster : clusters_)
            for (int f = 0; f < d; ++f) {
                moved(cluster.mean[f] - cluster.mean_before[f], std::sqrt(variance_[f]));
                for (int g = 0; g < d; ++g) {
                    const std::int64_t e = f * d + g;
                    double covariance =
                        (cluster.mass * cluster.expected[e] + plan_.prior_rows * pooled_[e]) /
                        (cluster.mass + plan_.prior_rows);
                    if (f == g) covariance += plan_.ridge * variance_[f];
                    moved(covariance - cluster.covariance[e], std::sqrt(variance_[f] * variance_[g]));
                    cluster.covariance[e] = covariance;
                }
            }
        return largest;
    }

    const MomentsPlan& plan_;
    std::vector<Pattern> patterns_;
    std::vector<Cluster> clusters_;
    std::vector<double> variance_;  // (d,), of columns over all rows
    std::vector<double> pooled_;    // (d, d)
};

}  // namespace bbclust
