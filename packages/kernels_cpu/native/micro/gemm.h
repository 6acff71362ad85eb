// Matrix product: C = A·B, with arbitrary strides of A and B.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

// A matrix that is read: element (row, col) is data[row * row_stride + col * col_stride]. A
// row-major matrix has col_stride 1; its transpose is the same data with the strides exchanged.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;
};

// C[m, n] = A[m, k] · B[k, n], then + C if accumulate, + bias, and relu, in this order.
//
// C is row-major (adjacent columns) with c_row_stride >= n, and overlaps neither A, B nor bias. Any
// size may be 0; with k = 0 the product is 0. A NaN passes through relu.
template <typename T>
struct Gemm {
  int64_t m;
  int64_t n;
  int64_t k;
  MatrixView<T> a;
  MatrixView<T> b;
  T* c;
  int64_t c_row_stride;
  bool accumulate = false;
  const T* bias = nullptr;  // n values, or null
  bool relu = false;
};

// The scratch, in bytes, that gemm() needs for these sizes and strides on so many threads
// (Parallel::threads()).
template <typename T>
size_t gemm_scratch_bytes(const Gemm<T>& gemm, int threads);

// `scratch` is aligned to 64 bytes, may hold anything, and is used by this call alone. The result
// is the same bit for bit for any number of threads. T is float or double.
template <typename T>
void gemm(const Gemm<T>& gemm, void* scratch, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_H_
