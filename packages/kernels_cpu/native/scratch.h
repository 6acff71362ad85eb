// Typed scratch memory.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SCRATCH_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SCRATCH_H_

#include "packages/core/native/kernel/kernel.h"

namespace qanat::kernels_cpu {

// Memory of this execution for n elements of T; null, and a failure, where there is none.
template <typename T>
T* scratch_of(KernelContext& context, int64_t n) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(n, sizeof(T), &bytes)) {
    context.fail(StatusCode::kResourceExhausted, "expected fewer elements than memory can hold");
    return nullptr;
  }
  return static_cast<T*>(context.scratch(bytes));
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SCRATCH_H_
