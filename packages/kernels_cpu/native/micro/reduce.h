// Reductions over one axis.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

enum class Reduction { kSum, kMean, kMax, kMin, kProd };

// output[o, i] = reduction over r of input[o, r, i], where input is [outer, reduced, inner] without
// gaps and any size may be 0. Neighbouring axes that are all reduced, or all kept, are one axis to
// this function.
//
// Sums are blocked and pairwise, so that the error of a float32 sum grows with the logarithm of its
// length only. Over nothing a sum is 0, a product 1, a mean NaN (0 for integers), a maximum
// -infinity and a minimum +infinity (for integers the limits of the type). A NaN among the inputs
// of a maximum or minimum is the result. Integer sums and products wrap; an integer mean is the
// wrapped sum divided, towards 0.
struct ReduceShape {
  int64_t outer;
  int64_t reduced;
  int64_t inner;
};

// T is float, double, int32_t or int64_t. The scratch is aligned to 64 bytes, may hold anything,
// and is used by this call alone; `output` overlaps nothing. Results are the same bit for bit for
// any number of threads.
template <typename T>
size_t reduce_scratch_bytes(const ReduceShape& shape);
template <typename T>
void reduce(Reduction reduction, const ReduceShape& shape, const T* input, T* output, void* scratch,
            Parallel& parallel);

// The gradient of a bias: output[c] = sum over r of input[r, c]. It is
// reduce(kSum, {1, rows, channels}), scratch included.
template <typename T>
void sum_rows(int64_t rows, int64_t channels, const T* input, T* output, void* scratch,
              Parallel& parallel) {
  reduce(Reduction::kSum, ReduceShape{1, rows, channels}, input, output, scratch, parallel);
}

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_REDUCE_H_
