// Memory as the engine's buffers ask for it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "panels.hpp"

using namespace bbclust;

extern "C" void begin() { KeptMemory::shared().begin(); }
extern "C" void end() { KeptMemory::shared().end(); }
extern "C" void* take(std::size_t bytes) { return KeptMemory::shared().take(bytes); }
extern "C" void* allocate(std::size_t bytes) { return AlignedAllocator<char>().allocate(bytes); }
extern "C" void deallocate(void* block, std::size_t bytes) {
    AlignedAllocator<char>().deallocate(static_cast<char*>(block), bytes);
}

// How often a thread found in its own memory what another one had written.
extern "C" int writes_of_others(int n_threads, int n_rounds, std::size_t bytes) {
    std::atomic<int> found{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < n_threads; ++t)
        threads.emplace_back([&found, t, n_rounds, bytes] {
            for (int round = 0; round < n_rounds; ++round) {
                KeptMemory::shared().begin();
                std::vector<Buffer<int>> buffers(4);
                for (std::size_t b = 0; b < buffers.size(); ++b)
                    buffers[b].assign((bytes << b % 2) / sizeof(int), 4 * t + static_cast<int>(b));
                std::this_thread::yield();
                for (std::size_t b = 0; b < buffers.size(); ++b)
                    for (const int value : buffers[b]) found += value != 4 * t + static_cast<int>(b);
                buffers.clear();
                KeptMemory::shared().end();
            }
        });
    for (std::thread& thread : threads) thread.join();
    return found;
}
