// How sizes are divided into blocks.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_BLOCKS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_BLOCKS_H_

#include <cstdint>

// Macros and not functions where vector code uses them too would be worse: everything here is
// constexpr and always inlined, so that no copy compiled for a higher instruction set can be linked
// in place of another.
#define QANAT_BLOCKS_INLINE constexpr inline __attribute__((always_inline))

namespace qanat::micro {

QANAT_BLOCKS_INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
QANAT_BLOCKS_INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
QANAT_BLOCKS_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
QANAT_BLOCKS_INLINE int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

struct Range {
  int64_t begin;
  int64_t end;

  QANAT_BLOCKS_INLINE int64_t size() const { return end - begin; }
};

// Part `index` of `total` divided into `parts` parts whose sizes differ by `unit` at most (the last
// one's by more where total is no multiple of unit): equal blocks leave no small rest that would
// run inefficiently.
QANAT_BLOCKS_INLINE Range part_of(int64_t total, int64_t parts, int64_t index, int64_t unit = 1) {
  const int64_t units = ceil_div(total, unit);
  return {min64(total, units * index / parts * unit),
          min64(total, units * (index + 1) / parts * unit)};
}

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_BLOCKS_H_
