// Samples of points, and points in the order of their labels. Points have one feature.
#include <algorithm>
#include <cstdint>

#include "samples.hpp"

using namespace bbclust;

namespace {

Panels<float> panels_of(const float* values, const float* weights, std::int64_t n) {
    Panels<float> panels;
    panels.reserve(n, 1);
    for (std::int64_t i = 0; i < n; ++i) panels.append(values + i, weights[i]);
    panels.close();
    return panels;
}

}  // namespace

// Values and weights of sample `number`.
extern "C" void sample(const float* values, const float* weights, std::int64_t n, std::int64_t size,
                       bool in_blocks, int number, float* sampled_values, float* sampled_weights) {
    const Panels<float> panels = panels_of(values, weights, n);
    Panels<float> memory;
    const Points<float> taken = take_sample(panels.view(), size, in_blocks, number, memory);
    for (std::int64_t i = 0; i < taken.n; ++i) {
        sampled_values[i] = *taken.point(i);
        sampled_weights[i] = taken.weights[i];
    }
}

// Values, weights and labels in the order of the labels; then the labels as they were.
extern "C" void sort_and_undo(const float* values, const float* weights, const float* labels,
                              std::int64_t n, int K, float* sorted_values, float* sorted_weights,
                              float* sorted_labels, float* undone_labels) {
    const Panels<float> panels = panels_of(values, weights, n);
    Buffer<float> moving(panels.padded(), labels[n - 1]);
    std::copy_n(labels, n, moving.begin());
    Sorted<float> sorted;
    sorted.take(panels.view(), K, moving);
    for (std::int64_t i = 0; i < n; ++i) {
        sorted_values[i] = *sorted.view().point(i);
        sorted_weights[i] = sorted.view().weights[i];
    }
    std::copy_n(moving.begin(), n, sorted_labels);
    sorted.undo(moving);
    std::copy_n(moving.begin(), n, undone_labels);
}
