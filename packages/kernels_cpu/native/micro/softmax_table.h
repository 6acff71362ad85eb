// What of softmax is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_TABLE_H_

#include <cstdint>

namespace qanat::micro {

// One row each.
template <typename T>
struct SoftmaxKernels {
  void (*softmax)(int64_t cols, const T* logits, T* output);
  void (*log_softmax)(int64_t cols, const T* logits, T* output);
  // Return the loss.
  T (*cross_entropy)(int64_t cols, const T* logits, const T* labels, T* d_logits);
  T (*sparse_cross_entropy)(int64_t cols, const T* logits, int64_t label, T* d_logits);
};

struct SoftmaxTable {
  SoftmaxKernels<float> f32;
  SoftmaxKernels<double> f64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_TABLE_H_
