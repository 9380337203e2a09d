// Where in a replica each row of the table is.
#pragma once

#include <cstdint>
#include <limits>

#include "panels.hpp"

namespace bbclust {

// Places are kept raised by a base that grows from replica to replica, so that what earlier ones left
// behind is below it and need not be cleared. All is cleared before a number gets too large.
template <class Integer = std::int32_t>
class Slots {
public:
    // For a replica of n rows with places below `room`, which must itself fit.
    void begin(std::int64_t n, std::int64_t room) {
        constexpr std::int64_t largest = std::numeric_limits<Integer>::max();
        base_ += room_;
        room_ = room;
        if (static_cast<std::int64_t>(kept_.size()) == n && base_ <= largest - room) return;
        kept_.assign(n, Integer(-1));
        base_ = 0;
    }

    // Negative if the row has none yet.
    std::int64_t place(std::int64_t row) const { return kept_[row] - base_; }

    void put(std::int64_t row, std::int64_t place) {
        kept_[row] = static_cast<Integer>(base_ + place);
    }

    const Integer* address(std::int64_t row) const { return kept_.data() + row; }

private:
    Buffer<Integer> kept_;
    std::int64_t base_ = 0, room_ = 0;
};

}  // namespace bbclust
