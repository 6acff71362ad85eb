// Matrix product, convolution and pooling of quantised numbers.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PRODUCTS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PRODUCTS_H_

#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/parallel.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"
#include "packages/kernels_cpu/native/micro/int8/end.h"
#include "packages/kernels_cpu/native/micro/pool.h"

namespace qanat::micro {

// In all that follows `scratch` is aligned to 64 bytes, holds as many bytes as the function's
// _scratch_bytes says for Parallel::threads() threads (SIZE_MAX where no memory would do), may hold
// anything, and is used by that call alone. Outputs overlap no input. Sums wrap to int32; results
// are the same bit for bit for any number of threads and on any processor.

// C[m, n] = end(sum over k of (A[m, k] - a_zero_point) * B[k, n]), row-major.
struct Int8Gemm {
  int64_t m, n, k;
  const int8_t* a;
  int32_t a_zero_point;
  const int8_t* b;
  int8_t* c;
  Int8End end;
};

size_t int8_gemm_scratch_bytes(const Int8Gemm& gemm, int threads);
void int8_gemm(const Int8Gemm& gemm, void* scratch, Parallel& parallel);

// output = end(convolution of (input - zero_point)); pixels outside the map count as 0.
struct Int8Conv2d {
  Conv2dShape shape;
  const int8_t* input;
  int32_t input_zero_point;
  const int8_t* filter;
  int8_t* output;
  Int8End end;
};

size_t int8_conv2d_scratch_bytes(const Int8Conv2d& conv, int threads);
void int8_conv2d(const Int8Conv2d& conv, void* scratch, Parallel& parallel);

// The maximum of each window; -128 where it lies outside the map. Needs no scratch.
void int8_max_pool(const PoolShape& shape, const int8_t* input, int8_t* output, Parallel& parallel);

// to[i] = clamp(round(from[i] / scale) + zero_point), halves to even, NaN as 0; and back.
void int8_quantize(const float* from, int64_t n, float scale, int32_t zero_point, int8_t* to);
void int8_dequantize(const int8_t* from, int64_t n, float scale, int32_t zero_point, float* to);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PRODUCTS_H_
