// What of the filter gradient is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_FILTER_GRADIENT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_FILTER_GRADIENT_H_

#include <cstddef>
#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"

namespace qanat::micro {

template <typename T>
struct FilterGradient {
  Conv2dShape shape;
  const T* input;
  const T* d_output;
};

// The gradient is a grid of units: for each panel of output channels (unit / filter_height) one a
// filter row (unit % filter_height).
template <typename T>
struct FilterGradientKernels {
  int tile_cols;
  // Adds to the units of d_filter [filter_height, filter_width, in_channels, out_channels] what
  // these output rows contribute; row r is row r % out_height of image r / out_height.
  void (*add_rows)(const FilterGradient<T>& gradient, Range rows, Range units, T* d_filter,
                   void* scratch);
  size_t (*scratch_bytes)(const Conv2dShape& shape);
};

struct FilterGradientTable {
  FilterGradientKernels<float> f32;
  FilterGradientKernels<double> f64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_FILTER_GRADIENT_H_
