// The sizes of convolutions, of float and of quantised numbers.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_CONV2D_SIZES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_CONV2D_SIZES_H_

#include "packages/kernels_cpu/native/micro/conv2d.h"
#include "packages/kernels_cpu/native/window.h"

namespace qanat::kernels_cpu {

// The sizes of the convolution of a map and a filter of these shapes, and the shape of its result.
// False, and a failure, where they do not fit.
bool conv2d_sizes(FailureSink& sink, const Window& window, const Shape& input, const Shape& filter,
                  micro::Conv2dShape* conv, Shape* output);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_CONV2D_SIZES_H_
