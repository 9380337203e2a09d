// The kernels for numbers in single precision, in which those in double precision are searched too.
#include "kernels.hpp"

namespace bbclust {

template class Starts<float>;

void bind_kernels_of_float(nb::module_& m) { bind_kernels<float>(m); }

}  // namespace bbclust
