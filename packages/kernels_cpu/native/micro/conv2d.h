// Two-dimensional convolution and its two gradients: NHWC maps, HWIO filters.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_CONV2D_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_CONV2D_H_

#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

// The sizes of a convolution; all three functions take those of the forward direction.
//
//   output[b, y, x, o] = sum over h, w, i of filter[h, w, i, o] *
//       input[b, y * stride_h - pad_top + h * dilation_h, x * stride_w - pad_left + w * dilation_w,
//       i]
//
// where an input pixel outside the map counts as 0. So the padding at the bottom and at the right
// needs no number of its own: it follows from the output's size. Strides and dilations are at
// least 1, pads at least 0; every other size may be 0.
struct Conv2dShape {
  int64_t batch;
  int64_t in_height, in_width, in_channels;
  int64_t filter_height, filter_width;
  int64_t out_height, out_width, out_channels;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
};

// In all that follows T is float or double. `scratch` is aligned to 64 bytes, holds as many bytes
// as the function's _scratch_bytes says for Parallel::threads() threads, may hold anything, and is
// used by that call alone. Outputs overlap no input. Results are the same bit for bit for any
// number of threads.

// output = convolution + bias, then relu (a NaN passes through). `bias` holds out_channels values
// or is null.
template <typename T>
size_t conv2d_forward_scratch_bytes(const Conv2dShape& shape, int threads);
template <typename T>
void conv2d_forward(const Conv2dShape& shape, const T* input, const T* filter, const T* bias,
                    bool relu, T* output, void* scratch, Parallel& parallel);

// The gradient with respect to the input: d_input is overwritten.
template <typename T>
size_t conv2d_backward_input_scratch_bytes(const Conv2dShape& shape, int threads);
template <typename T>
void conv2d_backward_input(const Conv2dShape& shape, const T* d_output, const T* filter, T* d_input,
                           void* scratch, Parallel& parallel);

// The gradient with respect to the filter: d_filter is overwritten. (That of the bias is
// sum_rows() of reduce.h over [batch * out_height * out_width, out_channels].)
template <typename T>
size_t conv2d_backward_filter_scratch_bytes(const Conv2dShape& shape, int threads);
template <typename T>
void conv2d_backward_filter(const Conv2dShape& shape, const T* input, const T* d_output,
                            T* d_filter, void* scratch, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_CONV2D_H_
