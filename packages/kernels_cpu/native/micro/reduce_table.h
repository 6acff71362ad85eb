// What of reductions is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_TABLE_H_

#include <cstdint>

namespace qanat::micro {

// to[i] = reduction over r < count of from[r * stride + i], for i < columns. With one column, and
// stride 1, it is a run of adjacent values.
template <typename T>
using ReduceRows = void (*)(const T* from, int64_t count, int64_t stride, int64_t columns, T* to);

template <typename T>
struct ReduceKernels {
  ReduceRows<T> sum, prod, max, min;
};

struct ReduceTable {
  ReduceKernels<float> f32;
  ReduceKernels<double> f64;
  ReduceKernels<int32_t> i32;
  ReduceKernels<int64_t> i64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_TABLE_H_
