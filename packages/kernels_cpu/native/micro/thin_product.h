// Products of few rows. Register tiles would go down B a few columns at a time; here B is read row
// after row, in the order memory gives it out fastest, and the sums wait in the first-level cache.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_THIN_PRODUCT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_THIN_PRODUCT_H_

#include <cstdint>

#include "packages/kernels_cpu/native/micro/gemm.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

// Beyond, tiles have more to gain by their registers.
inline constexpr int kThinRows = 2;
// As many values of A are held in registers at a time, rows times steps; phones' programs are
// small.
inline constexpr int kThinValues = kVectorBytes > 16 ? 8 : 4;

// sums[rows, cols] = A[rows, steps] · B[steps, cols], step after step as a register tile does it:
// the same bits. The columns are whole vectors, adjacent in B.
template <typename T>
struct ThinProduct {
  int64_t steps;
  int64_t cols;
  MatrixView<T> a;
  const T* b;
  int64_t b_stride;
  T* sums;
};

template <typename T, int M, int kSteps>
QANAT_INLINE void add_steps(const ThinProduct<T>& p, int64_t step) {
  Vec<T> a[M][kSteps];
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int s = 0; s < kSteps; ++s) {
      a[m][s] = splat(p.a.data[m * p.a.row_stride + (step + s) * p.a.col_stride]);
    }
  }
  const T* const b = p.b + step * p.b_stride;
  for (int64_t col = 0; col < p.cols; col += kLanes<T>) {
    Vec<T> sums[M];
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) sums[m] = load(p.sums + m * p.cols + col);
#pragma GCC unroll 8
    for (int s = 0; s < kSteps; ++s) {
      const Vec<T> row = load(b + s * p.b_stride + col);
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) sums[m] = fma(a[m][s], row, sums[m]);
    }
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) store(p.sums + m * p.cols + col, sums[m]);
  }
}

template <typename T, int M>
__attribute__((noinline)) void multiply_thin(const ThinProduct<T>& p) {
  constexpr int kSteps = kThinValues / M;
  for (int64_t i = 0; i < M * p.cols; i += kLanes<T>) store(p.sums + i, Vec<T>{});
  int64_t step = 0;
  for (; step + kSteps <= p.steps; step += kSteps) add_steps<T, M, kSteps>(p, step);
  for (; step < p.steps; ++step) add_steps<T, M, 1>(p, step);
}

// For 1 ... kThinRows rows.
template <typename T, int M = kThinRows>
void multiply_thin(int64_t rows, const ThinProduct<T>& p) {
  if constexpr (M > 1) {
    if (rows < M) return multiply_thin<T, M - 1>(rows, p);
  }
  multiply_thin<T, M>(p);
}

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_THIN_PRODUCT_H_
