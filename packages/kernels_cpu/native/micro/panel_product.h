// Many short products: the register tiles of tile.h where rows lie evenly apart and the sums have
// few steps, so that what surrounds the loop over the steps counts.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_PANEL_PRODUCT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_PANEL_PRODUCT_H_

#include <cstdint>

#include "packages/kernels_cpu/native/micro/tile.h"

namespace qanat::micro::QANAT_SIMD_NS {

// C[rows, cols] = A[rows, steps] · B[steps, cols], + C if accumulate. The columns are one or two
// whole vectors, adjacent in B and in C. A's rows, a_stride apart, hold adjacent steps; or, for
// multiply_panel<true>, its steps, a_stride apart, hold adjacent rows.
struct PanelProduct {
  int64_t rows;
  int64_t steps;
  int cols;
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  bool accumulate;
};

// Rows [begin, end) of C, M at a time.
template <bool kAdjacentRows, int M, int NV>
__attribute__((noinline)) void run_rows(const PanelProduct& product, int64_t begin, int64_t end) {
  const PanelProduct p = product;
  const int64_t row_stride = kAdjacentRows ? 1 : p.a_stride;
  const int64_t step_stride = kAdjacentRows ? p.a_stride : 1;
  for (int64_t row = begin; row < end; row += M) {
    float* const c = p.c + row * p.c_stride;
    Sums<float, M, NV> sums;
    sums.clear();
    const float* a = p.a + row * row_stride;
    const float* b = p.b;
    for (int64_t k = 0; k < p.steps; ++k) {
      sums.step(b, [&](int m) { return a[m * row_stride]; });
      a += step_stride;
      b += p.b_stride;
    }
    // Added last, not first: sums of a few steps each round less than one of all steps.
    if (p.accumulate) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sums.of[m][v] += load(c + m * p.c_stride + v * kLanes<float>);
      }
    }
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) store(c + m * p.c_stride + v * kLanes<float>, sums.of[m][v]);
    }
  }
}

// The last rows, fewer than M.
template <bool kAdjacentRows, int M, int NV>
void run_rest(const PanelProduct& p, int64_t begin) {
  if constexpr (M > 1) {
    if (p.rows - begin == M - 1) {
      run_rows<kAdjacentRows, M - 1, NV>(p, begin, p.rows);
    } else {
      run_rest<kAdjacentRows, M - 1, NV>(p, begin);
    }
  }
}

template <bool kAdjacentRows, int NV>
void run_panel(const PanelProduct& p) {
  const int64_t whole = p.rows / kTileRows * kTileRows;
  run_rows<kAdjacentRows, kTileRows, NV>(p, 0, whole);
  run_rest<kAdjacentRows, kTileRows, NV>(p, whole);
}

template <bool kAdjacentRows>
void multiply_panel(const PanelProduct& p) {
  if (p.cols > kLanes<float>) {
    run_panel<kAdjacentRows, 2>(p);
  } else {
    run_panel<kAdjacentRows, 1>(p);
  }
}

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_PANEL_PRODUCT_H_
