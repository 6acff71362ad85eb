// Loops over elements, spread over threads in chunks of a fixed size.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_RANGES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_RANGES_H_

#include <algorithm>
#include <cstdint>

#include "packages/core/native/kernel/kernel.h"

namespace qanat::kernels_cpu {

// Elements a chunk where each costs about a nanosecond or less.
inline constexpr int64_t kGrain = 32768;

// Calls body(begin, end) over [0, n) in chunks of `grain`: the same chunks whatever the threads.
template <typename F>
void for_ranges(KernelContext& context, int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t{0}, n);
    return;
  }
  context.parallel().for_each((n + grain - 1) / grain, [&](int64_t chunk) {
    body(chunk * grain, std::min(n, (chunk + 1) * grain));
  });
}

// The grain for rows of `row` elements each: whole rows, about kGrain elements.
inline int64_t row_grain(int64_t row) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row));
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_RANGES_H_
