// Permutes the axes of a tensor.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_H_

#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

// Tensors have at most so many axes here.
inline constexpr int kMaxTransposeRank = 16;

// Output axis i is input axis perm[i]: output has the sizes sizes[perm[0]], sizes[perm[1]], ...
// Elements are element_bytes wide (1, 2, 4, 8 or 16) and are only copied. `perm` is a permutation
// of 0 ... rank - 1, rank <= kMaxTransposeRank, sizes may be 0, output does not overlap input.
void transpose(int rank, const int64_t* sizes, const int* perm, int element_bytes,
               const void* input, void* output, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_H_
