// What of the matrix product is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/gemm.h"

namespace qanat::micro {

template <typename T>
struct GemmKernels {
  int tile_rows;
  int tile_cols;
  // Computes the block rows x cols of C; the scratch holds block_scratch_bytes for its size.
  void (*block)(const Gemm<T>& gemm, Range rows, Range cols, void* scratch);
  size_t (*block_scratch_bytes)(int64_t rows, int64_t cols, int64_t k);
};

struct GemmTable {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_GEMM_TABLE_H_
