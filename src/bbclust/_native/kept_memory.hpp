// Large blocks of memory that one call leaves for the next.
//
// The system gives memory in pages that it has to clear, and replicas of a million rows wait for that
// again and again if every block of replicas gets its memory anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

namespace bbclust {

// Keeps blocks that are given back while somebody wants them kept. A block is taken by whoever asks for
// the same size; whoever asks for another one has a new problem, and all that is kept is let go. So
// there is never more memory in use than without it, but for what the last call had.
//
// Nobody ever waits here, also not in a process that was forked while another thread was inside: who
// does not get in does without.
class KeptMemory {
public:
    static constexpr std::size_t least = std::size_t(1) << 20;  // bytes; smaller blocks stay with malloc

    static KeptMemory& shared() {
        static KeptMemory* const memory = new KeptMemory;  // never destroyed: threads may outlive that
        return *memory;
    }

    void begin() { users_.fetch_add(1); }

    void end() {
        int before = users_.load();
        while (before > 0 && !users_.compare_exchange_weak(before, before - 1)) {
        }
        if (before != 1) return;
        for (int attempt = 0; attempt < 1000; ++attempt) {
            if (const Inside inside{busy_}) return let_go();
            std::this_thread::yield();
        }
    }

    // A block of so many bytes that was kept, or null.
    void* take(std::size_t bytes) {
        if (users_.load() == 0) return nullptr;
        const Inside inside{busy_};
        if (!inside) return nullptr;
        for (Block& block : blocks_)
            if (block.bytes == bytes) {
                void* const found = block.start;
                block = blocks_.back();
                blocks_.pop_back();
                return found;
            }
        let_go();
        return nullptr;
    }

    // Whether a block is kept; else the caller has to let it go.
    bool keep(void* start, std::size_t bytes, std::align_val_t alignment) noexcept {
        const Inside inside{busy_};
        if (!inside || users_.load() == 0 || blocks_.size() == most) return false;
        blocks_.push_back({start, bytes, alignment});
        return true;
    }

private:
    static constexpr std::size_t most = 256;  // blocks

    struct Block {
        void* start;
        std::size_t bytes;
        std::align_val_t alignment;
    };

    class Inside {
    public:
        explicit Inside(std::atomic_flag& busy)
            : busy_(busy), got_in_(!busy.test_and_set(std::memory_order_acquire)) {}
        ~Inside() {
            if (got_in_) busy_.clear(std::memory_order_release);
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;
        explicit operator bool() const { return got_in_; }

    private:
        std::atomic_flag& busy_;
        const bool got_in_;
    };

    KeptMemory() { blocks_.reserve(most); }

    void let_go() {
        for (const Block& block : blocks_) ::operator delete(block.start, block.alignment);
        blocks_.clear();
    }

    std::atomic<int> users_{0};
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    std::vector<Block> blocks_;
};

}  // namespace bbclust
