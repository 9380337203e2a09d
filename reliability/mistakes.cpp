// Mistakes on purpose, one for each sanitizer: each must lead to a report.
#include <limits>
#include <memory>
#include <thread>

extern "C" {

// Reads beyond the end of an array.
int address_mistake(int size) {
    const auto values = std::make_unique<int[]>(static_cast<std::size_t>(size));
    const volatile int* first = values.get();
    return first[size];
}

// Two threads write the same number and do not wait for each other.
int thread_mistake(int size) {
    int sum = 0;
    const auto add = [&sum, size] {
        for (volatile int i = 0; i < size; i = i + 1) sum += i;
    };
    std::thread one(add), two(add);
    one.join();
    two.join();
    return sum;
}

// Adds to the largest number there is.
int undefined_mistake(int size) { return std::numeric_limits<int>::max() + size; }
}
