// Sums whose parts were computed apart.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_PARTIAL_SUMS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_PARTIAL_SUMS_H_

#include <cstdint>

#include "packages/core/native/kernel/parallel.h"
#include "packages/kernels_cpu/native/micro/blocks.h"

namespace qanat::micro {

// sum[i] = partial[0, i] + partial[1, i] + ..., where partial is [parts, size] and parts is at
// least
// 1. The parts are added in their order, whichever thread computed them.
template <typename T>
void add_parts(const T* partial, int64_t parts, int64_t size, T* sum, Parallel& parallel) {
  constexpr int64_t kElementsPerChunk = 16 << 10;
  const int64_t chunks = max64(1, size / kElementsPerChunk);
  parallel.for_each(chunks, [&](int64_t chunk) {
    const Range range = part_of(size, chunks, chunk);
    for (int64_t i = range.begin; i < range.end; ++i) sum[i] = partial[i];
    for (int64_t p = 1; p < parts; ++p) {
      for (int64_t i = range.begin; i < range.end; ++i) sum[i] += partial[p * size + i];
    }
  });
}

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_PARTIAL_SUMS_H_
