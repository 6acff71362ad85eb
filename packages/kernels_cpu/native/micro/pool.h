// Max and average pooling over NHWC maps, forward and backward.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_H_

#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

// Output pixel (y, x) covers the input rows y * stride_h - pad_top ... + window_h - 1 and the like
// columns, as far as they lie inside the map: pixels outside count for nothing, neither for a
// maximum nor for an average. Padding at the bottom and right follows from the output's size.
// Windows and strides are at least 1, pads at least 0. A window that lies outside the map
// altogether gives -infinity as maximum and 0 as average.
struct PoolShape {
  int64_t batch;
  int64_t in_height, in_width;
  int64_t out_height, out_width;
  int64_t channels;
  int64_t window_h, window_w;
  int64_t stride_h, stride_w;
  int64_t pad_top = 0, pad_left = 0;
};

// In all that follows T is float or double, outputs are overwritten and overlap no input, no
// scratch is needed, and results are the same bit for bit for any number of threads.

// NaN counts as the largest value and so passes through.
template <typename T>
void max_pool(const PoolShape& shape, const T* input, T* output, Parallel& parallel);

// Each window's gradient goes to its first maximum in row order (its first NaN, where it has one),
// found again from `input` and `output`, which are those of the forward direction.
template <typename T>
void max_pool_backward(const PoolShape& shape, const T* input, const T* output, const T* d_output,
                       T* d_input, Parallel& parallel);

template <typename T>
void avg_pool(const PoolShape& shape, const T* input, T* output, Parallel& parallel);

template <typename T>
void avg_pool_backward(const PoolShape& shape, const T* d_output, T* d_input, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_H_
