// Copies between a tensor without gaps and one that is read or written with strides.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_STRIDED_COPY_H_
#define PACKAGES_KERNELS_CPU_NATIVE_STRIDED_COPY_H_

#include "packages/kernels_cpu/native/strided_walk.h"

namespace qanat::kernels_cpu {

// A part of a tensor: where its first element is, and a walk over the rest from there. It has
// `count` elements, at least one.
struct StridedPart {
  StridedWalk<1> walk;
  int64_t start = 0;
  int64_t count = 0;
};

// to[0, 1, ...] = the part of `from`, in its order.
void copy_from_part(KernelContext& context, const TensorView& from, const StridedPart& part,
                    const TensorView& to);

// The part of `to` = from[0, 1, ...]. No element of the part occurs twice.
void copy_to_part(KernelContext& context, const TensorView& from, const TensorView& to,
                  const StridedPart& part);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_STRIDED_COPY_H_
