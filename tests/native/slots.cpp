// Replicas of random rows against slots of one byte, which are full after a few of them.
#include <cstdint>

#include "slots.hpp"

// How many answers differ from those of slots that are cleared every time.
extern "C" std::int64_t count_wrong_places(std::int64_t n, std::int64_t room,
                                           std::int64_t n_replicas, const std::int64_t* rows) {
    bbclust::Slots<std::int8_t> slots;
    std::int64_t wrong = 0;
    for (std::int64_t b = 0; b < n_replicas; ++b) {
        slots.begin(n, room);
        bbclust::Buffer<std::int64_t> fresh(n, -1);
        std::int64_t next = 0;
        for (std::int64_t i = 0; i < room; ++i) {
            const std::int64_t row = rows[b * room + i], place = slots.place(row);
            wrong += fresh[row] < 0 ? place >= 0 : place != fresh[row];
            if (fresh[row] >= 0) continue;
            fresh[row] = next;
            slots.put(row, next++);
        }
    }
    return wrong;
}
