// Sizes of scratch that may exceed any memory.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_CHECKED_BYTES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_CHECKED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "packages/kernels_cpu/native/micro/slots.h"

namespace qanat::micro {

// More than there is: what allocating this much fails for.
inline constexpr size_t kTooMuch = SIZE_MAX / 2;

// The product of sizes of 0 or more, in whole cache lines; kTooMuch where that is not less.
inline size_t checked_bytes(std::initializer_list<int64_t> sizes) {
  uint64_t bytes = 1;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return kTooMuch;
  }
  return bytes < kTooMuch - kScratchAlignment ? aligned_bytes(static_cast<size_t>(bytes))
                                              : kTooMuch;
}

// Likewise the sum.
inline size_t checked_sum(std::initializer_list<size_t> sizes) {
  size_t sum = 0;
  for (size_t size : sizes) sum = size < kTooMuch - sum ? sum + size : kTooMuch;
  return sum;
}

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_CHECKED_BYTES_H_
