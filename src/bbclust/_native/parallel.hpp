// Independent jobs on a few threads, with a way out.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bbclust {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Asks whoever waits for the results whether the work should end.
using InterruptCheck = std::function<bool()>;

// Shared by the threads of one call; kernels look at it every few hundred thousand operations.
class StopFlag {
public:
    void raise() { raised_.store(true, std::memory_order_relaxed); }
    void check() const {
        if (raised_.load(std::memory_order_relaxed)) throw Interrupted();
    }

private:
    std::atomic<bool> raised_{false};
};

// Runs body(job, thread) for every job. Jobs are handed out in order to whichever thread is free,
// so results must not depend on the thread. The calling thread computes nothing: it asks
// `interrupted` twenty times a second, and ends the work when the answer is yes. Inside of such a job
// somebody asks already: `interrupted` is null then, and one thread is that of the caller.
inline void parallel_for(std::int64_t n_jobs, int n_threads, StopFlag& stop,
                         const InterruptCheck& interrupted,
                         const std::function<void(std::int64_t, int)>& body) {
    std::atomic<std::int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr failure;
    const int n_workers =
        static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(n_threads, n_jobs)));
    int running = n_workers;
    if (!interrupted && n_workers == 1) {
        for (std::int64_t job = 0; job < n_jobs; ++job) body(job, 0);
        return;
    }

    auto work = [&](int thread) {
        try {
            for (std::int64_t job; (job = next.fetch_add(1)) < n_jobs;) {
                stop.check();
                body(job, thread);
            }
        } catch (...) {
            stop.raise();
            std::lock_guard<std::mutex> lock(mutex);
            if (!failure) failure = std::current_exception();
        }
        std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) finished.notify_one();
    };

    std::vector<std::thread> threads;
    try {
        for (int t = 0; t < n_workers; ++t) threads.emplace_back(work, t);
    } catch (...) {  // the system gives no more threads: go on with those there are
        std::lock_guard<std::mutex> lock(mutex);
        running -= n_workers - static_cast<int>(threads.size());
        if (threads.empty()) throw;
    }
    {
        std::unique_lock<std::mutex> lock(mutex);
        while (running > 0) {
            if (finished.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::no_timeout)
                continue;
            lock.unlock();
            if (interrupted && interrupted()) stop.raise();
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace bbclust
