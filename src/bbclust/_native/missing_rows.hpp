// Rows with missing values as Python describes them: a tuple of arrays, or None.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "checks.hpp"
#include "missing.hpp"

namespace bbclust {

// Keeps the arrays for as long as the model is used.
class MissingRows {
public:
    // For rows of shape (n, d).
    MissingRows(const std::optional<nb::tuple>& given, std::int64_t n, std::int64_t d) {
        if (!given) return;
        require(given->size() == 10, "missing must have ten parts");
        kept_.emplace(*given);
        kept_->check(n, d);
        model_.emplace(kept_->plan());
    }

    const MissingModel* model() const { return model_ ? &*model_ : nullptr; }

private:
    struct Arrays {
        std::uint64_t seed, purpose;
        In<double, 2> means;
        In<double, 3> covariances;
        In<std::uint8_t, 2> patterns;
        In<std::int32_t, 1> place, pattern;
        In<double, 2> cumulative;
        In<std::uint64_t, 1> first_block;
        std::int64_t room;

        explicit Arrays(const nb::tuple& given)
            : seed(nb::cast<std::uint64_t>(given[0])),
              purpose(nb::cast<std::uint64_t>(given[1])),
              means(nb::cast<In<double, 2>>(given[2])),
              covariances(nb::cast<In<double, 3>>(given[3])),
              patterns(nb::cast<In<std::uint8_t, 2>>(given[4])),
              place(nb::cast<In<std::int32_t, 1>>(given[5])),
              pattern(nb::cast<In<std::int32_t, 1>>(given[6])),
              cumulative(nb::cast<In<double, 2>>(given[7])),
              first_block(nb::cast<In<std::uint64_t, 1>>(given[8])),
              room(nb::cast<std::int64_t>(given[9])) {}

        void check(std::int64_t n, std::int64_t d) const {
            const std::int64_t n_incomplete = length(pattern);
            require_gaussians(means, covariances, patterns, d);
            require_shape(place, {n}, "place must have shape (n,)");
            require_within(place, -1, n_incomplete, "place must be of an incomplete row, or -1");
            require_within(pattern, 0, length(patterns), "pattern must be one of the patterns");
            require_shape(cumulative, {n_incomplete, length(means)},
                          "cumulative must have shape (I, K)");
            require_shape(first_block, {n_incomplete}, "first_block must have shape (I,)");
        }

        MissingPlan plan() const {
            return {seed,
                    purpose,
                    extent(means, 1),
                    extent(means, 0),
                    means.data(),
                    covariances.data(),
                    patterns.data(),
                    length(patterns),
                    place.data(),
                    pattern.data(),
                    cumulative.data(),
                    first_block.data(),
                    room};
        }
    };

    std::optional<Arrays> kept_;
    std::optional<MissingModel> model_;
};

}  // namespace bbclust
