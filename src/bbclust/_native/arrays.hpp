// Arrays of Python as the engine sees them, and calls that Ctrl-C can end. Arrays marked OUT are
// allocated by the caller and written here. That no call can read or write beyond them is checked
// (checks.hpp); whether numbers make sense is up to the stage modules and estimators.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "random.hpp"

namespace bbclust {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using Out = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
template <class T, int D>
using MaybeIn = std::optional<In<T, D>>;

// An array that is never converted: its type chooses among overloads, or it is written to.
inline auto as_is(const char* name) { return nb::arg(name).noconvert(); }

template <class A>
auto pointer(const std::optional<A>& array) {
    return array ? array->data() : nullptr;
}

template <class A>
std::int64_t length(const A& array) {
    return static_cast<std::int64_t>(array.shape(0));
}

template <class A>
int extent(const A& array, int axis) {
    const auto size = static_cast<std::int64_t>(array.shape(axis));
    if (size > std::numeric_limits<int>::max()) throw nb::value_error("engine: an array is too long");
    return static_cast<int>(size);
}

// A numpy array that owns its numbers.
template <class V>
auto to_numpy(std::vector<V> numbers, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<V>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
    return nb::ndarray<nb::numpy, V>(kept->data(), shape, owner);
}

// Takes the GIL by `take`. When the interpreter ends, it does not give it to daemon threads any more:
// up to Python 3.13 it ends such a thread instead, by unwinding its stack, which destructors of C++ do
// not survive. The thread waits here for the end of the process, as it does in Python itself from 3.14.
template <class Take>
void take_gil(Take&& take) noexcept {
    try {
        take();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// The GIL is another thread's for as long as this lives.
class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() {
        take_gil([this] { PyEval_RestoreThread(state_); });
    }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Calls f with the GIL.
    template <class F>
    void with_gil(F&& f) {
        take_gil([this] { PyEval_RestoreThread(state_); });
        f();
        state_ = PyEval_SaveThread();
    }

private:
    PyThreadState* state_;
};

// Runs `work(interrupted)` without the GIL. Ctrl-C, or any signal handler that raises, ends the
// work within a fraction of a second and its exception comes out here.
template <class Work>
void without_gil(Work&& work) {
    std::exception_ptr raised;
    try {
        WithoutGil released;
        work([&raised, &released] {  // asked by this thread, see parallel_for
            released.with_gil([&raised] {
                if (!raised && PyErr_CheckSignals() != 0)
                    raised = std::make_exception_ptr(nb::python_error());
            });
            return raised != nullptr;
        });
    } catch (const Interrupted&) {
        if (!raised) throw;
    }
    if (raised) std::rethrow_exception(raised);
}

// The same for work(stop), which looks at the flag, on a thread of its own. A thread costs as much as
// some ten thousand operations: what takes less than a hundred times that is done here and now.
template <class Work>
void interruptible(double operations, Work&& work) {
    if (operations < 1e6) return work(StopFlag());
    without_gil([&](const InterruptCheck& interrupted) {
        StopFlag stop;
        parallel_for(1, 1, stop, interrupted, [&](std::int64_t, int) { work(stop); });
    });
}

// Binds body(key, ...): the key of a stream comes first in Python, as the four numbers that name it.
template <class... More, class... Names>
void def_on_stream(nb::module_& m, const char* name, void (*body)(Key, More...), const Names&... names) {
    m.def(name,
          [body](std::uint64_t seed, std::uint64_t stage, std::uint64_t start, std::uint64_t replica,
                 More... more) {
        body(make_key(seed, static_cast<Stage>(stage), start, replica), more...);
    },
          "seed"_a, "stage"_a, "start"_a, "replica"_a, names...);
}

// Binds the functions of the data for one type of number. Overloads are told apart by the array's type.
void bind_kernels_of_float(nb::module_& m);
void bind_kernels_of_double(nb::module_& m);

// Binds those of rows with missing values.
void bind_missing(nb::module_& m);

}  // namespace bbclust
