// The kernels for numbers in double precision. What they compute in single precision is in
// kernels_float.cpp.
#include "kernels.hpp"

namespace bbclust {

extern template class Starts<float>;

void bind_kernels_of_double(nb::module_& m) { bind_kernels<double>(m); }

}  // namespace bbclust
