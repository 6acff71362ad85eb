// What of pooling is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_TABLE_H_

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/pool.h"

namespace qanat::micro {

// `rows` are output rows: row r is row r % out_height of image r / out_height. The gradients do one
// image's `channels` at a time, as windows may overlap.
template <typename T>
struct PoolKernels {
  void (*max_rows)(const PoolShape& shape, const T* input, T* output, Range rows);
  void (*max_backward)(const PoolShape& shape, const T* input, const T* output, const T* d_output,
                       T* d_input, int64_t image, Range channels);
  void (*avg_rows)(const PoolShape& shape, const T* input, T* output, Range rows);
  void (*avg_backward)(const PoolShape& shape, const T* d_output, T* d_input, int64_t image,
                       Range channels);
};

struct PoolTable {
  PoolKernels<float> f32;
  PoolKernels<double> f64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_POOL_TABLE_H_
